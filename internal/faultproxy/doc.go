// Package faultproxy is a TCP proxy before one master. It finds where requests and replies begin and end. So it can
// hold one acquire, lose one reply, and let everything else pass. Faults are rules:
//
//	f := p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", sha), Nth: 1, Do: faultproxy.HoldRequest})
//	<-f.Seen()    // the request has left the client and not reached the master
//	f.Release()   // now it goes on, whether the client is still there or not
//	<-f.Answered() // the master has executed it
//
// The package parses the protocol of Redis. It must not depend on locks: a rule picks requests by their words.
//
// A connection is a stream, as in TCP. A held message stops later messages on the same connection, but no message on
// other connections. Once bytes are lost, no later bytes arrive. So after the first dropped request or reply, nothing
// arrives on its connection in that direction any more.
//
// Requests of a client go on after the client is gone, as packets under way do. A held request still reaches the master
// when it is released. If its connection to the master is gone, too, the proxy sends it on a new connection. A new
// connection lacks the state of the old one, such as AUTH, SELECT or HELLO.
//
// What is not promised:
//   - That a dial fails as it would without a proxy. A dial succeeds even if the master is down or cut off. The
//     first request then ends in a reset or in silence.
//   - That a held request survives everything. It is lost if the master is down when the request is released.
//   - Commands that do not have exactly one reply, such as CLIENT REPLY. After SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE or
//     MONITOR, replies on that connection pass unchanged: no rule acts on them, and Answered does not count them.
//   - Inline commands, and the streamed types of RESP3: they end the connection.
//
// One goroutine accepts clients. For each client, one goroutine reads requests, one sends them on, one delivers
// replies, and one waits for these three. For each connection to the master, one goroutine reads replies. For each copy
// that CopyRequest makes, one goroutine sends the copy later. Close ends all goroutines and waits for them.
package faultproxy
