package timeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

func (w *world) add(label, kind string, ts ...float64) (*timeline.Added, error) {
	p := timeline.AddParams{Where: w.here(), Label: label, Kind: kind}
	if len(ts) > 0 {
		p.TS = &ts[0]
	}
	return w.Add(w.t.Context(), user, p)
}

// A moment at an earlier time stands there, with the files of that time, in a session that has ended too.
func TestAMomentIsAddedAtAnEarlierTime(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.pass(time.Minute)
	w.write("a", "two")
	w.record("second")
	w.pass(time.Minute)
	m, err := w.add("it broke here", "", 70)
	if err != nil || m.TS != 70 || m.Kind != records.Manual || m.Source != records.FromUser {
		t.Fatalf("%+v, %v", m, err)
	}
	early, err := w.add("before it", "", 30)
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	var labels []string
	for _, m := range w.list().Moments {
		labels = append(labels, m.Label)
	}
	if want := []string{"session started", "first", "before it", "second", "it broke here"}; !slices.Equal(labels, want) {
		t.Errorf("the moments are %q, want %q", labels, want)
	}
	for id, want := range map[string]string{m.ID: "two", early.ID: "one", "100": "two", "31": "one"} {
		s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: id})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.read(filepath.Join(s.Mount, "a")); got != want {
			t.Errorf("%s has %q, want %q", id, got, want)
		}
	}
	page, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), After: early.ID, Limit: 1})
	if err != nil || len(page.Moments) != 1 || page.Moments[0].Label != "second" {
		t.Errorf("after %s: %+v, %v", early.ID, page, err)
	}
	_, err = w.add("x", "", 1e6)
	wants(t, err, usererr.InvalidArgument, "has lasted 12")
	_, err = w.add("x", "", -1)
	wants(t, err, usererr.InvalidArgument, "ts is -1")
	if _, err := w.EndSession(t.Context(), user, timeline.SessionParams{Where: w.here()}); err != nil {
		t.Fatal(err)
	}
	if m, err = w.add("after all", "", 71); err != nil || m.FsSnapshot == false {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = w.Add(t.Context(), user, timeline.AddParams{Where: timeline.Where{Session: m.SessionID}, Label: "now"})
	wants(t, err, usererr.NotFound, "has ended")
}

func TestAMilestoneIsAnAutomaticMoment(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	for _, kind := range records.Milestones() {
		m, err := w.add("", kind)
		if err != nil || m.Kind != records.Auto || m.Source != kind || m.Label == "" {
			t.Errorf("%s: %+v, %v", kind, m, err)
		}
	}
	a, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), Kinds: []string{records.FromTestsPassed}})
	if err != nil || len(a.Moments) != 1 || a.Moments[0].Label != "tests passed" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = w.add("x", "lunch")
	wants(t, err, usererr.InvalidArgument, "it must be manual or provisioned")
	_, err = w.add("", "")
	wants(t, err, usererr.InvalidArgument, "label is empty")
}

// "Snapshot Creation Fails: Create a SessionMoment with fsSnapshot=false and reason; continue session recording; allow
// manual retry."
func TestASnapshotThatFailsLeavesAMomentAndCanBeRetried(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.write(".tidemark.toml", "[files]\nexclude = 1\n")
	_, err := timeline.Requests{Timeline: w.Timeline}.AddSnapshot(t.Context(), user, timeline.AddParams{Where: w.here()})
	wants(t, err, usererr.Internal, "files.exclude must be a list")
	wants(t, err, usererr.Internal, "The moment m3 was added without one. To try again, repeat the command.")
	if m, err := w.Timeline.Add(t.Context(), user, timeline.AddParams{Where: w.here(), Label: "without"}); err != nil || m.FsSnapshot != false || !strings.Contains(m.Reason, "files.exclude must be a list") {
		t.Errorf("%+v, %v", m, err)
	}
	if a := w.list(); len(a.Moments) != 4 || a.Problem != "" || a.Moments[2].FsSnapshot != false || a.Moments[2].Reason == "" {
		t.Errorf("%+v", a.Moments)
	}
	w.write(".tidemark.toml", "")
	s, err := timeline.Requests{Timeline: w.Timeline}.AddSnapshot(t.Context(), user, timeline.AddParams{Where: w.here(), Label: "again"})
	if err != nil || s.ID == "" || s.Label != "again" || s.Snapshot.ID == "" {
		t.Errorf("%+v, %v", s, err)
	}
	all, err := timeline.Requests{Timeline: w.Timeline}.FsSnapshots(t.Context(), user, timeline.SessionParams{Where: w.here()})
	if err != nil || len(all.FsSnapshots) != 2 || all.FsSnapshots[1].KeptFor != s.Moment+", again" || !slices.Equal(all.FsSnapshots[0].Moments, []string{"m1", "m2"}) {
		t.Errorf("%+v, %v", all, err)
	}
}

// "Seek Failure: Report provider error and suggest nearest valid FsSnapshot."
func TestASeekThatFailsNamesTheNearestSnapshot(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.write("a", "two")
	w.record("second")
	for to, part := range map[string]string{"s99": "the nearest one is s2", "m99": "there is no moment m99", "2001-01-01T00:00:00Z": "the nearest one is s1"} {
		_, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: to})
		wants(t, err, usererr.NotFound, part)
	}
	if err := os.WriteFile(filepath.Join(w.top, "workspaces", workspace.ID(w.dir), "views"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: "s2"})
	wants(t, err, usererr.Internal, "cannot make a view of s2")
	wants(t, err, usererr.Internal, "the nearest one is s1")
}

// Every named checkpoint is a moment with its name, also when it is renamed, or imported with an earlier time.
func TestEveryCheckpointIsAMoment(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	moments := timeline.Moments{Timeline: w.Timeline}
	client := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.dir}}
	at := w.now()
	moments.Checkpoint(t.Context(), client, "before", at)
	moments.Renamed("before", "session_begin", at)
	w.pass(time.Minute)
	w.write("a", "two")
	moments.Checkpoint(t.Context(), client, "imported", w.now().Add(-30*time.Second))
	moments.Checkpoint(t.Context(), client, "latest", w.now())
	w.restart()
	var labels []string
	for _, m := range w.list().Moments {
		if m.Source == records.FromCheckpoint {
			labels = append(labels, m.Label)
		}
	}
	if want := []string{"session_begin", "imported", "latest"}; !slices.Equal(labels, want) {
		t.Errorf("checkpoints %q, want %q", labels, want)
	}
	for name, want := range map[string]string{"session_begin": "one", "imported": "one", "latest": "two"} {
		s, err := w.Seek(t.Context(), client, timeline.SeekParams{To: name})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := w.read(filepath.Join(s.Mount, "a")); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	_, err := w.Seek(t.Context(), client, timeline.SeekParams{To: "before"})
	wants(t, err, usererr.NotFound, "is not a moment")
}

func TestTheTimeOfAMoment(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	m := w.record("first")
	moments := timeline.Moments{Timeline: w.Timeline}
	session := w.list().ID
	agent := checkpoint.Scope{Workspace: w.dir}
	for _, id := range []string{m.ID(), m.ID() + "@" + session} {
		for _, scope := range []checkpoint.Scope{agent, {}} {
			if at, ok, err := moments.When(scope, id); !ok || err != nil || at.UnixNano() != max(m.At.UnixNano(), m.SnapshotAt) {
				t.Errorf("%s is at %v, %v, %v", id, at, ok, err)
			}
		}
	}
	if at, ok, err := moments.When(agent, "s1"); !ok || err != nil || at.UnixNano() != m.SnapshotAt {
		t.Errorf("s1 is at %v, %v, %v", at, ok, err)
	}
	printed := []string{m.At.Local().Format(time.TimeOnly), m.At.Local().Format(time.DateTime), "+0:00:00"}
	for _, text := range printed {
		if at, ok, err := moments.When(agent, text); !ok || err != nil || m.At.Sub(at).Abs() > time.Second || at.After(m.At) && text != "+0:00:00" {
			t.Errorf("%s is %v, %v, %v; the moment is of %v", text, at, ok, err, m.At)
		}
	}
	for _, name := range []string{"before", "start", "m", "m0", "mx", "12"} {
		if _, ok, err := moments.When(agent, name); ok || err != nil {
			t.Errorf("%q is the ID of a moment, %v", name, err)
		}
	}
	_, _, err := moments.When(agent, "m99")
	wants(t, err, usererr.NotFound, "there is no moment m99")
	other := filepath.Join(w.top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.allow(other)
	if _, err := w.Record(t.Context(), other, timeline.Moment{Label: "x"}); err != nil {
		t.Fatal(err)
	}
	_, _, err = moments.When(checkpoint.Scope{}, m.ID())
	wants(t, err, usererr.Ambiguous, "exists in several workspaces")
	_, _, err = moments.When(checkpoint.Scope{Workspace: other}, m.ID()+"@"+session)
	wants(t, err, usererr.NotAllowed, "is not of this client's workspace")
}

// A moment that names its session is accepted from anywhere, and refused with the reason where it makes no sense.
func TestAMomentWithItsSessionIsAcceptedWhereverAMomentIs(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	first := w.record("first")
	w.write("a", "two")
	second := w.record("second")
	session := w.list().ID
	other := filepath.Join(w.top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.allow(other)
	if _, err := w.Record(t.Context(), other, timeline.Moment{Label: "x"}); err != nil {
		t.Fatal(err)
	}
	there := timeline.Where{Dir: other}
	from, to := first.ID()+"@"+session, second.ID()+"@"+session
	for _, where := range []timeline.Where{w.here(), there, {Session: session}} {
		s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: where, To: from})
		if err != nil || w.read(filepath.Join(s.Mount, "a")) != "one" {
			t.Errorf("%+v: %+v, %v", where, s, err)
		}
		d, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: where, From: from, To: to})
		if err != nil || len(d.Files) != 1 || d.From.Moment != first.ID() {
			t.Errorf("%+v: %+v, %v", where, d, err)
		}
		l, err := w.List(t.Context(), user, timeline.ListParams{Where: where, After: from})
		if err != nil || len(l.Moments) != 1 || l.Moments[0].ID != second.ID() {
			t.Errorf("%+v: %+v, %v", where, l, err)
		}
	}
	if plan, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: w.here(), To: from}); err != nil || len(plan.Steps) != 1 {
		t.Errorf("%+v, %v", plan, err)
	}
	_, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: there, To: from})
	wants(t, err, usererr.InvalidArgument, "session "+session+" is of "+w.dir+", and this call is about "+other)
	_, err = w.Seek(t.Context(), user, timeline.SeekParams{Where: there, To: "m1@nobody-1"})
	wants(t, err, usererr.NotFound, `there is no session "nobody-1"`)
	otherSession, err := w.Session(t.Context(), user, timeline.SessionParams{Where: there})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Diff(t.Context(), user, timeline.DiffParams{Where: there, From: from, To: "m1@" + otherSession.ID})
	wants(t, err, usererr.InvalidArgument, "Name moments of one workspace")
}

// What a list is limited by exists, and snapshots and checkpoints limit it too.
func TestAListIsNotLimitedByWhatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.write("a", "two")
	m, err := w.Record(t.Context(), w.dir, timeline.Moment{Label: "before", Source: records.FromCheckpoint})
	if err != nil {
		t.Fatal(err)
	}
	w.write("a", "three")
	w.record("third")
	for _, after := range []string{m.ID(), fmt.Sprint("s", m.Snapshot), "before"} {
		if l, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), After: after}); err != nil || len(l.Moments) != 1 || l.Moments[0].Label != "third" {
			t.Errorf("after %s: %+v, %v", after, l, err)
		}
	}
	for _, p := range []timeline.ListParams{{After: "m999"}, {Before: "m999"}} {
		p.Where = w.here()
		_, err := w.List(t.Context(), user, p)
		wants(t, err, usererr.NotFound, "there is no moment m999")
	}
	_, err = w.List(t.Context(), user, timeline.ListParams{Where: w.here(), Kinds: []string{"bogus"}})
	wants(t, err, usererr.InvalidArgument, `there is no kind "bogus"`)
}

// Events are complete and in order, also for a client that returns.
func TestAFeedHasEveryMomentSnapshotAndBranch(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("before")
	feed, err := timeline.NewFeed(w.Timeline, user, w.here(), "")
	if err != nil {
		t.Fatal(err)
	}
	next := func(f *timeline.Feed) (names []string, last string) {
		t.Helper()
		events, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch d := e.Data.(type) {
			case timeline.ListMoment:
				names = append(names, e.Name+" "+d.Label)
			case timeline.ListSnapshot:
				names = append(names, e.Name+" "+d.ID)
			case timeline.About:
				names = append(names, e.Name+" "+d.Name+" of "+d.BranchOf.Session)
			}
			last = e.ID
		}
		return names, last
	}
	if names, _ := next(feed); len(names) > 0 {
		t.Errorf("before anything happened: %q", names)
	}
	changed := feed.Changed()
	w.write("a", "two")
	w.record("edit")
	<-changed
	session := w.list().ID
	if names, _ := next(feed); !slices.Equal(names, []string{"timeline.sessionMoment edit", "timeline.fsSnapshot.created s2"}) {
		t.Errorf("%q", names)
	}
	// A client that is slow to read gets the same.
	w.write("a", "three")
	w.record("slowly")
	w.record("nothing changed yet")
	if names, _ := next(feed); !slices.Equal(names, []string{"timeline.sessionMoment slowly", "timeline.fsSnapshot.created s3", "timeline.sessionMoment nothing changed yet"}) {
		t.Errorf("%q", names)
	}
	w.record("nothing changed")
	if _, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: "s1", Name: "other"}); err != nil {
		t.Fatal(err)
	}
	names, last := next(feed)
	if !slices.Equal(names, []string{"timeline.sessionMoment nothing changed", "timeline.sessionBranch.created other of " + session}) {
		t.Errorf("%q", names)
	}
	w.restart()
	again, err := timeline.NewFeed(w.Timeline, user, w.here(), last)
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := next(again); len(names) > 0 {
		t.Errorf("once more: %q", names)
	}
	all, err := timeline.NewFeed(w.Timeline, user, timeline.Where{Session: session}, "0.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := next(all); len(names) != 6+3+1 {
		t.Errorf("from the start: %q", names)
	}
	_, err = timeline.NewFeed(w.Timeline, user, w.here(), "m1")
	wants(t, err, usererr.InvalidArgument, "is not the ID of an event")
}

// A moment of a burst comes twice: at once, and with its snapshot.
func TestAFeedRepeatsAMomentWhoseSnapshotFollows(t *testing.T) {
	w := newWorld(t)
	w.write("a", "0")
	w.record("session")
	feed, err := timeline.NewFeed(w.Timeline, user, w.here(), "")
	if err != nil {
		t.Fatal(err)
	}
	const n = 12
	for i := range n {
		w.write("a", "edit"+string(rune('a'+i)))
		w.record("edit")
	}
	seen := map[string][]any{}
	snapshots := map[any]bool{}
	settled := func() bool {
		for _, states := range seen {
			if states[len(states)-1] == false {
				return false
			}
		}
		return len(seen) == n
	}
	for deadline := time.After(time.Minute); !settled(); {
		changed := feed.Changed()
		events, err := feed.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch d := e.Data.(type) {
			case timeline.ListMoment:
				seen[d.ID] = append(seen[d.ID], d.FsSnapshot)
			case timeline.ListSnapshot:
				snapshots[d.ID] = true
			}
		}
		if settled() {
			break
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%v", seen)
		}
	}
	for id, states := range seen {
		if len(states) > 2 || len(states) == 2 && states[0] != false || !snapshots[states[len(states)-1]] {
			t.Errorf("%s was sent with %v", id, states)
		}
	}
}

// "Provider Degraded: Fall back per provider preference, with explicit event logged to the session timeline."
func TestAProviderThatIsDegradedIsOnTheTimeline(t *testing.T) {
	w := newWorld(t)
	home := filepath.Join(w.top, "workspaces", workspace.ID(w.dir))
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "cookies"), nil, 0o600); err != nil { // so that nothing can be watched
		t.Fatal(err)
	}
	w.write("a", "one")
	w.record("first")
	w.write("a", "two")
	w.record("second")
	a := w.list()
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
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: a.Moments[len(a.Moments)-1].ID})
	if err != nil || w.read(filepath.Join(s.Mount, "a")) != "two" {
		t.Errorf("%+v, %v", s, err)
	}
}
