package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	snapshots "tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// What mounts promise.
const (
	mountedSnapshots   = 6
	mountedRuns        = 30
	budgetMountedView  = 50 * time.Millisecond
	budgetMounted      = 100 * time.Millisecond // a branch
	mountedShare       = 10
	mountedAtMostTimes = 1.5
)

// mounted measures views and branches that are mounted, each of another snapshot than the one before. With ten times as many files
// they take no longer.
func mounted(r *run) (err error) {
	files := r.third(filesSmall)
	s := r.sheet(fmt.Sprintf("Mounted views and branches: %d files, %d edited between %d snapshots", files, filesEdited, mountedSnapshots))
	if why := overlay.Refused(); why != nil {
		s.note("not measured: " + why.Error())
		return s.print()
	}
	var worlds [2]*mountedWorld // of a tenth of the files, and of all
	for i, n := range []int{files / mountedShare, files} {
		if worlds[i], err = newMountedWorld(r, n); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, worlds[i].close()) }()
	}
	var views, branches [2][]time.Duration
	for k := range r.third(mountedRuns) {
		progress("mounts: mount %d …", k+1)
		for i, w := range worlds { // in turn: what slows the machine for a moment slows both
			view, branch, err := w.mount(k)
			if err != nil {
				return err
			}
			views[i], branches[i] = append(views[i], view), append(branches[i], branch)
		}
	}
	for _, what := range []struct {
		name   string
		took   [2][]time.Duration
		budget time.Duration
	}{{"a view", views, budgetMountedView}, {"a branch", branches, budgetMounted}} {
		few, all, times := quantile(what.took[0], .5), quantile(what.took[1], .5), pairwise(what.took[1], what.took[0])
		s.within(what.name+", p50", all, what.budget, r.byLoop(), "")
		s.row(fmt.Sprintf("%s / that of %d files", what.name, files/mountedShare), fmt.Sprintf("%.2f times (%s, %s)", times, ms(all), ms(few)),
			fmt.Sprintf("at most %s times", plain(mountedAtMostTimes)), times <= mountedAtMostTimes)
	}
	return errors.Join(s.print(), mountedUse(r))
}

// mountedWorld is a workspace whose snapshots are mounted.
type mountedWorld struct {
	top, dir string
	all      *snapshots.Workspaces
	open     *snapshots.Workspace
	numbers  []uint64
}

func newMountedWorld(r *run, files int) (_ *mountedWorld, err error) {
	m := &mountedWorld{}
	if m.top, err = os.MkdirTemp("", "tidemark-mounted"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	w, err := newWorkspace(m.top, files)
	if err != nil {
		return nil, err
	}
	m.dir = w.dir
	ctx := context.Background()
	if err := m.start(r, false); err != nil {
		return nil, err
	}
	for range mountedSnapshots {
		taken, _, err := m.open.Take(ctx, "bench", "", false)
		if err == nil {
			_, err = w.edit(fileSize)
		}
		if err != nil {
			return nil, err
		}
		m.numbers = append(m.numbers, taken.Number)
	}
	return m, nil
}

// start opens the workspace. Alone is for branches by FUSE alone.
func (m *mountedWorld) start(r *run, alone bool) (err error) {
	store := &grants.Store{File: filepath.Join(m.top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	ctx := context.Background()
	if _, err := store.Allow(ctx, m.dir, nil, nil); err != nil {
		return err
	}
	m.all = snapshots.New(snapshots.Options{
		Grants: store, Dir: filepath.Join(m.top, "home"), Redactor: redact.Default(), Clock: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Server: []string{r.binary, snapshots.ServeSnapshot}, MountFiles: 1, FUSEAlone: alone,
	})
	m.open, err = m.all.Open(ctx, m.dir)
	return err
}

func (m *mountedWorld) close() error {
	if m.open != nil {
		m.all.CloseDir(m.dir)
	}
	return tracked.RemoveAll(m.top)
}

// mount returns how long a view and a branch of the next snapshot take, and removes both.
func (m *mountedWorld) mount(n int) (view, branch time.Duration, err error) {
	number, ctx := m.numbers[n%len(m.numbers)], context.Background()
	var at string
	if view, err = timed(func() (err error) { at, err = m.open.View(ctx, number); return err }); err != nil {
		return 0, 0, err
	}
	if form := snapshots.Form(m.open, at, false); form != "mounted (FUSE)" {
		return 0, 0, fmt.Errorf("the view is %s", form)
	}
	dir := filepath.Join(m.top, fmt.Sprint("branch", n))
	branch, err = timed(func() error {
		return errors.Join(snapshots.CloneAs(ctx, m.open, number, dir, dir+".making"), snapshots.Share(ctx, m.open, number, dir))
	})
	return view, branch, errors.Join(err, tracked.RemoveAll(at), tracked.RemoveAll(dir))
}
