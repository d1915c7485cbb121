package redact_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/testing/planted"
)

func TestPlantedSecretsAreMasked(t *testing.T) {
	r := redact.Default()
	expected, leaked := 0, 0
	all := planted.All(t)
	if len(all) < 500 {
		t.Errorf("only %d secrets are planted", len(all))
	}
	for _, p := range all {
		if !strings.Contains(p.Text, p.Secret) {
			t.Errorf("%s: its text does not contain it", p.ID)
		}
		once, n := maskPlanted(r, p)
		leaks := strings.Contains(once, p.Secret) || n == 0
		if p.Reach == "expected" {
			if expected++; leaks {
				leaked++
				t.Logf("expected, and leaks: %s: %q", p.ID, once)
			}
		} else if leaks {
			t.Errorf("leaks: %s: %q", p.ID, once)
		}
		p.Text = once
		if twice, m := maskPlanted(r, p); twice != once || m != 0 {
			t.Errorf("%s: masked twice it is another text: %q, then %q (%d)", p.ID, once, twice, m)
		}
	}
	if leaked*20 > expected {
		t.Errorf("%d of %d expected secrets leak, more than 5 %%", leaked, expected)
	}
}

func maskPlanted(r *redact.Redactor, p planted.Secret) (string, int) {
	switch p.As {
	case "json", "form", "xml":
		return r.Body(p.Text)
	case "url":
		return r.URL(p.Text)
	case "header":
		name, value, _ := strings.Cut(p.Text, ": ")
		h := map[string]string{name: value}
		n := r.Headers(h)
		return name + ": " + h[name], n
	}
	return r.Text(p.Text)
}
