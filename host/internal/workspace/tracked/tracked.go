// Package tracked is the snapshot provider that works everywhere: a store of contents, and a history of what changed.
//
// Guarantees:
//   - A snapshot covers everything in the workspace except the workspace's own .git: changes by any program, untracked
//     and ignored files, empty directories, links, modes, times, extended attributes.
//   - A snapshot that was returned survives the end of the process. After a loss of power, those of the last 100 ms may
//     be missing.
//   - What could not be read is named in the snapshot. An incomplete snapshot never passes for a complete one.
//   - Nothing writes to the workspace.
//
// Not recorded: owners, sockets, pipes and devices.
package tracked

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/memory"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// syncEvery is how often what was written is made to survive a loss of power.
const syncEvery = 100 * time.Millisecond

// inlineDelta is the size in bytes up to which a delta is in the history itself.
const inlineDelta = 64 << 10

// maxProblems bounds the problems that a snapshot lists.
const maxProblems = 100

// Options open a provider.
type Options struct {
	// Workspace is the directory of which snapshots are taken, Store the directory where they are kept.
	Workspace, Store string
	// Skip reports whether a path of the workspace is left out. Nil leaves out nothing.
	Skip func(path string) bool
	// Changes reports what may have changed. Nil compares the whole workspace for each snapshot.
	Changes Changes
	Clock   func() time.Time
}

// Changes reports what may have changed in a workspace. Package watch implements it.
type Changes interface {
	// Take returns what may have changed since the last call, after everything that was written before the call is
	// included. Whole means that anything may have changed.
	Take(ctx context.Context) (dirty tree.Dirty, whole bool, err error)
	// Return takes back what a snapshot that failed has taken.
	Return(dirty tree.Dirty, whole bool)
}

// Snapshot is a state of the workspace.
type Snapshot struct {
	// Number is unique in the workspace. Later snapshots have larger ones.
	Number uint64
	At     time.Time
	Label  string
	// Problems are the paths whose state is not certain, as "path: reason".
	Problems []string
	// Files counts the entries, Changed those that changed since the snapshot before.
	Files, Changed int

	rec     *record
	deleted bool
}

// Provider keeps the snapshots of one workspace. It is safe for concurrent use.
type Provider struct {
	options Options
	objects *objects.Store
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	end     chan struct{}
	ended   sync.WaitGroup
	// turn has room for the one that takes snapshots.
	turn chan struct{}

	mu      sync.Mutex
	history *history
	// all are the snapshots in their order, deleted ones included until a collection.
	all []*Snapshot
	// now is the tree of the last snapshot, with the stats of its files.
	now    *tree.Tree
	memory memory.Part
	// unsynced is true while the history has records that a loss of power would lose. deltas counts the bytes of deltas
	// since the last whole tree, whole the bytes of that tree.
	unsynced      bool
	deltas, whole int64
	// lost counts the snapshots whose contents a loss of power took.
	lost int
}

// Open opens the store of a workspace, and creates it if there is none.
func Open(o Options) (*Provider, error) {
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	if err := os.MkdirAll(o.Store, 0o700); err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, err
	}
	p := &Provider{options: o, encoder: encoder, decoder: decoder, end: make(chan struct{}), turn: make(chan struct{}, 1)}
	if p.objects, err = objects.Open(filepath.Join(o.Store, "objects")); err != nil {
		return nil, err
	}
	var records []*record
	if p.history, records, err = openHistory(filepath.Join(o.Store, "history")); err != nil {
		return nil, errors.Join(err, p.objects.Close())
	}
	p.memory.Need(comparing)
	if err := p.load(records); err != nil {
		p.memory.Need(0)
		return nil, errors.Join(err, p.history.file.Close(), p.objects.Close())
	}
	release(p.now.Files)
	p.need(0)
	p.ended.Go(p.syncOften)
	return p, nil
}

// load makes the list of snapshots and the last tree from the history.
func (p *Provider) load(records []*record) error {
	for _, rec := range records {
		if rec.Deleted {
			if s := p.find(rec.Number); s != nil {
				s.deleted = true
			}
			continue
		}
		p.all = append(p.all, &Snapshot{
			Number: rec.Number, At: time.Unix(0, rec.At), Label: rec.Label, Problems: rec.Problems, Files: rec.Files, Changed: rec.Changed, rec: rec,
		})
		p.count(rec)
	}
	// A loss of power may have kept the end of the history and lost contents that it names.
	for len(p.all) > 0 {
		t, err := p.treeAt(len(p.all) - 1)
		if err == nil {
			p.now = t
			return nil
		}
		if !errors.Is(err, objects.ErrMissing) {
			return err
		}
		p.all = p.all[:len(p.all)-1]
		p.lost++
	}
	p.now = tree.New()
	return nil
}

// count adds a record to the sums by which the next whole tree is due.
func (p *Provider) count(rec *record) {
	if rec.Tree.is() {
		p.deltas, p.whole = 0, rec.Tree.Size
		return
	}
	p.deltas += int64(len(rec.Delta)) + rec.DeltaAt.Size
}

func (p *Provider) find(number uint64) *Snapshot {
	i, ok := p.index(number)
	if !ok {
		return nil
	}
	return p.all[i]
}

func (p *Provider) index(number uint64) (int, bool) {
	return slices.BinarySearchFunc(p.all, number, func(s *Snapshot, n uint64) int {
		switch {
		case s.Number < n:
			return -1
		case s.Number > n:
			return 1
		}
		return 0
	})
}

// Close ends the provider, with everything on disk.
func (p *Provider) Close() error {
	close(p.end)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	err := errors.Join(p.objects.Close(), p.history.file.Sync(), p.history.file.Close())
	p.decoder.Close()
	p.memory.Need(0)
	return err
}

// syncOften makes what was written survive a loss of power, contents before the history that names them.
func (p *Provider) syncOften() {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		due := p.unsynced
		p.unsynced = false
		p.mu.Unlock()
		if !due {
			continue
		}
		if err := errors.Join(p.objects.Sync(), p.history.file.Sync()); err != nil {
			p.mu.Lock()
			p.unsynced = true
			p.mu.Unlock()
		}
	}
}

// ours reports whether a path of the workspace is never part of a snapshot: the workspace's own repository.
func ours(path string) bool { return path == ".git" }

func (p *Provider) scanner() *tree.Scanner {
	return &tree.Scanner{
		Dir: p.options.Workspace, Read: p.read, Clock: p.options.Clock,
		Skip: func(path string) bool { return ours(path) || p.options.Skip(path) },
	}
}

// Take takes a snapshot. Where nothing changed since the last one, it returns that one, and true.
func (p *Provider) Take(ctx context.Context, label string) (s *Snapshot, same bool, err error) {
	h, err := p.Hold(ctx)
	if err != nil {
		return nil, false, err
	}
	defer h.Release()
	return h.Take(ctx, label)
}

func (p *Provider) take(ctx context.Context, label string) (s *Snapshot, same bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var dirty tree.Dirty
	whole := true
	if p.options.Changes != nil {
		if dirty, whole, err = p.options.Changes.Take(ctx); err != nil {
			return nil, false, err
		}
		defer func() {
			if err != nil {
				p.options.Changes.Return(dirty, whole)
			}
		}()
	}
	defer p.need(0)
	var found *tree.Found
	if whole {
		p.need(comparing)
		found, err = p.scanner().Full(ctx, p.now)
	} else {
		found, err = p.scanner().Some(ctx, p.now, dirty)
	}
	if err != nil {
		return nil, false, err
	}
	last := p.last()
	if len(found.Changes) == 0 && last != nil && len(found.Problems) == 0 {
		return last, true, p.now.Accept(found)
	}
	rec := &record{Number: p.next(), At: p.options.Clock().UnixNano(), Label: label, Changed: len(found.Changes)}
	for i, problem := range found.Problems {
		if i == maxProblems {
			rec.Problems = append(rec.Problems, fmt.Sprintf("and %d more", len(found.Problems)-i))
			break
		}
		rec.Problems = append(rec.Problems, problem.Path+": "+problem.Reason)
	}
	if len(p.all) > 0 { // the first one is only a tree
		if err := p.encodeDelta(rec, found.Changes); err != nil {
			return nil, false, err
		}
	}
	// The tree is changed last, and undone if the record cannot be written.
	if err := p.now.Accept(found); err != nil {
		return nil, false, err
	}
	rec.Files = p.now.Files
	if err := p.keep(rec, last == nil); err != nil {
		undo := make([]tree.Change, len(found.Changes))
		for i, c := range found.Changes {
			undo[i] = c.Reverse()
		}
		return nil, false, errors.Join(err, p.now.Apply(undo))
	}
	s = &Snapshot{Number: rec.Number, At: time.Unix(0, rec.At), Label: label, Problems: rec.Problems, Files: rec.Files, Changed: rec.Changed, rec: rec}
	p.all = append(p.all, s)
	p.count(rec)
	p.unsynced = true
	return s, false, nil
}

// keep writes a snapshot: its contents first.
func (p *Provider) keep(rec *record, first bool) error {
	if size := int64(len(rec.Delta)) + rec.DeltaAt.Size; first || p.deltas+size > p.whole {
		var err error
		if rec.Tree, err = p.store(p.now.Encode); err != nil {
			return err
		}
	}
	if err := p.objects.Flush(); err != nil {
		return err
	}
	return p.history.append(rec)
}

func (p *Provider) last() *Snapshot {
	for i := len(p.all) - 1; i >= 0; i-- {
		if !p.all[i].deleted {
			return p.all[i]
		}
	}
	return nil
}

func (p *Provider) next() uint64 {
	if len(p.all) == 0 {
		return 1
	}
	return p.all[len(p.all)-1].Number + 1
}

// store writes a stream into the store of contents.
func (p *Provider) store(write func(io.Writer) error) (stream, error) {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(write(w)) }()
	ids, size, err := p.readChunks(r)
	_ = r.CloseWithError(err)
	if err != nil {
		return stream{}, err
	}
	list, err := p.objects.Put(ids)
	return stream{List: list, Size: size}, err
}

func (p *Provider) encodeDelta(rec *record, changes []tree.Change) error {
	data, err := msgpack.Marshal(changes)
	if err != nil {
		return err
	}
	if small := p.encoder.EncodeAll(data, nil); len(small) <= inlineDelta {
		rec.Delta = small
		return nil
	}
	rec.DeltaAt, err = p.store(func(w io.Writer) error { _, err := w.Write(data); return err })
	return err
}

// delta returns the changes of a snapshot since the one before it.
func (p *Provider) delta(rec *record) ([]tree.Change, error) {
	if rec.Tree.is() && len(rec.Delta) == 0 && !rec.DeltaAt.is() { // the first one
		t, err := p.decode(rec)
		if err != nil {
			return nil, err
		}
		return t.Entries(), nil
	}
	var data []byte
	var err error
	if rec.DeltaAt.is() {
		var r io.Reader
		if r, err = p.open(rec.DeltaAt); err == nil {
			data, err = io.ReadAll(r)
		}
	} else {
		data, err = p.decoder.DecodeAll(rec.Delta, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("the changes of s%d: %w", rec.Number, err)
	}
	var changes []tree.Change
	if err := msgpack.NewDecoder(bytes.NewReader(data)).Decode(&changes); err != nil {
		return nil, fmt.Errorf("the changes of s%d: %w", rec.Number, err)
	}
	return changes, nil
}

// treeAt returns the tree of a snapshot, by its place in the list. The caller holds the lock.
func (p *Provider) treeAt(i int) (*tree.Tree, error) {
	from := i
	for from > 0 && !p.all[from].rec.Tree.is() {
		from--
	}
	t := tree.New()
	if rec := p.all[from].rec; rec.Tree.is() {
		var err error
		if t, err = p.decode(rec); err != nil {
			return nil, err
		}
		from++
	}
	for ; from <= i; from++ {
		changes, err := p.delta(p.all[from].rec)
		if err != nil {
			return nil, err
		}
		if err := t.Apply(changes); err != nil {
			return nil, fmt.Errorf("the changes of s%d: %w", p.all[from].Number, err)
		}
	}
	return t, nil
}

// UnknownError is the answer to a request for a snapshot that does not exist.
type UnknownError struct {
	Number uint64
	// Nearest is the snapshot before it, or the first one; 0 where there is none.
	Nearest uint64
}

func (e *UnknownError) Error() string {
	if e.Nearest == 0 {
		return fmt.Sprintf("there is no snapshot s%d: this workspace has no snapshot yet", e.Number)
	}
	return fmt.Sprintf("there is no snapshot s%d; the nearest one is s%d", e.Number, e.Nearest)
}

// get returns the place of a snapshot in the list. The caller holds the lock.
func (p *Provider) get(number uint64) (int, error) {
	i, ok := p.index(number)
	if ok && !p.all[i].deleted {
		return i, nil
	}
	e := &UnknownError{Number: number}
	for _, s := range p.all {
		if !s.deleted && (s.Number < number || e.Nearest == 0) {
			e.Nearest = s.Number
		}
	}
	return 0, e
}

// List returns the snapshots in their order.
func (p *Provider) List() []Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Snapshot, 0, len(p.all))
	for _, s := range p.all {
		if !s.deleted {
			list = append(list, *s)
		}
	}
	return list
}

// Diff returns the changes from one snapshot to another one, which may be older.
func (p *Provider) Diff(from, to uint64) ([]tree.Change, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.diff(from, to)
}

func (p *Provider) diff(from, to uint64) ([]tree.Change, error) {
	a, err := p.get(from)
	if err != nil {
		return nil, err
	}
	b, err := p.get(to)
	if err != nil {
		return nil, err
	}
	steps := [][]tree.Change{}
	for i := min(a, b) + 1; i <= max(a, b); i++ {
		step, err := p.delta(p.all[i].rec)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	changes := tree.Compose(steps...)
	if a > b {
		reversed := make([]tree.Change, len(changes))
		for i, c := range changes {
			reversed[i] = c.Reverse()
		}
		return reversed, nil
	}
	return changes, nil
}

// Tree returns the tree of a snapshot, without stats.
func (p *Provider) Tree(number uint64) (*tree.Tree, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.get(number)
	if err != nil {
		return nil, err
	}
	return p.treeAt(i)
}

// Content writes the content of an entry of a snapshot.
func (p *Provider) Content(w io.Writer, e *tree.Entry) error { return p.write(w, e) }

// Usage is what the snapshots of a workspace take on disk, in bytes.
func (p *Provider) Usage() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects.Size() + p.history.size
}

// Delete deletes snapshots. Their room is freed by the next collection.
func (p *Provider) Delete(numbers ...uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range numbers {
		i, err := p.get(n)
		if err != nil {
			return err
		}
		if err := p.history.append(&record{Number: n, Deleted: true}); err != nil {
			return err
		}
		p.all[i].deleted = true
		p.unsynced = true
	}
	return nil
}

// Check reads everything that the snapshots need, and returns the damages, one line each.
func (p *Provider) Check() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	damages := p.objects.Check()
	if p.lost > 0 {
		damages = append(damages, fmt.Sprintf("%d snapshots were lost: the machine ended before their contents were on disk", p.lost))
	}
	if p.history.cut > 0 {
		damages = append(damages, fmt.Sprintf("%s has an end of %d bytes that was not whole; a copy is in %s", p.history.file.Name(), p.history.cut, p.history.file.Name()+cutSuffix))
	}
	for i, s := range p.all {
		if s.deleted {
			continue
		}
		t, err := p.treeAt(i)
		if err != nil {
			damages = append(damages, err.Error())
			continue
		}
		var missing []string
		for path, n := range t.All() {
			ids, err := p.idsOf(&n.Entry)
			for _, id := range ids {
				if !p.objects.Has(id) {
					err = objects.ErrMissing
				}
			}
			if err != nil {
				missing = append(missing, path)
			}
		}
		if len(missing) > 0 {
			damages = append(damages, fmt.Sprintf("s%d: %d files have no content, such as %s", s.Number, len(missing), strings.Join(missing[:1], "")))
		}
	}
	return damages
}
