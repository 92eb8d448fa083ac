package fence

import "context"

// Guard protects a store from overtaken holders. This comment is the whole contract; package
// guard/guardtest checks a guard against it.
//
// What a guard does:
//
//   - It remembers, for each resource separately, the highest token that it has seen, and never
//     forgets it. That token is the fence.
//   - It refuses a token lower than the fence with a *StaleError. An equal token
//     passes: a holder may write any number of times, and so may a second
//     process that works for it. A higher token passes and raises the fence.
//     Gaps are normal.
//   - The check, the raising of the fence and the write are one atomic
//     operation of the store. Checking the fence first and writing
//     afterwards protects nothing, because a newer holder may come in between.
//   - A write that fails or is rolled back leaves the fence where it was or
//     higher, never lower.
//   - Resources are compared byte by byte: "a", "A" and "a " are three. An
//     empty resource and the zero Token are refused with an error that is
//     ErrInvalid.
//
// What a holder does: it uses tokens of one lock name for a resource, because tokens of different
// names have no order; CheckLockName detects holders that do not agree on the name. And it claims
// before it reads. The fence only moves when the guard sees the new token; without a claim an older
// holder may still write between the new holder's read and its write, and the new holder would
// overwrite data that it has never seen. After Claim has returned, no older write takes effect any
// more, and the data that the holder reads does not change until this holder or a newer one writes.
//
// After an error that is neither ErrStale nor ErrInvalid, it is not known whether the operation
// took effect. Repeating it with the same token is safe for the fence.
//
// The interface has only what all guards share. The form of a write depends on the store, so each guard adds methods
// of its own (a func with an *sql.Tx, a Redis command, or a plain func), all with the resource and the token first.
//
// Not promised: anything about access to the store that bypasses the guard, as reads do; and that
// holders with equal tokens exclude each other.
type Guard interface {
	// Claim raises the fence of resource to token, without a write. It returns a *StaleError if the
	// fence is already higher, and nil if it is equal.
	Claim(ctx context.Context, resource string, token Token) error
}

// Validate returns an error for input that no guard may accept: an empty resource and the zero Token. The
// error is ErrInvalid and names the field. Authors of guards should call it first; a guard
// may have further limits.
func Validate(resource string, token Token) error {
	if resource == "" {
		return errNoResource
	}
	if !token.Valid() {
		return errZero
	}
	return nil
}
