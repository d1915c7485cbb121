package native

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
	"tidemark.dev/tidemark/installer/safefile"
)

// Checkout is [tracked.Provider.Checkout], as [CheckoutNamed] makes it.
func (s *Store) Checkout(ctx context.Context, p *tracked.Provider, number uint64, dir string, readOnly bool) error {
	lacking, err := CheckoutNamed(ctx, s, p, number, dir, readOnly)
	return unnamed.Whole(dir, lacking, err)
}

// CheckoutNamed is [tracked.CheckoutNamed], by a copy of the snapshot where there is one for the record and the filesystem can
// make it. S may be nil.
func CheckoutNamed(ctx context.Context, s *Store, p *tracked.Provider, number uint64, dir string, readOnly bool) (lacking []tree.Problem, err error) {
	k, ok := s.find(number)
	if ok && s.Views() {
		if readOnly {
			return s.view(ctx, p, k, dir)
		}
		ok = false
	}
	if !ok {
		return tracked.CheckoutNamed(ctx, p, number, dir, readOnly)
	}
	skip, err := p.Skip(number)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	differs, err := s.differs(k) // before it may be removed
	if err == nil {
		err = s.of.Clone(ctx, k.name(), dir)
	}
	if errors.Is(err, fs.ErrNotExist) { // it was removed behind Tidemark's back
		s.remove(k)
	}
	if err != nil {
		return tracked.CheckoutNamed(ctx, p, number, dir, readOnly)
	}
	if err = tracked.Rewrite(p, number, dir, differs); err == nil {
		err = leaveOut(ctx, dir, skip)
	}
	if err == nil && readOnly {
		err = s.of.Seal(ctx, dir)
	}
	if err == nil {
		return nil, nil
	}
	if err := errors.Join(tracked.RemoveAll(dir), ctx.Err()); err != nil {
		return nil, err
	}
	return tracked.CheckoutNamed(ctx, p, number, dir, readOnly) // such as files of other users that are left out
}

// view makes a read-only view of a snapshot: the snapshot itself, if that has nothing else than the record.
func (s *Store) view(ctx context.Context, p *tracked.Provider, k kept, dir string) (lacking []tree.Problem, err error) {
	skip, err := p.Skip(k.number)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	differs, err := s.differs(k)
	if err == nil && len(differs) == 0 {
		if err = s.of.(Viewer).View(ctx, k.name(), dir, skip); err == nil {
			return nil, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.remove(k)
	}
	return tracked.CheckoutNamed(ctx, p, k.number, dir, true)
}

// differs returns the files of a snapshot of which the record has another state.
func (s *Store) differs(k kept) ([]string, error) {
	data, err := safefile.Read(s.path(k.name()+differsSuffix), maxDiffers)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(string(data), "\x00"), err
}

// maxDiffers bounds a list of files in bytes. Without the list the record makes the copy.
const maxDiffers = 4 << 20

// leaveOut removes what the record leaves out of snapshots.
func leaveOut(ctx context.Context, dir string, skip func(path string) bool) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if tracked.LeftOut(nil, e.Name()) != "" {
			err = errors.Join(err, removeIn(dir, e.Name()))
		}
	}
	if err != nil || skip == nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !skip(filepath.ToSlash(rel)) {
			return errors.Join(err, ctx.Err())
		}
		if err := removeIn(filepath.Dir(path), filepath.Base(path)); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// Rename renames a view, which may be mounted.
func Rename(from, to string) error {
	if nilfscp.Is(from) {
		return nilfscp.Rename(from, to)
	}
	return dataset.Rename(from, to)
}

// removeIn removes a name in a directory, whose time stays as it is.
func removeIn(dir, name string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := tracked.RemoveAll(filepath.Join(dir, name)); err != nil {
		return err
	}
	return os.Chtimes(dir, time.Time{}, info.ModTime())
}
