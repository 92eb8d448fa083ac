// Package scripts holds the Lua that masters run. internal/script assembles it.
package scripts

import "embed"

// Files are the sources, by name.
//
//go:embed *.lua
var Files embed.FS
