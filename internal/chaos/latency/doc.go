// Package latency tells from the history of a chaos run how long locks took while each kind of
// fault was under way, beside how long they took while there was none. It only looks at the time
// within the fault model.
package latency
