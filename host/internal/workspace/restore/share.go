package restore

import (
	"errors"
	"os"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// sources are files whose extents those that a restore writes can share, instead of a copy from the store. None is trusted: what was
// cloned is compared with the record.
type sources struct {
	// copies are copies of the target.
	copies []*dir
	// paths are those of files that the restore replaces or deletes, by what they contain.
	paths map[content]string
}

// content identifies what a file contains, with or without holes.
type content struct {
	id              [32]byte
	chunked, sparse bool
}

func contentOf(e *tree.Entry) content { return content{e.Content, e.Chunked, e.Sparse} }

// openSources finds the sources of a restore. What cannot be opened is none.
func openSources(r *run) (s sources) {
	if copies := r.p.Options().Copies; copies != nil {
		for _, path := range copies(r.plan.Target) {
			if d, err := openDir(path); err == nil {
				s.copies = append(s.copies, d)
			}
		}
	}
	wanted := map[content]bool{}
	for i := range r.plan.Steps {
		if e := r.plan.Steps[i].After; e != nil && e.Kind == tree.File && r.plan.Steps[i].Kind != Attributes {
			wanted[contentOf(e)] = true
		}
	}
	s.paths = map[content]string{}
	for i := range r.plan.Steps {
		step := &r.plan.Steps[i]
		if e := step.Before; e != nil && e.Kind == tree.File && e.Unread == "" && wanted[contentOf(e)] {
			s.paths[contentOf(e)] = step.Path
		}
	}
	return s
}

func (s sources) close() {
	for _, d := range s.copies {
		d.close()
	}
}

// share writes what an operation puts into the workspace with the extents of another file. It returns false, and has written
// nothing, where no source has the recorded content.
func share(r *run, o *operation, fresh string) bool {
	if e := o.Entry; e.Kind != tree.File || e.Size < shareSize || e.Content == [32]byte{} {
		return false
	}
	for _, in := range r.sources.copies {
		if shareWith(r, in, o.Path, o.Entry, fresh) {
			return true
		}
	}
	path, known := r.sources.paths[contentOf(o.Entry)]
	return known && shareWith(r, r.root, path, o.Entry, fresh)
}

// shareSize is the size in bytes from which a file is shared. Sharing less saves no block.
const shareSize = 4 << 10

// shareWith is share with the file at a path in a directory.
func shareWith(r *run, in *dir, path string, e *tree.Entry, fresh string) bool {
	if clone(r, in, path, e, fresh) != nil {
		return false
	}
	err := compare(r, fresh, e)
	if err != nil && !errors.Is(err, tracked.ErrDiffers) && heal(r, fresh, e) == nil { // the store's copy was damaged
		err = compare(r, fresh, e)
	}
	if err != nil {
		_ = r.staging.unlink(fresh) // what cannot be removed is reported by the next creation
	}
	return err == nil
}

// clone writes a file of a snapshot with the extents of another one, whatever that contains. After an error it does not exist.
func clone(r *run, in *dir, path string, e *tree.Entry, fresh string) error {
	at, err := in.sub(tree.Parent(path))
	if err != nil {
		return err
	}
	defer at.close()
	from, err := at.open(tree.Base(path))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != e.Size {
		return tracked.ErrDiffers
	}
	to, err := extents.Clone(r.places, fresh, from)
	if errors.Is(err, extents.ErrElsewhere) && !e.Sparse { // a copy would fill the holes
		to, err = extents.Copy(r.places, fresh, from)
	}
	if err != nil {
		return err
	}
	if err := tracked.Finish(r.places, fresh, to, e, false); err != nil {
		return errors.Join(err, r.places.Remove(fresh))
	}
	return nil
}

// compare returns an error for a staged file that has not the recorded content.
func compare(r *run, fresh string, e *tree.Entry) error {
	return readable(r, fresh, func() error {
		f, err := r.staging.open(fresh)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return r.held.Verify(f, e)
	})
}

// heal stores the content of a staged file again, where it is the recorded one.
func heal(r *run, fresh string, e *tree.Entry) error {
	return readable(r, fresh, func() error {
		return r.held.Keep(e, func() (*os.File, error) { return r.staging.open(fresh) })
	})
}

// readable calls do while a staged file can be read, whatever its mode is.
func readable(r *run, fresh string, do func() error) error {
	st, err := r.staging.stat(fresh)
	if err != nil {
		return err
	}
	if st.Mode&0o400 == 0 {
		if err := r.staging.chmod(fresh, st.Mode|0o400); err != nil {
			return err
		}
		defer func() { _ = r.staging.chmod(fresh, st.Mode) }()
	}
	return do()
}
