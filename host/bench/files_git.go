package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/disksize"
)

// git runs git with a shadow repository of the workspace.
func (w *workspace) git(args ...string) error {
	cmd := exec.Command("git", append([]string{"--git-dir", filepath.Join(w.top, "shadow.git"), "--work-tree", w.dir}, args...)...) //nolint:gosec // the benchmark's own
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

func (w *workspace) shadow() error {
	return errors.Join(w.git("add", "-A"), w.git("write-tree"))
}

// againstGit compares with the shadow repository.
func (w *workspace) againstGit(r *run, s *sheet) error {
	if err := w.git("init", "-q"); err != nil {
		return err
	}
	progress("files: snapshots, and git's …")
	theirs, err := timed(w.shadow)
	if err != nil {
		return err
	}
	ours, err := timed(w.open)
	if err != nil {
		return err
	}
	s.ratio("first snapshot / git add and write-tree", ours, theirs, 1)

	var took, peer []time.Duration
	for range r.third(20) {
		if _, err := w.edit(fileSize); err != nil {
			return err
		}
		a, err := timed(func() error { _, err := w.take(); return err })
		if err != nil {
			return err
		}
		b, err := timed(w.shadow)
		if err != nil {
			return err
		}
		took, peer = append(took, a), append(peer, b)
	}
	s.within("a snapshot, p50", quantile(took, .5), budgetSnapshot, r.byLoop(), ms(quantile(took, .5))+" (git "+ms(quantile(peer, .5))+")")
	s.within("a snapshot, p95", quantile(took, .95), budgetSlow, r.byLoop(), "")
	var none, walks, statuses []time.Duration
	for range r.third(20) {
		a, err := timed(func() error { _, err := w.take(); return err })
		if err != nil {
			return err
		}
		w.watcher.Return(nil, true) // as after an overflow
		b, err := timed(func() error { _, err := w.take(); return err })
		if err != nil {
			return err
		}
		c, err := timed(func() error { return w.git("status", "--porcelain") })
		if err != nil {
			return err
		}
		none, walks, statuses = append(none, a), append(walks, b), append(statuses, c)
	}
	s.within("nothing changed, p50", quantile(none, .5), budgetNone, r.byLoop(), "")
	s.ratio("everything compared / git status", quantile(walks, .5), quantile(statuses, .5), 1)
	return w.growth(r, s)
}

// growth compares what snapshots add to the store and to the shadow repository, and measures differences.
func (w *workspace) growth(r *run, s *sheet) error {
	store, shadow := w.sizes()
	first, err := w.take()
	if err != nil {
		return err
	}
	rounds := r.third(growthRounds)
	last := first
	for i := range rounds {
		progress("growth %d of %d", i+1, rounds)
		paths, err := w.edit(1000)
		if err != nil {
			return err
		}
		if last, err = w.take(); err != nil {
			return err
		}
		// git is told what changed: it stores the same, and need not look at all files.
		if err := errors.Join(w.git(append([]string{"add", "--"}, paths...)...), w.git("write-tree")); err != nil {
			return err
		}
	}
	progress("")
	storeAfter, shadowAfter := w.sizes()
	store, shadow = storeAfter-store, shadowAfter-shadow
	most := int64(budgetGrowth) * int64(rounds) / growthRounds
	s.row(fmt.Sprintf("growth by %d snapshots", rounds), fmt.Sprintf("%s (git %s)", mib(store), mib(shadow)), fmt.Sprintf("under %s, a quarter of git's", mib(most)), store < most && store*4 < shadow)
	var took []time.Duration
	for range r.third(20) {
		d, err := timed(func() error { _, err := w.provider.Diff(last-1, last); return err })
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	s.within("difference of two snapshots", quantile(took, .5), budgetDiff, r.byLoop(), "")
	all, err := timed(func() error { _, err := w.provider.Diff(first, last); return err })
	s.figure(fmt.Sprintf("difference over %d snapshots", rounds), ms(all))
	return err
}

// sizes returns what the store and the shadow repository take on disk, in bytes.
func (w *workspace) sizes() (store, shadow int64) {
	return disksize.Of(filepath.Join(w.top, "store")), disksize.Of(filepath.Join(w.top, "shadow.git"))
}
