package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// What snapshots of a workspace promise.
const (
	filesSmall     = 100_000
	filesLarge     = 500_000
	filesInDir     = 7
	fileSize       = 500 // bytes
	filesEdited    = 10
	budgetSnapshot = 10 * time.Millisecond // p50
	budgetSlow     = 30 * time.Millisecond // p95
	budgetNone     = 2 * time.Millisecond  // nothing changed
	budgetDiff     = 20 * time.Millisecond
	filesScale     = 1.5 // times as long with five times the files
	budgetTree     = 150 << 20
	budgetGrowth   = 4 << 20
	growthRounds   = 200
)

// files measures snapshots beside a shadow repository with a persistent index, in turn.
func (r *run) files() (err error) {
	top, err := os.MkdirTemp("", "tidemark-files")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tracked.RemoveAll(top)) }()
	s := r.sheet(fmt.Sprintf("Snapshots of %d files of %d bytes, %d edited", r.third(filesSmall), fileSize, filesEdited))
	w, err := newWorkspace(filepath.Join(top, "small"), r.third(filesSmall))
	if err != nil {
		return err
	}
	if err := w.againstGit(r, s); err != nil {
		return errors.Join(err, w.close())
	}
	small, err := w.snapshots(r.third(60))
	if err := errors.Join(err, w.close()); err != nil {
		return err
	}
	if r.quick {
		return s.print()
	}
	before, err := anonymous(os.Getpid())
	if err != nil {
		return err
	}
	large, err := newWorkspace(filepath.Join(top, "large"), filesLarge)
	if err != nil {
		return err
	}
	if err := large.open(); err != nil {
		return errors.Join(err, large.close())
	}
	took, err := large.snapshots(60)
	if err != nil {
		return errors.Join(err, large.close())
	}
	runtime.GC()
	held, err := anonymous(os.Getpid())
	if err != nil {
		return errors.Join(err, large.close())
	}
	held -= before
	share := float64(quantile(took, .5)) / float64(quantile(small, .5))
	s.row(fmt.Sprintf("a snapshot of %d files / of %d", filesLarge, filesSmall), fmt.Sprintf("%.2f times (%s)", share, ms(quantile(took, .5))), fmt.Sprintf("at most %.1f times", filesScale), share <= filesScale)
	s.row(fmt.Sprintf("memory with %d files in %d directories", filesLarge, filesLarge/filesInDir), mib(held), "at most "+mib(budgetTree), held <= budgetTree)
	return errors.Join(large.close(), s.print())
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// workspace is a directory of files, with what watches it.
type workspace struct {
	top, dir string
	files    []string
	random   *rand.Rand
	watcher  watch.Watcher
	provider *tracked.Provider
}

func newWorkspace(top string, files int) (*workspace, error) {
	w := &workspace{top: top, dir: filepath.Join(top, "workspace"), random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // contents of a benchmark
	for i := range files {
		d := i / filesInDir
		dir := filepath.Join(w.dir, fmt.Sprintf("p%d", d/1000), fmt.Sprintf("m%d", d/25%40), fmt.Sprintf("d%d", d%25))
		if i%filesInDir == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("file%d.ts", i))
		if err := os.WriteFile(path, w.content(fileSize), 0o600); err != nil {
			return nil, err
		}
		w.files = append(w.files, path)
	}
	return w, nil
}

// content returns text that compresses about as source code does.
func (w *workspace) content(size int) []byte {
	b := make([]byte, 0, size+40)
	for len(b) < size {
		b = fmt.Appendf(b, "const %s = use(%q, %d)\n", word(w.random.IntN(5000)), word(w.random.IntN(5000)), w.random.IntN(1_000_000))
	}
	return b[:size]
}

func (w *workspace) open() (err error) {
	if w.watcher, err = watch.New(watch.Options{Dir: w.dir, Cookies: filepath.Join(w.top, "cookies")}); err != nil {
		return err
	}
	w.provider, err = tracked.Open(tracked.Options{Workspace: w.dir, Store: filepath.Join(w.top, "store"), Changes: w.watcher, Clock: time.Now})
	if err == nil {
		_, err = w.take()
	}
	return err
}

func (w *workspace) close() (err error) {
	if w.provider != nil {
		err = w.provider.Close()
	}
	if w.watcher != nil {
		err = errors.Join(err, w.watcher.Close())
	}
	return errors.Join(err, tracked.RemoveAll(w.top))
}

func (w *workspace) take() (uint64, error) {
	s, _, err := w.provider.Take(context.Background(), "bench")
	if err != nil {
		return 0, err
	}
	if len(s.Problems) > 0 {
		return 0, fmt.Errorf("the snapshot has problems: %s", s.Problems[0])
	}
	return s.Number, nil
}

func (w *workspace) edit(size int) error {
	for range filesEdited {
		if err := os.WriteFile(w.files[w.random.IntN(len(w.files))], w.content(size), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// snapshots returns how long snapshots take after edits.
func (w *workspace) snapshots(n int) ([]time.Duration, error) {
	var took []time.Duration
	for range n {
		if err := w.edit(fileSize); err != nil {
			return nil, err
		}
		d, err := timed(func() error { _, err := w.take(); return err })
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

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
		if err := w.edit(fileSize); err != nil {
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
	store, shadow := w.provider.Size(), sizeOf(filepath.Join(w.top, "shadow.git"))
	first, err := w.take()
	if err != nil {
		return err
	}
	rounds := r.third(growthRounds)
	last := first
	for i := range rounds {
		progress("growth %d of %d", i+1, rounds)
		if err := w.edit(1000); err != nil {
			return err
		}
		if last, err = w.take(); err != nil {
			return err
		}
		if err := w.shadow(); err != nil {
			return err
		}
	}
	progress("")
	store, shadow = w.provider.Size()-store, sizeOf(filepath.Join(w.top, "shadow.git"))-shadow
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

// sizeOf returns the room that the files of a directory take, in bytes.
func sizeOf(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
