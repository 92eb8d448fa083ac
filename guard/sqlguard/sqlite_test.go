//go:build !lint

package sqlguard_test

import _ "modernc.org/sqlite" // the driver "sqlite": 400 000 lines that linters would read
