//go:build planted

package planted

// oneToken: the token is the grant number of one master.
type oneToken struct{ honest }

func (oneToken) Grant(grant, top int64) int64 {
	if top > 0 {
		return 0
	}
	return grant
}
