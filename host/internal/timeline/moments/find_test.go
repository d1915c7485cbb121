package moments_test

import (
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

func TestAnAgentReachesOnlyItsWorkspace(t *testing.T) {
	w := timelinetest.New(t)
	other := filepath.Join(w.Top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Allow(other)
	w.Write("a", "one")
	m := w.Edit("first")
	session := w.Listed().ID
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: other}}
	_, err := w.List(t.Context(), agent, timeline.ListParams{Where: moments.Where{Session: session}})
	timelinetest.Wants(t, err, usererr.NotAllowed, "is not of this client's workspace")
	_, err = w.List(t.Context(), agent, timeline.ListParams{Where: w.Here()})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "dir is for the user's own programs")
	_, err = w.List(t.Context(), &checkpoint.Client{Name: "agent"}, timeline.ListParams{})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "this client has no workspace")

	agent.Scope.Workspace = w.Dir
	if _, err := w.Seek(t.Context(), agent, timeline.SeekParams{To: m.ID()}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Operations.Restore(t.Context(), agent, operations.RestoreParams{To: m.ID(), Confirm: true})
	timelinetest.Wants(t, err, usererr.NotAllowed, "agents-restore")
	_, err = w.Operations.Branch(t.Context(), agent, operations.BranchParams{From: m.ID(), Name: "b"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "agents-branch")
	w.Allow(w.Dir, grants.AgentsRestore, grants.AgentsBranch)
	if _, err := w.Operations.Restore(t.Context(), agent, operations.RestoreParams{To: m.ID(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Operations.Branch(t.Context(), agent, operations.BranchParams{From: m.ID(), Name: "b"}); err != nil {
		t.Fatal(err)
	}
}

// Each time that commands print is a moment: the last snapshot until the end of that second.
func TestAnAgentLearnsNothingOfOtherWorkspaces(t *testing.T) {
	w := timelinetest.New(t)
	other := filepath.Join(w.Top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Allow(w.Dir, grants.AgentsRestore, grants.AgentsBranch)
	w.Allow(other, grants.AgentsRestore, grants.AgentsBranch)
	w.Write("a", "one")
	m := w.Edit("first")
	session := w.Listed().ID
	its, err := w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: moments.Where{Dir: other}, Label: "own"})
	if err != nil {
		t.Fatal(err)
	}
	there := m.ID() + "@" + session
	for _, scope := range []string{other, ""} {
		agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: scope}}
		for name, call := range map[string]func(session, moment string) error{
			"list": func(session, _ string) error {
				_, err := w.List(t.Context(), agent, timeline.ListParams{Where: moments.Where{Session: session}})
				return err
			},
			"add": func(session, _ string) error {
				_, err := w.Add(t.Context(), agent, timeline.AddParams{Where: moments.Where{Session: session}, Label: "x"})
				return err
			},
			"seek": func(_, moment string) error {
				_, err := w.Seek(t.Context(), agent, timeline.SeekParams{To: moment})
				return err
			},
			"diff": func(_, moment string) error {
				_, err := w.Diff(t.Context(), agent, timeline.DiffParams{From: "m1@" + its.SessionID, To: moment})
				return err
			},
			"restore": func(_, moment string) error {
				_, err := w.Operations.Restore(t.Context(), agent, operations.RestoreParams{To: moment, Confirm: true})
				return err
			},
			"branch": func(_, moment string) error {
				_, err := w.Operations.Branch(t.Context(), agent, operations.BranchParams{From: moment, Name: "b"})
				return err
			},
		} {
			if err := call(session, there); err == nil {
				t.Errorf("an agent of %q reached another workspace by %s", scope, name)
			} else if strings.Contains(err.Error(), w.Dir) {
				t.Errorf("%s told an agent of %q the directory of another workspace: %v", name, scope, err)
			}
			if err := call("nobody-9", "m1@nobody-9"); err == nil || strings.Contains(err.Error(), session) || strings.Contains(err.Error(), w.Dir) {
				t.Errorf("%s told an agent of %q a session of another workspace: %v", name, scope, err)
			}
		}
	}
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: other}}
	_, err = w.List(t.Context(), agent, timeline.ListParams{Where: moments.Where{Session: "nobody-9"}})
	timelinetest.Wants(t, err, usererr.NotFound, its.SessionID)
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Session: "nobody-9"}})
	timelinetest.Wants(t, err, usererr.NotFound, session)
}

func TestTimesThatCommandsPrintAreMoments(t *testing.T) {
	w := timelinetest.New(t)
	for i, pause := range []time.Duration{0, 2 * time.Second, time.Minute, 11 * time.Hour, 11 * time.Hour} {
		w.Pass(pause)
		w.Write("a", fmt.Sprint(i))
		w.Edit("edit")
	}
	w.Pass(time.Second)
	a := w.Listed()
	for _, m := range a.Moments[1:] {
		if m.LateSec > 0 { // on a busy machine: these times mean the snapshot before it
			continue
		}
		local := m.At.Local()
		for _, text := range []string{
			local.Format(time.TimeOnly), local.Format(time.DateTime), local.Format("2006-01-02T15:04:05"), local.Format(time.RFC3339),
			m.At.UTC().Format(time.RFC3339Nano), "+" + records.Elapsed(m.TS), fmt.Sprint(m.TS + 0.001),
		} {
			s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: text})
			if err != nil || s.FsSnapshot != m.FsSnapshot {
				t.Errorf("%s is %+v, %v, want %s", text, s, err, m.FsSnapshot)
			}
		}
	}
	for _, text := range []string{"+1:2:3", "+0:00:61", "+", "25:00:00", "10:31", "-5"} {
		_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: text})
		timelinetest.Wants(t, err, usererr.NotFound, "is not a moment of session")
	}
	for n, m := range a.Moments {
		rest, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), After: m.At.Local().Format(time.DateTime)})
		if err != nil || n > 0 && len(rest.Moments) != len(a.Moments)-n-1 {
			t.Errorf("after %s: %+v, %v", m.ID, rest, err)
		}
	}
}

func TestALostSnapshotIsNotTakenForAnother(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	lost := w.Edit("second")
	w.Stop()
	// A loss took the snapshots. No other one gets a number that a moment names.
	stores, err := filepath.Glob(filepath.Join(w.Top, "workspaces", "*", "store"))
	if err != nil || len(stores) != 1 {
		t.Fatal(stores, err)
	}
	if err := os.RemoveAll(stores[0]); err != nil {
		t.Fatal(err)
	}
	w.Start()
	w.Write("a", "three")
	if m := w.Edit("third"); m.Snapshot != lost.Snapshot+1 {
		t.Errorf("the next snapshot is s%d", m.Snapshot)
	}
	w.Write("a", "four")
	w.Edit("fourth")
	for _, m := range w.Listed().Moments {
		if m.ID == lost.ID() && (m.FsSnapshot != false || !strings.Contains(m.Reason, "lost")) {
			t.Errorf("the lost snapshot is listed as %v, %q", m.FsSnapshot, m.Reason)
		}
	}
	_, err = w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: lost.ID()})
	timelinetest.Wants(t, err, usererr.NotFound, "s2 was lost), and there is none before it")
	c, err := w.Check(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
	if err != nil || !slices.ContainsFunc(c.Damages, func(d string) bool { return strings.HasPrefix(d, lost.ID()+":") }) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestADeletedWorkspaceSaysHowToComeBack(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	session := moments.Where{Session: w.Listed().ID}
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.Dir}} // names no session
	_, err := w.Blame(t.Context(), agent, timeline.BlameParams{Path: "a"})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "line is 0")
	if err := os.RemoveAll(w.Dir); err != nil {
		t.Fatal(err)
	}
	_, err = w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: session, To: m.ID()})
	timelinetest.Wants(t, err, usererr.NotFound, "no longer exists. Its snapshots are still there. Create the directory again")
	for name, call := range map[string]func() error{
		"moment_add": func() error { _, err := w.Add(t.Context(), agent, timeline.AddParams{Label: "x"}); return err },
		"session_start": func() error {
			_, err := w.StartSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			timelinetest.Wants(t, call(), usererr.NotFound, "then restore a moment of session "+session.Session)
		})
	}
	for name, list := range map[string]func() (*answers.List, error){
		"an agent": func() (*answers.List, error) { return w.List(t.Context(), agent, timeline.ListParams{}) },
		"a session": func() (*answers.List, error) {
			return w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: session})
		},
		"a directory in it": func() (*answers.List, error) {
			return w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: filepath.Join(w.Dir, "src")}})
		},
		"a program": func() (*answers.List, error) {
			return timeline.Requests{Timeline: w.Timeline}.ListFrom(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()})
		},
	} {
		if a, err := list(); err != nil || len(a.Moments) != 2 || a.Moments[1].ID != m.ID() || a.Moments[1].FsSnapshot != records.SnapshotID(m.Snapshot) || !strings.Contains(a.Problem, "no longer exists. Its snapshots are still there") {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	if a, err := w.Sessions(t.Context(), timelinetest.User, timeline.SessionsParams{Dir: filepath.Join(w.Dir, "src")}); err != nil || len(a.Sessions) != 1 || a.Sessions[0].ID != session.Session {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := w.Session(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil || a.ID != session.Session {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: filepath.Join(w.Top, "nothing")}})
	timelinetest.Wants(t, err, usererr.NotFound, "cannot find the directory")
	file := filepath.Join(w.Top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: file}})
	timelinetest.Wants(t, err, usererr.NotFound, "is not a directory")
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: session, To: m.ID(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := w.Read(filepath.Join(w.Dir, "a")); got != "one" {
		t.Errorf("it has %q", got)
	}
	if runtime.GOOS == "windows" {
		return // it does not move a directory that is watched
	}
	moved := filepath.Join(w.Top, "moved") // it is another directory than before, and known as the same workspace
	if err := os.Rename(w.Dir, moved); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	_, err = w.Record(t.Context(), moved, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "which was moved")
}

func TestADeletedWorkspaceWithoutSnapshots(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	session := moments.Where{Session: w.Listed().ID}
	if err := os.RemoveAll(w.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here(), Gone: true}); err != nil {
		t.Fatal(err)
	}
	_, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: session})
	timelinetest.Wants(t, err, usererr.NotFound, "no longer exists, and its snapshots were deleted")
	if strings.Contains(err.Error(), "restore") {
		t.Error(err)
	}
}

func TestATimeBeforeTheSession(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	before := w.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: before})
	timelinetest.Wants(t, err, usererr.NotFound, before+" is before the start of session "+m.Session+" at ")
	timelinetest.Wants(t, err, usererr.NotFound, "Its first moment with a snapshot is m1 (s1).")
}

// TestATimeMeansNoLaterSnapshot: the snapshot of a moment may be taken long after it.
func TestATimeMeansNoLaterSnapshot(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	first := w.Edit("first")
	w.Write("a", "two")
	w.Pass(10 * time.Second)
	second := w.Edit("second")
	w.Stop()
	db, _, err := records.Open(filepath.Join(w.Top, "timeline.db"), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(workspace.ID(w.Dir), second.With(func(m *records.Moment) { m.At = m.At.Add(-5 * time.Second) })), db.Close()); err != nil {
		t.Fatal(err)
	}
	w.Start()
	for _, c := range []struct{ to, want string }{{"7", "s1"}, {"12", "s2"}, {second.ID(), "s2"}, {first.ID(), "s1"}, {second.At.Add(-2 * time.Second).Format(time.RFC3339Nano), "s1"}} {
		a, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: c.to})
		if err != nil || a.FsSnapshot != c.want {
			t.Errorf("%s: %+v, %v", c.to, a, err)
		} else if c.want == "s1" && c.to != first.ID() && !strings.Contains(a.Note, "s2 of "+second.ID()+" was taken after this time") {
			t.Errorf("%s: the note is %q", c.to, a.Note)
		}
	}
	// The moment itself is that of the time, as it is printed.
	for _, to := range []string{"7", second.At.Add(-5 * time.Second).Local().Format(time.TimeOnly), "+" + records.Elapsed(w.Listed().Moments[2].TS)} {
		if a, err := timeline.Show(t.Context(), w.Timeline, timelinetest.User, timeline.ShowParams{Where: w.Here(), Moment: to}); err != nil || a.ID != second.ID() {
			t.Errorf("%s shows %+v, %v", to, a, err)
		}
	}
	ts := 7.0
	if a, err := w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "earlier", TS: &ts}); err != nil || a.FsSnapshot != "s1" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestSnapshotsWithoutTheListOfMomentsAreNamed: they can be viewed, compared and restored by their IDs.
func TestSnapshotsWithoutTheListOfMomentsAreNamed(t *testing.T) {
	w := timelinetest.New(t)
	nothing := func(want string) {
		t.Helper()
		_, listed := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()})
		_, checked := w.Check(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
		for _, err := range []error{listed, checked} {
			if usererr.CodeOf(err) != usererr.NotFound || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		}
	}
	nothing("nothing was recorded in ")
	for _, content := range []string{"one", "two", "three"} {
		w.Write("a", content)
		w.Edit(content)
		w.Pass(time.Second)
	}
	w.Stop()
	if err := os.Remove(filepath.Join(w.Top, "timeline.db")); err != nil {
		t.Fatal(err)
	}
	w.Start()
	nothing("the list of moments of " + w.Dir + " is missing. Snapshots that are there: 3 (s1–s3). ")
	if got := w.Sought("s2", "a"); got != "two" {
		t.Errorf("s2 has %q", got)
	}
	d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: "s1", To: "s3"})
	if err != nil || len(d.Files) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: "s1", Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := w.Read(filepath.Join(w.Dir, "a")); got != "one" {
		t.Errorf("a is %q", got)
	}
}

// TestADamagedTimelineIsReportedWhereItIsAskedFor, and by later daemons, until the file that was set aside is moved.
func TestADamagedTimelineIsReportedWhereItIsAskedFor(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Stop()
	path := filepath.Join(w.Top, "timeline.db")
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	w.Damaged = true
	w.Start()
	aside, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(aside) != 1 {
		t.Fatal(aside, err)
	}
	for range 2 {
		if !strings.Contains(w.Notice, aside[0]) {
			t.Errorf("the notice is %q", w.Notice)
		}
		_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()})
		timelinetest.Wants(t, err, usererr.NotFound, aside[0])
		_, err = w.Check(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
		timelinetest.Wants(t, err, usererr.NotFound, aside[0])
		_, err = w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: "m1"})
		timelinetest.Wants(t, err, usererr.NotFound, aside[0])
		w.Restart()
	}
	w.Stop()
	if err := os.Rename(aside[0], filepath.Join(w.Top, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	w.Damaged = false
	w.Start()
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()})
	if timelinetest.Wants(t, err, usererr.NotFound, "is missing. Snapshots that are there: s1. "); strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// A moment that names its session is accepted from anywhere, and refused with the reason where it makes no sense.
func TestAMomentWithItsSessionIsAcceptedWhereverAMomentIs(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	first := w.Edit("first")
	w.Write("a", "two")
	second := w.Edit("second")
	session := w.Listed().ID
	other := filepath.Join(w.Top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Allow(other)
	if _, err := w.Record(t.Context(), other, records.Moment{Label: "x"}); err != nil {
		t.Fatal(err)
	}
	there := moments.Where{Dir: other}
	from, to := first.ID()+"@"+session, second.ID()+"@"+session
	for _, where := range []moments.Where{w.Here(), there, {Session: session}} {
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: where, To: from})
		if err != nil || w.Read(filepath.Join(s.Mount, "a")) != "one" {
			t.Errorf("%+v: %+v, %v", where, s, err)
		}
		d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: where, From: from, To: to})
		if err != nil || len(d.Files) != 1 || d.From.Moment != first.ID() {
			t.Errorf("%+v: %+v, %v", where, d, err)
		}
		l, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: where, After: from})
		if err != nil || len(l.Moments) != 1 || l.Moments[0].ID != second.ID() {
			t.Errorf("%+v: %+v, %v", where, l, err)
		}
	}
	if plan, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: from}); err != nil || len(plan.Steps) != 1 {
		t.Errorf("%+v, %v", plan, err)
	}
	_, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: there, To: from})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "session "+session+" is of "+w.Dir+", and this call is about "+other)
	_, err = w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: there, To: "m1@nobody-1"})
	timelinetest.Wants(t, err, usererr.NotFound, `there is no session "nobody-1"`)
	otherSession, err := w.Session(t.Context(), timelinetest.User, timeline.SessionParams{Where: there})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: there, From: from, To: "m1@" + otherSession.ID})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "Name moments of one workspace")
}
