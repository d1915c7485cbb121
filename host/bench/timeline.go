package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	timelineanswers "tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	snapshots "tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What the timeline promises of a long session.
const (
	sessionLong    = 24 * time.Hour
	sessionMoments = 10_000
	sessionChanges = 10 // files at each moment
	sessionFiles   = 2_000
	pruneEvery     = 500                   // moments, as a day has it
	budgetList     = 50 * time.Millisecond // p95
	budgetPage     = 300                   // ms from the press to the list in the viewer
)

// timeline measures a session of a day: its list, the viewer, and the daemon's memory.
func (r *run) timeline() (err error) {
	w, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(tracked.RemoveAll(filepath.Join(w.Home, "workspaces")), err, w.Close()) }()
	dir, err := os.MkdirTemp("", "tidemark-shop")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if ran := w.RunIn(dir, "project", "allow", dir); ran.Code != 0 {
		return fmt.Errorf("project allow: %s", ran.Err)
	}
	if ran := w.Run("stop"); ran.Code != 0 && !strings.Contains(ran.Err, "not running") {
		return fmt.Errorf("stop: %s", ran.Err)
	}
	n := r.third(sessionMoments)
	progress("timeline: %d moments …", n)
	s := r.sheet(fmt.Sprintf("A session of %.0f hours with %d moments and %d changed files", sessionLong.Hours(), n, n*sessionChanges))
	if err := longSession(w.Home, dir, n); err != nil {
		return err
	}
	browser, err := w.Another()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, browser.Close()) }()
	if err := r.listed(s, w, dir, n); err != nil {
		return errors.Join(err, s.print())
	}
	if err := r.opened(s, browser, n); err != nil {
		return errors.Join(err, s.print())
	}
	if runtime.GOOS == "linux" {
		var status struct{ PID int }
		if err := json.Unmarshal([]byte(w.Run("status", "--json").Out), &status); err != nil {
			return err
		}
		memory, err := anonymous(status.PID)
		if err != nil {
			return err
		}
		s.row("the daemon's anonymous memory", mib(memory), "under "+mib(memoryTarget), memory < memoryTarget)
	}
	return s.print()
}

// longSession records a session that began a day ago in a home without a daemon, with snapshots.
func longSession(home, dir string, n int) (err error) {
	now := time.Now().Add(-sessionLong)
	clock := func() time.Time { return now }
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	workspaces := snapshots.New(snapshots.Options{
		Grants: &grants.Store{File: filepath.Join(home, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: clock},
		Dir:    filepath.Join(home, "workspaces"), Redactor: redact.Default(), Clock: clock, Log: log,
	})
	t, _, err := timeline.Open(timeline.Options{
		Path: filepath.Join(home, "timeline.db"), Branches: filepath.Join(home, "branches"), Workspaces: workspaces, Clock: clock,
		Elapsed: func() time.Duration { return time.Until(now) }, Log: log,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- workspaces.Run(ctx, nowhere{}) }()
	defer func() {
		err = errors.Join(err, t.Close())
		cancel()
		if ended := <-ran; !errors.Is(ended, context.Canceled) {
			err = errors.Join(err, ended)
		}
	}()
	file := func(i int) string {
		return filepath.Join(dir, fmt.Sprintf("src%d", i%50), fmt.Sprintf("file%d.ts", i%sessionFiles))
	}
	write := func(i, version int) error {
		if err := os.MkdirAll(filepath.Dir(file(i)), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file(i), fmt.Appendf(nil, "export const n = %d;\n%s", version, strings.Repeat("// a line\n", 40)), 0o600)
	}
	for i := range sessionFiles {
		if err := write(i, 0); err != nil {
			return err
		}
	}
	user := &checkpoint.Client{Name: "bench", User: true}
	for i := range n {
		now = now.Add(sessionLong / time.Duration(n))
		for k := range sessionChanges {
			if err := write(i*sessionChanges+k, i+1); err != nil {
				return err
			}
		}
		if _, err := t.Record(ctx, dir, records.Moment{Label: fmt.Sprintf("Edit src/file%d.ts", i), Source: records.FromEdit}); err != nil {
			return err
		}
		if i%pruneEvery == pruneEvery-1 {
			progress("timeline: %d of %d moments …", i+1, n)
			if _, err := t.Prune(ctx, user, timeline.PruneParams{Where: moments.Where{Dir: dir}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// nowhere takes what is recorded.
type nowhere struct{ recorder.Sink }

func (nowhere) Append(context.Context, ...event.Event) error { return nil }
func (nowhere) Miss(event.Subject, string, time.Time, int)   {}

// listed measures the list as an agent gets it: the newest moments, and a page of the oldest.
func (r *run) listed(s *sheet, w *testbed.World, dir string, n int) (err error) {
	agent, err := w.Agent("--tools", "timetravel", "--workspace", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	for _, page := range []struct {
		what string
		args map[string]any
	}{{"the newest 100 moments", nil}, {"the oldest 100 moments", map[string]any{"after": "m0"}}} {
		var times []time.Duration
		for i := range r.third(60) {
			var answer string
			took, err := timed(func() (err error) {
				answer, err = agent.Text("timeline_list", page.args)
				return err
			})
			if err != nil {
				return err
			}
			var list timelineanswers.List
			if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Moments) != 100 || list.Omitted < n-101 && list.Next == "" {
				return fmt.Errorf("%d moments, %d omitted, %w", len(list.Moments), list.Omitted, err)
			}
			if i == 0 && page.args == nil { // it waits until the daemon has read the snapshots
				s.figure("the first call", ms(took))
				continue
			}
			times = append(times, took)
		}
		s.within(page.what+", p95", quantile(times, .95), budgetList, r.byWalk(), "")
		s.figure("the same, median", ms(quantile(times, .5)))
	}
	return nil
}

// opened measures the viewer: until it is there, and from the press to the first page of moments.
func (r *run) opened(s *sheet, w *testbed.World, n int) error {
	var ready, shown []float64
	for range r.third(15) {
		v, err := w.Open(strings.TrimSpace(w.Run("open", "--print").Out))
		if err != nil {
			return err
		}
		list, err := numbers(v, fmt.Sprintf(`
await until(() => performance.getEntriesByName('tidemark ready').length > 0);
const ready = performance.getEntriesByName('tidemark ready')[0].startTime;
const began = performance.now();
document.querySelector('#tab-moments').click();
await until(() => document.querySelector('.moment') && says('m%d') && says('older'));
return JSON.stringify([ready, performance.now() - began]);`, n+1))
		v.Close()
		if err != nil {
			return err
		}
		ready, shown = append(ready, list[0]), append(shown, list[1])
	}
	for _, row := range []struct {
		what string
		list []float64
	}{{"from opening the viewer to the first report, median", ready}, {"from the press to the first page of moments, median", shown}} {
		s.within(row.what, time.Duration(quantile(row.list, .5)*float64(time.Millisecond)), budgetPage*time.Millisecond, r.byLoop(), "")
	}
	return nil
}
