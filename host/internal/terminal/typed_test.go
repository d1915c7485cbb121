package terminal

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/redact"
)

// TestATypedPasswordIsKnownInEachEncoding: a terminal may be read in the middle of a character.
func TestATypedPasswordIsKnownInEachEncoding(t *testing.T) {
	for name, typed := range map[string][]string{
		"whole":               {"päss"},
		"in parts":            {"p\xc3", "\xa4ss"},
		"in Latin-1":          {"p\xe4ss"},
		"corrected":           {"pä\xc3", "\xb6\x7fss"},
		"corrected in one go": {"päö\x7fss"},
	} {
		m := newMasker(redact.Default(), nil)
		for _, part := range typed {
			m.typed([]byte(part))
		}
		if want := map[bool]string{true: "p\xe4ss", false: "päss"}[name == "in Latin-1"]; m.secret != want {
			t.Errorf("%s: %q is taken for the password, not %q", name, m.secret, want)
		}
	}
}

func TestAPasteAtThePromptOfAPasswordIsBounded(t *testing.T) {
	m := newMasker(redact.Default(), nil)
	for range 100 {
		m.typed([]byte(strings.Repeat("x", 32<<10)))
	}
	if len(m.secret) != maxSecret {
		t.Errorf("%d bytes are kept", len(m.secret))
	}
}
