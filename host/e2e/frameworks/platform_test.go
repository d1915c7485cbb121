package frameworks

import (
	"os"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/platform"
	"tidemark.dev/tidemark/installer"
)

// TestNamesAndRolesAreThoseOfThePlatform: Tidemark gets all cases right but those whose table says why not, and at
// least 99 % of those that Chromium or Playwright gets right.
func TestNamesAndRolesAreThoseOfThePlatform(t *testing.T) {
	buildApps(t)
	chromium, err := installer.FindBrowser()
	if err != nil {
		t.Skip(err)
	}
	cases, err := platform.Cases()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := platform.Ask("../apps", chromium.Path, cases)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/SNAPSHOTS.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := strings.Join(strings.Fields(string(page)), " ")
	for i, c := range cases {
		a := answers[i]
		switch ours := c.Right(c.InTree(a.Tidemark)); {
		case c.Differs != "" && ours:
			t.Errorf("no longer differs (%s): %s", c.Differs, c.ID())
		case c.Differs == "" && !ours:
			t.Errorf("%s\n\tis %q %q %q, in the tree %+v; Chromium %+v; Playwright %+v", c.ID(), c.Role, c.Name, c.Description, a.Tidemark, a.Chromium, a.Playwright)
		}
		if !strings.Contains(documented, c.Differs) {
			t.Errorf("docs/SNAPSHOTS.md does not list %q", c.Differs)
		}
	}
	sum := platform.Sum(cases, answers)
	t.Logf("%+v", sum)
	if sum.Tidemark*100 < sum.Either*99 {
		t.Errorf("right of the %d cases that Chromium or Playwright gets right: %d", sum.Either, sum.Tidemark)
	}
}
