package screen

import (
	"strings"
	"testing"
	"time"
)

// TestNoSequenceIsSlow: a reader that seeks replays output of this order. A hostile program fills it with the sequence that
// takes longest.
func TestNoSequenceIsSlow(t *testing.T) {
	const output, within = 64 << 10, time.Minute
	for _, cut := range []string{"", "x"} {
		for _, word := range append(words, "x\x1b[65535b", "\x1b[65535I", "\x1b[65535@", "\x1b[65535L", "\x1b[65535X", "\x1b[65535T", "\x1b#8", "\x1b]2;", "\x1bP", "\x1b[?1049h\x1b[?1049l") {
			word = strings.ReplaceAll(word, "N", "999") + cut
			data := []byte(strings.Repeat(word, output/len(word)))
			term := New(120, 40)
			began := time.Now()
			_, _ = term.Write(data)
			if took := time.Since(began); took > within {
				t.Errorf("%q again and again takes %s", word, took)
			}
		}
	}
}
