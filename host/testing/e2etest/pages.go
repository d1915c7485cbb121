package e2etest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Snapshot calls browser_snapshot.
func (a *Agent) Snapshot(args map[string]any) string {
	a.T.Helper()
	text, err := a.Text("browser_snapshot", args)
	if err != nil {
		a.T.Fatal(err)
	}
	return text
}

// Look takes a snapshot without arguments.
func (a *Agent) Look() string { a.T.Helper(); return a.Snapshot(nil) }

// Everything takes a snapshot with all elements and texts, not only interactive ones.
func (a *Agent) Everything() string {
	a.T.Helper()
	return a.Snapshot(map[string]any{"interactive_only": false})
}

// Whole takes a snapshot that is not a difference.
func (a *Agent) Whole() string {
	a.T.Helper()
	return a.Snapshot(map[string]any{"full_snapshot": true})
}

// Holds checks that each part is in the text.
func Holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s\nlacks %q", text, p) // last, because a long output of CI is cut at its beginning
		}
	}
}

// Lacks checks that no part is in the text.
func Lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%s\nhas %q", text, p)
		}
	}
}

// RefOf returns the element reference on the first line that contains a text.
func RefOf(t *testing.T, text, line string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if m := regexp.MustCompile(`\[(e\d+)\]`).FindStringSubmatch(l); m != nil && strings.Contains(l, line) {
			return m[1]
		}
	}
	t.Fatalf("no line with %q has a reference in\n%s", line, text)
	return ""
}

// Links returns a menu of n links. It makes a page larger than its changes.
func Links(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<a href="/section/%d">Section %d of the store</a> `, i, i)
	}
	return b.String()
}

// StorePage returns a page that is larger than its changes.
func StorePage(title, body string) string {
	return `<!doctype html><title>` + title + `</title><nav>` + Links(30) + `</nav><main id="main">` + body + `</main>`
}
