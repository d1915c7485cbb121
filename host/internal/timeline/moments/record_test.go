package moments_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

func TestMomentsOfABurstShareASnapshot(t *testing.T) {
	w := timelinetest.New(t)
	began := time.Now()
	for i := range 20 {
		w.Write("a", fmt.Sprint(i))
		w.Edit(fmt.Sprint("edit ", i))
	}
	var a *answers.List
	deadline := time.Now().Add(30 * time.Second)
	for a = w.Listed(); a.Moments[len(a.Moments)-1].FsSnapshot == false; a = w.Listed() {
		if time.Now().After(deadline) {
			t.Fatal("the last moment never got a snapshot")
		}
		time.Sleep(10 * time.Millisecond) // the snapshot is taken by another goroutine
	}
	took := time.Since(began)
	if n, most := len(a.FsSnapshots), 5+int(took/(300*time.Millisecond)); n < 4 || n > most { // four at once, then one every 0.3 s
		t.Errorf("20 moments of %s have %d snapshots, want at most %d", took, n, most)
	}
	for i, m := range a.Moments {
		if m.FsSnapshot == false {
			t.Errorf("moment %d has no snapshot: %s", i, m.Reason)
		}
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: a.Moments[len(a.Moments)-1].ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Read(filepath.Join(s.Mount, "a")); got != "19" {
		t.Errorf("the last moment has %q", got)
	}
}

// A moment that is added, that of a checkpoint, or one of files that were found changed, is the state at its call. The moments of a burst
// before it have no later one.
func TestMomentsOfABurstAreNotLaterThanWhatFollows(t *testing.T) {
	for _, source := range []string{records.FromUser, records.FromCheckpoint, records.FromFiles} {
		w := timelinetest.New(t)
		for i := range 7 {
			w.Write(fmt.Sprint("f", i), "text")
			w.Edit(fmt.Sprint("edit ", i))
		}
		between, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "between", Source: source, Notes: "a note"})
		if err != nil {
			t.Fatal(err)
		}
		w.Write("f7", "text")
		w.Edit("edit 7")
		last := uint64(0)
		for _, m := range w.Listed().Moments {
			id, ok := m.FsSnapshot.(string)
			if !ok {
				if m.Label == "edit 7" {
					continue // it waits
				}
				t.Fatalf("%s: %q has no snapshot: %s", source, m.Label, m.Reason)
			}
			n, _ := records.Number(id, 's')
			if n < last || m.Label != "edit 7" && n > between.Snapshot || m.Label != "between" && strings.Contains(m.Notes, "a note") {
				t.Errorf("%s: %q has %s, the one between has s%d; notes %q", source, m.Label, id, between.Snapshot, m.Notes)
			}
			last = n
		}
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: between.ID()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(s.Mount, "f6")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(s.Mount, "f7")); err == nil {
			t.Errorf("%s: the one between has what was written after it", source)
		}
	}
}

// Who looks adds no moment where nothing has changed, and the moments of a burst have the files of then.
func TestALookGivesMomentsOfABurstTheirSnapshot(t *testing.T) {
	w := timelinetest.New(t)
	for i := range 6 {
		w.Write(fmt.Sprint("f", i), "text")
		w.Edit(fmt.Sprint("edit ", i))
	}
	looked, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "files changed", Source: records.FromFiles})
	if err != nil || looked == nil {
		t.Fatal(looked, err) // those that wait had no snapshot yet
	}
	w.Edit("nothing changed")
	if again, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "files changed", Source: records.FromFiles}); err != nil || again != nil {
		t.Fatal(again, err)
	}
	for _, m := range w.Listed().Moments {
		if m.FsSnapshot == false {
			t.Errorf("%q has no snapshot: %s", m.Label, m.Reason)
		}
	}
	w.Write("f6", "text")
	w.Edit("edit 6")
	if got := w.Listed().Moments; got[len(got)-2].FsSnapshot != records.SnapshotID(looked.Snapshot) {
		t.Errorf("%q has %v, want s%d", got[len(got)-2].Label, got[len(got)-2].FsSnapshot, looked.Snapshot)
	}
}

// Each moment is the state at its time, also where several come close together.
func TestAMomentHasTheFilesOfItsTime(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	first := w.Edit("first")
	w.Write("a", "two")
	second := w.Edit("second")
	for m, want := range map[*records.Moment]string{first: "one", second: "two"} {
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Read(filepath.Join(s.Mount, "a")); got != want {
			t.Errorf("%s has %q, want %q", m.Label, got, want)
		}
	}
}

// Each moment has the change before it, of a file deep in directories that were there from the start.
func TestNoMomentMissesAChange(t *testing.T) {
	w := timelinetest.New(t)
	path := func(i int) string { return fmt.Sprintf("src/%d/deep/%d", i%5, i%7) }
	for i := range 35 {
		w.Write(path(i), "before")
	}
	before := w.Edit("before").ID()
	for i := range 20 {
		w.Write(path(i), fmt.Sprint(i))
		w.Pass(time.Second) // each moment has a snapshot of its own
		m := w.Edit("edit")
		d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: before, To: m.ID()})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Files) != 1 || d.Files[0].Path != path(i) {
			t.Fatalf("after a change of %s, %s has changes of %+v", path(i), m.ID(), d.Files)
		}
		before = m.ID()
	}
}

func TestNothingIsRecordedWithoutTheUsersDecision(t *testing.T) {
	w := timelinetest.New(t)
	other := filepath.Join(w.Top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := w.Record(t.Context(), other, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "does not have the grant workspace")
	w.Edit("x")
	if _, err := w.Grants.Deny(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), w.Dir, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "the user denied it")
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()})
	timelinetest.Wants(t, err, usererr.NotAllowed, "the user denied it")
	w.Workspaces.Sweep()
	if dirs := w.Workspaces.Dirs(); len(dirs) > 0 {
		t.Errorf("%q is still watched", dirs)
	}
	if entries, err := os.ReadDir(filepath.Join(w.Top, "workspaces")); err != nil || len(entries) != 1 {
		t.Errorf("stores of %v, %v", entries, err)
	}
}

// What .tidemark.toml or a decision leaves out is in no snapshot, from the next one on.
func TestExcludedFilesAreInNoSnapshot(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "a")
	w.Write("secrets/key", "key")
	w.Write("dist/out", "out")
	w.Edit("before")
	w.Write(".tidemark.toml", "[files]\nexclude = [\"dist/\"]\n")
	if _, err := w.Grants.Deny(t.Context(), filepath.Join(w.Dir, "secrets")); err != nil {
		t.Fatal(err)
	}
	m := w.Edit("after")
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Mount)
	if err != nil || len(entries) != 2 || entries[0].Name() != ".tidemark.toml" || entries[1].Name() != "a" {
		t.Errorf("the snapshot has %v, %v", entries, err)
	}
	w.Write(".tidemark.toml", "[files]\nexclude = 1\n")
	if m = w.Edit("broken"); m.Snapshot != 0 || !strings.Contains(m.Reason, "files.exclude must be a list") {
		t.Errorf("with a damaged settings file the moment has s%d, %q", m.Snapshot, m.Reason)
	}
}

// A settings file only narrows: what it includes again is neither what the user denied nor the repository, and it gives no grant.
func TestASettingsFileOnlyNarrows(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "a")
	w.Write("secrets/key", "key")
	w.Write(".git/config", "git")
	w.Write("packages/.tidemark.toml", "files.exclude = ['!**']\n")
	w.Write(".tidemark.toml", "[files]\nexclude = ['/a', '!/a', '!.git', '!/.git/**', '!secrets', '!/secrets/**', '!**/*']\n")
	if _, err := w.Grants.Deny(t.Context(), filepath.Join(w.Dir, "secrets")); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: w.Edit("first").ID()})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(s.Mount)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".tidemark.toml", "a", "packages"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the snapshot has %q instead of %q, %v", names, want, err)
	}
	for _, key := range []string{"grants.workspace = true", "allow = true", "grants = ['workspace', 'agents-restore']", "files.include = ['secrets']", "fence.command = 'true'"} {
		w.Write(".tidemark.toml", key+"\n")
		w.Pass(time.Second)
		if m := w.Edit(key); m.Snapshot != 0 || !strings.Contains(m.Reason, "unknown key") {
			t.Errorf("%s: s%d, %q", key, m.Snapshot, m.Reason)
		}
		if d, err := w.Grants.Lookup(w.Dir); err != nil || d.Has(grants.AgentsRestore) || d.Has(grants.Fence) {
			t.Errorf("%s gives a grant: %+v, %v", key, d, err)
		}
	}
	other := filepath.Join(w.Top, "other")
	if err := errors.Join(os.Mkdir(other, 0o755), os.WriteFile(filepath.Join(other, ".tidemark.toml"), []byte("files.exclude = []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), other, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "does not have the grant workspace")
}

// The system reports no change through a hard link from elsewhere. A moment that the user adds has it all the same, and so
// has a restore that met it.
func TestAMomentOfTheUserComparesAllFiles(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	outside := filepath.Join(w.Top, "outside")
	if err := os.Link(filepath.Join(w.Dir, "a"), outside); err != nil {
		t.Skip(err)
	}
	first := w.Edit("first")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(outside, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("another")
	m, err := w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "asked for"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Read(filepath.Join(s.Mount, "a")); got != "another" {
		t.Errorf("the moment has %q", got)
	}
	write("unseen again")
	back := operations.RestoreParams{Where: w.Here(), To: first.ID(), Confirm: true}
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, back); err != nil { // it noticed the change
		if _, err = w.Operations.Restore(t.Context(), timelinetest.User, back); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Read(filepath.Join(w.Dir, "a")); got != "one" {
		t.Errorf("the restored file has %q", got)
	}
}

func TestACallThatDoesNotWaitIsRecordedAllTheSame(t *testing.T) {
	w := timelinetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Record(ctx, w.Dir, records.Moment{Label: "in a hurry", Source: records.FromEdit}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		if a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()}); err == nil && len(a.Moments) > 0 && a.Moments[len(a.Moments)-1].Label == "in a hurry" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the moment was never recorded")
		}
		time.Sleep(5 * time.Millisecond) // another goroutine records it
	}
}

// A moment at an earlier time stands there, with the files of that time, in a session that has ended too.
func TestAMomentIsAddedAtAnEarlierTime(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Pass(time.Minute)
	w.Write("a", "two")
	w.Edit("second")
	w.Pass(time.Minute)
	m, err := w.Moment("it broke here", "", 70)
	if err != nil || m.TS != 70 || m.Kind != records.Manual || m.Source != records.FromUser {
		t.Fatalf("%+v, %v", m, err)
	}
	early, err := w.Moment("before it", "", 30)
	if err != nil {
		t.Fatal(err)
	}
	w.Restart()
	var labels []string
	for _, m := range w.Listed().Moments {
		labels = append(labels, m.Label)
	}
	if want := []string{"session started", "first", "before it", "second", "it broke here"}; !slices.Equal(labels, want) {
		t.Errorf("the moments are %q, want %q", labels, want)
	}
	for id, want := range map[string]string{m.ID: "two", early.ID: "one", "100": "two", "31": "one"} {
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: id})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Read(filepath.Join(s.Mount, "a")); got != want {
			t.Errorf("%s has %q, want %q", id, got, want)
		}
	}
	page, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), After: early.ID, Limit: 1})
	if err != nil || len(page.Moments) != 1 || page.Moments[0].Label != "second" {
		t.Errorf("after %s: %+v, %v", early.ID, page, err)
	}
	_, err = w.Moment("x", "", 1e6)
	timelinetest.Wants(t, err, usererr.InvalidArgument, "has lasted 12")
	_, err = w.Moment("x", "", -1)
	timelinetest.Wants(t, err, usererr.InvalidArgument, "ts is -1")
	if _, err := w.EndSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	if m, err = w.Moment("after all", "", 71); err != nil || m.FsSnapshot == false {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: moments.Where{Session: m.SessionID}, Label: "now"})
	timelinetest.Wants(t, err, usererr.SessionEnded, "has ended")
}

// A full disk: the moment says why it has no snapshot, earlier ones stay, and later ones have snapshots again.
func TestAFullDiskIsTheReasonOfAMoment(t *testing.T) {
	w := timelinetest.OnSmallDisk(t)
	w.Write("a", "one")
	first := w.Edit("first")
	if first.Snapshot == 0 {
		t.Fatal(first.Reason)
	}
	w.WriteLarge("large", 20)
	full := w.Edit("full")
	if full.Snapshot != 0 || !strings.Contains(full.Reason, "no space left") {
		t.Errorf("it has the snapshot %d and the reason %q", full.Snapshot, full.Reason)
	}
	listed := w.Listed().Moments
	if m := listed[len(listed)-1]; m.FsSnapshot != false || m.Reason != full.Reason {
		t.Errorf("%+v", m)
	}
	w.Restart()
	if err := os.Remove(filepath.Join(w.Dir, "large")); err != nil {
		t.Fatal(err)
	}
	w.Write("a", "two")
	if _, err := w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Second)
	last := w.Edit("last")
	if last.Snapshot == 0 {
		t.Fatal(last.Reason)
	}
	if a, b := w.Sought(first.ID(), "a"), w.Sought(last.ID(), "a"); a != "one" || b != "two" {
		t.Errorf("the first moment has %q, the last one %q", a, b)
	}
	w.CheckClean()
}

// What could not be read is named by the moment, in the list, and where it is sought.
func TestAnUncertainPathIsNamed(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	at, err := os.OpenRoot(w.Dir)
	for range 30 { // a path that is too long to be listed, also for root
		if err == nil {
			err = at.Mkdir(strings.Repeat("d", 200), 0o755)
		}
		if err == nil {
			next, opened := at.OpenRoot(strings.Repeat("d", 200))
			err = errors.Join(opened, at.Close())
			at = next
		}
	}
	if err != nil {
		t.Skip(err)
	}
	_ = at.Close()
	defer func() { // Wine removes only a shorter path
		_ = os.Rename(filepath.Join(w.Dir, strings.Repeat(strings.Repeat("d", 200)+"/", 15)), filepath.Join(w.Top, "half"))
	}()
	m := w.Edit("deep")
	if m.Snapshot == 0 || !strings.Contains(m.Notes, "one path is not certain: …ddd") || len(m.Notes) > 400 {
		t.Fatalf("%+v", m)
	}
	listed := w.Listed().Moments
	if got := listed[len(listed)-1]; got.Notes != m.Notes {
		t.Errorf("%+v", got)
	}
	if runtime.GOOS == "windows" {
		t.Skip("Wine neither writes nor removes a path of this length in a view")
	}
	if got := w.Sought(m.ID(), "a"); got != "one" {
		t.Errorf("the other file has %q", got)
	}
}

// "Provider Degraded: Fall back per provider preference, with explicit event logged to the session timeline."
func TestAProviderThatIsDegradedIsOnTheTimeline(t *testing.T) {
	w := timelinetest.New(t)
	home := filepath.Join(w.Top, "workspaces", workspace.ID(w.Dir))
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "cookies"), nil, 0o600); err != nil { // so that nothing can be watched
		t.Fatal(err)
	}
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	w.Edit("second")
	a := w.Listed()
	if n := len(a.Moments); n != 4 && runtime.GOOS == "linux" {
		t.Fatalf("%+v", a.Moments)
	}
	for _, m := range a.Moments {
		if m.FsSnapshot == false {
			t.Errorf("%+v has no snapshot", m)
		}
		if m.Source == records.FromProvider && (m.ID != "m2" || m.Kind != records.Auto || !strings.Contains(m.Label, "each snapshot compares all files: ")) {
			t.Errorf("%+v", m)
		}
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: a.Moments[len(a.Moments)-1].ID})
	if err != nil || w.Read(filepath.Join(s.Mount, "a")) != "two" {
		t.Errorf("%+v, %v", s, err)
	}
}

// A directory below a workspace with a decision of its own is a workspace of its own: neither has the other's files.
func TestNestedWorkspacesHaveSessionsOfTheirOwn(t *testing.T) {
	w := timelinetest.New(t)
	inner := filepath.Join(w.Dir, "packages", "cart")
	w.Write("a", "outer")
	w.Write("packages/cart/b", "inner")
	w.Edit("outer")
	w.Allow(inner)
	m, err := w.Record(t.Context(), filepath.Join(inner), records.Moment{Label: "inner", Source: records.FromEdit})
	if err != nil || m.Session == w.Listed().ID {
		t.Fatal(m, err)
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: moments.Where{Session: m.Session}, To: m.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.Mount); err != nil || len(entries) != 1 || entries[0].Name() != "b" {
		t.Errorf("the inner workspace has %v, %v", entries, err)
	}
	// An agent of the outer one reaches the inner one, which is below it; an agent beside them reaches neither.
	outer := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.Dir}}
	if _, err := w.List(t.Context(), outer, timeline.ListParams{Where: moments.Where{Session: m.Session}}); err != nil {
		t.Error(err)
	}
	_, err = w.List(t.Context(), &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: filepath.Join(w.Top, "other")}}, timeline.ListParams{Where: moments.Where{Session: m.Session}})
	timelinetest.Wants(t, err, usererr.NotAllowed, "is not of this client's workspace")
}
