package fence

import "context"

// Guard stands before a store and keeps overtaken holders out. This is the whole contract; package
// guard/guardtest checks a guard against it.
//
// What a guard does:
//
//   - It remembers, for each resource by itself, the highest token that it has
//     seen, and never forgets it. That token is the fence.
//   - A token lower than the fence is refused with a *StaleError. An equal one
//     passes: a holder writes as often as it likes, and so does a second
//     process working for it. A higher one passes and raises the fence. Gaps
//     are normal.
//   - The check, the raising of the fence and the write are one atomic
//     operation of the store. Looking at the fence first and writing
//     afterwards protects nothing, since a newer holder may come in between.
//   - A write that fails or is rolled back leaves the fence where it was or
//     higher, never lower.
//   - Resources are told apart byte by byte: "a", "A" and "a " are three. An
//     empty resource and the zero Token are refused with an error that is
//     ErrInvalid.
//
// What a holder does: it uses tokens of one lock name for a resource, because those of different
// names have no order; CheckLockName finds out if holders do not agree on the name. And it claims
// before it reads. The fence only moves when the guard sees the new token; without a claim an older
// holder may still write between the new holder's read and its write, and the new holder would
// overwrite something that it has never seen. After Claim has returned, no older write lands any
// more, and what is read stands until this holder or a newer one changes it.
//
// Any other error than these two leaves open whether the operation took effect. Doing it again with
// the same token is safe as far as the fence goes.
//
// The interface has only what all guards share. What a write is depends on the store, so each guard
// adds methods of its own for that (a func with an *sql.Tx, a Redis command, a func), all with the
// resource and the token first.
//
// Not promised: anything about access to the store that goes around the guard, that includes reads;
// and that holders with equal tokens exclude each other.
type Guard interface {
	// Claim raises the fence of resource to token, without a write. It returns a *StaleError if the
	// fence is already higher, and nil if it is equal.
	Claim(ctx context.Context, resource string, token Token) error
}

// Validate refuses the input that no guard may take: an empty resource and the zero Token. The
// error is ErrInvalid and names the field. It is for authors of guards, to be called first; a guard
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
