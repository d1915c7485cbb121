package conversation

import "testing"

// Parsers are those of transcripts, for tests.
var Parsers = parsers

// LineOf returns an event as a line of a file.
func LineOf(tb testing.TB, e *Event) []byte {
	tb.Helper()
	e.identify()
	line, err := e.line()
	if err != nil {
		tb.Fatal(err)
	}
	return line
}
