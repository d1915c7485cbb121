package keys_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/aria/keys"
)

func TestIdentityLeavesOutWhatIsCounted(t *testing.T) {
	for given, want := range map[string]string{
		"id=pay data-testid=pay-now class=big": "id=pay data-testid=pay-now",
		"id=:r1: data-key=7":                   "data-key=7",
		"id=mui-4242":                          "",
		"id=item-42":                           "id=item-42",
		"":                                     "",
	} {
		if got := keys.Identity(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
	if got := keys.FoldDigits("Inbox (12) of 3"); got != "Inbox (#) of #" {
		t.Error(got)
	}
}

func TestKeysContradictEachOther(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		alike bool
		want  bool
	}{
		{"href=/1", "href=/2", true, true},
		{"id=next href=/1", "id=next href=/2", true, true},
		{"href=#", "href=/2", true, false},
		{"id=pay name=one", "id=pay name=two", true, false},
		{"id=pay name=one", "id=pay name=two", false, true},
		{"id=:r1:", "id=:r2:", true, false},
		{"name=:r1:", "name=:r2:", true, false},
		{"type=text", "type=password", true, false},
		{"type=text", "type=password", false, true},
		{"data-id=1", "", true, false},
	} {
		if got := keys.Conflict(c.a, c.b, c.alike); got != c.want {
			t.Errorf("%q, %q: %v", c.a, c.b, got)
		}
	}
	if got := keys.Content("id=:r1: name=a type=text href=/1 picture=/2"); got != "name=a href=/1 picture=/2" {
		t.Error(got)
	}
}
