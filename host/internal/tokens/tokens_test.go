package tokens_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/tokens"
)

// FuzzAnyText: whatever a text contains, invalid UTF-8 too, its estimate is that of its bytes, at least one and at most about
// one for each byte, and its pieces are parts of it in their order.
func FuzzAnyText(f *testing.F) {
	for _, seed := range []string{"a", " ", "\n\n x", `{"a":[1,2]}`, "é", "\xc3", "aé\xc3", "→ …\xe2", "中文。", "\xf0\x9f\x8e", " \t\r\n", "GET /api?x=12345 200", "---- ....", "ÀÉ ü", "привет мир", strings.Repeat("x", 1000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := tokens.Estimate(text)
		if bytes := tokens.Estimate([]byte(text)); bytes != n {
			t.Errorf("%d as text, %d as bytes", n, bytes)
		}
		if n > 3*len(text) || n < 0 || len(text) > 8 && n == 0 {
			t.Errorf("%d tokens for %d bytes", n, len(text))
		}
		rest := text
		for _, p := range tokens.Pieces(text) {
			i := strings.Index(rest, p.Text)
			if i < 0 || p.Text == "" || p.Class < 0 || p.Class >= tokens.Classes || p.Length < 0 || p.Length > tokens.MaxLength {
				t.Fatalf("%+v is no piece of %q", p, rest)
			}
			rest = rest[i+len(p.Text):]
		}
	})
}

func TestAnEstimateGrowsWithTheText(t *testing.T) {
	text := strings.Repeat(`{"method":"POST","url":"/api/users","status":500,"at":"2026-01-23T10:30:00.000Z"},`, 20)
	last := 0
	for n := 0; n <= len(text); n += 41 {
		now := tokens.Estimate(text[:n])
		if now < last {
			t.Fatalf("%d bytes are %d tokens, %d fewer than a shorter text", n, now, last-now)
		}
		last = now
	}
	if long := tokens.Estimate(strings.Repeat("x", 100_000)); long < 10_000 {
		t.Errorf("a word of 100,000 letters is %d tokens", long)
	}
}
