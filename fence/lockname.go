package fence

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// CheckLockName compares lockName with the lock name that is noted for resource. lockName is the
// name of the lock whose tokens the program uses for resource. If no name is noted, CheckLockName
// notes lockName. It returns nil if the names are the same, and an error that is ErrOtherLockName
// if not. So the first name is kept, and a program with another name gets the error at each check.
//
// Call it when the program starts, or after each acquisition if the resources are not known at the start. It needs no
// lock. It finds mistakes in programs and in their configuration; overtaken holders are still kept out by the token.
//
// lockName is Lock.Name: with WithSlots the name of the slot, under LockAll the name whose token is used for resource.
// Tokens of different deployments, or of different key prefixes, have no order either. If programs use several
// deployments or prefixes, add the deployment or prefix to lockName, in all programs in the same form.
//
// The note is the fence of a resource of its own in the same guard: "redlock/lockname/" followed by
// resource. Its token is a hash of the name: the first 8 bytes of the SHA-256, as a
// big-endian number with the highest bit cleared and the second highest bit set. So programs in any language
// can check:
//
//   - Claim the note with token 1. If the claim is refused as stale (the usual case), nothing changes, and the error
//     has the hash of the noted name as the highest token.
//   - If token 1 passes, no name is noted: claim the note with the hash.
//
// This costs one claim, or two if no name was noted. The guard must accept the longer name of the
// note, and a service in between must let this name through. If you count stale tokens, do not
// count the stale tokens of notes.
//
// To change the name on purpose, stop all programs that write resource, and wait until none of their writes is under
// way. Then delete the note, and also the fence of resource, whose token belongs to the old name. Or use a new name
// for the resource too.
//
// Other errors: ErrInvalid, if guard is nil or if resource or lockName is empty; and errors of the guard, wrapped.
// After these errors it is not known whether the names differ: repeat the check.
//
// Not promised: that the noted name is the right one; anything about programs that do not check; anything between the
// loss of the note (a store that loses data can lose any fence) and the next check. If the first checks of a resource
// overlap, several names may pass; all but one of them fail at the next check. Two names with the same hash count as
// one name; by chance, one of 2^62 pairs has the same hash.
func CheckLockName(ctx context.Context, guard Guard, resource, lockName string) error {
	switch {
	case guard == nil:
		return fmt.Errorf("%w: guard is nil: it must be the one of the resource", ErrInvalid)
	case resource == "":
		return errNoResource
	case lockName == "":
		return fmt.Errorf("%w: lockName is empty: it must be the name of the lock whose tokens are used", ErrInvalid)
	}
	note, hash := "redlock/lockname/"+resource, lockNameHash(lockName)
	err := guard.Claim(ctx, note, 1) // lower than every hash
	if err == nil {
		err = guard.Claim(ctx, note, hash)
	}
	if err == nil {
		return nil
	}
	var stale *StaleError
	if !errors.As(err, &stale) || !stale.Highest.Valid() {
		return fmt.Errorf("fence: check of the lock name of %q: %w", resource, err)
	}
	if stale.Highest != hash {
		return fmt.Errorf("%w: %q is not guarded under %q: the fence of %q is %d, and the hash of %q is %d",
			ErrOtherLockName, resource, lockName, note, stale.Highest, lockName, hash)
	}
	return nil
}

// lockNameHash returns the hash of a name, from 2^62 to 2^63-1. The hash of a name must never change.
func lockNameHash(name string) Token {
	sum := sha256.Sum256([]byte(name))
	return Token(binary.BigEndian.Uint64(sum[:8])&^(1<<63) | 1<<62)
}
