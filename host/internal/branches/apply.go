package branches

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/edit"
)

// ApplyParams are the parameters of branch_apply.
type ApplyParams struct {
	moments.Where
	Name string `json:"name"`
	// Conflicts is what to do with lines that both changed: "" applies nothing, "mark" writes both with markers where that is
	// possible, "original" and "branch" take one side. Other lines are merged. Of files that cannot be merged, a side is whole.
	Conflicts string `json:"conflicts"`
	// Confirm applies. Without it the answer is the plan.
	Confirm bool `json:"confirm"`
	// Plan is that of the answer that was agreed to. If the present one is another, nothing is applied, and it is the answer.
	Plan string `json:"plan"`
}

// Applied is the plan of a merge into the original, or what was merged.
type Applied struct {
	SessionID string `json:"sessionId"`
	// Of is the session of the original, Workspace its directory.
	Of        string `json:"of"`
	Workspace string `json:"workspace"`
	Done      bool   `json:"done"`
	// Operation is to undo it, Safety the snapshot of the state before.
	Operation string `json:"operation,omitempty"`
	Safety    string `json:"safety,omitempty"`
	// Plan identifies the steps with their contents.
	Plan string `json:"plan"`
	// Steps are the paths that change: create, replace, delete, merge, or mode where only the permissions do.
	Steps []answers.RestoreStep `json:"steps"`
	// Conflicts are the paths that both changed, with the reason. Settled are those for which one side was chosen, with which.
	Conflicts []Conflict `json:"conflicts"`
	Settled   []Conflict `json:"settled,omitempty"`
	// Marked are the paths of which the lines of both sides are written, with markers.
	Marked []Conflict `json:"marked,omitempty"`
}

// What to do with conflicts.
const (
	markBoth     = "mark"
	takeOriginal = "original"
	takeBranch   = "branch"
)

// Conflict is a path that the branch and the original changed in different ways.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Apply merges the changes of a branch into the workspace that it comes from, or answers with the plan.
func (b *Branches) Apply(ctx context.Context, client *checkpoint.Client, p ApplyParams) (*Applied, error) {
	if !slices.Contains([]string{"", markBoth, takeOriginal, takeBranch}, p.Conflicts) {
		return nil, usererr.Invalid("conflicts is %q; it must be mark, original or branch", p.Conflicts)
	}
	s, of, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	if done, _, err := operations.Called(ctx, b.Timeline.Operations, client, p.Where, records.OpApply); err != nil || done != nil {
		if err != nil {
			return nil, err
		}
		return applied(done)
	}
	if err := b.Timeline.Operations.Present(of); err != nil {
		return nil, fmt.Errorf("cannot apply a branch to an original that is missing: %w", err)
	}
	client = &checkpoint.Client{Name: client.Name, User: client.User} // of both sides, whichever it is in
	changed, err := b.Timeline.Operations.ChangedSince(ctx, client, s, "start")
	if err != nil {
		return nil, fmt.Errorf("cannot compare the branch with its start: %w", err)
	}
	last, err := b.Timeline.Operations.AppliedBefore(ctx, s, of)
	if err != nil {
		return nil, err
	}
	temp, remove, err := operations.Temporary(b.Timeline.Operations, s.Space)
	if err != nil {
		return nil, err
	}
	defer remove()
	a := &Applied{SessionID: s.ID, Of: of.ID, Workspace: of.Workspace, Steps: []answers.RestoreStep{}, Conflicts: []Conflict{}}
	steps, err := plan(ctx, temp, sides{changed.Base, changed.Root, of.Workspace, last}, changed.Paths, changed.Modes, p.Conflicts, a)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, st := range steps {
		a.Steps = append(a.Steps, answers.RestoreStep{Path: event.OneLine(st.Path), Change: st.kind})
		_, _ = fmt.Fprintf(sum, "%q %q %q\n", st.Path, st.From.Sum(), st.To.Sum()) // a hash takes everything
	}
	a.Plan = hex.EncodeToString(sum.Sum(nil)[:8])
	if p.Confirm && p.Plan != "" && p.Plan != a.Plan {
		return a, nil
	}
	if !p.Confirm || len(steps) == 0 && len(a.Conflicts) == 0 {
		a.Done = p.Confirm
		return a, nil
	}
	if len(a.Conflicts) > 0 {
		advice := "Use --conflicts mark, original or branch."
		switch p.Conflicts {
		case markBoth:
			advice = "These cannot be marked: use --conflicts original or branch."
		case takeBranch:
			advice = "The branch cannot be taken there: use --conflicts original, or change these files first."
		}
		return nil, usererr.New(usererr.ActionRefused, "nothing was applied: %s, such as %s (%s). %s", conflicting(len(a.Conflicts)), a.Conflicts[0].Path, a.Conflicts[0].Why, advice)
	}
	changes := make([]edit.Step, len(steps))
	for i, st := range steps {
		changes[i] = st.Step
	}
	op := &records.Operation{Kind: records.OpApply, What: fmt.Sprintf("apply branch %s", s.Name), Branch: s.ID, Kept: changed.Snapshot}
	if err := errors.Join(operations.Answer(op, a), b.Timeline.Operations.Alter(ctx, of, op, changes)); err != nil {
		return nil, err
	}
	return applied(op)
}

// applied is the answer of an operation that applied a branch.
func applied(op *records.Operation) (*Applied, error) {
	a := &Applied{}
	err := json.Unmarshal(op.Answer, a)
	a.Done, a.Operation, a.Safety = true, op.ID(), records.SnapshotID(op.Safety)
	return a, err
}

func conflicting(n int) string {
	if n == 1 {
		return "1 file has a conflict"
	}
	return fmt.Sprintf("%d files have conflicts", n)
}

// differing returns the paths whose files differ between two workspaces.
func differing(one, other string, paths []string) ([]string, error) {
	list := []string{}
	a, err := os.OpenRoot(one)
	if err != nil {
		return list, err
	}
	defer func() { _ = a.Close() }()
	b, err := os.OpenRoot(other)
	if err != nil {
		return list, err
	}
	defer func() { _ = b.Close() }()
	for _, path := range paths {
		x, err := edit.Read(a, path)
		y, err2 := edit.Read(b, path)
		if err != nil || err2 != nil || !x.Same(y) {
			list = append(list, path)
		}
	}
	return list, nil
}

// step is a change of the original, with what kind of change it is.
type step struct {
	edit.Step
	kind string
}

// sides are the directories of a merge: the start of the branch, the branch, the original, and the branch as it was applied before,
// "" where it was not.
type sides [4]string

// plan returns the changes of the original. Conflicts are in the answer. Temp is a directory in which files are merged. Modes are those
// of the files at the start of the branch: a view has others.
func plan(ctx context.Context, temp string, dirs sides, paths []string, modes map[string]fs.FileMode, conflicts string, a *Applied) (steps []step, err error) {
	var roots [len(dirs)]*os.Root
	var readers [len(dirs)]*edit.Reader
	for i, dir := range dirs {
		if dir == "" {
			continue
		}
		if roots[i], err = os.OpenRoot(dir); err != nil {
			return nil, err
		}
		defer func() { _ = roots[i].Close() }()
		readers[i] = edit.NewReader(roots[i])
	}
	m := merging{ctx: ctx, temp: temp, conflicts: conflicts, applied: readers[3], answer: a}
	for _, name := range paths {
		if path.Base(name) == ".git" || strings.HasPrefix(name, ".git/") { // a branch lacks those that name repositories elsewhere
			continue
		}
		var versions [3]*edit.File
		var why error
		for i := range versions {
			if versions[i], err = readers[i].Read(name); err != nil {
				why = err
			}
		}
		if why != nil {
			m.unfit(name, event.OneLine(why.Error()))
			continue
		}
		st, err := m.step(name, versions[0], versions[1], versions[2], modes[name])
		if err != nil {
			return nil, err
		}
		if st != nil {
			steps = append(steps, *st)
		}
	}
	if steps, err = m.fitting(steps, roots[2], readers[2]); err != nil {
		return nil, err
	}
	return emptied(steps, readers[1], roots[2])
}

// merging merges the files of a branch into its original.
type merging struct {
	ctx             context.Context //nolint:containedctx // it is of one call
	temp, conflicts string
	// applied is the branch as it was applied before, nil where it was not.
	applied *edit.Reader
	answer  *Applied
}

// unfit notes a path of the branch that the original cannot have.
func (m *merging) unfit(name, reason string) {
	if m.conflicts == takeOriginal {
		m.answer.Settled = append(m.answer.Settled, Conflict{event.OneLine(name), reason + settled(takeOriginal, false)})
		return
	}
	m.answer.Conflicts = append(m.answer.Conflicts, Conflict{event.OneLine(name), reason})
}

// regular reports whether all of some files are regular ones. Those that do not exist are not.
func regular(files ...*edit.File) bool {
	return !slices.ContainsFunc(files, func(f *edit.File) bool { return f == nil || !f.Mode.IsRegular() })
}

// sameContent is [edit.File.Same] without the permissions.
func sameContent(a, b *edit.File) bool {
	return a.Same(b) || regular(a, b) && a.SameContent(b)
}

// step returns what becomes of a path in the original, nil where it stays as it is. Before is the mode at the start of the branch, 0
// where that is not known.
func (m *merging) step(name string, base, theirs, ours *edit.File, before fs.FileMode) (*step, error) {
	same, both := (*edit.File).Same, regular(theirs, ours)
	if both {
		same = sameContent
	}
	st := &step{edit.Step{Path: name, From: ours, To: theirs}, "replace"}
	switch {
	case same(theirs, ours), same(theirs, base):
		st.To, st.kind = ours, "mode"
	case same(ours, base) && theirs == nil:
		st.kind = "delete"
	case same(ours, base) && ours == nil:
		st.kind = "create"
	case same(ours, base):
	default:
		merged, err := m.content(name, base, theirs, ours)
		if err != nil {
			return nil, err
		}
		if st.To = merged; merged == nil {
			st.kind = "delete"
		} else if ours == nil {
			st.kind = "create"
		} else if merged != theirs {
			st.kind = "merge"
		}
	}
	if both && st.To != nil {
		mode, err := m.mode(name, theirs, ours, before)
		if err != nil {
			return nil, err
		}
		st.To = st.To.WithMode(mode)
	}
	if st.To.Same(ours) && (ours == nil || st.To.Mode == ours.Mode) { // it is in conflict, or was applied before
		return nil, nil
	}
	return st, nil
}

// content merges what both sides changed. It returns the file of the original where that is a conflict.
func (m *merging) content(name string, base, theirs, ours *edit.File) (*edit.File, error) {
	merged, reason, err := merge(m.ctx, m.temp, "", base, theirs, ours)
	if err == nil && reason != "" && m.applied != nil { // the user has settled what was applied before
		var before *edit.File
		if before, err = m.applied.Read(name); err == nil && sameContent(theirs, before) {
			return ours, nil
		} else if err == nil {
			base = before
			merged, reason, err = merge(m.ctx, m.temp, "", base, theirs, ours)
		}
	}
	if err != nil || reason == "" {
		return merged, err
	}
	lines, why := merged != nil, Conflict{event.OneLine(name), reason}
	switch {
	case m.conflicts == "" || m.conflicts == markBoth && !lines:
		m.answer.Conflicts = append(m.answer.Conflicts, why)
		return ours, nil
	case m.conflicts == markBoth:
		m.answer.Marked = append(m.answer.Marked, why)
		return merged, nil
	}
	why.Why += settled(m.conflicts, lines)
	m.answer.Settled = append(m.answer.Settled, why)
	switch {
	case lines:
		merged, _, err = merge(m.ctx, m.temp, m.conflicts, base, theirs, ours)
		return merged, err
	case m.conflicts == takeOriginal:
		return ours, nil
	}
	return theirs, nil
}

// mode returns the permissions of a file that both sides have: those of the side that changed them.
func (m *merging) mode(name string, theirs, ours *edit.File, before fs.FileMode) (fs.FileMode, error) {
	switch {
	case before == 0, theirs.Mode == before, theirs.Mode == ours.Mode:
		return ours.Mode, nil
	case ours.Mode == before:
		return theirs.Mode, nil
	}
	if m.applied != nil {
		const shown = 0o555 // by a view, in which nobody may write
		if was, err := m.applied.Read(name); err != nil {
			return 0, err
		} else if regular(was) && was.Mode&shown == theirs.Mode&shown {
			return ours.Mode, nil
		}
	}
	why := Conflict{event.OneLine(name), fmt.Sprintf("both changed its permissions, from %o to %o in the original and %o in the branch", before, ours.Mode, theirs.Mode)}
	switch m.conflicts {
	case takeOriginal, takeBranch:
		why.Why += settled(m.conflicts, false)
		m.answer.Settled = append(m.answer.Settled, why)
	default:
		m.answer.Conflicts = append(m.answer.Conflicts, why)
	}
	if m.conflicts == takeBranch {
		return theirs.Mode, nil
	}
	return ours.Mode, nil
}

// fitting returns steps without those that cannot be done because a directory and a file would have the same path. Where the
// original has a file that the branch made a directory, that file is a conflict already. Where the branch made a file of a directory,
// what only the original has in it is one.
func (m *merging) fitting(steps []step, original *os.Root, reader *edit.Reader) (fit []step, err error) {
	a, conflicts := m.answer, m.conflicts
	after := map[string]*edit.File{}
	for _, st := range steps {
		after[st.Path] = st.To
	}
	isDir := func(f *edit.File) bool { return f != nil && f.Mode.IsDir() }
	kept := map[string]bool{} // directories of the original that stay
	for _, st := range steps {
		if !isDir(st.From) || st.To == nil || isDir(st.To) {
			continue
		}
		var only []string
		err := fs.WalkDir(original.FS(), st.Path, func(name string, _ fs.DirEntry, err error) error {
			if to, changes := after[name]; err == nil && name != st.Path && (!changes || to != nil) {
				only = append(only, name)
			}
			return err
		})
		switch reason := "the branch made a file of the directory, in which the original has files of its own"; {
		case err != nil:
			return nil, err
		case len(only) == 0:
		case conflicts == takeBranch:
			a.Settled = append(a.Settled, Conflict{event.OneLine(st.Path), reason + settled(conflicts, false)})
			for _, name := range only {
				f, err := reader.Read(name)
				if err != nil {
					return nil, err
				}
				steps = append(steps, step{edit.Step{Path: name, From: f}, "delete"})
			}
		case conflicts == takeOriginal:
			a.Settled = append(a.Settled, Conflict{event.OneLine(st.Path), reason + settled(conflicts, false)})
			kept[st.Path] = true
		default:
			a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(st.Path), reason})
			kept[st.Path] = true
		}
	}
	before := map[string]*edit.File{} // what steps do not change
	for _, st := range steps {
		fits := !kept[st.Path]
		for above := path.Dir(st.Path); fits && above != "."; above = path.Dir(above) {
			if kept[above] {
				fits = false
				break
			}
			f, changes := after[above]
			if !changes {
				known := false
				if f, known = before[above]; !known {
					if f, err = reader.Read(above); err != nil {
						return nil, err
					}
					before[above] = f
				}
			}
			known := func(list []Conflict) bool {
				return slices.ContainsFunc(list, func(c Conflict) bool { return c.Path == event.OneLine(above) })
			}
			if fits = st.To == nil || f == nil || isDir(f); !fits && !changes && (conflicts == takeBranch || !known(a.Conflicts) && !known(a.Settled)) {
				m.unfit(st.Path, "the original has no directory at "+event.OneLine(above))
			}
		}
		if fits {
			fit = append(fit, st)
		}
	}
	return fit, nil
}

// emptied returns steps with those that delete directories in which nothing is left, and which the branch does not have.
func emptied(steps []step, branch *edit.Reader, original *os.Root) ([]step, error) {
	gone := map[string]bool{}
	var deleted []string
	for _, st := range steps {
		if st.To == nil {
			gone[st.Path] = true
			deleted = append(deleted, st.Path)
		}
	}
	left := map[string]map[string]bool{} // the names in a directory that stay, nil for one that the branch has
	for len(deleted) > 0 {               // a directory that is deleted may be the last one in another
		last := deleted[0]
		name := path.Dir(last)
		if deleted = deleted[1:]; name == "." || gone[name] {
			continue
		}
		names, known := left[name]
		if !known {
			stays, err := branch.Read(name)
			if err != nil {
				return nil, err
			}
			if stays == nil {
				if names, err = staying(original, name, gone); err != nil {
					return nil, err
				}
			}
			left[name] = names
		}
		delete(names, path.Base(last))
		if names == nil || len(names) > 0 {
			continue
		}
		gone[name] = true
		deleted = append(deleted, name)
		steps = append(steps, step{edit.Step{Path: name, From: &edit.File{Mode: fs.ModeDir}}, "delete"})
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.Path, b.Path) })
	return steps, nil
}

// staying returns the names in a directory that are not deleted.
func staying(root *os.Root, name string, gone map[string]bool) (map[string]bool, error) {
	list, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, e := range list {
		if !gone[path.Join(name, e.Name())] {
			names[e.Name()] = true
		}
	}
	return names, nil
}

// settled says which side was taken: of the lines in conflict, or of the whole file.
func settled(side string, lines bool) string {
	if lines {
		return "; there, the lines of the " + side + " are taken"
	}
	return "; that of the " + side + " is taken"
}

// merge merges two changes of a file by lines. Reason says why they conflict; then the file has the lines of a side there, or
// markers without one, or is nil. Temp is a directory for Git's files.
func merge(ctx context.Context, temp, side string, base, theirs, ours *edit.File) (merged *edit.File, reason string, err error) {
	switch {
	case ours == nil:
		return nil, "the original deleted it, the branch changed it", nil
	case theirs == nil:
		return nil, "the branch deleted it, the original changed it", nil
	case base == nil && theirs.Text() && ours.Text():
		base = &edit.File{Mode: theirs.Mode} // both created it
	case !base.Text() || !theirs.Text() || !ours.Text():
		return nil, "both changed it, and it is not text", nil
	}
	args := []string{"merge-file", "-p", "-L", "original", "-L", "before", "-L", "branch"}
	switch side {
	case "original":
		args = append(args, "--ours")
	case "branch":
		args = append(args, "--theirs")
	}
	for _, one := range []struct {
		name string
		*edit.File
	}{{"original", ours}, {"before", base}, {"branch", theirs}} {
		path := filepath.Join(temp, one.name)
		if err := os.WriteFile(path, one.Data, 0o600); err != nil {
			return nil, "", err
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = temp, time.Second
	subprocess.Whole(cmd)
	out, err := cmd.Output()
	mode := ours.Mode
	if ours.Kind() == base.Kind() {
		mode = theirs.Mode
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &edit.File{Mode: mode, Data: out}, "", nil
	case errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128:
		where := "in one place"
		if n := exit.ExitCode(); n > 1 {
			where = fmt.Sprintf("in %d places", n)
		}
		return &edit.File{Mode: mode, Data: out}, "both changed the same lines " + where, nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, "both changed it, and Git, which merges, is not installed", nil
	}
	return nil, "", fmt.Errorf("git merge-file: %w", err)
}
