package fault

import "github.com/redlock-go/redlock/internal/chaos/cluster"

// User is the user that clients log in as when the masters require a password.
const User = "worker"

// The passwords of User.
const (
	OldPassword = "old-password"
	NewPassword = "new-password"
)

// accepted lists the passwords of each choice.
var accepted = map[Passwords][]string{
	Old:    {OldPassword},
	OldNew: {OldPassword, NewPassword},
	New:    {NewPassword},
}

// SetPasswords makes the master accept these passwords from User, and gives User all rights. It cuts User's
// connections. A restart of the server removes User.
func SetPasswords(m cluster.Master, p Passwords) error {
	rule := []any{"on", "~*", "&*", "+@all", "resetpass"}
	for _, password := range accepted[p] {
		rule = append(rule, ">"+password)
	}
	return setUser(rule...)(Fault{}, nil, m)
}

func setUser(rule ...any) func(Fault, *Env, cluster.Master) error {
	return func(_ Fault, _ *Env, m cluster.Master) error {
		if err := command(m, append([]any{"acl", "setuser", User}, rule...)...); err != nil {
			return err
		}
		return command(m, "client", "kill", "user", User)
	}
}

func setPasswords(f Fault, _ *Env, m cluster.Master) error { return SetPasswords(m, f.Passwords) }
