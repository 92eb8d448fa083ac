//go:build !lint

package e2e

import _ "modernc.org/sqlite" // the driver "sqlite": 400 000 lines that linters would read
