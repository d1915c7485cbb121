package main

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
)

// A tree fits into a terminal of 80 columns, and names the calls of which one made a change.
func TestATreeFitsIntoANarrowTerminal(t *testing.T) {
	at := report.Time{Time: time.Date(2026, 11, 25, 10, 0, 0, 0, time.Local)}
	long := strings.Repeat("long text ", 20)
	tree := &sessiontree.Tree{About: answers.About{ID: "shop-1"}, Turns: []*sessiontree.Turn{{
		Agent: "claude", At: at, Prompt: long, Moment: "m1", Ended: &at, Said: long,
		Calls: []*sessiontree.Call{
			{ID: "c1", Title: "$ " + long, At: at, DurationMs: 1200, Outcome: "failed", Moment: "m2", Severity: report.Error, Summary: long},
			{ID: "c2", Title: "$ make", At: at, Moment: "m3", Files: []sessiontree.File{{Path: "a.js", Change: "added", Added: 1, OneOf: []string{"c1", "c2"}}}},
		},
	}}}
	var out strings.Builder
	if err := treeOf(tree).write(&out, 80, "", ""); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if width := ansi.StringWidth(strings.TrimRight(line, "\n")); width > 80 {
			t.Errorf("a line has %d columns: %s", width, line)
		}
	}
	text := ansi.Strip(out.String())
	for _, want := range []string{
		"├─ 10:00:00  $ long text long text", "…  failed  1.2 s  m2\n", "…  claude  m1\n", "added a.js  +1 −0  by one of:\n",
		"├─ 10:00:00  $ long text", "└─ 10:00:00  $ make\n", "  stopped: long text",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the tree has no %q:\n%s", want, text)
		}
	}
}
