package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// idle measures what watching costs while nothing happens.
func (w *workspace) idle(r *run, s *sheet) error {
	lasts := filesIdle
	if r.quick {
		lasts /= 3
	}
	before, err := cpuTime(os.Getpid())
	if err != nil {
		return err
	}
	time.Sleep(lasts)
	after, err := cpuTime(os.Getpid())
	share := float64(after-before) / float64(lasts)
	s.row("watching while nothing happens", fmt.Sprintf("%.2f %% of a core", 100*share), fmt.Sprintf("under %.0f %%", 100*budgetIdle), share < budgetIdle)
	return err
}

// stats returns the stat of each file.
func (w *workspace) stats() ([]fs.FileInfo, error) {
	stats := make([]fs.FileInfo, w.files)
	for i := range stats {
		var err error
		if stats[i], err = os.Lstat(w.file(i)); err != nil {
			return nil, err
		}
	}
	return stats, nil
}

// touched counts the files that are others, or have other times, than before.
func touched(before, after []fs.FileInfo) map[int]bool {
	all := map[int]bool{}
	for i := range before {
		if !os.SameFile(before[i], after[i]) || !before[i].ModTime().Equal(after[i].ModTime()) {
			all[i] = true
		}
	}
	return all
}

// restoring measures a restore of the files that were edited, and looks whether the other ones are untouched.
func (w *workspace) restoring(r *run, s *sheet) error {
	var took []time.Duration
	others := 0
	progress("files: restores …")
	for range r.third(12) {
		target, err := w.take()
		if err != nil {
			return err
		}
		before, err := w.stats()
		if err != nil {
			return err
		}
		if _, err := w.edit(fileSize); err != nil {
			return err
		}
		edited, err := w.stats()
		if err != nil {
			return err
		}
		if _, err := w.take(); err != nil { // as at the end of an edit
			return err
		}
		changed := touched(before, edited)
		d, err := timed(func() error {
			plan, err := restore.Prepare(context.Background(), w.provider, target, nil)
			if err != nil {
				return err
			}
			result, err := plan.Apply(context.Background())
			if err == nil && (len(result.Restored) != len(changed) || len(result.Differs) > 0) {
				err = fmt.Errorf("%d files of %d were restored, %d differ", len(result.Restored), len(changed), len(result.Differs))
			}
			return err
		})
		if err != nil {
			return err
		}
		took = append(took, d)
		after, err := w.stats()
		if err != nil {
			return err
		}
		for i := range touched(before, after) {
			if !changed[i] {
				others++
			}
		}
	}
	s.within(fmt.Sprintf("restore of %d files among %d", filesEdited, w.files), quantile(took, .5), budgetRestore, r.byLoop(), "")
	s.row("other files that restores touched", fmt.Sprint(others), "0", others == 0)
	return nil
}

// installs compares an installation of packages that is watched with one that is not, in turn.
func (r *run) installs(s *sheet, top string) error {
	cache := filepath.Join(top, "cache")
	install := func(dir string, more ...string) error {
		cmd := exec.Command("npm", append([]string{"ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error", "--cache", cache}, more...)...) //nolint:gosec // the benchmark's own
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm ci in %s: %w: %s", dir, err, out)
		}
		return nil
	}
	fresh := func(name string) (*workspace, error) {
		w := &workspace{top: filepath.Join(top, name), dir: filepath.Join(top, name, "workspace")}
		return w, errors.Join(os.MkdirAll(w.dir, 0o755), copyFiles(installed, w.dir, "package.json", "package-lock.json"))
	}
	w, err := fresh("filled")
	if err != nil {
		return err
	}
	if err := errors.Join(install(w.dir), tracked.RemoveAll(w.top)); err != nil { // fills the cache
		return err
	}
	var times []float64
	var watched, alone, next []time.Duration
	entries := 0
	for i := range installs {
		progress("installation %d of %d", i+1, installs)
		var pair [2]time.Duration
		for j := range pair {
			j = (i + j) % 2 // each goes first in turn
			w, err := fresh(fmt.Sprintf("%d-%d", i, j))
			if err != nil {
				return err
			}
			if j == 0 {
				if err := w.open(); err != nil {
					return errors.Join(err, w.close())
				}
			}
			pair[j], err = timed(func() error { return install(w.dir, "--offline") })
			if err == nil && j == 0 {
				var d time.Duration
				if d, err = timed(func() error { _, err := w.take(); return err }); err == nil {
					next = append(next, d)
					entries, err = w.complete()
				}
			}
			if err := errors.Join(err, w.close()); err != nil {
				return err
			}
		}
		watched, alone = append(watched, pair[0]), append(alone, pair[1])
		times = append(times, float64(pair[0])/float64(pair[1]))
	}
	progress("")
	share := quantile(times, .5)
	s.row(fmt.Sprintf("npm ci --offline, watched / not, %d pairs", installs), fmt.Sprintf("%.2f times (%s, %s)", share, ms(quantile(watched, .5)), ms(quantile(alone, .5))), fmt.Sprintf("at most %s times", plain(budgetInstall)), share <= budgetInstall)
	s.figure(fmt.Sprintf("the snapshot after it, complete: %d entries", entries), ms(quantile(next, .5)))
	return nil
}

// installed is the directory whose packages are installed.
const installed = "host/e2e/apps"

func copyFiles(from, to string, names ...string) error {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// complete compares the last snapshot with what a provider sees that compares everything, and returns how many entries
// both have. A difference is an error.
func (w *workspace) complete() (int, error) {
	all, err := tracked.Open(tracked.Options{Workspace: w.dir, Store: filepath.Join(w.top, "other"), Clock: time.Now})
	if err != nil {
		return 0, err
	}
	s, _, err := all.Take(context.Background(), "all")
	if err != nil {
		return 0, errors.Join(err, all.Close())
	}
	theirs, err := all.Tree(s.Number)
	if err = errors.Join(err, all.Close()); err != nil {
		return 0, err
	}
	list := w.provider.List()
	ours, err := w.provider.Tree(list[len(list)-1].Number)
	if err != nil {
		return 0, err
	}
	if changes := tree.Compare(ours, theirs); len(changes) > 0 {
		return 0, fmt.Errorf("the snapshot is not complete: %d paths differ, such as %q", len(changes), changes[0].Path)
	}
	return ours.Files, nil
}
