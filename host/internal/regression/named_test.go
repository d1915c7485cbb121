package regression_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// edited is a project whose changes are those of its files, with a page.
type edited struct {
	*world
	t     *testing.T
	page  *enginetest.World
	start string
}

// settings exclude a directory.
const settings = "[files]\nexclude = [\"gen\"]\n"

// lines is a file of 50 lines, of which one line is another one.
func lines(other string) string {
	text := make([]string, 50)
	for i := range text {
		text[i] = fmt.Sprintf("// %d", i+1)
	}
	text[41] = other
	return strings.Join(text, "\n") + "\n"
}

func newEdited(t *testing.T) *edited {
	t.Helper()
	page := enginetest.New(t, capture.Limits{})
	a := &edited{startInto(t, page.Clock, capture.NewSink(page.Store, capture.Workspaces, page.Clock)), t, page, ""}
	a.Store, a.Rules, a.Observer, a.Clock = page.Store, page.Engine.Rules, page.Engine.Observer, page.Clock
	a.Edits = observe.Edits{Update: noise.Default().Update, Known: regression.KnownIn(a.Timeline), Name: func(e *event.FileChange, _ bool, i *report.Introduced) {
		i.Moment, _ = timeline.OfChange(a.Timeline, e)
	}}
	for path, text := range map[string]string{
		".tidemark.toml": settings, ".gitignore": "ignored\n", "src/a.js": "0", "src/b.js": "0", "src/app.js": lines("0"), "gen/x.js": "0", "ignored/i.js": "0", "sub/s.js": "0", "style.css": "0",
	} {
		a.put(path, text)
	}
	a.start, _ = a.moment(t, "start")
	a.page.Pass(time.Minute)
	a.load()
	a.page.Pass(time.Minute)
	return a
}

// put writes a file at the present time of the page.
func (a *edited) put(path, text string) {
	a.t.Helper()
	path = filepath.Join(a.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Chtimes(path, a.page.Now, a.page.Now); err != nil {
		a.t.Fatal(err)
	}
}

// call records the moment of a call, which is reported some time after its edit.
func (a *edited) call(source, label string) *records.Moment {
	a.t.Helper()
	a.page.Pass(200 * time.Millisecond)
	m, err := a.Timeline.Record(a.t.Context(), a.dir, records.Moment{Label: label, Kind: records.Auto, Source: source})
	if err == nil {
		err = a.workspaces.Flush(a.t.Context())
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.page.Pass(2 * time.Second)
	return m
}

// edit writes files with a call that names them.
func (a *edited) edit(text string, paths ...string) *records.Moment {
	a.t.Helper()
	for _, path := range paths {
		a.put(path, text)
	}
	return a.call(records.FromEdit, "Edit "+strings.Join(paths, ", "))
}

// load loads the page again, with an error or without.
func (a *edited) load(errors ...string) {
	a.page.Pass(100 * time.Millisecond)
	a.page.Send("navigation", `"url":"`+enginetest.Page+`/","how":"reload"`)
	a.page.Pass(10 * time.Millisecond)
	for _, text := range errors {
		a.page.Log("error", text)
	}
	a.page.Pass(5 * time.Second)
}

// found returns what broke it. What is named is in the difference of its moment, and so is what the label names, or the answer says
// that it is not.
func (a *edited) found(name string) *regression.Regression {
	a.t.Helper()
	here := moments.Where{Dir: a.dir}
	r, err := a.Find(a.t.Context(), user, regression.Params{Where: here, From: a.start})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	if r.Verdict != regression.Found {
		return r
	}
	shown, err := timeline.Show(a.t.Context(), a.Timeline, user, timeline.ShowParams{Where: here, Moment: r.IntroducedBy.Moment})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	has := func(d *answers.Difference, path string) bool {
		return d != nil && slices.ContainsFunc(d.Files, func(f answers.FileChanged) bool { return f.Path == path })
	}
	if !has(shown.Diff, r.IntroducedBy.Path) || !has(r.Diff, r.IntroducedBy.Path) {
		a.t.Errorf("%s: %s is not in the difference of %s: %+v, nor in %+v", name, r.IntroducedBy.Path, r.IntroducedBy.Moment, shown.Diff, r.Diff)
	}
	for _, path := range timeline.FilesOf(&records.Moment{Source: records.FromEdit, Label: r.Label}) {
		if strings.HasPrefix(r.Label, "Edit ") && !has(r.Diff, path) && !strings.Contains(r.Note, path) {
			a.t.Errorf("%s: the label %q names what did not change, and the note is %q", name, r.Label, r.Note)
		}
	}
	return r
}

// TestWhatIsNamedIsInTheDifferenceOfItsMoment: what changed or seemed to, and what is said to have broken the page.
func TestWhatIsNamedIsInTheDifferenceOfItsMoment(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(a *edited)
		// want is the path that is named, "" for none. Note is a part of the note.
		want, note string
	}{
		"an edit": {func(a *edited) { a.edit("1", "src/a.js") }, "src/a.js", ""},
		"changed and changed back": {func(a *edited) {
			a.edit("1", "src/a.js")
			a.edit("0", "src/a.js")
		}, "", ""},
		"changed and changed back, and another one": {func(a *edited) {
			a.edit("1", "src/a.js")
			a.edit("1", "src/b.js")
			a.edit("0", "src/a.js")
		}, "src/b.js", ""},
		"changed and changed back before a snapshot": {func(a *edited) {
			a.put("src/a.js", "1")
			a.edit("0", "src/a.js")
		}, "", ""},
		"an excluded file":             {func(a *edited) { a.edit("1", "gen/x.js") }, "", ""},
		"an excluded file, with other": {func(a *edited) { a.edit("1", "src/a.js", "gen/x.js") }, "", ""},
		"an excluded file after another": {func(a *edited) {
			a.edit("1", "src/a.js")
			a.edit("1", "gen/x.js")
		}, "", ""},
		"an excluded file by its side, in the stack": {func(a *edited) {
			a.put("gen/x.js", "1")
			a.put("src/app.js", lines("1"))
			a.call(records.FromEdit, "Edit gen/x.js, src/app.js")
		}, "src/app.js", "names gen/x.js, of which it has no change"},
		"a file that Git ignores": {func(a *edited) { a.edit("1", "ignored/i.js") }, "ignored/i.js", ""},
		"a renamed file": {func(a *edited) {
			if err := os.Rename(filepath.Join(a.dir, "src/a.js"), filepath.Join(a.dir, "src/c.js")); err != nil {
				a.t.Fatal(err)
			}
			a.call(records.FromCommand, "Bash mv")
		}, "src/c.js", ""},
		"renamed there and back": {func(a *edited) {
			one, other := filepath.Join(a.dir, "src/a.js"), filepath.Join(a.dir, "src/c.js")
			for _, names := range [][2]string{{one, other}, {other, one}} {
				if err := os.Rename(names[0], names[1]); err != nil {
					a.t.Fatal(err)
				}
				a.call(records.FromCommand, "Bash mv")
			}
		}, "", ""},
		"a call without a snapshot": {func(a *edited) {
			a.put(".tidemark.toml", "[files")
			if m := a.edit("1", "src/a.js"); m.Snapshot != 0 {
				a.t.Errorf("%+v has a snapshot", m)
			}
			a.put(".tidemark.toml", settings)
			a.moment(a.t, "repaired")
			if err := a.workspaces.Flush(a.t.Context()); err != nil {
				a.t.Fatal(err)
			}
		}, "src/a.js", ""},
		"a file in another workspace": {func(a *edited) {
			a.edit("1", "src/a.js")
			a.call(records.FromEdit, "Edit ../lib/money.js")
		}, "", ""},
		"a text outside": {func(a *edited) {
			a.edit("1", "src/a.js")
			a.call(records.FromEdit, "Write /tmp/plan.md")
		}, "src/a.js", ""},
		"a call that failed": {func(a *edited) {
			a.edit("1", "src/a.js")
			a.call(records.FromEdit, "Edit gen/x.js failed")
		}, "src/a.js", ""},
		"calls that share a snapshot": {func(a *edited) {
			a.put("style.css", "1")
			a.put("src/app.js", lines("1"))
			one := a.call(records.FromEdit, "Edit style.css")
			if other := a.call(records.FromEdit, "Edit src/app.js"); other.Snapshot != one.Snapshot {
				a.t.Errorf("%+v and %+v share no snapshot", one, other)
			}
		}, "src/app.js", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newEdited(t)
			c.happens(a)
			a.load("boom")
			path := ""
			r := a.found(name)
			if r.IntroducedBy != nil {
				path = r.IntroducedBy.Path
			}
			if path != c.want || !strings.Contains(r.Note, c.note) {
				t.Errorf("%s is named, want %s: %+v", path, c.want, r)
			}
		})
	}
}

// TestACallThatChangedNothingIsNotNamed: a command wrote the file, and later a call edits it without a change.
func TestACallThatChangedNothingIsNotNamed(t *testing.T) {
	a := newEdited(t)
	a.put("src/a.js", "1")
	command := a.call(records.FromCommand, "Bash make")
	a.load("boom")
	a.page.Pass(time.Minute)
	if later := a.call(records.FromEdit, "Edit src/a.js"); later.Snapshot != command.Snapshot {
		t.Fatalf("%+v has another snapshot than %+v", later, command)
	}
	if r := a.found("a call that changed nothing"); r.Moment != command.ID() || r.IntroducedBy.Moment != command.ID() {
		t.Errorf("%+v, want %s", r, command.ID())
	}
}

// TestADirectoryThatWasDeniedIsNotNamed, although its change was recorded before.
func TestADirectoryThatWasDeniedIsNotNamed(t *testing.T) {
	a := newEdited(t)
	a.edit("1", "sub/s.js")
	a.load("boom")
	if r := a.found("before"); r.IntroducedBy == nil || r.IntroducedBy.Path != "sub/s.js" {
		t.Fatalf("%+v", r)
	}
	if _, err := a.grants.Deny(t.Context(), filepath.Join(a.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if r := a.found("after"); r.IntroducedBy != nil || r.Verdict != regression.Unknown {
		t.Errorf("%+v", r)
	}
}

// TestAWorkspaceInAnotherIsNotNamed as a change of the outer one.
func TestAWorkspaceInAnotherIsNotNamed(t *testing.T) {
	a := newEdited(t)
	inner := filepath.Join(a.dir, "packages", "web")
	a.put("packages/web/w.js", "0")
	if _, err := a.grants.Allow(t.Context(), inner, nil, nil); err != nil {
		t.Fatal(err)
	}
	record := func(label string) {
		t.Helper()
		if _, err := a.Timeline.Record(t.Context(), inner, records.Moment{Label: label, Source: records.FromEdit}); err != nil {
			t.Fatal(err)
		}
		if err := a.workspaces.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.page.Pass(2 * time.Second)
	}
	record("first")
	a.call(records.FromEdit, "Edit src/none.js")
	a.load()
	a.page.Pass(time.Minute)
	a.put("packages/web/w.js", "1")
	a.page.Pass(200 * time.Millisecond)
	record("Edit w.js")
	a.load("boom")
	if r := a.found("a workspace in another"); r.IntroducedBy != nil && r.Verdict == regression.Found {
		t.Errorf("%+v", r)
	}
}

// TestWhateverHappensTheNamedFileDiffers: files are changed, changed back, renamed and removed, with calls or without, while the page
// is loaded with errors and without.
func TestWhateverHappensTheNamedFileDiffers(t *testing.T) {
	paths := []string{"src/a.js", "src/b.js", "gen/x.js", "ignored/i.js", "sub/s.js"}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 20)) //nolint:gosec // the same each time
			a := newEdited(t)
			clean := a.files(paths)
			for range 1 + random.IntN(8) {
				a.page.Pass(5 * time.Second)
				path := paths[random.IntN(len(paths))]
				switch random.IntN(6) {
				case 0:
					a.load()
					clean = a.files(paths)
				case 1:
					_ = os.Remove(filepath.Join(a.dir, path))
					a.call(records.FromCommand, "Bash rm")
				case 2:
					a.put(path, fmt.Sprint(random.IntN(3)))
				default:
					a.edit(fmt.Sprint(random.IntN(3)), path)
				}
			}
			a.page.Pass(5 * time.Second)
			a.call(records.FromCommand, "Bash ls")
			broken := a.files(paths)
			a.load("boom")
			r := a.found("at the end")
			if r.IntroducedBy == nil {
				return
			}
			if path := r.IntroducedBy.Path; clean[path] == broken[path] {
				t.Errorf("%s is %q as when the page was clean: %+v", path, broken[path], r)
			}
		})
	}
}

// files returns the contents of files, "none" for no file.
func (a *edited) files(paths []string) map[string]string {
	a.t.Helper()
	all := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Join(a.dir, filepath.FromSlash(path)))
		if all[path] = string(data); err != nil {
			all[path] = "none"
		}
	}
	return all
}
