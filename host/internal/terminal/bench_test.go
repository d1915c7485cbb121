package terminal

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
)

// BenchmarkMask masks a build log, and a line of a program that draws its screen.
func BenchmarkMask(b *testing.B) {
	for name, text := range map[string]string{
		"log":  strings.Repeat("\x1b[32m   Compiling\x1b[0m serde_json v1.0.117 (/home/me/shop/target/debug/build/serde_json-5f2a)\r\n", 300),
		"line": strings.Repeat("x", 20<<10) + "\x1b[H",
	} {
		b.Run(name, func(b *testing.B) {
			m := newMasker(redact.Default(), func(time.Duration, recording.Code, []byte) {})
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.add(0, recording.Output, []byte(text))
			}
		})
	}
}
