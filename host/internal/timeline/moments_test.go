package timeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

func TestAMilestoneIsAnAutomaticMoment(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	for _, kind := range records.Milestones() {
		m, err := w.Moment("", kind)
		if err != nil || m.Kind != records.Auto || m.Source != kind || m.Label == "" {
			t.Errorf("%s: %+v, %v", kind, m, err)
		}
	}
	a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), Kinds: []string{records.FromTestsPassed}})
	if err != nil || len(a.Moments) != 1 || a.Moments[0].Label != "tests passed" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = w.Moment("x", "lunch")
	timelinetest.Wants(t, err, usererr.InvalidArgument, "it must be manual or provisioned")
	_, err = w.Moment("", "")
	timelinetest.Wants(t, err, usererr.InvalidArgument, "label is empty")
}

// "Snapshot Creation Fails: Create a SessionMoment with fsSnapshot=false and reason; continue session recording; allow
// manual retry."
func TestASnapshotThatFailsLeavesAMomentAndCanBeRetried(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write(".tidemark.toml", "[files]\nexclude = 1\n")
	_, err := timeline.Requests{Timeline: w.Timeline}.AddSnapshot(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here()})
	timelinetest.Wants(t, err, usererr.Internal, "files.exclude must be a list")
	timelinetest.Wants(t, err, usererr.Internal, "The moment m3 was added without one. To try again, repeat the command.")
	if m, err := w.Timeline.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "without"}); err != nil || m.FsSnapshot != false || !strings.Contains(m.Reason, "files.exclude must be a list") {
		t.Errorf("%+v, %v", m, err)
	}
	if a := w.Listed(); len(a.Moments) != 4 || a.Problem != "" || a.Moments[2].FsSnapshot != false || a.Moments[2].Reason == "" {
		t.Errorf("%+v", a.Moments)
	}
	w.Write(".tidemark.toml", "")
	s, err := timeline.Requests{Timeline: w.Timeline}.AddSnapshot(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "again"})
	if err != nil || s.ID == "" || s.Label != "again" || s.Snapshot.ID == "" {
		t.Errorf("%+v, %v", s, err)
	}
	all, err := timeline.Requests{Timeline: w.Timeline}.FsSnapshots(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
	if err != nil || len(all.FsSnapshots) != 2 || all.FsSnapshots[1].KeptFor != s.Moment+", again" || !slices.Equal(all.FsSnapshots[0].Moments, []string{"m1", "m2"}) {
		t.Errorf("%+v, %v", all, err)
	}
}

// A snapshot of an unchanged workspace is the one before, with its label. The answer says so, and where the given label is.
func TestASnapshotOfAnUnchangedWorkspaceSaysWhichItIs(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	add := func(label string) *answers.AddedSnapshot {
		s, err := timeline.Requests{Timeline: w.Timeline}.AddSnapshot(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: label})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w.Edit("first")
	w.Write("a", "two")
	if s := add("own"); s.Label != "own" || s.Note != "" {
		t.Errorf("of changed files: %+v", s)
	}
	if s := add("again"); s.ID != "s2" || s.Label != "own" || s.Note != `No file has changed since s2, whose label is "own". The label "again" is that of the moment `+s.Moment+"." {
		t.Errorf("of unchanged files: %+v", s)
	}
	if s := add("own"); s.Note != "" {
		t.Errorf("with the same label: %+v", s)
	}
}

// "Seek Failure: Report provider error and suggest nearest valid FsSnapshot."
func TestASeekThatFailsNamesTheNearestSnapshot(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	w.Edit("second")
	for to, part := range map[string]string{"s99": "the nearest one is s2", "m99": "there is no moment m99. List the moments", "2001-01-01T00:00:00Z": "Its first moment with a snapshot is m1 (s1)"} {
		_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: to})
		timelinetest.Wants(t, err, usererr.NotFound, part)
	}
	if err := os.WriteFile(filepath.Join(w.Top, "workspaces", workspace.ID(w.Dir), "views"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: "s2"})
	timelinetest.Wants(t, err, usererr.Internal, "cannot make a view of s2")
	timelinetest.Wants(t, err, usererr.Internal, "The nearest one is s1")
}

// Every named checkpoint is a moment with its name, also when it is renamed, or imported with an earlier time.
func TestEveryCheckpointIsAMoment(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	moments := timeline.Moments{Timeline: w.Timeline}
	client := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.Dir}}
	at := w.Now()
	moments.Checkpoint(t.Context(), client, "before", at)
	moments.Renamed("before", "session_begin", at)
	recorded(t, w, "session_begin")
	w.Pass(time.Minute)
	w.Write("a", "two")
	moments.Checkpoint(t.Context(), client, "imported", w.Now().Add(-30*time.Second))
	moments.Checkpoint(t.Context(), client, "latest", w.Now())
	recorded(t, w, "latest")
	w.Restart()
	var labels []string
	for _, m := range w.Listed().Moments {
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
		if got := w.Read(filepath.Join(s.Mount, "a")); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	_, err := w.Seek(t.Context(), client, timeline.SeekParams{To: "before"})
	timelinetest.Wants(t, err, usererr.NotFound, "is not a moment")
}

// TestACheckpointIsRenamedWhileItsMomentIsRecorded: a snapshot may take longer than the agent waits for it.
func TestACheckpointIsRenamedWhileItsMomentIsRecorded(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	moments := timeline.Moments{Timeline: w.Timeline}
	client := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.Dir}}
	at := w.Now()
	gone, leave := context.WithCancel(t.Context())
	leave()
	moments.Checkpoint(gone, client, "before", at)
	moments.Renamed("before", "after", at)
	recorded(t, w, "after")
}

// TestACheckpointIsRenamedWhileASnapshotThatItSharesIsTaken: after a burst, moments wait for one snapshot.
func TestACheckpointIsRenamedWhileASnapshotThatItSharesIsTaken(t *testing.T) {
	w := timelinetest.New(t)
	for i := range 6 {
		w.Write("a", fmt.Sprint("burst ", i))
		w.Edit(fmt.Sprint("burst ", i))
	}
	moments := timeline.Moments{Timeline: w.Timeline}
	at := w.Now()
	moments.Checkpoint(t.Context(), &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.Dir}}, "name_0", at)
	for n, deadline := 0, time.Now().Add(20*time.Second); ; n++ {
		name := fmt.Sprint("name_", n)
		list := w.Listed().Moments
		if last := list[len(list)-1]; last.Label != name {
			t.Fatalf("the moment is %+v, want %s", last, name)
		} else if last.FsSnapshot != false {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no snapshot was taken")
		}
		moments.Renamed(name, fmt.Sprint("name_", n+1), at)
	}
}

// recorded waits until the moment of a checkpoint is recorded with its snapshot: an agent waits for that only for a short time.
func recorded(t *testing.T, w *timelinetest.World, name string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list := w.Listed().Moments
		last := list[len(list)-1]
		if last.Source == records.FromCheckpoint && last.Label == name && last.FsSnapshot != false {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the moment of the checkpoint: %+v", last)
		}
	}
}

func TestTheTimeOfAMoment(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	moments := timeline.Moments{Timeline: w.Timeline}
	session := w.Listed().ID
	agent, user := &checkpoint.Client{Scope: checkpoint.Scope{Workspace: w.Dir}}, &checkpoint.Client{User: true}
	for _, id := range []string{m.ID(), m.ID() + "@" + session} {
		for _, client := range []*checkpoint.Client{agent, user} {
			if at, ok, err := moments.When(client, id); !ok || err != nil || at.UnixNano() != max(m.At.UnixNano(), m.SnapshotAt) {
				t.Errorf("%s is at %v, %v, %v", id, at, ok, err)
			}
		}
	}
	if at, ok, err := moments.When(agent, "s1"); !ok || err != nil || at.UnixNano() != m.SnapshotAt {
		t.Errorf("s1 is at %v, %v, %v", at, ok, err)
	}
	printed := []string{m.At.Local().Format(time.TimeOnly), m.At.Local().Format(time.DateTime), "+0:00:00"}
	for _, text := range printed {
		for _, text := range []string{text, text + "@" + session} {
			if at, ok, err := moments.When(agent, text); !ok || err != nil || m.At.Sub(at).Abs() > time.Second || at.After(m.At) && !strings.HasPrefix(text, "+0:00:00") {
				t.Errorf("%s is %v, %v, %v; the moment is of %v", text, at, ok, err, m.At)
			}
		}
	}
	for _, name := range []string{"before", "start", "m", "m0", "mx", "12"} {
		if _, ok, err := moments.When(agent, name); ok || err != nil {
			t.Errorf("%q is the ID of a moment, %v", name, err)
		}
	}
	_, _, err := moments.When(agent, "m99")
	timelinetest.Wants(t, err, usererr.NotFound, "there is no moment m99")
	other := filepath.Join(w.Top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Allow(other)
	if _, err := w.Record(t.Context(), other, records.Moment{Label: "x"}); err != nil {
		t.Fatal(err)
	}
	_, _, err = moments.When(user, m.ID())
	timelinetest.Wants(t, err, usererr.Ambiguous, m.ID()+" exists in several workspaces")
	for _, named := range regexp.MustCompile(m.ID()+`@[\w-]+`).FindAllString(err.Error(), -1) {
		if _, ok, err := moments.When(user, named); !ok || err != nil {
			t.Errorf("the error recommends %s: %v, %v", named, ok, err)
		}
	}
	w.Write("a", "more")
	only := w.Edit("only here")
	if at, ok, err := moments.When(user, only.ID()); !ok || err != nil || at.Before(only.At) {
		t.Errorf("%s exists in one workspace: %v, %v, %v", only.ID(), at, ok, err)
	}
	if in := moments.Workspace(user, records.SnapshotID(only.Snapshot)); in != w.Dir {
		t.Errorf("its snapshot is in %q", in)
	}
	_, _, err = moments.When(user, "m99")
	timelinetest.Wants(t, err, usererr.NotFound, "there is no moment m99")
	_, _, err = moments.When(&checkpoint.Client{Scope: checkpoint.Scope{Workspace: other}}, m.ID()+"@"+session)
	timelinetest.Wants(t, err, usererr.NotAllowed, "is not of this client's workspace")
	for _, id := range []string{m.ID(), "m99", m.ID() + "@none", m.ID() + "@" + session, "+0:00:00"} {
		_, ok, err := moments.When(&checkpoint.Client{}, id)
		if timelinetest.Wants(t, err, usererr.InvalidArgument, "this client has no workspace"); !ok {
			t.Errorf("%s is no ID of a moment", id)
		}
	}
}

// What a list is limited by exists, and snapshots and checkpoints limit it too.
func TestAListIsNotLimitedByWhatDoesNotExist(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	m, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "before", Source: records.FromCheckpoint})
	if err != nil {
		t.Fatal(err)
	}
	w.Write("a", "three")
	w.Edit("third")
	for _, after := range []string{m.ID(), fmt.Sprint("s", m.Snapshot), "before"} {
		if l, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), After: after}); err != nil || len(l.Moments) != 1 || l.Moments[0].Label != "third" {
			t.Errorf("after %s: %+v, %v", after, l, err)
		}
	}
	for _, p := range []timeline.ListParams{{After: "m999"}, {Before: "m999"}} {
		p.Where = w.Here()
		_, err := w.List(t.Context(), timelinetest.User, p)
		timelinetest.Wants(t, err, usererr.NotFound, "there is no moment m999")
	}
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), Kinds: []string{"bogus"}})
	timelinetest.Wants(t, err, usererr.InvalidArgument, `there is no kind "bogus"`)
}

// Events are complete and in order, also for a client that returns.
func TestAFeedHasEveryMomentSnapshotAndBranch(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("before")
	feed, err := timeline.NewFeed(w.Timeline, timelinetest.User, w.Here(), "")
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
			case answers.ListMoment:
				names = append(names, e.Name+" "+d.Label)
			case answers.ListSnapshot:
				names = append(names, e.Name+" "+d.ID)
			case answers.About:
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
	w.Write("a", "two")
	w.Edit("edit")
	<-changed
	session := w.Listed().ID
	if names, _ := next(feed); !slices.Equal(names, []string{"timeline.sessionMoment edit", "timeline.fsSnapshot.created s2"}) {
		t.Errorf("%q", names)
	}
	// A client that is slow to read gets the same.
	w.Write("a", "three")
	w.Edit("slowly")
	w.Edit("nothing changed yet")
	if names, _ := next(feed); !slices.Equal(names, []string{"timeline.sessionMoment slowly", "timeline.fsSnapshot.created s3", "timeline.sessionMoment nothing changed yet"}) {
		t.Errorf("%q", names)
	}
	w.Edit("nothing changed")
	if _, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: "s1", Name: "other"}); err != nil {
		t.Fatal(err)
	}
	names, last := next(feed)
	if !slices.Equal(names, []string{"timeline.sessionMoment nothing changed", "timeline.sessionBranch.created other of " + session}) {
		t.Errorf("%q", names)
	}
	w.Restart()
	again, err := timeline.NewFeed(w.Timeline, timelinetest.User, w.Here(), last)
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := next(again); len(names) > 0 {
		t.Errorf("once more: %q", names)
	}
	all, err := timeline.NewFeed(w.Timeline, timelinetest.User, moments.Where{Session: session}, "0.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := next(all); len(names) != 6+3+1 {
		t.Errorf("from the start: %q", names)
	}
	_, err = timeline.NewFeed(w.Timeline, timelinetest.User, w.Here(), "m1")
	timelinetest.Wants(t, err, usererr.InvalidArgument, "is not the ID of an event")
}

// A moment of a burst comes twice: at once, and with its snapshot.
func TestAFeedRepeatsAMomentWhoseSnapshotFollows(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "0")
	w.Edit("session")
	feed, err := timeline.NewFeed(w.Timeline, timelinetest.User, w.Here(), "")
	if err != nil {
		t.Fatal(err)
	}
	const n = 12
	for i := range n {
		w.Write("a", "edit"+string(rune('a'+i)))
		w.Edit("edit")
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
			case answers.ListMoment:
				seen[d.ID] = append(seen[d.ID], d.FsSnapshot)
			case answers.ListSnapshot:
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

// What changed up to a moment is the same in every list that has it.
func TestAListedMomentHasOnlyItsOwnChanges(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	w.Write("b", "two")
	second := w.Edit("second")
	stop := w.Edit("stopped")
	for _, p := range []timeline.ListParams{{}, {Limit: 2}, {Limit: 1}, {After: second.ID()}, {After: "m1"}} {
		p.Where = w.Here()
		a, err := w.List(t.Context(), timelinetest.User, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range a.Moments {
			if m.ID == stop.ID() && m.Changed != 0 || m.ID == second.ID() && m.Changed != 2 {
				t.Errorf("%+v: %s changed %d files", p, m.ID, m.Changed)
			}
		}
	}
}
