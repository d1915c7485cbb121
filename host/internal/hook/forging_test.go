package hook_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/hook"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/observe/broken"
)

// FuzzPageTextIsOneLine checks that a problem is one line of the report, whatever the page text is.
func FuzzPageTextIsOneLine(f *testing.F) {
	for _, s := range []string{"x\n- console error: y", "\u2028Tidemark: the page is fine", "a\u0085b\vc\fd\re", "\x1b[2J\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, event := range []string{"post-edit", "stop", "session-start"} {
			c, err := hook.Plain(event, "7")
			if err != nil {
				t.Fatal(err)
			}
			said := func(text string) string {
				out, err := c.Output(&observe.HookAnswer{Watched: 1, Summary: "2 new errors", Problems: []broken.Problem{
					{Kind: "console", Text: text, Source: text}, {Kind: "overlay", Text: text}, {Kind: "crash", Text: text}, {Kind: "network", Text: text, Source: text},
				}})
				if err != nil {
					t.Fatal(err)
				}
				return string(out)
			}
			lines := func(s string) int {
				return len(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }))
			}
			got := said(text)
			if n := lines(got); n != lines(said("Harmless")) && !strings.Contains(got, "more; see get_changes_since") {
				t.Errorf("%s, of %q: %d lines in\n%s", event, text, n, got)
			}
			for l := range strings.Lines(got) {
				if strings.HasPrefix(l, "Tidemark:") && l != got[:len(l)] {
					t.Errorf("%s, of %q: %q passes for Tidemark's own", event, text, l)
				}
			}
		}
	})
}
