// Package docker embeds the files of this folder that the chaos tests need, so that a test binary runs from
// anywhere. To try things with masters, use compose.yaml.
package docker

import "embed"

// Files are the configurations under redis/, and build.sh with all that it reads.
//
//go:embed build.sh Dockerfile preload redis
var Files embed.FS
