package testdb

import (
	"errors"
	"path/filepath"
	"syscall"
)

func startMariaDB() (string, error) {
	install, err := find("mariadb-install-db", "/usr/local/mysql/scripts")
	if err != nil {
		return "", err
	}
	binary, err := find("mariadbd", "/usr/sbin")
	if err != nil {
		return "", err
	}
	dir, err := serverDir("maria")
	if err != nil {
		return "", err
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	if err := prepare(dir, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return "", err
	}
	err = start(dir, syscall.SIGKILL, binary, "--no-defaults", "--datadir="+data, "--socket="+socket, "--pid-file="+filepath.Join(dir, "pid"),
		"--skip-networking", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--max-connections=300")
	if err != nil {
		return "", err
	}
	source := "root@unix(" + socket + ")/"
	return source + "test", errors.Join(
		await("mysql", source, filepath.Join(dir, "output")),
		execute("mysql", source, "CREATE DATABASE IF NOT EXISTS test"),
	)
}
