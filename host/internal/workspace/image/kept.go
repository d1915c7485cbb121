package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Kept are at most maxKept indexes of snapshots of a store, for as long as its process runs. An index is removed when its snapshot is
// deleted, and when a content may no longer be where the index says. Images that were made of it keep it, and the packs that they
// link. It is not safe for concurrent use, and no content may be collected meanwhile.
type Kept struct {
	dir  string
	from *objects.Store
	list []*kept // the one that was used last is the first
}

// maxKept bounds the indexes, each of which takes about 140 bytes of a file.
const maxKept = 3

// kept is the index of a snapshot.
type kept struct {
	number uint64
	sum    uint32
	// packs are those that the store had, found is how many contents had been found damaged: they are stored again elsewhere.
	packs []uint32
	found int
	root  tree.Entry
}

// NewKept keeps indexes of a store in a directory, from which it removes those of an earlier process.
func NewKept(dir string, from *objects.Store) *Kept {
	_ = os.RemoveAll(dir) // what stays is removed by Add
	return &Kept{dir: dir, from: from}
}

// Close removes the indexes.
func (k *Kept) Close() error { return os.RemoveAll(k.dir) }

func (k *Kept) path(number uint64) string { return filepath.Join(k.dir, fmt.Sprint(number)) }

// Drop removes the indexes that are no longer valid, or of whose snapshot exists is false.
func (k *Kept) Drop(exists func(number uint64) bool) (err error) {
	now, found := k.from.Packs(), k.from.Found()
	k.list = slices.DeleteFunc(k.list, func(one *kept) bool {
		removed := func(pack uint32) bool { return !slices.Contains(now, pack) }
		if exists(one.number) && one.found == found && !slices.ContainsFunc(one.packs, removed) {
			return false
		}
		err = errors.Join(err, k.remove(one))
		return true
	})
	return err
}

// Check reads the indexes and returns their damages, one line each. A damaged one is not used again.
func (k *Kept) Check() (damages []string) {
	k.list = slices.DeleteFunc(k.list, func(one *kept) bool {
		found := checkIndex(k.path(one.number))
		damages = append(damages, found...)
		if len(found) > 0 {
			if err := k.remove(one); err != nil {
				damages = append(damages, err.Error())
			}
		}
		return len(found) > 0
	})
	return damages
}

func checkIndex(path string) []string {
	f, err := objects.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = f.Close() }()
	m := &Image{}
	if _, err := m.openIndex(f); err != nil {
		return []string{err.Error()}
	}
	return m.index.check()
}

func (k *Kept) remove(one *kept) error {
	if err := os.Remove(k.path(one.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Numbers returns the snapshots of which there are indexes. Call [Kept.Drop] before.
func (k *Kept) Numbers() (numbers []uint64) {
	for _, one := range k.list {
		numbers = append(numbers, one.number)
	}
	return numbers
}

// Add makes the index of a snapshot with a tree. From has its contents, all of them flushed. The error is [objects.ErrMissing] if one
// is known to be damaged.
func (k *Kept) Add(number uint64, t *tree.Tree) error {
	one := &kept{number: number, packs: k.from.Packs(), found: k.from.Found(), root: t.Lookup("").Entry}
	err := errors.Join(os.MkdirAll(k.dir, 0o700), k.remove(one))
	if err != nil {
		return err
	}
	if one.sum, err = create(k.path(number), t, k.from); err != nil {
		return errors.Join(err, k.remove(one))
	}
	k.list = slices.Insert(k.list, 0, one)
	if len(k.list) > maxKept {
		err = k.remove(k.list[maxKept])
		k.list = k.list[:maxKept]
	}
	return err
}

// Make makes what an image is read from, of a snapshot that has changes since one of which there is an index. Node returns what the
// store knows of a path. The packs are linked already. It returns the root. With durable
// they survive a loss of power.
func (k *Kept) Make(files Files, number uint64, changes []tree.Change, node func(path string, e *tree.Entry) *tree.Node, durable bool) (*tree.Entry, error) {
	i := slices.IndexFunc(k.list, func(one *kept) bool { return one.number == number })
	if i < 0 {
		return nil, fmt.Errorf("there is no index of s%d", number)
	}
	one := k.list[i]
	k.list = slices.Insert(slices.Delete(k.list, i, i+1), 0, one)
	if err := os.Link(k.path(number), files.Index); err != nil {
		return nil, err
	}
	root := &one.root
	if len(changes) > 0 && changes[0].Path == "" && changes[0].After != nil {
		root = changes[0].After
	}
	return root, createChanges(files.Changes, one.sum, changes, node, k.from, durable)
}
