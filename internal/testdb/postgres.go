package testdb

import (
	"path/filepath"
	"syscall"
)

func startPostgres() (string, error) {
	initdb, err := find("initdb", "/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	dir, err := serverDir("pg")
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := prepare(dir, initdb, "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"); err != nil {
		return "", err
	}
	binary := filepath.Join(filepath.Dir(initdb), "postgres")
	err = start(dir, syscall.SIGQUIT, binary, "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300")
	if err != nil {
		return "", err
	}
	source := "host=" + dir + " user=postgres dbname=postgres"
	return source, await("pgx", source, filepath.Join(dir, "output"))
}
