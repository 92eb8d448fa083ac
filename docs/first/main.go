// shown: ../README.md

// Command first takes a lock.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

func main() {
	client, err := redlock.Open(strings.Split(os.Getenv("REDLOCK_MASTERS"), ","))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "payroll", func(ctx context.Context, token fence.Token) error {
		fmt.Println("locked, with token", token) // ctx ends when the lock is lost
		return nil
	}, redlock.WithWait(10*time.Second)) // without WithWait, Do waits until its context ends
	if err != nil {
		log.Fatal(err)
	}
}

// end
