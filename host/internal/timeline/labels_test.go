package timeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestALabelNamesFilesAsTheirWorkspaceDoes: an agent may work in a directory of a workspace, or in a workspace in another one.
func TestALabelNamesFilesAsTheirWorkspaceDoes(t *testing.T) {
	w := timelinetest.New(t)
	inner := filepath.Join(w.Dir, "packages", "web")
	if err := os.MkdirAll(filepath.Join(inner, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.Allow(inner)
	w.Edit("outer")
	if _, err := w.Record(t.Context(), inner, records.Moment{Label: "inner"}); err != nil {
		t.Fatal(err)
	}
	type edit struct {
		dir, label string
		files      []string
		root, want string
	}
	edits := []edit{
		{w.Dir, "Edit packages/web/src/a.js", []string{"packages/web/src/a.js"}, w.Dir, "Edit packages/web/src/a.js"},
		{inner, "Edit src/a.js", []string{"src/a.js"}, inner, "Edit src/a.js"},
		{filepath.Join(inner, "src"), "Edit f.js", []string{"f.js"}, inner, "Edit src/f.js"},
		{filepath.Join(w.Dir, "packages"), "Edit b.js, c.js failed", []string{"b.js", "c.js"}, w.Dir, "Edit packages/b.js, packages/c.js failed"},
		{filepath.Join(inner, "src"), "Edit " + filepath.Join(inner, "d.js"), []string{filepath.Join(inner, "d.js")}, inner, "Edit d.js"},
		{inner, "Edit " + filepath.Join(w.Dir, "e.js"), []string{filepath.Join(w.Dir, "e.js")}, inner, "Edit " + filepath.Join(w.Dir, "e.js")},
	}
	link := filepath.Join(w.Top, "link")
	_ = os.Symlink(w.Dir, link)
	if _, err := os.Lstat(link); err == nil { // not every user of Windows may make one, and Wine makes none
		for _, dir := range []string{w.Dir, link} { // the agent may name its directory in one way, and files in another
			for _, name := range []string{"top.js", "no/longer/there.js"} {
				file := filepath.Join(link, filepath.FromSlash(name))
				edits = append(edits, edit{dir, "Edit " + file, []string{file}, w.Dir, "Edit " + name})
			}
		}
	}
	for _, c := range edits {
		edited := func() (labels []string) {
			t.Helper()
			list, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: c.root}})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list.Moments {
				if strings.HasPrefix(m.Label, "Edit ") {
					labels = append(labels, m.Label)
				}
			}
			return labels
		}
		before := len(edited())
		w.Hook(t.Context(), timeline.HookMoment{Dir: c.dir, Source: records.FromEdit, Label: c.label, Files: c.files, Anchor: answers.Anchor{Agent: "claude", Session: "one"}})
		if err := testbed.Eventually(t.Context(), func() (bool, error) { return len(edited()) > before, nil }); err != nil { // a hook does not wait for its moment for long
			t.Fatal(err)
		}
		if got := edited()[before]; got != c.want {
			t.Errorf("in %s: %q, want %q", c.dir, got, c.want)
		}
	}
}
