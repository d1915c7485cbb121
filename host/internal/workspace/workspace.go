package workspace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
	"tidemark.dev/tidemark/host/internal/workspace/zfs"
	"tidemark.dev/tidemark/installer/safefile"
)

// viewLife is how long a view is kept after it was last asked for.
const viewLife = time.Hour

// Workspace is a directory with its snapshots. It is safe for concurrent use.
type Workspace struct {
	// Dir is the directory, absolute and without links. ID names it in files.
	Dir, ID string
	// Former is true where the directory no longer exists. No snapshot of it can be taken then.
	Former bool

	o        Options
	rules    rules
	home     string
	provider *tracked.Provider
	watching *watching
	comparer *compare.Comparer
	queue    *queue
	place    provider.Placement // of views
	// native are the filesystem's own snapshots, nil where there are none because of unfit.
	native *native.Store
	unfit  map[string]*native.Unfit // by the filesystem's name
	// around is what the filesystem was mounted like when it was asked for its snapshots last, tried when that was. Once it would
	// answer otherwise, renew is true: the workspace must be opened again. renewing guards them.
	renewing sync.Mutex
	around   string
	tried    time.Time
	renew    bool
	// recovered is what was done about a restore that was interrupted, nil in the usual case.
	recovered *restore.Recovery
	// views has room for the one that makes or removes views.
	views chan struct{}

	// recorded is the number of the last snapshot whose changes are in the queue, edited when the first file of them was written.
	// recording guards both.
	recording sync.Mutex
	recorded  uint64
	edited    time.Time
	// identity is that of the directory, which the store has. It changes where the directory is deleted and made again. recording
	// guards it.
	identity string

	// preparing is true while a mount is prepared.
	preparing atomic.Bool

	mu sync.Mutex
	// compared is when all files were compared last.
	compared time.Time
	used     time.Time
	// problem is why no snapshot of a moment can be taken, nil in the usual case.
	problem error
	active  sync.WaitGroup // requests that are being served
	closed  bool
	// copied are why the last view and the last branch were copied instead of mounted, by whether it was a branch.
	copied map[bool]error
	// unnamed are the paths that views and branches lack because of their names, by their directories.
	unnamed map[string][]string
	// costs are how long the last new snapshots took, by what took them.
	costs map[string][]time.Duration
}

// ErrClosed means that the workspace was closed, because the user no longer allows it or the daemon stops.
var ErrClosed = errors.New("the workspace was closed during the call. Try again.")

// ID returns the name of a workspace in files: what its directory is called, and a hash of its path.
func ID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return Slug(dir) + "-" + hex.EncodeToString(sum[:6])
}

// Slug returns what a directory is called, in at most 24 lower-case letters, digits and hyphens.
func Slug(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(dir)))
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '-' })
	if name = strings.Join(parts, "-"); len(name) > 24 {
		name = strings.TrimRight(name[:24], "-")
	}
	if name == "" {
		return "workspace"
	}
	return name
}

// start opens a workspace.
func start(o Options, q *queue, a allowed) (_ *Workspace, err error) {
	w := &Workspace{Dir: a.root, ID: ID(a.root), Former: a.former, o: o, rules: a.rules, queue: q, problem: a.problem, views: make(chan struct{}, 1), used: o.Clock(), copied: map[bool]error{}, unnamed: map[string][]string{}, costs: map[string][]time.Duration{}}
	w.home = filepath.Join(o.Dir, w.ID)
	if w.Former {
		return w, startFormer(w)
	}
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		return nil, err
	}
	if w.identity, err = noteDir(w.home, w.Dir); err != nil {
		return nil, err
	}
	if a.problem == nil {
		if err := noteExclude(w.home, a.rules.Exclude); err != nil {
			return nil, err
		}
	}
	if w.place, err = provider.Place(w.Dir, w.home, filepath.Join(w.home, "views")); err != nil {
		return nil, err
	}
	if err := zfs.Present(context.Background(), w.Dir, filepath.Join(w.place.Dir, nativeDir)); err != nil {
		return nil, err
	}
	w.tried, w.around = o.Clock(), surroundings(w.Dir)
	if w.native, w.unfit = openNative(o, a, w.place); w.native == nil { // there may be some of before
		if err := discardIn(w.place.Dir); err != nil {
			o.Log.Warn("cannot remove old snapshots of the filesystem", "workspace", w.Dir, "error", err)
		}
	}
	skip := leftOut(w.Dir, a.rules.skip())
	options := tracked.Options{Workspace: w.Dir, Store: filepath.Join(w.home, storeDir), Skip: skip, Rules: a.stamp, SkipBy: skipBy, Clock: o.Clock, Budget: o.Settings.Policy().Bytes, References: w.references, Deleting: w.deleting}
	w.watching = &watching{start: func() (watch.Watcher, error) {
		watcher, err := watch.New(watch.Options{Dir: w.Dir, Skip: func(path string) bool { return path == ".git" || skip(path) }, Cookies: filepath.Join(w.home, "cookies")})
		if err != nil { // then each snapshot compares everything
			if !errors.Is(err, watch.ErrUnsupported) {
				o.Log.Warn("cannot watch a workspace, so that each snapshot compares all files", "workspace", w.Dir, "error", err)
			}
			return nil, err
		}
		return watcher, nil
	}}
	options.Changes = w.watching
	if o.known != nil {
		options.Known = func() uint64 { return o.known(w.Dir) }
	}
	options.Copies = func(number uint64) []string { return copiesOf(w, number) }
	if w.native != nil {
		options.Freezer = w.native
	}
	if w.provider, err = tracked.Open(options); err != nil {
		return nil, fmt.Errorf("cannot open the snapshots of %s: %w", w.Dir, err)
	}
	if w.native != nil {
		if err := w.native.Settle(context.Background(), w.provider.List()); err != nil {
			o.Log.Warn("cannot remove an old snapshot of the filesystem", "workspace", w.Dir, "error", err)
		}
	}
	if w.recovered, err = restore.Recover(context.Background(), w.provider); err != nil {
		return nil, errors.Join(err, w.provider.Close())
	}
	if w.recovered != nil {
		o.Log.Warn("a restore was interrupted", "workspace", w.Dir, "finished", w.recovered.Finished, "differs", len(w.recovered.Differs), "kept", w.recovered.Kept)
	}
	w.comparer = compare.New(w.provider, o.Redactor)
	w.comparer.Hide(rules{Denied: a.rules.Denied}.skip())
	if all := w.provider.List(); len(all) > 0 {
		w.recorded = all[len(all)-1].Number
	}
	w.sweepViews()
	return w, nil
}

// close waits for the requests that are being served.
func (w *Workspace) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.active.Wait()
	return errors.Join(w.provider.Close(), w.watching.close())
}

// begin begins to serve a request. The returned function ends it.
func (w *Workspace) begin() (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, ErrClosed
	}
	w.active.Add(1)
	w.used = w.o.Clock()
	return w.active.Done, nil
}

func (w *Workspace) use(problem error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used, w.problem = w.o.Clock(), problem
}

// Unruled returns why no snapshot of a moment can be taken, nil in the usual case: the settings file cannot be read. What goes
// back to a moment, or compares with the present state, takes its snapshot by the last rules.
func (w *Workspace) Unruled() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problem
}

func (w *Workspace) lastUse() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used
}

// Recovered returns what was done about a restore that was interrupted, when the workspace was opened; nil if there was
// none.
func (w *Workspace) Recovered() *restore.Recovery { return w.recovered }

// Take takes a snapshot. Where nothing changed since the last one, it returns that one, and true. By is the label of the
// agent's call that may have made the changes, "" where there was none. The changes are queued when it returns. With whole,
// and every [compareEvery], all files are compared: the system reports no change through a memory map, or through a hard link
// from elsewhere. What directories list is not believed then; see [tree.Scanner].
func (w *Workspace) Take(ctx context.Context, label, by string, whole bool) (s tracked.Snapshot, same bool, err error) {
	return take(ctx, w, label, by, whole, false)
}

// take is [Workspace.Take]. With live, the filesystem's own snapshots are not used.
func take(ctx context.Context, w *Workspace, label, by string, whole, live bool) (s tracked.Snapshot, same bool, err error) {
	began := time.Now()
	end, err := w.begin()
	if err != nil {
		return s, false, err
	}
	defer end()
	held, err := w.provider.Hold(ctx)
	if err != nil {
		return s, false, err
	}
	held.Live = live
	if w.compares(whole) {
		w.watching.Return(nil, true)
	} else {
		held.Listed = true
	}
	taken, same, err := held.Take(ctx, label)
	// The next call waits until what this one found is recorded, with what made it.
	w.recording.Lock()
	defer w.recording.Unlock()
	held.Release()
	if err != nil {
		if !held.Listed {
			w.uncompared()
		}
		return s, false, err
	}
	if same {
		by = "" // it made none of the changes that are not recorded yet
	}
	if is := dirIdentity(w.Dir); is != "" && is != w.identity {
		if w.identity, err = noteDir(w.home, w.Dir); err != nil {
			w.o.Log.Warn("cannot note which directory the snapshots are of", "workspace", w.Dir, "error", err)
		}
	}
	w.recordLocked(ctx, by)
	s = *taken
	if !same {
		prepareMount(w, taken)
	}
	mark(&s, w.native)
	if !same {
		noteCost(w, ProviderOf(s), time.Since(began))
	}
	return s, same, nil
}

// Edited returns when the first file was written by hand of which a snapshot has the change. It is zero where that is not
// known, also for all snapshots but the last one.
func (w *Workspace) Edited(number uint64) time.Time {
	w.recording.Lock()
	defer w.recording.Unlock()
	if w.recorded != number {
		return time.Time{}
	}
	return w.edited
}

// compareEvery is how long a change may stay unseen of which the system reports nothing.
const compareEvery = 10 * time.Minute

// compares reports whether the next snapshot compares all files.
func (w *Workspace) compares(whole bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.o.Clock()
	if !whole && now.Sub(w.compared) < compareEvery && !now.Before(w.compared) {
		return false
	}
	w.compared = now
	return true
}

// uncompared has the next snapshot compare all files.
func (w *Workspace) uncompared() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.compared = time.Time{}
}

// List returns the snapshots in their order.
func (w *Workspace) List() ([]tracked.Snapshot, error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	list := w.provider.List()
	for i := range list {
		mark(&list[i], w.native)
	}
	return list, nil
}

// Taking returns how far the snapshot is that is being taken, nil if there is none.
func Taking(w *Workspace) *tree.Progress { return tracked.Taking(w.provider) }

// View returns a directory with the files of a snapshot, which cannot be written to. It is removed an hour after it was
// last asked for. One in which something was changed is made again.
func (w *Workspace) View(ctx context.Context, number uint64) (string, error) {
	end, err := w.begin()
	if err != nil {
		return "", err
	}
	defer end()
	select {
	case w.views <- struct{}{}:
		defer func() { <-w.views }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	views := w.place.Dir
	if err := w.place.Create(); err != nil {
		return "", err
	}
	dir := filepath.Join(views, viewOf(number))
	stamp, _ := safefile.Read(dir+usedSuffix, sha256.Size) // without one it is made again
	if err := safefile.Overwrite(dir+usedSuffix, stamp); err != nil {
		return "", err
	}
	if overlay.Is(dir) && overlay.Mount(ctx, w.o.Server, dir) == nil && exists(dir) { // nobody can have changed it
		return dir, nil
	}
	if exists(dir) || overlay.Is(dir) {
		if lacking, same, err := tracked.Intact(ctx, w.provider, number, dir, stamp); same || err != nil {
			lacks(w, dir, lacking)
			return dir, err
		}
		if err := tracked.RemoveAll(dir); err != nil { // something was changed in it
			return "", err
		}
	}
	if tryMount(ctx, w, number, dir, false) {
		return dir, nil
	}
	making := dir + makingSuffix
	if err := tracked.RemoveAll(making); err != nil {
		return "", err
	}
	lacking, err := checkout(ctx, w, number, making, true)
	if err != nil {
		return "", errors.Join(err, os.Remove(dir+usedSuffix))
	}
	lacks(w, dir, lacking)
	if err := native.Rename(making, dir); err != nil {
		return "", errors.Join(err, tracked.RemoveAll(making))
	}
	if stamp, err = tracked.Stamp(ctx, dir); err != nil {
		return dir, ctx.Err() // without a stamp, such as of a path that is too long, it is made again
	}
	return dir, safefile.Overwrite(dir+usedSuffix, stamp)
}

// viewOf is what the directory of a view is called.
func viewOf(number uint64) string { return "s" + strconv.FormatUint(number, 10) }

// Views returns the directories of the views that exist, by the numbers of their snapshots.
func (w *Workspace) Views() map[uint64]string {
	entries, err := os.ReadDir(w.place.Dir)
	if err != nil {
		return nil // there are none
	}
	views := map[uint64]string{}
	for _, e := range entries {
		if n, err := strconv.ParseUint(strings.TrimPrefix(e.Name(), "s"), 10, 63); err == nil && e.IsDir() {
			views[n] = filepath.Join(w.place.Dir, e.Name())
		}
	}
	return views
}

// A view has a file beside it with its [tracked.Stamp], whose time is when the view was last asked for. While it is made it has another name.
const (
	usedSuffix   = ".used"
	makingSuffix = ".making"
)

// viewName is what views and temporary copies are called.
var viewName = lazyregexp.New(`^(s[0-9]+(\.making)?|copy-[A-Z2-7]+)$`)

// sweepViews removes the views that nobody has asked for during their life.
func (w *Workspace) sweepViews() {
	select {
	case w.views <- struct{}{}:
		defer func() { <-w.views }()
	default:
		return // the next sweep does it
	}
	sweepIn(w.o, w.place.Dir)
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// remove removes a file that may not exist.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Clone writes a snapshot into a new directory, which can be written to. Dir must not exist. After an error it does not
// exist either. What could not be read is left out: [Unnamed] has it.
func (w *Workspace) Clone(ctx context.Context, number uint64, dir string) error {
	lacking, err := cloneNamed(ctx, w, number, dir)
	if err = unnamed.Whole(dir, lacking, err); err == nil {
		lacks(w, dir, lacking)
	}
	return err
}

// storeDir is the directory of the snapshots in that of a workspace.
const storeDir = "store"

// Share makes a snapshot the first one of a copy of it, which [Workspace.Clone] made and nothing has changed since. That takes
// no room, and reads no file of the copy. The error is [fs.ErrExist] where there are snapshots of an earlier directory of that
// path.
func Share(ctx context.Context, w *Workspace, number uint64, dir string) error {
	end, err := w.begin()
	if err != nil {
		return err
	}
	defer end()
	home := filepath.Join(w.o.Dir, ID(dir))
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	copied := dir
	if subvolume.Is(dir) || dataset.Is(dir) || overlay.Is(dir) { // its files have the stats of the original
		copied = ""
	}
	if err := tracked.Share(ctx, w.provider, number, filepath.Join(home, storeDir), copied); err != nil {
		return errors.Join(err, os.RemoveAll(home))
	}
	return nil
}

// Unshare removes what [Share] made of a directory that no workspace was opened of since.
func (ws *Workspaces) Unshare(dir string) error {
	home := filepath.Join(ws.o.Dir, ID(dir))
	if _, err := directoryOf(home); err == nil {
		return nil
	}
	return os.RemoveAll(home)
}

// checkout is [tracked.CheckoutNamed], in the fastest way.
func checkout(ctx context.Context, w *Workspace, number uint64, dir string, readOnly bool) (lacking []tree.Problem, err error) {
	lacking, err = native.CheckoutNamed(ctx, w.native, w.provider, number, dir, readOnly)
	return lacking, explainRoom(err, dir)
}

// explainRoom adds to the error of a full disk what helps. Dir is what was to be written.
func explainRoom(err error, dir string) error {
	if objects.NoRoom(err) {
		return fmt.Errorf("%w. Free some space on the disk of %s and try again.", err, filepath.Dir(dir))
	}
	return err
}

// Estimate returns what [Workspace.Clone] takes. It measures that beside dir.
func (w *Workspace) Estimate(ctx context.Context, number uint64, dir string) (tracked.Estimate, error) {
	end, err := w.begin()
	if err != nil {
		return tracked.Estimate{}, err
	}
	defer end()
	return tracked.EstimateCheckout(ctx, w.provider, number, dir)
}

// Temporarily calls do with a directory that has the files of a snapshot and can be written to. It is removed afterwards, or
// as a view that nobody asks for if the process is killed.
func (w *Workspace) Temporarily(ctx context.Context, number uint64, do func(dir string) error) (err error) {
	if err := w.place.Create(); err != nil {
		return err
	}
	dir := filepath.Join(w.place.Dir, "copy-"+rand.Text())
	if err := safefile.Overwrite(dir+usedSuffix, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tracked.RemoveAll(dir), remove(dir+usedSuffix)) }()
	if err := w.Clone(ctx, number, dir); err != nil {
		return err
	}
	defer lacks(w, dir, nil)
	return do(dir)
}

// Diff compares the files of two snapshots.
func (w *Workspace) Diff(ctx context.Context, from, to uint64, o compare.Options) (*compare.Diff, error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	return w.comparer.Diff(ctx, from, to, o)
}

// Blame finds which snapshots last changed the lines of a file.
func (w *Workspace) Blame(ctx context.Context, path string, o compare.BlameOptions) (*compare.Blame, error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	return w.comparer.Blame(ctx, path, o)
}

// Check reads everything that the snapshots and what is mounted of them need, and returns the damages, one line each.
func (w *Workspace) Check() ([]string, error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	return append(w.provider.Check(), checkMounted(w)...), nil
}

// Degraded returns in what way snapshots are worse than they could be here, and why; "" if they are not.
func (w *Workspace) Degraded() string {
	end, err := w.begin()
	if err != nil {
		return ""
	}
	defer end()
	var all []string
	if why, unsupported := w.watching.limited(); why != "" && !unsupported {
		all = append(all, "each snapshot compares all files: "+why)
	}
	if why := lacking(w.native, w.unfit); why != "" {
		all = append(all, why)
	}
	return strings.Join(all, "; ")
}

// Recorded returns the snapshots of a workspace.
func Recorded(w *Workspace) *tracked.Provider { return w.provider }
