package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

const shop = "/home/me/shop"

// at joins a client that works in a directory.
func at(w *enginetest.World, t *testing.T, scope checkpoint.Scope) *checkpoint.Client {
	c, leave := w.Engine.Clients.Join("", "agent", scope)
	t.Cleanup(leave)
	return c
}

// TestChangedFilesAreASection: it is there by default where files changed, and whenever it is asked for.
func TestChangedFilesAreASection(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := at(w, t, checkpoint.Scope{Workspace: shop})
	if r := w.Changes(a, params{}); r.Files != nil || strings.Contains(show(r), `"files"`) || strings.Contains(r.Summary, "file") {
		t.Errorf("nothing happened: %s", show(r))
	}
	if text := show(w.Changes(a, params{Include: []string{"files"}})); !strings.Contains(text, `"files":{}`) {
		t.Errorf("it was asked for: %s", text)
	}
	w.ChangeFile(shop, event.FileChange{Change: event.FileAdded, Path: "src/cart.ts", Added: 12, Counted: true, By: "Write"})
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "src/cart.ts", Added: 3, Removed: 1, Counted: true, By: "Edit"})
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "logo.png", Binary: true})
	w.ChangeFile(shop, event.FileChange{Change: event.FileAdded, Path: "tmp"})
	w.ChangeFile(shop, event.FileChange{Change: event.FileRemoved, Path: "tmp"})
	r := w.Changes(a, params{})
	want := `"files":{"changed":[{"path":"logo.png","change":"modified","binary":true},{"path":"src/cart.ts","change":"added","added":14,"removed":0,"by":"Write, Edit"}],"total_changed":2}`
	if !strings.Contains(show(r), want) || r.Severity != report.Clean || r.PageText == "" || r.Summary != "No significant changes; 2 files changed" {
		t.Errorf("%s", show(r))
	}
	if again := w.Changes(a, params{}); again.Files != nil {
		t.Errorf("told twice: %s", show(again))
	}
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "a"})
	if r := w.Changes(a, params{Severity: "warnings"}); r.Files == nil || r.Files.TotalChanged != 1 || len(r.Files.Changed) != 0 || r.SeverityHidden != 1 {
		t.Errorf("files are no warnings: %s", show(r))
	}
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "a"})
	w.Log("error", "boom")
	if r := w.Changes(a, params{}); r.Summary != "1 new console error(s)" || r.Files == nil {
		t.Errorf("%s", show(r))
	}
}

// TestChangedFilesAreThoseOfTheWorkspace: those of workspaces that contain the client's, and that it contains.
func TestChangedFilesAreThoseOfTheWorkspace(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for _, root := range []string{"/home/me/shop", "/home/me/shop/web", "/home/me/shopping", "/home/me", "/srv"} {
		w.ChangeFile(root, event.FileChange{Change: event.FileAdded, Path: "a"})
	}
	for name, c := range map[string]struct {
		scope checkpoint.Scope
		want  []string
	}{
		"a workspace":             {checkpoint.Scope{Workspace: shop}, []string{"/home/me", "/home/me/shop", "/home/me/shop/web"}},
		"with origins":            {checkpoint.Scope{Origins: []string{enginetest.Page}, Workspace: "/srv/x"}, []string{""}},
		"origins only":            {checkpoint.Scope{Origins: []string{enginetest.Page}}, nil},
		"neither":                 {checkpoint.Scope{}, []string{"/home/me", "/home/me/shop", "/home/me/shop/web", "/home/me/shopping", "/srv"}},
		"a workspace without any": {checkpoint.Scope{Workspace: "/opt"}, nil},
	} {
		r := w.Changes(at(w, t, c.scope), params{Include: []string{"files"}})
		var roots []string
		for _, f := range r.Files.Changed {
			roots = append(roots, f.Workspace)
		}
		slices.Sort(roots)
		if !slices.Equal(roots, c.want) {
			t.Errorf("%s: %q, want %q", name, roots, c.want)
		}
	}
	if r := w.Changes(w.Agent(), params{Include: []string{"files"}, Tab: 1}); r.Files.TotalChanged != 0 {
		t.Errorf("of one tab: %s", show(r))
	}
}

// TestManyChangedFilesAreFolded: the answer stays small.
func TestManyChangedFilesAreFolded(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := at(w, t, checkpoint.Scope{Workspace: shop})
	w.Changes(a, params{})
	for i := range 3000 {
		w.ChangeFile(shop, event.FileChange{Change: event.FileAdded, Path: fmt.Sprintf("node_modules/pkg%d/lib/index%d.js", i/10, i), Added: 10, Counted: true, By: "npm ci"})
	}
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "package.json", Added: 1, Counted: true})
	r := w.Changes(a, params{})
	want := `"files":{"changed":[{"path":"node_modules/","change":"added","added":30000,"removed":0,"files":3000,"by":"npm ci"},{"path":"package.json","change":"modified","added":1,"removed":0}],"total_changed":3001}`
	if !strings.Contains(show(r), want) {
		t.Errorf("%s", show(r))
	}
	for i := range 60 {
		w.ChangeFile(shop, event.FileChange{Change: event.FileAdded, Path: strings.Repeat(fmt.Sprintf("directory%d/", i), 40) + "file.ts", Added: 10, Counted: true, By: "a long name of a command"})
	}
	if r := w.Changes(a, params{}); len(r.Files.Changed) != report.MaxFiles || r.Files.Omitted != 40 || r.TokenCount > 2500 || r.Note == "" {
		t.Errorf("%d tokens: %s", r.TokenCount, show(r))
	}
}

// TestAFirstReportHasTheFilesSinceThePageLoaded: as its other sections do.
func TestAFirstReportHasTheFilesSinceThePageLoaded(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "before"})
	w.Pass(time.Minute)
	w.Send("navigation", fmt.Sprintf(`"how":"load","url":%q`, enginetest.Page+"/"))
	w.Pass(time.Second)
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "after"})
	if r := w.Changes(at(w, t, checkpoint.Scope{Workspace: shop}), params{}); r.Files == nil || len(r.Files.Changed) != 1 || r.Files.Changed[0].Path != "after" {
		t.Errorf("%s", show(r))
	}
}

// TestChangedFilesAreNoSignOfAWatchedTab: a past window in which no tab was watched says so.
func TestChangedFilesAreNoSignOfAWatchedTab(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.CloseTab(7)
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "a"})
	w.Pass(time.Second)
	r, err := w.Engine.Observer.Between(context.Background(), w.Agent(), observe.BetweenParams{To: report.Time{Time: w.Now}.String()}, nil)
	if err != nil || r.Coverage == nil || !r.Coverage.Unwatched || r.Files == nil {
		t.Errorf("%v %s", err, show(r))
	}
}

// TestAGapOfTheWorkspaceIsOneOfTheFiles: for the clients whose workspace it is.
func TestAGapOfTheWorkspaceIsOneOfTheFiles(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	mine, other := at(w, t, checkpoint.Scope{Workspace: shop}), at(w, t, checkpoint.Scope{Workspace: "/srv"})
	w.Changes(mine, params{})
	w.Changes(other, params{})
	capture.NewSink(w.Store, capture.Workspaces, w.Clock).Miss(event.InWorkspace(shop), protocol.GapRecorderFailed, w.Now, 0)
	if r := w.Changes(mine, params{Include: []string{"console"}}); r.Coverage != nil {
		t.Errorf("no section of files was reported: %s", show(r))
	}
	if r := w.Changes(mine, params{}); r.Coverage == nil {
		t.Errorf("the gap is missing: %s", show(r))
	}
	if r := w.Changes(other, params{}); r.Coverage != nil {
		t.Errorf("of another workspace: %s", show(r))
	}
}

// TestAReportHasTheChangesMadeJustBeforeIt: it has them recorded first, and says where it cannot.
func TestAReportHasTheChangesMadeJustBeforeIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := at(w, t, checkpoint.Scope{Workspace: shop})
	var asked []string
	w.Recorded = func(_ context.Context, root string) error {
		asked = append(asked, root)
		w.ChangeFile(root, event.FileChange{Change: event.FileModified, Path: fmt.Sprint(len(asked))})
		return nil
	}
	ctx := context.Background()
	if r := w.Changes(a, params{}); r.Files == nil || r.Files.Changed[0].Path != "1" {
		t.Errorf("%s", show(r))
	}
	if r, err := w.Engine.Observer.Peek(ctx, a); err != nil || r.Files == nil || r.Files.Changed[0].Path != "2" {
		t.Errorf("%v %s", err, show(r))
	}
	if r, err := w.Engine.Observer.Between(ctx, a, observe.BetweenParams{Include: []string{"files"}}, nil); err != nil || r.Files.TotalChanged != 3 {
		t.Errorf("%v %s", err, show(r))
	}
	before := len(asked)
	if _, err := w.Engine.Observer.Between(ctx, a, observe.BetweenParams{To: report.Time{Time: w.Now}.String()}, nil); err != nil {
		t.Error(err)
	}
	w.Changes(a, params{Include: []string{"console", "network"}})
	w.Changes(a, params{Tab: 1})
	w.Changes(w.Agent(), params{})
	w.Changes(w.Scoped(enginetest.Page), params{})
	if len(asked) != before {
		t.Errorf("files that no report has were recorded: %q", asked)
	}
	w.Recorded = func(context.Context, string) error { return errors.New("the watch\nlimit is exhausted") }
	if r := w.Changes(a, params{}); r.Coverage == nil || r.Coverage.Note != "the newest changes of files may be missing: the watch limit is exhausted" {
		t.Errorf("%s", show(r))
	}
	w.Recorded = func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	if r := w.Changes(a, params{}); r.Coverage == nil || r.Coverage.Note != "the newest changes of files may be missing: they were not read within 500 ms" {
		t.Errorf("%s", show(r))
	}
	if r := w.Changes(a, params{Include: []string{"console"}}); r.Coverage != nil {
		t.Errorf("%s", show(r))
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if r, err := w.Engine.Observer.Changes(gone, a, params{}); err == nil {
		t.Errorf("nobody waits for this: %s", show(r))
	}
}

// TestNoEditIsNamedWhileTheNewestAreMissing: the edit may be one that is not recorded yet.
func TestNoEditIsNamedWhileTheNewestAreMissing(t *testing.T) {
	w := enginetest.NewWithMaps(t, func(context.Context, sourcemap.Script) (string, []byte, error) {
		return "", nil, errors.New("there is none")
	})
	a := at(w, t, checkpoint.Scope{Workspace: shop})
	w.Changes(a, params{})
	breaks := func(text string) *report.Report {
		w.Pass(time.Minute)
		w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "src/cart.ts", Tail: "cart.ts", Edited: w.Now.UnixMilli(), Lines: []event.Run{{At: 1, Old: 1, New: 1}}})
		w.Log("debug", "[vite] hot updated: /src/cart.ts")
		w.Log("error", text)
		return w.Changes(a, params{})
	}
	if r := breaks("TypeError: one"); len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].IntroducedBy == nil {
		t.Fatalf("%s", show(r))
	}
	w.Recorded = func(context.Context, string) error { return errors.New("the disk is full") }
	if r := breaks("RangeError: two"); len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].IntroducedBy != nil {
		t.Errorf("%s", show(r))
	}
}

// TestAFailureNamesTheEditOfWhatItSays: an endpoint fails again, in another way, long after an edit.
func TestAFailureNamesTheEditOfWhatItSays(t *testing.T) {
	for second, named := range map[string]bool{"no rows": false, "itemz is not defined": true} {
		w := enginetest.NewWithMaps(t, func(context.Context, sourcemap.Script) (string, []byte, error) {
			return "", nil, errors.New("there is none")
		})
		w.Open(7, enginetest.Page)
		a := at(w, t, checkpoint.Scope{Workspace: shop})
		w.Changes(a, params{})
		load := func(status int, detail string) {
			w.Pass(time.Minute)
			w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
			w.Send("network", fmt.Sprintf(`"id":"d","method":"GET","url":%q,"resource":"document","status":%d,"mime":"text/plain","response_body":%q,"started":%d,"duration":1`, enginetest.Page+"/", status, detail, w.Now.UnixMilli()))
		}
		load(200, "")
		w.Pass(time.Minute)
		w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "views/list.ejs", Edited: w.Now.UnixMilli(), Lines: []event.Run{{At: 1, Old: 1, New: 1}}})
		load(500, "itemz is not defined")
		load(200, "")
		load(500, second)
		r := w.Changes(a, params{})
		if f := r.Network.Failures; len(f) != 1 || f[0].Count != 2 || f[0].Detail != second || (f[0].IntroducedBy != nil) != named {
			t.Errorf("%q: %s", second, show(r))
		}
	}
}

// TestACheckpointFollowsTheChangesMadeJustBeforeIt: they are no changes since the checkpoint.
func TestACheckpointFollowsTheChangesMadeJustBeforeIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a, ctx := at(w, t, checkpoint.Scope{Workspace: shop}), context.Background()
	pending := []string{"before"}
	w.Recorded = func(_ context.Context, root string) error {
		for _, path := range pending {
			w.ChangeFile(root, event.FileChange{Change: event.FileModified, Path: path})
		}
		pending = nil
		return nil
	}
	made, err := w.Engine.Observer.CheckpointCreate(ctx, a, observe.CheckpointParams{Name: "before_fix"})
	if err != nil || made.Unrecorded != "" {
		t.Fatalf("%+v %v", made, err)
	}
	pending = []string{"after"}
	if r := w.Changes(a, params{Checkpoint: "before_fix"}); r.Files == nil || len(r.Files.Changed) != 1 || r.Files.Changed[0].Path != "after" {
		t.Errorf("%s", show(r))
	}
	w.Recorded = func(context.Context, string) error { return errors.New("the disk is full") }
	made, err = w.Engine.Observer.CheckpointCreate(ctx, a, observe.CheckpointParams{Name: "before_fix"})
	if err != nil || made.Unrecorded != "changes of files before it may count as later ones: the disk is full" {
		t.Errorf("%+v %v", made, err)
	}
}

// TestChangedFilesAreOnTheTimeline: as a lane, by position and by a search.
func TestChangedFilesAreOnTheTimeline(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.ChangeFile(shop, event.FileChange{Change: event.FileRenamed, From: "src/basket.ts", Path: "src/cart.ts", Added: 2, Removed: 1, Counted: true, Size: 300, Snapshot: 12, By: "Edit"})
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: "logo.png", Binary: true})
	ctx := context.Background()
	line, err := w.Engine.Viewer.Timeline(ctx, protocol.ViewTimelineParams{})
	if err != nil || line.Next[protocol.LaneFiles] != 3 || !slices.ContainsFunc(line.Lanes, func(l protocol.ViewLane) bool { return l.Lane == protocol.LaneFiles && l.Marks == "00" }) {
		t.Errorf("%v %+v", err, line)
	}
	got, err := w.Engine.Viewer.Entries(ctx, protocol.ViewEntriesParams{Lane: protocol.LaneFiles, Positions: []uint64{1, 2}})
	if err != nil || len(got.Entries) != 2 {
		t.Fatalf("%v %+v", err, got)
	}
	if e := got.Entries[0]; e.Kind != "renamed" || e.Text != "src/cart.ts" || e.From != "src/basket.ts" || e.Value != "+2 -1" || e.Via != "Edit" || e.Workspace != shop || e.Snapshot != 12 || e.Size != 300 {
		t.Errorf("%+v", e)
	}
	if e := got.Entries[1]; e.Value != "binary" {
		t.Errorf("%+v", e)
	}
	for _, text := range []string{"basket", "cart.ts", "edit"} {
		if got, err := w.Engine.Viewer.Entries(ctx, protocol.ViewEntriesParams{Text: text}); err != nil || len(got.Entries) != 1 {
			t.Errorf("%s: %v %+v", text, err, got)
		}
	}
	r, err := w.Engine.Viewer.Report(ctx, protocol.ViewReportParams{})
	if err != nil || len(r.Refs["files.changed"]) != 2 || !slices.Equal(r.Refs["files.changed"][1].Positions, []uint64{1}) {
		t.Errorf("%v %+v", err, r)
	}
}

// TestTheSectionIsTheDifferenceOfTwoMoments: random changes, with checkpoints at random places.
func TestTheSectionIsTheDifferenceOfTwoMoments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		a, leave := w.Engine.Clients.Join("", "agent", checkpoint.Scope{Workspace: shop})
		defer leave()
		files := map[string]uint64{} // by path, what identifies the content
		named := map[string]map[string]uint64{}
		looked := map[string]uint64{}
		check := func(from map[string]uint64, p params) {
			p.Include = []string{"files"}
			r, err := w.Engine.Observer.Changes(context.Background(), a, p)
			if err != nil {
				rt.Fatal(err)
			}
			got := maps.Clone(from)
			for _, f := range r.Files.Changed {
				before, existed := from[f.Path]
				after, exists := files[f.Path]
				if f.Change == event.FileRemoved && exists || f.Change == event.FileModified && (!existed || before == after) || f.Change == event.FileAdded && existed {
					rt.Fatalf("%+v of %v, now %v", f, from, files)
				}
				delete(got, f.From)
				if got[f.Path] = after; !exists {
					delete(got, f.Path)
				}
			}
			if !maps.Equal(got, files) || r.Files.TotalChanged != len(r.Files.Changed) {
				rt.Fatalf("%s of %v, now %v", show(r.Files), from, files)
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			path := rapid.SampledFrom([]string{"a", "b", "src/c", "src/d"}).Draw(rt, "path")
			before, exists := files[path]
			after := rapid.Uint64Range(1, 3).Draw(rt, "content")
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				name := rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "name")
				if _, err := w.Engine.Observer.CheckpointCreate(context.Background(), a, observe.CheckpointParams{Name: name}); err != nil {
					rt.Fatal(err)
				}
				named[name] = maps.Clone(files)
			case 1:
				check(looked, params{})
				looked = maps.Clone(files)
			case 2:
				if exists {
					delete(files, path)
					w.ChangeFile(shop, event.FileChange{Change: event.FileRemoved, Path: path, Before: before})
				}
			case 3:
				to := fmt.Sprint("moved", i)
				if exists {
					delete(files, path)
					files[to] = before
					w.ChangeFile(shop, event.FileChange{Change: event.FileRenamed, From: path, Path: to, Before: before, After: before})
				}
			default:
				kind := event.FileAdded
				if exists {
					kind = event.FileModified
				}
				files[path] = after
				w.ChangeFile(shop, event.FileChange{Change: kind, Path: path, Before: before, After: after})
			}
			for name, was := range named {
				if len(files) < report.MaxFiles/2 {
					check(was, params{Checkpoint: name})
				}
			}
		}
	})
}
