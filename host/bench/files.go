package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
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
	budgetRestore  = 100 * time.Millisecond
	budgetIdle     = .01 // of a core
	filesIdle      = 10 * time.Second
	budgetInstall  = 1.15 // times as long while it is watched
	installs       = 7
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
	if err == nil {
		err = errors.Join(w.idle(r, s), w.restoring(r, s))
	}
	if err := errors.Join(err, w.close()); err != nil {
		return err
	}
	if r.quick {
		return s.print()
	}
	if err := r.largeWorkspace(s, filepath.Join(top, "large"), small); err != nil {
		return err
	}
	return errors.Join(r.installs(s, filepath.Join(top, "installs")), s.print())
}

// largeWorkspace measures time and memory with many files.
func (r *run) largeWorkspace(s *sheet, top string, small []time.Duration) (err error) {
	w, err := newWorkspace(top, filesLarge)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	debug.FreeOSMemory()
	before, err := anonymous(os.Getpid())
	if err != nil {
		return err
	}
	progress("files: snapshots of %d …", filesLarge)
	peak, stop := watchMemory()
	err = w.open()
	stop()
	if err != nil {
		return err
	}
	held, stop := watchMemory() // garbage included
	took, err := w.snapshots(60)
	stop()
	if err != nil {
		return err
	}
	share := float64(quantile(took, .5)) / float64(quantile(small, .5))
	s.row(fmt.Sprintf("a snapshot of %d files / of %d", filesLarge, filesSmall), fmt.Sprintf("%.2f times (%s)", share, ms(quantile(took, .5))), fmt.Sprintf("at most %.1f times", filesScale), share <= filesScale)
	s.row(fmt.Sprintf("memory with %d files in %d directories", filesLarge, filesLarge/filesInDir), mib(*held-before), "at most "+mib(budgetTree), *held-before <= budgetTree)
	s.figure("memory, at most while the first snapshot is taken", mib(*peak-before))
	// A restart reads the tree and compares everything.
	if err := errors.Join(w.provider.Close(), w.watcher.Close()); err != nil {
		return err
	}
	w.provider, w.watcher = nil, nil
	progress("files: a restart with %d …", filesLarge)
	debug.FreeOSMemory()
	again, err := timed(w.open)
	s.figure(fmt.Sprintf("a restart with %d files, until the next snapshot", filesLarge), ms(again))
	return err
}

// watchMemory follows the anonymous memory of this process, and notes the largest value.
func watchMemory() (most *int64, stop func()) {
	most = new(int64)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			if now, err := anonymous(os.Getpid()); err == nil {
				*most = max(*most, now)
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return most, func() { close(done); <-ended }
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// workspace is a directory of files, with what watches it.
type workspace struct {
	top, dir string
	files    int
	random   *rand.Rand
	watcher  watch.Watcher
	provider *tracked.Provider
}

func newWorkspace(top string, files int) (*workspace, error) {
	progress("files: %d are written …", files)
	w := &workspace{top: top, dir: filepath.Join(top, "workspace"), random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // contents of a benchmark
	w.files = files
	for i := range files {
		path := w.file(i)
		if i%filesInDir == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(path, w.content(fileSize), 0o600); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// file returns the path of a file by its number. A list of them would be part of the memory that is measured.
func (w *workspace) file(i int) string {
	d := i / filesInDir
	return filepath.Join(w.dir, fmt.Sprintf("p%d", d/1000), fmt.Sprintf("m%d", d/25%40), fmt.Sprintf("d%d", d%25), fmt.Sprintf("file%d.ts", i))
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
	if w.files > 0 {
		progress("files: %d are removed …", w.files)
	}
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

// edit writes some of the files anew, and returns their paths.
func (w *workspace) edit(size int) (paths []string, err error) {
	for range filesEdited {
		path := w.file(w.random.IntN(w.files))
		if err := os.WriteFile(path, w.content(size), 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// snapshots returns how long snapshots take after edits.
func (w *workspace) snapshots(n int) ([]time.Duration, error) {
	var took []time.Duration
	for range n {
		if _, err := w.edit(fileSize); err != nil {
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
