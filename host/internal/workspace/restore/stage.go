package restore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// prefix names staging directories; beside a workspace they are hidden.
const (
	prefix       = "restore-"
	hiddenPrefix = tracked.Staging
)

// syncEach is up to how many files are synced one by one. More are synced with their whole filesystem.
const syncEach = 32

// run is a restore that is being applied, set back or cleaned up.
type run struct {
	p    *tracked.Provider
	held *tracked.Held
	plan *Plan // nil in a recovery
	j    *journal
	opened
	store   *dir
	staging *dir
	places  *os.Root // the staging directory again
	sources sources
	// byPath are the numbers of operations that put something at a path.
	byPath    map[string]int
	conflicts []tree.Problem
	// untimed are the directories of others whose times stay different.
	untimed []tree.Problem
}

// newRun opens the workspace and the store.
func newRun(p *tracked.Provider, held *tracked.Held) (*run, error) {
	r := &run{p: p, held: held, j: &journal{}, byPath: map[string]int{}}
	var err error
	if r.root, err = openDir(p.Options().Workspace); err != nil {
		return nil, err
	}
	if r.store, err = openDir(p.Options().Store); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *run) close() {
	r.leave()
	r.leaveStaging()
	for _, d := range []*dir{r.root, r.store} {
		if d != nil {
			d.close()
		}
	}
}

// leaveStaging closes the staging directory. Windows removes none that is open.
func (r *run) leaveStaging() {
	if r.staging != nil {
		r.staging.close()
		r.staging = nil
	}
	if r.places != nil {
		_ = r.places.Close()
		r.places = nil
	}
}

// begin creates the staging directory: in the store, or beside the workspace, whichever files can be renamed from. A workspace
// that is a filesystem or a subvolume of its own has it inside, in its repository if it has one: no snapshot has that.
func (r *run) begin() error {
	workspace, err := filepath.EvalSymlinks(r.p.Options().Workspace)
	if err != nil {
		return err
	}
	if workspace, err = filepath.Abs(workspace); err != nil {
		return err
	}
	store, err := filepath.EvalSymlinks(r.p.Options().Store)
	if err != nil {
		return err
	}
	if store, err = filepath.Abs(store); err != nil {
		return err
	}
	here, err := r.root.mount()
	if err != nil {
		return err
	}
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	id := hex.EncodeToString(random)
	within := workspace
	if info, err := os.Lstat(filepath.Join(workspace, ".git")); err == nil && info.IsDir() {
		within = filepath.Join(workspace, ".git")
	}
	var why []string
	for _, c := range [][2]string{{store, prefix + id}, {filepath.Dir(workspace), hiddenPrefix + id}, {within, hiddenPrefix + id}} {
		path := filepath.Join(c[0], c[1])
		if rel, err := filepath.Rel(workspace, path); err == nil && filepath.IsLocal(rel) && c[0] != within {
			why = append(why, fmt.Sprintf("%s is inside of it", c[0]))
			continue
		}
		d, err := openDir(c[0])
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		there, err := d.mount()
		d.close()
		switch {
		case err != nil:
			why = append(why, err.Error())
			continue
		case there != here:
			why = append(why, fmt.Sprintf("%s is on another filesystem", c[0]))
			continue
		}
		r.j.Staging = path
		if err := r.j.write(r.store, r.p.Options().Store, stagingFile); err != nil {
			return err
		}
		if err := inTime(path, func(path string) error { return os.Mkdir(path, 0o700) }); err != nil {
			why = append(why, err.Error())
			continue
		}
		return r.open()
	}
	err = fmt.Errorf("there is no directory from which files can be renamed into %s: %s. Keep the snapshots on the filesystem of the workspace.", r.p.Options().Workspace, strings.Join(why, "; "))
	return errors.Join(err, r.forget(stagingFile))
}

// open opens the staging directory.
func (r *run) open() (err error) {
	if r.staging, err = openDir(r.j.Staging); err != nil {
		return err
	}
	r.places, err = os.OpenRoot(r.j.Staging)
	return err
}

// forget removes a file of the store.
func (r *run) forget(name string) error {
	err := os.Remove(filepath.Join(r.p.Options().Store, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stage makes the operations, and writes and checks what they put into the workspace.
func (r *run) stage(ctx context.Context) error {
	canExchange := r.canExchange()
	steps := r.plan.Steps
	// The deepest paths leave first, so that a directory is empty when it leaves.
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		if s.Kind == Delete || s.Kind == Replace && (!canExchange || s.Before.Kind == tree.Dir || s.After.Kind == tree.Dir) {
			r.j.Operations = append(r.j.Operations, operation{Action: away, Path: s.Path, Old: stampOf(r.plan.nodes[s.Path]), oldAlone: alone(s.Before)})
		}
	}
	first := map[uint64]int{} // the operation that has the file of a group of hard links
	var work []int
	var links [][2]int
	moved := map[string]bool{}
	for _, o := range r.j.Operations {
		moved[o.Path] = true
	}
	for i := range steps {
		s := &steps[i]
		if s.Kind != Create && s.Kind != Replace {
			continue
		}
		n := len(r.j.Operations)
		o := operation{Action: place, Path: s.Path, Entry: s.After, newAlone: alone(s.After)}
		if s.Kind == Replace && !moved[s.Path] {
			o.Action, o.Old, o.oldAlone = swap, stampOf(r.plan.nodes[s.Path]), alone(s.Before)
		}
		r.j.Operations = append(r.j.Operations, o)
		r.byPath[s.Path] = n
		if s.After.Hard != 0 {
			if to, ok := first[s.After.Hard]; ok {
				links = append(links, [2]int{n, to})
				continue
			}
			first[s.After.Hard] = n
		}
		work = append(work, n)
	}
	r.sources = openSources(r)
	err := inParallel(ctx, work, r.stageOne)
	r.sources.close()
	if err != nil {
		return err
	}
	for _, l := range links {
		from, _ := staged(l[1])
		to, _ := staged(l[0])
		if err := link(r.staging, from, r.staging, to); err != nil {
			return fmt.Errorf("cannot write %q into %s: %w", r.j.Operations[l[0]].Path, r.j.Staging, err)
		}
	}
	for i := range r.j.Operations {
		o := &r.j.Operations[i]
		if o.Action == away {
			continue
		}
		var err error
		fresh, _ := staged(i)
		if o.New, err = r.staging.stat(fresh); err != nil {
			return err
		}
	}
	return r.syncStaged(work)
}

// alone reports whether the ctime of a path changes only with it. Links may have several names, which nothing records, and
// cannot be changed.
func alone(e *tree.Entry) bool { return e.Kind == tree.File && e.Hard == 0 }

// canExchange tries whether the filesystem exchanges names.
func (r *run) canExchange() bool {
	const a, b = "x1", "x2"
	defer func() { _, _ = r.staging.rmdir(a), r.staging.rmdir(b) }()
	return r.staging.mkdir(a) == nil && r.staging.mkdir(b) == nil && exchange(r.staging, a, r.staging, b) == nil
}

// stageOne writes what an operation puts into the workspace, and compares it with what was recorded.
func (r *run) stageOne(i int) error {
	o := &r.j.Operations[i]
	fresh, _ := staged(i)
	fail := func(err error) error {
		return fmt.Errorf("cannot write %q into %s: %w. The workspace is unchanged.", o.Path, r.j.Staging, err)
	}
	if o.Entry.Kind == tree.Dir {
		if err := r.staging.mkdir(fresh); err != nil {
			return fail(err)
		}
		return nil
	}
	if at := r.plan.anchors[o.Entry.Hard]; at != "" && o.Entry.Hard != 0 {
		if linked, err := r.anchored(at, fresh); linked || err != nil {
			return err
		}
	}
	if !share(r, o, fresh) {
		err := r.held.Place(r.places, fresh, o.Entry)
		if err == nil && o.Entry.Kind == tree.File {
			err = compare(r, fresh, o.Entry)
		}
		if err != nil {
			return fail(err)
		}
	}
	if n := r.plan.nodes[o.Path]; n != nil {
		if err := r.keepOwner(o, fresh); err != nil {
			return fail(err)
		}
	}
	return nil
}

// keepOwner gives what is staged the owner of what it replaces. A system that does not allow it keeps the user's.
func (r *run) keepOwner(o *operation, fresh string) error {
	d, err := r.root.sub(tree.Parent(o.Path))
	if err != nil {
		return nil // it changed: the check before the swap says so
	}
	defer d.close()
	now, err := d.stat(tree.Base(o.Path))
	if err != nil || r.staging.chown(fresh, now) != nil {
		return nil
	}
	if o.Entry.Kind == tree.File && o.Entry.Mode&0o6000 != 0 {
		return r.staging.chmod(fresh, o.Entry.Mode) // a new owner clears these bits
	}
	return nil
}

// anchored makes a hard link to a file of the workspace that stays. False means that the system does not allow it.
func (r *run) anchored(at, fresh string) (bool, error) {
	d, err := r.root.sub(tree.Parent(at))
	if err != nil {
		return false, &ChangedError{at, reason(err)}
	}
	defer d.close()
	if err := link(d, tree.Base(at), r.staging, fresh); err != nil {
		return false, nil
	}
	now, err := r.staging.stat(fresh)
	if err != nil {
		return false, err
	}
	if was := stampOf(r.plan.nodes[at]); !now.is(was) || now.Mode != was.Mode {
		return false, &ChangedError{at, "it is no longer what the snapshot before has"}
	}
	return true, nil
}

// syncStaged makes what is staged survive a loss of power.
func (r *run) syncStaged(work []int) error {
	if len(work) > syncEach && r.staging.syncAll() == nil {
		return nil
	}
	return inParallel(context.Background(), work, func(i int) error {
		if o := &r.j.Operations[i]; o.Entry.Kind != tree.File {
			return nil
		}
		fresh, _ := staged(i)
		return r.staging.syncFile(fresh)
	})
}

// inParallel calls do for every number, on all processors, until one fails.
func inParallel(ctx context.Context, numbers []int, do func(int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), len(numbers)) {
		workers.Go(func() {
			for n := range next {
				if err := do(n); err != nil {
					stop(err)
				}
			}
		})
	}
feed:
	for _, n := range numbers {
		select {
		case next <- n:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// discard removes what was staged. Nothing of it is the user's.
func (r *run) discard() error {
	r.leaveStaging()
	if r.j.Staging != "" && owned(r.j.Staging) {
		if err := inTime(r.j.Staging, tracked.RemoveAll); err != nil {
			return err
		}
	}
	return r.forget(stagingFile)
}

// inTime creates or removes a directory, and puts the time of the one that it is in back: that may be the workspace.
func inTime(path string, do func(path string) error) error {
	info, unknown := os.Stat(filepath.Dir(path))
	err := do(path)
	if unknown == nil {
		_ = os.Chtimes(filepath.Dir(path), time.Time{}, info.ModTime()) // it may be another user's
	}
	return err
}

// owned reports whether a path is one of a staging directory.
func owned(path string) bool {
	name := filepath.Base(path)
	return slices.ContainsFunc([]string{prefix, hiddenPrefix}, func(p string) bool {
		return len(name) == len(p)+16 && name[:len(p)] == p
	})
}
