package fork

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkClaude copies a conversation of 10 MB.
func BenchmarkClaude(b *testing.B) {
	result := strings.Repeat("const price = (cart) => cart.items.length; // /shop/a.js\\n", 120)
	var lines []string
	lines = append(lines, line(1, "user", asked))
	for n, size := 2, 0; size < 10<<20; n += 2 {
		lines = append(lines, line(n, "assistant", fmt.Sprintf(calls, n)), line(n+1, "user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, n, result)))
		size += len(lines[len(lines)-1])
	}
	p, place := transcript(b, lines...)
	for b.Loop() {
		c, err := Claude(p, place, time.Unix(0, 0))
		if err != nil {
			b.Fatal(err)
		}
		if err := os.Remove(c.Path); err != nil {
			b.Fatal(err)
		}
	}
}
