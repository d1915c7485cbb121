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
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/killtest"
)

func TestMain(m *testing.M) {
	// A case restarts daemons and compares whole trees; `-rapid.checks` says otherwise.
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("10")
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
	ctx, where := context.Background(), timeline.Where{Dir: dir}
	last := "" // the content of the last moment that is kept
	record := func(kind, from string) string {
		v.Say("edit")
		content := strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // a test's edits
		for _, name := range []string{"a", "b"} {
			v.Must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		v.Say("record")
		m, err := l.Record(ctx, dir, timeline.Moment{Label: content, Kind: kind, Source: from})
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
			a, err := l.Restore(ctx, user, timeline.RestoreParams{Where: where, To: to, Confirm: true})
			v.Must(err)
			if restored = a.Operation; restored != "" {
				v.Say("restored", restored)
			}
		case 3:
			if restored == "" {
				continue
			}
			v.Say("undo")
			_, err := l.Undo(ctx, user, timeline.UndoParams{Where: where, Operation: restored, Confirm: true})
			v.Must(err)
			v.Say("undone", restored)
			restored = ""
		case 4:
			v.Say("branch")
			b, err := l.Branch(ctx, user, timeline.BranchParams{Where: where, From: kept[len(kept)-1], Name: last + "-" + strconv.FormatUint(rand.Uint64(), 36)}) //nolint:gosec // another name each time
			v.Must(err)
			v.Say("branched", b.ID)
		case 5:
			v.Say("prune")
			_, err := l.Prune(ctx, user, timeline.PruneParams{Where: where, Count: 2})
			v.Must(err)
		}
	}
}

// Whenever the daemon is killed: no acknowledged moment, restore or branch is lost, files are those before or after a
// restore, and there is no half of a branch.
func TestAKilledDaemonLosesNothingThatItAcknowledged(t *testing.T) {
	killtest.Victim(victim)
	w := newWorld(t)
	w.stop()
	known := map[string]string{}
	hunt := killtest.Hunt{
		Dir: w.top, Steps: []string{"record", "restore", "undo", "branch", "prune"}, Short: 1, Usual: 1,
		Said: func(step, rest string) {
			if id, content, _ := strings.Cut(rest, " "); id != "" {
				known[step+" "+id] = content
			}
		},
		Survived: func(step string) {
			if len(known) == 0 {
				return // no moment was acknowledged yet
			}
			w.start()
			w.compare(known, step)
			w.stop()
			if len(known) > 150 { // what is compared grows with it
				clear(known)
				for _, name := range []string{"timeline.db", "workspaces", "branches"} {
					if err := tracked.RemoveAll(filepath.Join(w.top, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	}
	hunt.Run(t)
	w.start()
}

func (w *world) compare(known map[string]string, step string) {
	w.t.Helper()
	ops, err := w.Operations(w.t.Context(), user, timeline.OperationsParams{Where: w.here()})
	if err != nil {
		w.t.Fatal(err)
	}
	state := map[string]string{}
	for _, o := range ops.Operations {
		if state[o.ID] = o.State; o.State == records.Begun {
			w.t.Errorf("%s (%s) never ended", o.ID, o.What)
		}
	}
	if a, b := w.read(filepath.Join(w.dir, "a")), w.read(filepath.Join(w.dir, "b")); a != b && step != "edit" {
		w.t.Errorf("after a kill in %s, the files are %q and %q", step, a, b)
	}
	all, err := w.Sessions(w.t.Context(), user, timeline.SessionsParams{})
	if err != nil {
		w.t.Fatal(err)
	}
	branches := map[string]bool{}
	for _, s := range all.Sessions {
		if s.BranchOf != nil {
			branches[s.Workspace] = true
			if got := w.read(filepath.Join(s.Workspace, "a")); !strings.HasPrefix(s.Name, got+"-") {
				w.t.Errorf("the branch %s has %q", s.Name, got)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(w.top, "branches", "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, dir := range dirs {
		if probe := strings.HasPrefix(filepath.Base(dir), ".tidemark-probe-"); !branches[dir] && !probe { // the next one after a minute removes it
			w.t.Errorf("%s is part of no session", dir)
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
			s, err := w.Seek(w.t.Context(), user, timeline.SeekParams{Where: w.here(), To: id})
			if err != nil {
				w.t.Fatal(err)
			}
			if got := w.read(filepath.Join(s.Mount, "b")); got != content || s.Label != content {
				w.t.Errorf("%s has %q and is %q, want %q", id, got, s.Label, content)
			}
		case "restored":
			if s := state[id]; s != records.Done && s != records.Undone {
				w.t.Errorf("%s is %q", id, s)
			}
		case "undone":
			if state[id] != records.Undone {
				w.t.Errorf("%s is %q", id, state[id])
			}
		case "branched":
			if _, err := w.Session(w.t.Context(), user, timeline.SessionParams{Where: timeline.Where{Session: id}}); err != nil {
				w.t.Error(err)
			}
		}
	}
	c, err := w.Check(w.t.Context(), user, timeline.SessionParams{Where: w.here()})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, damage := range c.Damages {
		if !strings.Contains(damage, "was not whole") { // an end that was being written, which was not acknowledged
			w.t.Error(damage)
		}
	}
}
