package tracked

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/attrs"
	"tidemark.dev/tidemark/host/internal/workspace/extents"
	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/removal"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
)

// Checkout writes a snapshot into a new directory. With readOnly nothing in it can be written. Dir must not exist. After
// an error it does not exist either. What could not be read is left out.
func (p *Provider) Checkout(ctx context.Context, number uint64, dir string, readOnly bool) error {
	lacking, err := CheckoutNamed(ctx, p, number, dir, readOnly)
	return unnamed.Whole(dir, lacking, err)
}

// CheckoutNamed is [Provider.Checkout] without the paths whose names the system or the filesystem of the directory refuses. It
// returns these, of a directory that alone, and those that could not be read, which [Provider.Checkout] leaves out too.
func CheckoutNamed(ctx context.Context, p *Provider, number uint64, dir string, readOnly bool) (lacking []tree.Problem, err error) {
	t, end, err := reader(p, number)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if lacking, err = p.fill(ctx, t, dir, readOnly); err != nil {
		return nil, errors.Join(err, RemoveAll(dir))
	}
	return lacking, nil
}

// reader returns the tree of a snapshot. A deletion takes nothing from it until end is called.
func reader(p *Provider, number uint64) (t *tree.Tree, end func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.get(number)
	if err != nil {
		return nil, nil, err
	}
	if t, err = p.treeAt(i); err != nil {
		return nil, nil, err
	}
	p.reading[t] = true
	return t, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.reading, t)
	}, nil
}

func (p *Provider) fill(ctx context.Context, t *tree.Tree, dir string, readOnly bool) ([]tree.Problem, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var work, dirs, links []string
	first := map[uint64]string{} // the path of each group of hard links that is written; the others are linked to it
	nodes := map[string]*tree.Node{}
	lacking := &unnamed.Paths{}
	within := "" // a directory that is lacking
	for path, n := range t.All() {
		if within != "" && strings.HasPrefix(path, within+"/") {
			continue
		}
		switch at, why := unnamed.Here(path); {
		case at != "":
			lacking.Add(at, why)
			within = at
		case path == "":
			dirs = append(dirs, path)
		case n.Unrecorded():
			lacking.AddUnread(path, &n.Entry)
			within = path
		case n.Kind == tree.Dir:
			switch err := r.Mkdir(filepath.FromSlash(path), 0o700); {
			case err == nil:
				dirs = append(dirs, path)
			case lacking.Unless(path, unnamed.Of(err)) != nil:
				return nil, err
			default:
				within = path
			}
		default:
			nodes[path] = n
			if n.Hard != 0 {
				if first[n.Hard] != "" {
					links = append(links, path)
					continue
				}
				first[n.Hard] = path
			}
			work = append(work, path)
		}
	}
	live := openLive(p)
	defer live.close()
	place := func(path string) error {
		return lacking.Unless(path, p.place(r, path, &nodes[path].Entry, readOnly, live))
	}
	if err := inParallel(ctx, work, place); err != nil {
		return nil, err
	}
	link := func(path string) error {
		group := nodes[path].Hard
		if lacking.Has(first[group]) { // the others are linked to this one
			first[group] = path
			return place(path)
		}
		return lacking.Unless(path, unnamed.Of(r.Link(filepath.FromSlash(first[group]), filepath.FromSlash(path))))
	}
	for _, path := range links {
		if err := link(path); err != nil {
			return nil, err
		}
	}
	// The deepest directories first: a directory's times change with what is in it, and a read-only one takes nothing.
	for _, path := range slices.Backward(dirs) {
		if err := finishDir(r, path, &t.Lookup(path).Entry, readOnly); err != nil {
			return nil, err
		}
	}
	return lacking.List(), nil
}

// inParallel calls do for every path, on all processors, until one fails.
func inParallel(ctx context.Context, paths []string, do func(string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan string)
	var workers sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for path := range next {
				if err := do(path); err != nil {
					stop(fmt.Errorf("%s: %w", path, err))
				}
			}
		})
	}
feed:
	for _, path := range paths {
		select {
		case next <- path:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// place writes a file or a link that does not exist yet. Live may be nil. The error is [unnamed.Err] where the name is refused.
func (p *Provider) place(r *os.Root, path string, e *tree.Entry, readOnly bool, live *live) error {
	name := filepath.FromSlash(path)
	if e.Kind == tree.Link {
		if err := attrs.MakeLink(r, name, e.Target); err != nil {
			return unnamed.Of(err)
		}
		return attrs.LinkTime(r, name, e.Mtime)
	}
	f := live.clone(r, path, e)
	if f == nil {
		var err error
		if f, err = r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return unnamed.Of(err)
		}
		if err := p.fillFile(f, e); err != nil {
			_ = f.Close()
			return err
		}
	}
	return Finish(r, name, f, e, readOnly)
}

// Finish gives a file that has its content all else of an entry, and closes it.
func Finish(r *os.Root, name string, f *os.File, e *tree.Entry, readOnly bool) error {
	defer func() { _ = f.Close() }()
	if err := attrs.SetXattrs(f, e.Xattrs); err != nil {
		return err
	}
	if err := f.Chmod(modeOf(e, readOnly)); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return r.Chtimes(name, time.Time{}, time.Unix(0, e.Mtime))
}

// fillFile writes the content of an entry into an empty file. It is an error if that was not recorded.
func (c *contents) fillFile(f *os.File, e *tree.Entry) error {
	if !e.Sparse {
		return c.write(f, e)
	}
	h := extents.NewHoles(f)
	if err := c.write(h, e); err != nil {
		return err
	}
	return h.Close()
}

func finishDir(r *os.Root, path string, e *tree.Entry, readOnly bool) error {
	name := filepath.FromSlash(path)
	if path == "" {
		name = "."
	}
	if len(e.Xattrs) > 0 {
		d, err := r.Open(name)
		if err != nil {
			return err
		}
		err = attrs.SetXattrs(d, e.Xattrs)
		_ = d.Close()
		if err != nil {
			return err
		}
	}
	if err := r.Chtimes(name, time.Time{}, time.Unix(0, e.Mtime)); err != nil {
		return err
	}
	return r.Chmod(name, modeOf(e, readOnly))
}

// modeOf returns the mode of an entry as Go has it.
func modeOf(e *tree.Entry, readOnly bool) os.FileMode {
	mode := os.FileMode(e.Mode & 0o777)
	if readOnly {
		mode &^= 0o222
		if e.Kind == tree.Dir {
			mode |= 0o500 // the view can be listed, whatever the directory allowed
		}
		return mode
	}
	for bit, flag := range map[uint16]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if e.Mode&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// imagesDir is the directory of a store that has the kept indexes of images, while the store is open.
const imagesDir = "images"

// An image is made of a kept index if the snapshots between have at most so many changes. They cost about 10 µs each.
const maxImageChanges = 1000

// Export makes the files of an image of a snapshot, see [image.Open], and returns the snapshot's root. With durable it survives a loss
// of power.
func Export(ctx context.Context, p *Provider, number uint64, to image.Files, durable bool) (root *tree.Entry, err error) {
	held, err := p.Hold(ctx) // a collection would move contents
	if err != nil {
		return nil, err
	}
	defer held.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.get(number)
	if err != nil {
		return nil, err
	}
	base, err := indexNear(p, i)
	if err != nil {
		return nil, err
	}
	changes, err := p.diff(base, number)
	if err != nil {
		return nil, err
	}
	if err := p.objects.Link(to.Packs, durable); err != nil {
		return nil, err
	}
	return p.images.Make(to, base, changes, func(path string, e *tree.Entry) *tree.Node {
		if i == len(p.all)-1 {
			return p.now.Lookup(path) // with its stat
		}
		return &tree.Node{Entry: *e}
	}, durable)
}

// PrepareExport makes that the next [Export] of the newest snapshot takes no longer with many files.
func PrepareExport(ctx context.Context, p *Provider) error {
	held, err := p.Hold(ctx)
	if err != nil {
		return err
	}
	defer held.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last() == nil {
		return nil
	}
	_, err = indexNear(p, len(p.all)-1)
	return err
}

// indexNear returns a snapshot of which an index is kept and that is near to one, given by its place in the list. It makes an index of
// that one where there is none. The caller has the turn and the lock.
func indexNear(p *Provider, i int) (number uint64, err error) {
	if err := dropIndexes(p); err != nil {
		return 0, err
	}
	least := maxImageChanges + 1
	for _, n := range p.images.Numbers() {
		at, _ := p.index(n)
		changes := 0
		for _, s := range p.all[min(at, i)+1 : max(at, i)+1] {
			changes += s.rec.Changed
		}
		if changes < least {
			number, least = n, changes
		}
	}
	if least <= maxImageChanges {
		return number, nil
	}
	t := p.now
	if i < len(p.all)-1 {
		if t, err = p.treeAt(i); err != nil {
			return 0, err
		}
	}
	if err := p.objects.Flush(); err != nil {
		return 0, err
	}
	number = p.all[i].Number
	return number, p.images.Add(number, t)
}

// dropIndexes removes the kept indexes that cannot be used any more.
func dropIndexes(p *Provider) error {
	return p.images.Drop(func(number uint64) bool {
		_, err := p.get(number)
		return err == nil
	})
}

// Share makes a new directory the store of a copy of a snapshot. It has that snapshot, under its number, and shares the
// contents with the provider's store. Where copied is not "", it is the directory of the copy, whose files are not those of a snapshot of
// the filesystem: the store has their stats, so that the next snapshot of the copy need not read them. Nothing may have changed
// the copy since it was made. After an error the directory does not exist.
func Share(ctx context.Context, p *Provider, number uint64, store, copied string) error {
	held, err := p.Hold(ctx) // a collection would remove the tree that is written below
	if err != nil {
		return err
	}
	defer held.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.get(number)
	if err != nil {
		return err
	}
	records, err := alone(p, i, copied)
	if err != nil {
		return err
	}
	if err := os.Mkdir(store, 0o700); err != nil {
		return err
	}
	if err := shareInto(p, store, records); err != nil {
		return errors.Join(err, os.RemoveAll(store))
	}
	return nil
}

// alone returns records of which a snapshot, by its place in the list, is the only one.
func alone(p *Provider, i int, copied string) (records []*record, err error) {
	rec := *p.all[i].rec
	if copied != "" {
		t := p.now
		if i < len(p.all)-1 {
			if t, err = p.treeAt(i); err != nil {
				return nil, err
			}
		}
		rec.Delta, rec.DeltaAt, rec.Changed = nil, stream{}, rec.Files
		rec.Tree, err = p.store(func(w io.Writer) error { return t.EncodeCopy(w, copied, p.options.Clock()) })
		return []*record{&rec}, err
	}
	// Its tree is the last whole one, and what changed since.
	from := i
	for from > 0 && !p.all[from].rec.Tree.is() {
		from--
	}
	for _, s := range p.all[from:i] {
		records = append(records, s.rec)
	}
	records = append(records, &rec)
	for _, s := range p.all[from:i] {
		records = append(records, &record{Number: s.Number, Deleted: true})
	}
	return records, nil
}

// shareInto fills the directory of a store.
func shareInto(p *Provider, store string, records []*record) error {
	if err := p.objects.Share(filepath.Join(store, objectsDir)); err != nil {
		return err
	}
	h, _, err := openHistory(filepath.Join(store, historyFile))
	if err != nil {
		return err
	}
	return errors.Join(h.append(records...), h.sync(), h.close(), objects.SyncDir(store))
}

// RemoveAll removes a checkout. See [removal.All].
func RemoveAll(dir string) error { return removal.All(dir) }

// UsedError means that a program uses a checkout. See [removal.UsedError].
type UsedError = removal.UsedError

// RemoveUsed removes a checkout that programs may use. See [removal.Used].
func RemoveUsed(dir string) error { return removal.Used(dir) }
