package timeline_test

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

func TestMain(m *testing.M) {
	// A case restarts daemons and compares whole trees, and all run on Btrfs again. `make fuzz-workspace` tries more.
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("5")
	}
	os.Exit(m.Run())
}

// victim edits, records, restores, undoes, branches and prunes, and says what was acknowledged. But while it edits, the
// files a and b are equal.
func victim(v killtest.Process, top string) {
	dir := filepath.Join(top, "shop")
	store := &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	log := slog.New(slog.DiscardHandler)
	spaces := workspace.New(workspace.Options{Grants: store, Dir: filepath.Join(top, "workspaces"), Redactor: redact.Default(), Clock: time.Now, Log: log})
	l, _, err := timeline.Open(timeline.Options{Path: filepath.Join(top, "timeline.db"), Branches: filepath.Join(top, "branches"), Workspaces: spaces, Clock: time.Now, Log: log})
	v.Must(err)
	ctx, where := context.Background(), moments.Where{Dir: dir}
	last := "" // the content of the last moment that is kept
	record := func(kind, from string) string {
		v.Say("edit")
		content := strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // a test's edits
		for _, name := range []string{"a", "b"} {
			v.Must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		v.Say("record")
		m, err := l.Record(ctx, dir, records.Moment{Label: content, Kind: kind, Source: from})
		v.Must(err)
		if kind != records.Manual {
			return m.ID() // its snapshot may be pruned
		}
		if m.Snapshot == 0 {
			v.Fatalf("no snapshot: %s", m.Reason)
		}
		last = content
		v.Say("moment", m.ID(), content)
		return m.ID()
	}
	kept := []string{record(records.Manual, records.FromUser)}
	restored := ""
	for {
		switch step := rand.IntN(6); step { //nolint:gosec // what to do
		case 0:
			kept = append(kept, record(records.Manual, records.FromUser))
		case 1:
			record(records.Auto, records.FromEdit)
		case 2:
			to := kept[rand.IntN(len(kept))] //nolint:gosec // which one
			v.Say("restore")
			a, err := l.Operations.Restore(ctx, timelinetest.User, operations.RestoreParams{Where: where, To: to, Confirm: true})
			v.Must(err)
			if restored = a.Operation; restored != "" {
				v.Say("restored", restored)
			}
		case 3:
			if restored == "" {
				continue
			}
			v.Say("undo")
			_, err := l.Operations.Undo(ctx, timelinetest.User, operations.UndoParams{Where: where, Operation: restored, Confirm: true})
			v.Must(err)
			v.Say("undone", restored)
			restored = ""
		case 4:
			v.Say("branch")
			b, err := l.Operations.Branch(ctx, timelinetest.User, operations.BranchParams{Where: where, From: kept[len(kept)-1], Name: last + "-" + strconv.FormatUint(rand.Uint64(), 36)}) //nolint:gosec // another name each time
			v.Must(err)
			v.Say("branched", b.ID)
		case 5:
			v.Say("prune")
			_, err := l.Prune(ctx, timelinetest.User, timeline.PruneParams{Where: where, Count: 2})
			v.Must(err)
		}
	}
}

// Whenever the daemon is killed: no acknowledged moment, restore or branch is lost, files are those before or after a
// restore, and there is no half of a branch.
func TestAKilledDaemonLosesNothingThatItAcknowledged(t *testing.T) {
	killtest.Victim(victim)
	w := timelinetest.New(t)
	w.Stop()
	known := map[string]string{}
	hunt := killtest.Hunt{
		Dir: w.Top, Steps: []string{"record", "restore", "undo", "branch", "prune"}, Short: 1, Usual: 1,
		Said: func(step, rest string) {
			if id, content, _ := strings.Cut(rest, " "); id != "" {
				known[step+" "+id] = content
			}
		},
		Survived: func(step string) {
			if len(known) == 0 {
				return // no moment was acknowledged yet
			}
			w.Start()
			compare(w, known, step)
			w.Stop()
			if len(known) > 150 { // what is compared grows with it
				clear(known)
				for _, name := range []string{"timeline.db", "workspaces", "branches"} {
					if err := tracked.RemoveAll(filepath.Join(w.Top, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	}
	hunt.Run(t)
	w.Start()
}

// begins fails unless a branch has the snapshot that it began with.
func begins(w *timelinetest.World, branch answers.About) {
	w.T.Helper()
	in := moments.Where{Session: branch.ID}
	s, err := w.Seek(w.T.Context(), timelinetest.User, timeline.SeekParams{Where: in, To: "m1"})
	if err != nil {
		w.T.Fatal(err)
	}
	if got, want := w.Read(filepath.Join(s.Mount, "a")), w.Read(filepath.Join(branch.Workspace, "a")); got != want {
		w.T.Errorf("the branch %s began with %q, and has %q", branch.Name, got, want)
	}
	if c, err := w.Check(w.T.Context(), timelinetest.User, timeline.SessionParams{Where: in}); err != nil || len(c.Damages) > 0 {
		w.T.Errorf("the snapshots of the branch %s: %+v, %v", branch.Name, c, err)
	}
}

func compare(w *timelinetest.World, known map[string]string, step string) {
	w.T.Helper()
	ops, err := w.Operations.Log(w.T.Context(), timelinetest.User, operations.LogParams{Where: w.Here()})
	if err != nil {
		w.T.Fatal(err)
	}
	state := map[string]string{}
	for _, o := range ops.Operations {
		if state[o.ID] = o.State; o.State == records.Begun {
			w.T.Errorf("%s (%s) never ended", o.ID, o.What)
		}
	}
	if a, b := w.Read(filepath.Join(w.Dir, "a")), w.Read(filepath.Join(w.Dir, "b")); a != b && step != "edit" {
		w.T.Errorf("after a kill in %s, the files are %q and %q", step, a, b)
	}
	all, err := w.Sessions(w.T.Context(), timelinetest.User, timeline.SessionsParams{})
	if err != nil {
		w.T.Fatal(err)
	}
	branches, stores := map[string]bool{}, map[string]bool{workspace.ID(w.Dir): true}
	for i, s := range all.Sessions {
		if s.BranchOf != nil {
			branches[s.Workspace], stores[workspace.ID(s.Workspace)] = true, true
			if i < 3 {
				begins(w, s)
			}
			if got := w.Read(filepath.Join(s.Workspace, "a")); !strings.HasPrefix(s.Name, got+"-") {
				w.T.Errorf("the branch %s has %q", s.Name, got)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(w.Top, "branches", "*", "*"))
	if err != nil {
		w.T.Fatal(err)
	}
	for _, dir := range dirs {
		if probe := strings.HasPrefix(filepath.Base(dir), ".tidemark-probe-"); !branches[dir] && !probe { // the next one after a minute removes it
			w.T.Errorf("%s is part of no session", dir)
		}
	}
	kept, err := os.ReadDir(filepath.Join(w.Top, "workspaces"))
	if err != nil {
		w.T.Fatal(err)
	}
	for _, e := range kept {
		if !stores[e.Name()] {
			w.T.Errorf("the snapshots in %s are of no session", e.Name())
		}
	}
	seeks := 0
	for what, content := range known {
		kind, id, _ := strings.Cut(what, " ")
		switch kind {
		case "moment":
			if seeks++; seeks > 10 {
				continue
			}
			s, err := w.Seek(w.T.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: id})
			if err != nil {
				w.T.Fatal(err)
			}
			if got := w.Read(filepath.Join(s.Mount, "b")); got != content || s.Label != content {
				w.T.Errorf("%s has %q and is %q, want %q", id, got, s.Label, content)
			}
		case "restored":
			if s := state[id]; s != records.Done && s != records.Undone {
				w.T.Errorf("%s is %q", id, s)
			}
		case "undone":
			if state[id] != records.Undone {
				w.T.Errorf("%s is %q", id, state[id])
			}
		case "branched":
			if _, err := w.Session(w.T.Context(), timelinetest.User, timeline.SessionParams{Where: moments.Where{Session: id}}); err != nil {
				w.T.Error(err)
			}
		}
	}
	c, err := w.Check(w.T.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, damage := range c.Damages {
		if !strings.Contains(damage, "was not whole") { // an end that was being written, which was not acknowledged
			w.T.Error(damage)
		}
	}
}
