// Package docker holds what the chaos tests need of this folder, so that a test binary runs from
// anywhere. People who want masters to try things with take compose.yaml.
package docker

import "embed"

// Files are the configurations under redis/, and build.sh with all that it reads.
//
//go:embed build.sh Dockerfile preload redis
var Files embed.FS
