// Package faultproxy is a TCP proxy before one master that understands where requests and replies begin and end, so
// that it can hold this acquire, lose that reply and let everything else pass. Faults are rules with a printed form,
// which [ParseRule] reads again:
//
//	f := p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", sha), Nth: 1, Do: faultproxy.HoldRequest})
//	<-f.Seen()    // the request has left the client and not reached the master
//	f.Release()   // now it goes on, whether the client is still there or not
//	<-f.Answered() // the master has executed it
//
// A connection is a stream, as in TCP: what is held stops what comes behind it on the same connection and nothing on
// others, and once bytes are lost nothing that comes behind them arrives any more either. So the first request or
// reply that is dropped silences its connection in that direction for good.
//
// What a client sent goes on when the client is gone, as packets do that are under way: a held request still reaches
// the master at its release, on its own connection or, when that is gone as well, on a fresh one. The latter knows
// nothing of what was said on the former, such as AUTH, SELECT or HELLO.
//
// What is not promised:
//   - That a dial fails as it would without a proxy. It succeeds, also when the master is down or cut off; the first
//     request then ends in a reset or in silence.
//   - That a held request survives everything: it is lost when the master is down at its release.
//   - Commands with another number of replies than one, such as CLIENT REPLY. After SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE
//     or MONITOR, replies on that connection pass as they come: no rule acts on them, Answered knows nothing of them.
//   - Inline commands, and the streamed types of RESP3: they end the connection.
//
// Goroutines: one accepts; for each client three: one reads requests, one sends them on, one delivers replies; for each
// connection to the master one reads replies. Close ends and awaits them all.
package faultproxy
