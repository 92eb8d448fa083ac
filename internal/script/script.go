package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/planted"
	"github.com/redlock-go/redlock/scripts"
)

// BatchSource is the one script that masters are asked to run: all operations,
// each after what it needs, and then what runs them.
var BatchSource = assembled("header", "lock", "queue", "counter", "raise", "acquire", "confirm", "extend", "release", "repair", "verify", "leave", "batch")

// BatchSHA is what a master knows BatchSource by.
var BatchSHA = func() string {
	sum := sha1.Sum([]byte(BatchSource))
	return hex.EncodeToString(sum[:])
}()

// The scripts of an admission, each run for itself.
var (
	SurveySource = assembled("counter", "survey")
	AdmitSource  = assembled("counter", "admit")
)

// assembled returns a script made of these files, to which it tells MaxCounter.
func assembled(files ...string) string {
	var all strings.Builder
	fmt.Fprintf(&all, "local maxCounter = %d\n", int64(MaxCounter))
	for _, file := range files {
		source, err := scripts.Files.ReadFile(file + ".lua")
		if err != nil {
			panic(err) // it is built in
		}
		all.WriteString(planted.Bug.Script(file, string(source)))
	}
	return all.String()
}
