package timeline_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// victimEnv names the directory in which a process of this test works until it is killed.
const victimEnv = "TIDEMARK_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		victim(dir)
	}
	// A case restarts daemons and compares whole trees; `-rapid.checks` says otherwise.
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("10")
	}
	os.Exit(m.Run())
}

// victim edits, records, restores and branches, and prints what was acknowledged.
func victim(top string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stdout, "failed", err)
			os.Exit(1)
		}
	}
	dir := filepath.Join(top, "shop")
	store := &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	spaces := workspace.New(workspace.Options{Grants: store, Dir: filepath.Join(top, "workspaces"), Redactor: redact.Default(), Clock: time.Now, Log: log})
	l, _, err := timeline.Open(timeline.Options{Path: filepath.Join(top, "timeline.db"), Branches: filepath.Join(top, "branches"), Workspaces: spaces, Clock: time.Now, Log: log})
	fail(err)
	ctx, where := context.Background(), timeline.Where{Dir: dir}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) //nolint:gosec // a test's edits
	var first string
	for i := 0; ; i++ {
		content := strconv.FormatUint(random.Uint64(), 36)
		for _, name := range []string{"a", "b"} {
			fail(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		m, err := l.Record(ctx, dir, timeline.Moment{Label: content, Kind: timeline.Manual, Source: timeline.FromUser})
		fail(err)
		if m.Snapshot == 0 {
			fail(fmt.Errorf("no snapshot: %s", m.Reason))
		}
		fmt.Fprintln(os.Stdout, "moment", m.ID(), content)
		if first == "" {
			first = m.ID()
		}
		switch i % 3 {
		case 1:
			a, err := l.Restore(ctx, user, timeline.RestoreParams{Where: where, To: first, Confirm: true})
			fail(err)
			fmt.Fprintln(os.Stdout, "restored", a.Operation, content)
		case 2:
			b, err := l.Branch(ctx, user, timeline.BranchParams{Where: where, From: m.ID(), Name: content})
			fail(err)
			fmt.Fprintln(os.Stdout, "branched", b.ID, content)
		}
	}
}

// kills is how often a process is killed; TIDEMARK_KILLS says otherwise.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_KILLS")); err == nil {
		return n
	}
	if testing.Short() {
		return 2
	}
	return 3
}

// Whenever the daemon is killed: no acknowledged moment, restore or branch is lost, files are those before or after a
// restore, and there is no half of a branch.
func TestAKilledDaemonLosesNothingThatItAcknowledged(t *testing.T) {
	w := newWorld(t)
	known := map[string]string{}
	for range kills() {
		w.stop()
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
		cmd.Env = append(os.Environ(), victimEnv+"="+w.top)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		after := 1 + rand.IntN(8) //nolint:gosec // when to kill
		for n := 0; lines.Scan(); n++ {
			kind, rest, _ := strings.Cut(lines.Text(), " ")
			id, content, ok := strings.Cut(rest, " ")
			if kind == "failed" || !ok {
				t.Fatal(lines.Text())
			}
			known[kind+" "+id] = content
			if n == after {
				time.AfterFunc(time.Duration(rand.IntN(30_000))*time.Microsecond, func() { _ = cmd.Process.Kill() }) //nolint:gosec // at any moment of the next steps
			}
		}
		_ = cmd.Wait()
		stuck.Stop()
		w.start()
		w.compare(known)
	}
	if len(known) < 3 {
		t.Fatalf("only %v was acknowledged", known)
	}
}

func (w *world) compare(known map[string]string) {
	w.t.Helper()
	ops, err := w.Operations(w.t.Context(), user, timeline.OperationsParams{Where: w.here()})
	if err != nil {
		w.t.Fatal(err)
	}
	state := map[string]string{}
	for _, o := range ops.Operations {
		if state[o.ID] = o.State; o.State == timeline.Begun {
			w.t.Errorf("%s (%s) never ended", o.ID, o.What)
		}
	}
	if a, b := w.read(filepath.Join(w.dir, "a")), w.read(filepath.Join(w.dir, "b")); a != b {
		// The process may have been killed between its two edits, but not in a restore.
		last := ops.Operations[0]
		if last.Kind == timeline.OpRestore && strings.HasSuffix(last.What, "(interrupted)") {
			w.t.Errorf("after a restore that was interrupted, the files are %q and %q", a, b)
		}
	}
	all, err := w.Sessions(w.t.Context(), user, timeline.SessionsParams{})
	if err != nil {
		w.t.Fatal(err)
	}
	branches := map[string]bool{}
	for _, s := range all.Sessions {
		if s.BranchOf != nil {
			branches[s.Workspace] = true
			if got := w.read(filepath.Join(s.Workspace, "a")); got != s.Name {
				w.t.Errorf("the branch %s has %q", s.Name, got)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(w.top, "branches", "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, dir := range dirs {
		if !branches[dir] {
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
			if id != "" && state[id] != timeline.Done {
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
