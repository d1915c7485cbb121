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
