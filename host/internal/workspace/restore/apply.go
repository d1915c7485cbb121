package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore/hardlinks"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// racyWindow is how long after a change another one can have the same times.
const racyWindow = 20 * time.Millisecond

// Apply does what the plan says, or nothing: after an error the workspace is as it was before. If it cannot be set back at
// once, the error says so, and [Recover] tries again. While it runs, no snapshot is taken.
func (p *Plan) Apply(ctx context.Context) (*Result, error) {
	if p.used {
		return nil, errUsed
	}
	p.used = true
	if len(p.Problems) > 0 {
		return nil, &BlockedError{p.Problems}
	}
	p.renew()
	held, err := p.p.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if _, err := recoverHeld(p.p, held); err != nil {
		return nil, err
	}
	if _, err := p.p.Diff(p.Safety, p.Target); err != nil {
		return nil, err // one of them was deleted
	}
	result := &Result{Target: p.Target, Safety: p.Safety, After: p.Safety, Differs: p.Left}
	if len(p.Steps) == 0 {
		return result, nil
	}
	r, err := newRun(p.p, held)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.plan = p
	r.j.Target, r.j.Safety = p.Target, p.Safety
	if err := r.prepare(ctx); err != nil {
		noticed(r.held, err)
		return nil, errors.Join(err, r.discard())
	}
	err = r.forward(ctx)
	if err == nil {
		err = r.verify(ctx, result)
	}
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		noticed(r.held, err)
		return nil, r.undone(err)
	}
	result.Restored = p.Steps
	result.Kept, _ = r.finish(doneFile) // the next restore tries again
	return result, nil
}

// noticed has the next snapshot compare a path that changed, although no change of it was reported: a memory map, or a hard
// link from elsewhere.
func noticed(held *tracked.Held, err error) {
	if changed := (*ChangedError)(nil); errors.As(err, &changed) {
		dirty := tree.Dirty{}
		dirty.Path(changed.Path)
		held.Changed(dirty)
	}
}

// undone sets the workspace back after an error.
func (r *run) undone(err error) error {
	kept, failed := r.rollback()
	if failed != nil {
		return fmt.Errorf("%w\nThe workspace could not be set back: %w. Its state before is s%d.", err, failed, r.j.Safety)
	}
	if len(r.conflicts) == 0 && kept == "" {
		return err
	}
	return &PartialError{Err: err, Safety: r.j.Safety, Differs: r.conflicts, Kept: kept}
}

// prepare does everything that can be done without touching the workspace, and writes the journal.
func (r *run) prepare(ctx context.Context) error {
	if err := r.check(ctx, false); err != nil {
		return err
	}
	if err := keep(ctx, r); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.stage(ctx); err != nil {
		return err
	}
	if err := r.settings(); err != nil {
		return err
	}
	if err := r.check(ctx, true); err != nil {
		return err
	}
	if err := r.j.write(r.store, r.p.Options().Store, journalFile); err != nil {
		return err
	}
	return r.forget(stagingFile)
}

// check compares the paths of the plan with what the safety snapshot recorded of them. The last check reads files whose
// stat does not prove that they are unchanged.
func (r *run) check(ctx context.Context, last bool) error {
	created := map[string]bool{}
	for i := range r.plan.Steps {
		if s := &r.plan.Steps[i]; s.Before == nil {
			created[s.Path] = true
		}
	}
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		n := r.plan.nodes[s.Path]
		if s.Before == nil {
			if created[tree.Parent(s.Path)] {
				continue // where case is ignored, it would be found in another spelling of that directory
			}
			if _, err := r.stat(s.Path); err == nil {
				if there, err := r.listed(s.Path); there || err != nil {
					return errors.Join(err, &ChangedError{s.Path, "it was created in the meantime"})
				}
			} else if !absent(err) {
				return fmt.Errorf("cannot look at %q: %w", s.Path, err)
			}
			continue
		}
		if err := r.checkOne(ctx, s.Path, n, last); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) checkOne(ctx context.Context, path string, n *tree.Node, last bool) error {
	now, err := r.stat(path)
	if absent(err) {
		return &ChangedError{path, "it is no longer there"}
	}
	if err != nil {
		return fmt.Errorf("cannot look at %q: %w", path, err)
	}
	was := stampOf(n)
	if !now.is(was) || now.Mode != was.Mode {
		return &ChangedError{path, fmt.Sprintf("it is not what s%d has", r.plan.Safety)}
	}
	switch {
	case n.Kind == tree.Link:
		if target, err := r.parent.readlink(base(path)); err != nil || target != n.Target {
			return &ChangedError{path, "it points elsewhere now"}
		}
	case n.Kind == tree.Dir || !n.Racy && now.Ctime == was.Ctime:
	case !n.Racy && n.Hard == 0:
		return &ChangedError{path, "its attributes were changed"}
	case last:
		return r.checkContent(ctx, path, n, now)
	}
	return nil
}

// checkContent reads a file whose stat proves nothing: it changed shortly before it was recorded, or it has several names,
// of which another one was changed.
func (r *run) checkContent(ctx context.Context, path string, n *tree.Node, now stamp) error {
	if wait := racyWindow - time.Since(time.Unix(0, max(now.Mtime, now.Ctime))); wait > 0 {
		select {
		case <-time.After(min(wait, racyWindow)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f, err := r.parent.open(base(path))
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	if err := r.held.Verify(f, &n.Entry); err != nil {
		return &ChangedError{path, reason(err)}
	}
	return nil
}

// keep makes sure that the safety snapshot can bring back what the restore takes away.
func keep(ctx context.Context, r *run) error {
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		if s.Kind != Delete && s.Kind != Replace || s.Before.Kind != tree.File {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.held.Keep(s.Before, func() (*os.File, error) {
			if _, err := r.stat(s.Path); err != nil {
				return nil, err
			}
			return r.parent.open(base(s.Path))
		})
		switch {
		case errors.Is(err, tracked.ErrDiffers):
			return &ChangedError{s.Path, reason(err)}
		case err != nil:
			return fmt.Errorf("cannot restore %q: its present content in s%d cannot be read back: %w. Nothing was restored. Restore other paths.", s.Path, r.plan.Safety, err)
		}
	}
	return nil
}

// settings fills in the attributes that the restore sets, and those of directories that renames change.
func (r *run) settings() error {
	all := map[string]*setting{}
	xattrs := func(path string) []tree.Xattr {
		if n := r.plan.nodes[path]; n != nil {
			return n.Xattrs
		}
		return nil
	}
	now := func(path string) (stamp, *attributes, error) {
		st, err := r.stat(path)
		if err != nil {
			return st, nil, &ChangedError{path, reason(err)}
		}
		if n := r.plan.nodes[path]; n == nil || !st.is(stampOf(n)) {
			return st, nil, &ChangedError{path, fmt.Sprintf("it is not what s%d has", r.plan.Safety)}
		}
		return st, &attributes{Mode: st.Mode, Mtime: st.Mtime, Xattrs: xattrs(path)}, nil
	}
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		if s.Kind != Attributes {
			continue
		}
		st, before, err := now(s.Path)
		if err != nil {
			return err
		}
		all[s.Path] = &setting{Path: s.Path, Is: st, Before: before, After: attributesOf(s.After)}
	}
	for i := range r.j.Operations {
		o := &r.j.Operations[i]
		switch {
		case o.Action == place && o.New.Kind == tree.Dir:
			all[o.Path] = &setting{Path: o.Path, Is: o.New, After: attributesOf(o.Entry)}
		case o.Action == away && o.Old.Kind == tree.Dir:
			st, before, err := now(o.Path)
			if err != nil {
				return err
			}
			all[o.Path] = &setting{Path: o.Path, Is: st, Before: before}
		}
	}
	for i := range r.j.Operations {
		parent := tree.Parent(r.j.Operations[i].Path)
		if all[parent] != nil {
			continue
		}
		st, before, err := now(parent)
		if err != nil {
			return err
		}
		all[parent] = &setting{Path: parent, Is: st, Before: before, After: before}
	}
	for _, s := range all {
		r.j.Settings = append(r.j.Settings, *s)
	}
	slices.SortFunc(r.j.Settings, func(a, b setting) int { return strings.Compare(a.Path, b.Path) })
	r.expect()
	return nil
}

// expect notes which directories operations are in, so that none is done in another one of the same path.
func (r *run) expect() {
	r.dirs = map[string]uint64{}
	for i := range r.j.Settings {
		if s := &r.j.Settings[i]; s.Is.Kind == tree.Dir {
			r.dirs[s.Path] = s.Is.Inode
		}
	}
}

// unlock lets the user write to the directories in which something is changed. Their modes are set at the end.
func (r *run) unlock() {
	for i := range r.j.Settings {
		s := &r.j.Settings[i]
		if s.Is.Kind != tree.Dir {
			continue
		}
		now, err := r.stat(s.Path)
		if err != nil || !now.is(s.Is) || now.Mode&0o700 == 0o700 {
			continue
		}
		_ = r.parent.chmod(base(s.Path), now.Mode|0o700) // if it fails, so does what needs it
	}
}

// forward changes the workspace.
func (r *run) forward(ctx context.Context) error {
	r.unlock()
	for i := range r.j.Operations {
		if err := ctx.Err(); err != nil {
			return err
		}
		o := &r.j.Operations[i]
		if r.plan.observe != nil {
			r.plan.observe(o.Path)
		}
		err := r.do(i)
		if changed := (*ChangedError)(nil); err != nil && !errors.As(err, &changed) {
			switch {
			case errors.Is(err, fs.ErrExist):
				err = &ChangedError{o.Path, "it was created in the meantime"}
			case absent(err):
				err = &ChangedError{o.Path, "it, or its directory, was moved or removed"}
			case busy(err):
				err = &BlockedError{[]tree.Problem{{Path: o.Path, Reason: "another program has it open. Close that program and try again"}}}
			default:
				err = fmt.Errorf("cannot restore %q: %w", o.Path, err)
			}
		}
		if err != nil {
			return err
		}
	}
	for i := len(r.j.Settings) - 1; i >= 0; i-- {
		s := &r.j.Settings[i]
		if s.After == nil {
			continue
		}
		if r.plan.observe != nil {
			r.plan.observe(s.Path)
		}
		if err := r.set(s); err != nil {
			return err
		}
	}
	return nil
}

// set sets attributes.
func (r *run) set(s *setting) error {
	now, err := r.stat(s.Path)
	if err != nil || !s.of(now) {
		return &ChangedError{s.Path, "it was changed or replaced"}
	}
	before := s.Before
	if before == nil {
		before = &attributes{}
	}
	err = r.parent.set(base(s.Path), before, s.After)
	switch {
	case err == nil:
		return nil
	case now.Kind == tree.Dir && sameButTimes(before, s.After) && errors.Is(err, fs.ErrPermission):
		r.untimed = append(r.untimed, tree.Problem{Path: s.Path, Reason: "cannot set its times: " + r.parent.refusal(base(s.Path), now, err)})
		return nil
	}
	return fmt.Errorf("cannot set the attributes of %q: %w", s.Path, err)
}

// do does an operation.
func (r *run) do(i int) error {
	o := &r.j.Operations[i]
	d, err := r.in(o.Path)
	if err != nil {
		return err
	}
	name := base(o.Path)
	fresh, old := staged(i)
	if o.Action == place {
		if err := move(r.staging, fresh, d, name); err != nil {
			return err
		}
		r.placed(o, d)
		return nil
	}
	now, err := d.stat(name)
	if err != nil {
		return err
	}
	changed := &ChangedError{o.Path, fmt.Sprintf("it is not what s%d has", r.j.Safety)}
	if !now.is(o.Old) || now.Mode != o.Old.Mode && o.Old.Kind != tree.Dir || o.oldAlone && now.Ctime != o.Old.Ctime {
		return changed
	}
	if o.Action == swap {
		old = fresh
		err = exchange(d, name, r.staging, fresh)
	} else {
		err = move(d, name, r.staging, old)
	}
	if err != nil {
		return err
	}
	st, err := r.staging.stat(old)
	if err != nil || !st.is(o.Old) {
		return changed
	}
	if o.oldAlone {
		o.oldCtime = st.Ctime
	}
	if o.Action == swap {
		r.placed(o, d)
	}
	if o.Old.Kind == tree.Dir {
		r.leave() // it may have been the one that is open
		return r.empty(o.Path, old)
	}
	return nil
}

// placed notes the ctime of what was put at a path.
func (r *run) placed(o *operation, d *dir) {
	if st, err := d.stat(base(o.Path)); err == nil && o.newAlone && st.is(o.New) {
		o.newCtime = st.Ctime
	}
}

// empty returns an error if something is in a directory that was moved away.
func (r *run) empty(path, old string) error {
	d, err := r.staging.sub(old)
	if err != nil {
		return err
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return &ChangedError{tree.Join(path, names[0]), "it was created in the meantime"}
	}
	return nil
}

// dirty are the paths that a restore changes.
func (r *run) dirty() tree.Dirty {
	dirty := tree.Dirty{}
	for i := range r.j.Operations {
		dirty.Path(r.j.Operations[i].Path)
	}
	for i := range r.j.Settings {
		dirty.Path(r.j.Settings[i].Path)
	}
	return dirty
}

// verify takes a snapshot of what the workspace is now, compares it with the target, and checks that nothing was written to
// what was moved away.
func (r *run) verify(ctx context.Context, result *Result) error {
	r.held.Changed(r.dirty())
	after, _, err := r.held.Take(ctx, fmt.Sprintf("s%d was restored", r.j.Target))
	if err != nil {
		return fmt.Errorf("cannot take the snapshot of the state after: %w", err)
	}
	result.After = after.Number
	changes, err := r.p.Diff(after.Number, r.j.Target)
	if err != nil {
		return err
	}
	r.held.Now(func(now *tree.Tree) { changes = hardlinks.Of(now, changes).Apart(changes) })
	left := map[string]bool{}
	for path := range r.plan.stay {
		left[path] = true
	}
	for _, p := range r.plan.Left {
		left[p.Path] = true
	}
	for _, p := range r.untimed {
		if !left[p.Path] {
			left[p.Path] = true
			result.Differs = append(result.Differs, p)
		}
	}
	for _, c := range changes {
		_, hidden := r.plan.hidden(c.Path)
		if _, why := r.plan.excluded(c); why != "" || hidden || !r.plan.within(c.Path) || left[c.Path] {
			continue
		}
		if r.plan.renewed[c.Path] && c.Before != nil && c.After != nil {
			wanted := *c.After
			if wanted.Mtime = c.Before.Mtime; hardlinks.Alike(c.Before, &wanted) {
				continue
			}
		}
		why, err := r.why(c)
		if err != nil {
			return err
		}
		result.Differs = append(result.Differs, tree.Problem{Path: c.Path, Reason: why})
	}
	for i := range r.j.Operations {
		o := &r.j.Operations[i]
		fresh, old := staged(i)
		switch o.Action {
		case place:
			continue
		case swap:
			old = fresh
		}
		if st, err := r.staging.stat(old); err != nil || o.wrote(st) {
			return &ChangedError{o.Path, "a program wrote to it while it was being replaced"}
		}
	}
	return nil
}

// why says why a path differs from the target after it was restored. An error means that the restore did not work.
func (r *run) why(c tree.Change) (string, error) {
	i, restored := r.byPath[c.Path]
	if !restored {
		if c.After == nil {
			return "it was created after the plan was made", nil
		}
		return "it was changed after the plan was made", nil
	}
	o := &r.j.Operations[i]
	st, err := r.stat(c.Path)
	switch {
	case err != nil || !st.is(o.New) || o.newCtime != 0 && st.Ctime != o.newCtime:
		return "it was changed after it was restored", nil
	case c.Before == nil || c.After == nil || !c.Before.SameContent(c.After):
		return "", fmt.Errorf("%q has another content than s%d after it was restored", c.Path, r.j.Target)
	case hardlinks.Alike(c.Before, c.After):
		return "it is restored as a separate file: its other hard links are not part of the restore", nil
	}
	return "the filesystem did not take all attributes", nil
}

// commit makes the restore final.
func (r *run) commit() error {
	if err := r.syncDirs(); err != nil {
		return err
	}
	if err := r.held.Sync(); err != nil { // what was moved away is deleted next
		return err
	}
	if err := os.Rename(filepath.Join(r.p.Options().Store, journalFile), filepath.Join(r.p.Options().Store, doneFile)); err != nil {
		return err
	}
	_ = r.store.sync() // without it, a loss of power sets back a workspace that is whole
	return nil
}

// syncDirs makes the renames survive a loss of power.
func (r *run) syncDirs() error {
	if len(r.dirs) > syncEach && r.root.syncAll() == nil {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(r.dirs)) {
		d, err := r.root.sub(path)
		if err != nil {
			continue // it was moved away
		}
		err = d.sync()
		d.close()
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return r.staging.sync()
}
