package alike

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFingerprints(t *testing.T) {
	for in, want := range map[string]string{
		"Error loading user 3f2504e0-4f89-41d3-9a0c-0305e82c3301": "Error loading user {uuid}",
		"at 2026-01-23T10:30:00.000Z":                             "at {ts}",
		"at 2026-01-23T10:30:00+02:00 done":                       "at {ts} done",
		"at 2026-01-23 10:30 done":                                "at {ts} done",
		"on 2026-01-23":                                           "on {ts}",
		"order 12345 failed":                                      "order {n} failed",
		"status 404, not 500":                                     "status 404, not 500",
		"took 12.5ms":                                             "took {n}ms",
		"ratio 0.75":                                              "ratio {n}",
		"React 18.2.0 at 127.0.0.1":                               "React 18.2.0 at 127.0.0.1",
		"pointer 0x7ffe12ab":                                      "pointer {n}",
		"commit deadbeef1":                                        "commit {n}",
		"the facade is decade-old":                                "the facade is decade-old",
		"deadbeef cafe":                                           "deadbeef cafe",
		"blob:http://localhost/3f2504e0-1 gone":                   "blob:http://localhost/3f2504e0-1 gone",
		"user_12345_name":                                         "user_12345_name",
		"timeout 3000ms":                                          "timeout {n}ms",
		"http://localhost:5173/x":                                 "http://localhost:{n}/x",
		"item[1234] of list9":                                     "item[{n}] of list9",
		"4f3a2b1c-not-a-uuid":                                     "{n}-not-a-uuid",
	} {
		if strings.HasPrefix(in, "blob:") {
			want = "{blob} gone"
		}
		if got := Fingerprint(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestWordsAreNeverFolded: messages that differ in a word keep different fingerprints.
func TestWordsAreNeverFolded(t *testing.T) {
	word := rapid.StringMatching(`[A-Za-z]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		number := rapid.StringMatching(`[0-9]{4,12}`)
		x, y := "load "+a+" "+number.Draw(t, "n")+" failed", "load "+b+" "+number.Draw(t, "m")+" failed"
		if same := Fingerprint(x) == Fingerprint(y); same != (a == b) {
			t.Fatalf("%q and %q: %q, %q", x, y, Fingerprint(x), Fingerprint(y))
		}
	})
}

func FuzzFingerprint(f *testing.F) {
	for _, s := range []string{"", "12345", "0x1f", "2026-01-23T10:30:00Z", "1.2.3", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "blob:x", "é1234", "a.1"} {
		f.Add(s)
	}
	letters := regexp.MustCompile(`[A-Za-z]+`)
	f.Fuzz(func(t *testing.T, s string) {
		once := Fingerprint(s)
		if again := Fingerprint(once); again != once {
			t.Errorf("%q: %q, then %q", s, once, again)
		}
		if !strings.ContainsAny(s, "0123456789") && !strings.Contains(s, "blob:") && once != s {
			t.Errorf("%q without a digit became %q", s, once)
		}
		// A word of letters stays, whatever stands around it.
		word := strings.Join(letters.FindAllString(s, -1), "")
		if got := Fingerprint(s + " " + word + " 12345"); word != "" && !strings.Contains(s, "blob:") && !strings.HasSuffix(got, " "+word+" {n}") {
			t.Errorf("%q was folded in %q", word, got)
		}
	})
}
