package redact

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

type sharedCase struct {
	Kind, Name, In, Out string
	Masked              int
}

func sharedCases(t testing.TB) []sharedCase {
	t.Helper()
	data, err := os.ReadFile("../../../protocol/testdata/redact/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []sharedCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c sharedCase) apply(r *Redactor) (string, int) {
	switch c.Kind {
	case "text":
		return r.Text(c.In)
	case "body":
		return r.Body(c.In)
	case "url":
		return r.URL(c.In)
	case "header":
		h := map[string]string{c.Name: c.In}
		n := r.Headers(h)
		return h[c.Name], n
	case "key":
		if r.SecretKey(c.In) {
			return "", 1
		}
		return "", 0
	}
	return "unknown kind " + c.Kind, -1
}

func TestSharedCases(t *testing.T) {
	r := Default()
	for _, c := range sharedCases(t) {
		out, masked := c.apply(r)
		if out != c.Out || masked != c.Masked {
			t.Errorf("%s %s %q:\n got %q, %d\nwant %q, %d", c.Kind, c.Name, c.In, out, masked, c.Out, c.Masked)
		}
	}
}

func FuzzTwiceIsOnce(f *testing.F) {
	for _, c := range sharedCases(f) {
		f.Add(c.In)
	}
	r := Default()
	f.Fuzz(func(t *testing.T, s string) {
		for name, mask := range map[string]func(string) (string, int){"Text": r.Text, "Body": r.Body, "URL": r.URL} {
			once, n := mask(s)
			if n == 0 && once != s {
				t.Errorf("%s changed %q to %q without counting", name, s, once)
			}
			if n > 0 && !strings.Contains(once, "[masked]") {
				t.Errorf("%s counted %d in %q without masking: %q", name, n, s, once)
			}
			if twice, m := mask(once); twice != once || m != 0 {
				t.Errorf("%s is not idempotent on %q: %q, then %q (%d)", name, s, once, twice, m)
			}
		}
		checkExplain(t, r, s)
	})
}

func BenchmarkTextOfALogLine(b *testing.B) {
	r := Default()
	line := "TypeError: Cannot read properties of undefined (reading 'id') at http://localhost:5173/src/app.js:42:17"
	for b.Loop() {
		r.Text(line)
	}
}

func BenchmarkBodyOf64KiB(b *testing.B) {
	r := Default()
	body := "[" + strings.Repeat(`{"id":12345,"name":"Ann Lee","mail":"ann@example.com","tags":["a","b"],"price":12.5,"url":"https://example.com/a?b=c"},`, 560) + "1]"
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r.Body(body)
	}
}
