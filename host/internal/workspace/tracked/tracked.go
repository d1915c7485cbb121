// Package tracked is the snapshot provider that works everywhere: a store of contents, and a history of what changed.
//
// Guarantees:
//   - A snapshot covers everything in the workspace except the workspace's own .git: changes by any program, untracked
//     and ignored files, empty directories, links, modes, times, extended attributes.
//   - A snapshot that was returned survives the end of the process. After a loss of power, those of the last 100 ms may
//     be missing.
//   - What could not be read is named in the snapshot. An incomplete snapshot never passes for a complete one.
//   - A file whose recorded content is known to be damaged is read again by the next snapshot, which stores it anew.
//   - Nothing writes to the workspace.
//
// Not recorded: owners, sockets, pipes and devices; extended attributes except on Linux; on Windows access lists, streams
// beside the content, and attributes other than that a file may only be read.
package tracked

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark.dev/tidemark/host/internal/memory"
	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// syncEvery is how often what was written is made to survive a loss of power.
const syncEvery = 100 * time.Millisecond

// inlineDelta is the size in bytes up to which a delta is in the history itself.
const inlineDelta = 64 << 10

// objectsDir is the directory of a store that has the contents, historyFile the file that has the history.
const (
	objectsDir  = "objects"
	historyFile = "history"
)

// Options open a provider.
type Options struct {
	// Workspace is the directory of which snapshots are taken, Store the directory where they are kept.
	Workspace, Store string
	// Skip reports whether a path of the workspace is left out. Nil leaves out nothing.
	Skip func(path string) bool
	// Rules describe Skip. They are recorded with each snapshot, and SkipBy makes such a function of them, or nil.
	Rules  string
	SkipBy func(rules string) func(path string) bool
	// Changes reports what may have changed. Nil compares the whole workspace for each snapshot.
	Changes Changes
	// Freezer makes a copy of the workspace for each snapshot to read. Nil reads the workspace itself.
	Freezer Freezer
	// Copies returns directories with copies of a snapshot whose files can perhaps be cloned. Others may have changed them. Nil is none.
	Copies func(number uint64) []string
	// Clock returns the time of the filesystem. It is called from several goroutines.
	Clock func() time.Time
	// Budget bounds what the store takes on disk, in bytes; 0 is no bound. A snapshot that would exceed it first has the
	// oldest snapshots deleted to which References does not refer, then fails with a [provider.FullError]. Without
	// References nothing is deleted for it. A collection may exceed the budget for a moment, by one file of contents.
	Budget int64
	// References are the snapshots that something refers to, with the name of what does. It must not call the provider.
	References func() map[uint64]string
	// Known returns the largest number of a snapshot that others know, so that it is not used again if the history has lost it.
	// It must not call the provider. Nil is none.
	Known func() uint64
	// Deleting is called with snapshots before they are deleted. A kill may leave them. It must not call the provider.
	Deleting func(numbers []uint64)
}

// Changes reports what may have changed in a workspace. Package watch implements it.
type Changes interface {
	// Take returns what may have changed since the last call, after everything that was written before the call is
	// included. Whole means that anything may have changed.
	Take(ctx context.Context) (dirty tree.Dirty, whole bool, err error)
	// Since returns what may have changed since the last call of Take or Since. The next Take includes it.
	Since(ctx context.Context) (dirty tree.Dirty, whole bool, err error)
	// Return takes back what a snapshot that failed has taken.
	Return(dirty tree.Dirty, whole bool)
}

// Snapshot is a state of the workspace.
type Snapshot struct {
	// Number is unique in the workspace. Later snapshots have larger ones.
	Number uint64
	// At is when the snapshot was complete. Seen is when the last look at the workspace began that found it so, zero where
	// that was in an earlier process: what differs later was changed after that, but perhaps before At.
	At, Seen time.Time
	Label    string
	// Problems are the paths whose state is not certain, as "path: reason".
	Problems []string
	// Files counts the entries, Changed the files and links that changed since the snapshot before, or the directories where
	// nothing else did.
	Files, Changed int
	// Native names the filesystem that keeps a snapshot of its own, "" if none does. The provider itself does not set it.
	Native string

	rec     *record
	deleted bool
}

// Provider keeps the snapshots of one workspace. It is safe for concurrent use.
type Provider struct {
	*contents
	options Options
	end     chan struct{}
	ended   sync.WaitGroup
	// turn has room for the one that takes snapshots.
	turn chan struct{}

	mu      sync.Mutex
	history *history
	// all are the snapshots in their order, deleted ones included until a collection.
	all []*Snapshot
	// now is the tree of the last snapshot, with the stats of its files.
	now *tree.Tree
	// uncertain are the paths of the problems that the last scan had.
	uncertain []string
	memory    memory.Part
	// unsynced is true while the history has records that a loss of power would lose. deltas counts the bytes of deltas
	// since the last whole tree, whole the bytes of that tree.
	unsynced      bool
	deltas, whole int64
	// examined is how many contents had been found damaged when the contents of now were last examined, -1 before the first
	// time.
	examined int
	// lost counts the snapshots that were lost when the store was opened, why is the reason for the first of them.
	lost int
	why  error
	// highest is the largest number that a snapshot ever had.
	highest uint64
	// rewritten counts how often the history was rewritten. reading are the trees of checkouts that are being written.
	rewritten int
	reading   map[*tree.Tree]bool
	images    *image.Kept
	shown     atomic.Pointer[shown]
}

// Open opens the store of a workspace, and creates it if there is none.
func Open(o Options) (*Provider, error) {
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	if err := os.MkdirAll(o.Store, 0o700); err != nil {
		return nil, err
	}
	contents, err := openContents(filepath.Join(o.Store, objectsDir))
	if err != nil {
		return nil, err
	}
	p := &Provider{contents: contents, options: o, end: make(chan struct{}), turn: make(chan struct{}, 1), reading: map[*tree.Tree]bool{}, examined: -1, images: image.NewKept(filepath.Join(o.Store, imagesDir), contents.objects)}
	var records []*record
	if p.history, records, err = openHistory(filepath.Join(o.Store, historyFile)); err != nil {
		return nil, errors.Join(err, contents.close())
	}
	p.memory.Need(comparing)
	if err := p.load(records); err != nil {
		p.memory.Need(0)
		return nil, errors.Join(err, p.history.close(), contents.close())
	}
	release(p.now.Files)
	p.need(0)
	keepReserve(p)
	show(p, nil)
	p.ended.Go(p.syncOften)
	return p, nil
}

// load makes the list of snapshots and the last tree from the history.
func (p *Provider) load(records []*record) error {
	gap := false
	for _, rec := range records {
		if rec.behind && rec.Number > p.highest+1 { // else the damaged record was no snapshot
			gap = true
			lose(p, errRecord)
		}
		p.highest = max(p.highest, rec.Number)
		if rec.Deleted {
			if s := p.find(rec.Number); s != nil {
				s.deleted = true
			}
			continue
		}
		if gap {
			if err := rejoin(p, rec); err != nil {
				lose(p, err)
				continue
			}
			gap = false
		}
		p.all = append(p.all, &Snapshot{
			Number: rec.Number, At: time.Unix(0, rec.At), Label: rec.Label, Problems: rec.Problems, Files: rec.Files, Changed: rec.Changed, rec: rec,
		})
		p.count(rec)
	}
	// A loss of power may have kept the end of the history and lost contents that it names. So may damage.
	for len(p.all) > 0 {
		t, err := p.treeAt(len(p.all) - 1)
		if err == nil {
			p.now = t
			break
		}
		if !errors.Is(err, objects.ErrMissing) {
			return err
		}
		p.all = p.all[:len(p.all)-1]
		lose(p, err)
	}
	if p.now == nil {
		p.now = tree.New()
	}
	if p.options.Known != nil {
		p.highest = max(p.highest, p.options.Known())
	}
	if p.lost > 0 || p.history.torn {
		if err := p.history.keep(); err != nil {
			return err
		}
		return compact(p) // what follows must not be taken for changes since a lost one
	}
	return nil
}

// lose notes that a snapshot is lost.
func lose(p *Provider, why error) {
	p.lost++
	if p.why == nil {
		p.why = why
	}
}

// errRecord is why snapshots after a damaged record are lost: what they have is known only as changes.
var errRecord = errors.New("their records in the history, or those that they need, are damaged")

// rejoin makes the record of a snapshot the next one after the last in the list, instead of after one that is lost. That takes
// its whole tree.
func rejoin(p *Provider, rec *record) error {
	if !rec.Tree.is() {
		return errRecord
	}
	t, err := p.decode(rec)
	if err != nil {
		return err
	}
	rec.Delta, rec.DeltaAt, rec.Changed = nil, stream{}, rec.Files
	if len(p.all) == 0 {
		return nil
	}
	before, err := p.treeAt(len(p.all) - 1)
	if err != nil {
		return err
	}
	changes := tree.Compare(before, t)
	rec.Changed = countBetween(p, p.all[len(p.all)-1].rec, rec, changes)
	return p.encodeDelta(rec, changes)
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
	p.memory.Need(0)
	return errors.Join(p.images.Close(), p.contents.close(), p.history.sync(), p.history.close())
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
		due, history := p.unsynced, *p.history
		p.unsynced = false
		p.mu.Unlock()
		if !due {
			continue
		}
		if err := errors.Join(p.objects.Sync(), history.sync()); err != nil {
			p.mu.Lock()
			p.unsynced = true
			p.mu.Unlock()
		}
	}
}

// Staging begins the names of directories in which a restore prepares files, where they are in the workspace.
const Staging = ".tidemark-restore-"

// ours reports whether a path of the workspace is never part of a snapshot: the workspace's own repository, and what a restore
// prepares.
func ours(path string) bool { return path == ".git" || strings.HasPrefix(path, Staging) }

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

func (p *Provider) take(ctx context.Context, label string, h *Held) (s *Snapshot, same bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer show(p, nil)
	if err := p.history.there(); err != nil {
		return nil, false, err
	}
	began := p.options.Clock()
	progress := &tree.Progress{Since: began}
	show(p, progress)
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
	if !whole {
		dirty = dirty.With(p.uncertain)
	}
	damage := p.objects.Found()
	doubted, broken, err := examine(p, damage)
	if err != nil {
		return nil, false, err
	}
	if !whole {
		dirty = dirty.With(doubted)
	}
	scanner := p.scanner()
	scanner.Progress = progress
	if p.options.Changes != nil {
		scanner.Since = p.options.Changes.Since
	}
	var found *tree.Found
	frozen, whole, err := freeze(ctx, p, scanner, dirty, whole, h.Live)
	if frozen != nil {
		defer func() { frozen.end(s, found, same, err) }()
	}
	if err != nil {
		return nil, false, err
	}
	if whole {
		p.need(comparing)
		scanner.Listed = h.Listed
		found, err = scanner.Full(ctx, p.now)
	} else {
		found, err = scanner.Some(ctx, p.now, dirty)
	}
	if err != nil {
		return nil, false, err
	}
	p.uncertain = p.uncertain[:0]
	for _, problem := range found.Problems {
		p.uncertain = append(p.uncertain, problem.Path)
	}
	problems := tree.Lines(found.Problems)
	last := p.last()
	if len(found.Changes) == 0 && !broken && last != nil && slices.Equal(problems, last.Problems) && last.rec.Rules == p.options.Rules {
		seen := *last
		seen.Seen = began
		if len(doubted) > 0 { // they were stored again
			if err := p.objects.Flush(); err != nil {
				return nil, false, err
			}
			p.unsynced = true
		}
		p.all[len(p.all)-1], p.examined = &seen, damage
		return &seen, true, p.now.Accept(found)
	}
	rec := &record{Number: p.next(), At: scanner.Clock().UnixNano(), Label: label, Changed: tree.Count(found.Changes), Problems: problems, Rules: p.options.Rules}
	if len(p.all) > 0 { // the first one is only a tree
		rec.Changed = countBetween(p, p.all[len(p.all)-1].rec, rec, found.Changes)
		if err := p.encodeDelta(rec, found.Changes); err != nil {
			return nil, false, err
		}
	}
	// The tree is changed last, and undone if the record cannot be written.
	fresh := len(p.all) == 0 && p.now.Files == 0
	if fresh {
		found.Changes = nil // they are all files, and nothing needs them
	}
	if err := p.now.Accept(found); err != nil {
		return nil, false, err
	}
	rec.Files = p.now.Files
	if err := p.keep(rec, broken || len(p.all) == 0); err != nil {
		if fresh {
			p.now = tree.New()
			return nil, false, err
		}
		return nil, false, errors.Join(err, p.now.Apply(tree.Reversed(found.Changes)))
	}
	s = &Snapshot{Number: rec.Number, At: time.Unix(0, rec.At), Seen: began, Label: label, Problems: rec.Problems, Files: rec.Files, Changed: rec.Changed, rec: rec}
	p.all = append(p.all, s)
	p.highest, p.examined = s.Number, damage
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

// last returns the snapshot that p.now is the tree of, nil if there is none or it was deleted.
func (p *Provider) last() *Snapshot {
	if n := len(p.all); n > 0 && !p.all[n-1].deleted {
		return p.all[n-1]
	}
	return nil
}

func (p *Provider) next() uint64 { return p.highest + 1 }

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

// get returns the place of a snapshot in the list. The caller holds the lock.
func (p *Provider) get(number uint64) (int, error) {
	i, ok := p.index(number)
	if ok && !p.all[i].deleted {
		return i, nil
	}
	e := &provider.UnknownError{Number: number}
	for _, s := range p.all {
		if !s.deleted && (s.Number < number || e.Nearest == 0) {
			e.Nearest = s.Number
		}
	}
	return 0, e
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
	changes, err := p.between(min(a, b), max(a, b))
	if err != nil {
		return nil, err
	}
	if a > b {
		return tree.Reversed(changes), nil
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

// Entry returns an entry of a snapshot, nil if there is none at the path. It reads the changes of later snapshots, and no
// tree.
func (p *Provider) Entry(number uint64, path string) (*tree.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.get(number)
	if err != nil {
		return nil, err
	}
	for _, s := range p.all[i+1:] { // the first one that changes the path has what it was before
		changes, err := p.delta(s.rec)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(changes, func(c tree.Change) bool { return c.Path == path }); at >= 0 {
			return changes[at].Before, nil
		}
	}
	if n := p.now.Lookup(path); n != nil {
		return &n.Entry, nil
	}
	return nil, nil
}

// Paths calls each with the paths of the present files until it returns false. See [tree.Tree.Paths].
func Paths(p *Provider, skip func(name string) bool, each func(path string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Paths(skip)(each)
}

// Content writes the content of an entry of a snapshot.
func (p *Provider) Content(w io.Writer, e *tree.Entry) error { return p.write(w, e) }
