package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Recovery is what [Recover] did about a restore that was interrupted.
type Recovery struct {
	// Target and Safety are those of the restore.
	Target, Safety uint64
	// Finished is true if the workspace is in the state after, false if it is in the state before.
	Finished bool
	// Differs are the paths that are not in this state, because they were changed after the interruption.
	Differs []tree.Problem
	// Kept is a directory with files that were changed after they had been moved away, "" in the usual case.
	Kept string
}

// Recover brings a workspace to an end of a restore that was interrupted: to the state before it, or to the state after it
// if everything was done. Call it when a provider was opened. It returns nil if no restore was interrupted.
func Recover(ctx context.Context, p *tracked.Provider) (*Recovery, error) {
	held, err := p.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	return recoverHeld(p, held)
}

func recoverHeld(p *tracked.Provider, held *tracked.Held) (*Recovery, error) {
	for _, name := range []string{stagingFile, journalFile, undoneFile} {
		if err := os.Remove(filepath.Join(p.Options().Store, name+tmpSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, name := range []string{doneFile, undoneFile, journalFile, stagingFile} {
		j, err := readJournal(filepath.Join(p.Options().Store, name))
		if err != nil {
			return nil, fmt.Errorf("cannot recover an interrupted restore: %w", err)
		}
		if j == nil {
			continue
		}
		r, err := newRun(p, held)
		if err != nil {
			return nil, err
		}
		defer r.close()
		return r.recover(j, name)
	}
	return nil, nil
}

func (r *run) recover(j *journal, name string) (*Recovery, error) {
	r.j, r.conflicts = j, j.Conflicts
	if !owned(j.Staging) {
		return nil, fmt.Errorf("cannot recover an interrupted restore: %q is not a staging directory", j.Staging)
	}
	recovery := &Recovery{Target: j.Target, Safety: j.Safety, Finished: name == doneFile}
	if name == stagingFile {
		return recovery, r.discard()
	}
	r.expect()
	err := r.open()
	switch {
	case err == nil && name != journalFile:
		recovery.Kept, err = r.finish(name)
	case err == nil:
		recovery.Kept, err = r.rollback()
	case errors.Is(err, fs.ErrNotExist): // it was cleaned up, and only the journal is left
		if name == journalFile { // with the others, the workspace is at an end
			r.lost()
		}
		err = errors.Join(r.forget(journalFile), r.forget(name), r.forget(stagingFile))
	}
	recovery.Differs = r.conflicts
	if err != nil {
		return nil, fmt.Errorf("cannot recover an interrupted restore of s%d: %w. The state before it is s%d.", j.Target, err, j.Safety)
	}
	r.held.Changed(r.dirty())
	return recovery, nil
}

// lost finds what cannot be set back because the staging directory was removed.
func (r *run) lost() {
	for i := range r.j.Operations {
		o := &r.j.Operations[i]
		if now, err := r.stat(o.Path); o.Action != away && err == nil && now.is(o.New) {
			r.conflict(o.Path, fmt.Sprintf("it is restored, and %s, from which it could be set back, is missing", r.j.Staging))
		}
	}
}

func (r *run) conflict(path, why string) {
	for _, c := range r.conflicts {
		if c.Path == path {
			return
		}
	}
	r.conflicts = append(r.conflicts, tree.Problem{Path: path, Reason: why})
}

// rollback sets the workspace back. What is to be done is seen from the workspace and the staging directory, so that it can
// be interrupted, and repeated. What the user changed meanwhile is left as it is. Files are set back into a directory that was
// made again.
func (r *run) rollback() (kept string, err error) {
	r.leave()
	r.replaced = true // a directory that came back gets its files back
	r.unlock()
	for i := len(r.j.Operations) - 1; i >= 0; i-- {
		path := r.j.Operations[i].Path
		err := r.undo(i)
		if refused(err) {
			r.conflict(path, "it cannot be set back: "+reason(err))
		} else if err != nil {
			return "", fmt.Errorf("%q: %w", path, err)
		}
		if r.j.Operations[i].Old.Kind == tree.Dir || r.j.Operations[i].New.Kind == tree.Dir {
			r.leave()
		}
	}
	for i := len(r.j.Settings) - 1; i >= 0; i-- {
		s := &r.j.Settings[i]
		if s.Before == nil {
			continue
		}
		if err := r.reset(s); err != nil { // its content is as before
			r.conflict(s.Path, "its attributes cannot be set back: "+reason(err))
		}
	}
	if err := r.syncDirs(); err != nil {
		return "", err
	}
	r.held.Changed(r.dirty())
	r.j.Conflicts = r.conflicts
	if err := r.j.write(r.store, r.p.Options().Store, undoneFile); err != nil {
		return r.finish(journalFile) // a full disk: a kill in it would have the next recovery report edits that were none
	}
	return r.finish(undoneFile)
}

// refused reports whether an error means that another attempt would fail too: the system does not allow this user to rename, or
// something is mounted on the way. The content is in the snapshot of the state before.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errOtherMount)
}

// reset sets attributes back, if no other than the restore changed them.
func (r *run) reset(s *setting) error {
	now, err := r.stat(s.Path)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.of(now) {
		why := "it was changed in the meantime"
		if now.Kind == tree.Dir && s.Is.Kind == tree.Dir {
			why = anotherDir
		}
		r.conflict(s.Path, why)
		return nil
	}
	from := s.After
	if from == nil {
		from = s.Before
	}
	return r.parent.set(base(s.Path), from, s.Before)
}

// undo undoes an operation, if it was done.
func (r *run) undo(i int) error {
	o := &r.j.Operations[i]
	fresh, old := staged(i)
	d, err := r.in(o.Path)
	if err != nil && !absent(err) {
		return err
	}
	if o.Action == away {
		return r.bring(d, old, o.Path)
	}
	var now stamp
	if d != nil {
		if now, err = d.stat(base(o.Path)); err != nil && !absent(err) {
			return err
		}
	}
	there, err := r.staging.stat(fresh)
	if err != nil && !absent(err) {
		return err
	}
	inStaging := err == nil
	if inStaging && there.Kind == o.New.Kind && there.Inode == o.New.Inode {
		return nil // it was not done
	}
	switch {
	case o.Action == place && now.is(o.New):
		return r.takeBack(d, o, fresh)
	case o.Action == swap && now.is(o.New) && inStaging:
		if err := exchange(d, base(o.Path), r.staging, fresh); err != nil {
			return err
		}
		if !r.ours(o, fresh) {
			r.conflict(o.Path, "it was changed in the meantime")
			return exchange(d, base(o.Path), r.staging, fresh)
		}
		return nil
	case o.Action == swap && now == stamp{}:
		return r.bring(d, fresh, o.Path) // the new one was removed
	case now != stamp{}:
		r.conflict(o.Path, "it was changed in the meantime")
	}
	return nil
}

// anotherDir is why a directory is not as before.
const anotherDir = "another directory was put in its place. It keeps its attributes and what is in it"

// bring brings back what was moved away.
func (r *run) bring(d *dir, old, path string) error {
	was, err := r.staging.stat(old)
	if absent(err) {
		return nil // it was not moved away
	}
	if err != nil {
		return err
	}
	if d == nil {
		r.conflict(path, "its directory was moved or removed in the meantime")
		return nil
	}
	err = move(r.staging, old, d, base(path))
	if errors.Is(err, fs.ErrExist) {
		why := "something else was put in its place"
		if now, err := d.stat(base(path)); err == nil && now.Kind == tree.Dir && was.Kind == tree.Dir {
			why = anotherDir
		}
		r.conflict(path, why)
		return nil
	}
	return err
}

// takeBack takes back what was put where nothing was.
func (r *run) takeBack(d *dir, o *operation, fresh string) error {
	if o.New.Kind == tree.Dir {
		in, err := d.sub(base(o.Path))
		if err != nil {
			return err
		}
		names, err := in.names()
		in.close()
		if err != nil {
			return err
		}
		if len(names) > 0 {
			r.conflict(o.Path, fmt.Sprintf("%q was put into it", names[0]))
			return nil
		}
	}
	if err := move(d, base(o.Path), r.staging, fresh); err != nil {
		return err
	}
	if !r.ours(o, fresh) {
		r.conflict(o.Path, "it was changed in the meantime")
		return move(r.staging, fresh, d, base(o.Path))
	}
	return nil
}

// ours reports whether what was taken back is what the restore had put there, by its content: an edit may have put back the
// time.
func (r *run) ours(o *operation, fresh string) bool {
	st, err := r.staging.stat(fresh)
	switch {
	case err != nil || !st.is(o.New):
		return false
	case st.Kind != tree.File:
		return true
	}
	return compare(r, fresh, o.Entry) == nil
}

// finishing is called before each removal from the staging directory, and after that of the directory. Tests set it.
var finishing func()

// finish removes the staging directory, and then the file of the store. It deletes only what the restore wrote, and what
// still is as the safety snapshot has it. Kept is the staging directory if anything else is in it.
func (r *run) finish(name string) (kept string, err error) {
	for i := range r.j.Operations {
		o := &r.j.Operations[i]
		fresh, old := staged(i)
		for _, slot := range []string{fresh, old} {
			if finishing != nil {
				finishing()
			}
			st, err := r.staging.stat(slot)
			if absent(err) {
				continue
			}
			if err != nil {
				return r.j.Staging, err
			}
			switch {
			case !st.is(o.New) && o.wrote(st):
			case st.Kind == tree.Dir:
				_ = r.staging.rmdir(slot) // unless something was put into it
			default:
				if err := r.staging.unlink(slot); err != nil {
					return r.j.Staging, err
				}
			}
		}
	}
	names, err := r.staging.names()
	if err != nil {
		return r.j.Staging, err
	}
	r.leaveStaging()
	if len(names) > 0 {
		kept = r.j.Staging
	} else if err := inTime(r.j.Staging, os.Remove); err != nil {
		return r.j.Staging, err
	}
	if finishing != nil {
		finishing()
	}
	return kept, errors.Join(r.forget(journalFile), r.forget(name), r.forget(stagingFile))
}
