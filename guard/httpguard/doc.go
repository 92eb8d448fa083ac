// Package httpguard carries fencing tokens over HTTP: a middleware that refuses requests with stale tokens before
// their handler runs, and a client transport that sends the token of the request's context.
//
// The token is sent in the header Fencing-Token, in decimal. The middleware answers refused requests
// with a problem document (RFC 9457, application/problem+json) that has the tokens as strings,
// because a JSON number may lose digits:
//
//	409 Conflict               the token is stale        TypeStale, with token and highest
//	428 Precondition Required  there is no token         TypeMissing
//	400 Bad Request            the token is malformed, or the
//	                           request names no resource TypeInvalid
//	503 Service Unavailable    the guard failed          TypeUnavailable
//
// # One lock name for each resource
//
// Tokens of different lock names have no order. All requests about a resource must have tokens of
// one name: otherwise a valid holder may be refused, and an overtaken one may pass. The middleware
// cannot notice that, because a request does not name the lock of its token. If clients also
// send the lock name, in a way that the service chooses, the service can check it: it calls
// fence.CheckLockName with the guard, or Memory, that it gave to the middleware.
//
// # What is promised
//
// An HTTP layer cannot make its check and the write of a handler one atomic operation. There are
// two middlewares, which promise different things.
//
// ClaimFirst, for any number of server processes: a handler runs only after the resource was claimed with the
// request's token, so the token was not stale then. A newer request may overtake the request while its handler runs.
// So the handler must write through a guard of its store, with the token that it finds in the request's context, and
// answer a refusal with WriteStale. ClaimFirst then saves work, and the store decides.
//
// Exclusive, for a single process that is the only writer of its store: the handlers of one
// resource run one at a time, and once a handler has started, no handler with an older token
// starts any more. So a store without guards is safe, as long as the handler has finished its
// writes when it returns. Exclusive does not cover: a goroutine that the handler leaves behind; a
// request to a store that takes effect after the handler has stopped waiting for it; a second
// process; and the time from a restart until the newest holder has sent its first request.
//
// # What is not promised
//
// That a token is authentic. A client may send a huge token and so lock all others out of the
// resource for good, and each new resource name costs memory that is never freed.
// Put authentication, and a check that the resource exists, before the middleware.
package httpguard
