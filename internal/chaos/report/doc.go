// Package report draws a chaos run as one HTML file that needs nothing beside it: a timeline with a
// lane for the faults, one for each master and one for each client, which can be zoomed into and
// asked by pointing.
//
// The events are turned into lanes of spans and marks here, where that can be tested; the script in
// the page only draws them.
package report
