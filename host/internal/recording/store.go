package recording

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/filelock"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Suffix ends the names of files of recordings.
const Suffix = ".terminal"

// Store is a directory of recordings. Any number of processes may use it.
type Store struct {
	// Dir is the directory. It is created with the first recording.
	Dir string
}

// validID matches the ID of a recording: the time at which it began, and four random hexadecimal digits.
var validID = lazyregexp.New(`^t[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$`)

// NewID returns an ID for a recording that begins now.
func NewID(now time.Time) string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("t%s-%x", now.UTC().Format("20060102-150405"), b)
}

// Create begins a recording. The header has its ID.
func (s Store) Create(h Header) (*Writer, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the directory of recordings: %w", err)
	}
	return Create(s.path(h.ID), h)
}

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+Suffix) }

// Open opens a recording by its ID, or the newest one that has the name. "" is the newest of all.
func (s Store) Open(id string) (*Reader, error) {
	if validID().MatchString(id) {
		r, err := Open(s.path(id))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usererr.New(usererr.NotFound, "there is no recording %s", id)
		}
		return r, err
	}
	all, unreadable, err := s.list(context.Background())
	if err != nil {
		return nil, err
	}
	if n := len(all); id == "" && n > 0 && unreadable.id > all[n-1].ID {
		return nil, usererr.New(usererr.NotFound, "the newest recording is damaged: %v. The newest one before it is %s.", unreadable.err, all[n-1].ID)
	}
	for _, r := range slices.Backward(all) {
		if id == "" || r.Name == id {
			return Open(s.path(r.ID))
		}
	}
	if unreadable.err != nil { // it may be the one that is meant
		return nil, unreadable.err
	}
	if len(all) == 0 {
		return nil, usererr.New(usererr.NotFound, "there are no recordings yet. `tidemark record` makes one.")
	}
	return nil, usererr.New(usererr.NotFound, "there is no recording %q. The newest is %s.", id, all[len(all)-1].ID)
}

// List describes the recordings by their start. It leaves out files that cannot be read.
func (s Store) List(ctx context.Context) ([]Summary, error) {
	all, _, err := s.list(ctx)
	return all, err
}

// unread is a recording that cannot be read. Its error is nil if there is none.
type unread struct {
	id  string
	err error
}

// list is [Store.List], with the newest file that cannot be read.
func (s Store) list(ctx context.Context) (all []Summary, unreadable unread, err error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable, nil
	}
	if err != nil {
		return nil, unreadable, fmt.Errorf("cannot list the recordings: %w", err)
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, unreadable, ctx.Err()
		}
		id, ok := strings.CutSuffix(e.Name(), Suffix)
		if !ok || !validID().MatchString(id) {
			continue
		}
		r, err := Open(s.path(id))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // it was not just removed; Prune removes it when it is old
				unreadable = unread{id, err}
			}
			continue
		}
		sum := r.Summary()
		sum.ID = id // the name of the file counts
		all = append(all, sum)
		_ = r.Close()
	}
	slices.SortStableFunc(all, func(a, b Summary) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID)) })
	return all, unreadable, nil
}

// Remove deletes a recording. One that is being written is left, with an error.
func (s Store) Remove(id string) error {
	if !validID().MatchString(id) {
		return usererr.New(usererr.NotFound, "there is no recording %q", id)
	}
	err := remove(s.path(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usererr.New(usererr.NotFound, "there is no recording %s", id)
	case errors.Is(err, filelock.ErrTaken):
		return usererr.New(usererr.AlreadyExists, "recording %s is still being written. End its terminal first.", id)
	}
	return err
}

// remove deletes a file, unless it is in use.
func remove(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = filelock.Try(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Remove(screensPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(path)
}

// Prune deletes recordings as a policy says. A recording that is being written is never deleted.
func (s Store) Prune(age retention.Age, p retention.Policy) (retention.Pruned, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return retention.Pruned{}, nil
	}
	if err != nil {
		return retention.Pruned{}, fmt.Errorf("cannot list the recordings: %w", err)
	}
	var files []retention.File
	beside := map[string]int64{} // the sizes of files of screens
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), Suffix)
		info, err := e.Info()
		if id, ok := strings.CutSuffix(e.Name(), screensSuffix); ok && err == nil {
			beside[id] = info.Size() // it sorts before the recording
		}
		if ok && validID().MatchString(id) && err == nil && info.Mode().IsRegular() {
			files = append(files, retention.File{ID: id, Bytes: info.Size() + beside[id], Written: info.ModTime()})
		}
	}
	return retention.Prune(age, p, files, func(id string) (bool, error) {
		err := remove(s.path(id))
		if errors.Is(err, filelock.ErrTaken) || errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
}

// Usage returns how many recordings there are, and what they take on disk in bytes.
func (s Store) Usage() (recordings int, bytes int64) {
	entries, _ := os.ReadDir(s.Dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
			if strings.HasSuffix(e.Name(), Suffix) {
				recordings++
			}
		}
	}
	return recordings, bytes
}
