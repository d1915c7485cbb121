package branches

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	// Steps are the paths that change: create, replace, delete, merge.
	Steps []answers.RestoreStep `json:"steps"`
	// Conflicts are the paths that both changed, with the reason. Settled are those for which one side was chosen, with which.
	Conflicts []Conflict `json:"conflicts"`
	Settled   []Conflict `json:"settled,omitempty"`
}

// Conflict is a path that the branch and the original changed in different ways.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Apply merges the changes of a branch into the workspace that it comes from, or answers with the plan.
func (b *Branches) Apply(ctx context.Context, client *checkpoint.Client, p ApplyParams) (*Applied, error) {
	if !slices.Contains([]string{"", "mark", "original", "branch"}, p.Conflicts) {
		return nil, usererr.Invalid("conflicts is %q; it must be mark, original or branch", p.Conflicts)
	}
	s, of, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	if err := b.Timeline.Operations.Present(of); err != nil {
		return nil, fmt.Errorf("cannot apply a branch to an original that is missing: %w", err)
	}
	client = &checkpoint.Client{Name: client.Name, User: client.User} // of both sides, whichever it is in
	changed, err := b.Timeline.Operations.ChangedSince(ctx, client, s, "start")
	if err != nil {
		return nil, fmt.Errorf("cannot compare the branch with its start: %w", err)
	}
	applied, err := b.Timeline.Operations.AppliedBefore(ctx, s, of)
	if err != nil {
		return nil, err
	}
	temp, remove, err := operations.Temporary(b.Timeline.Operations, s.Space)
	if err != nil {
		return nil, err
	}
	defer remove()
	a := &Applied{SessionID: s.ID, Of: of.ID, Workspace: of.Workspace, Steps: []answers.RestoreStep{}, Conflicts: []Conflict{}}
	steps, err := plan(ctx, temp, sides{changed.Base, changed.Root, of.Workspace, applied}, changed.Paths, p.Conflicts, a)
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
		if p.Conflicts == "mark" {
			advice = "These cannot be marked: use --conflicts original or branch."
		}
		return nil, usererr.New(usererr.ActionRefused, "nothing was applied: %d files have conflicts, such as %s (%s). %s", len(a.Conflicts), a.Conflicts[0].Path, a.Conflicts[0].Why, advice)
	}
	changes := make([]edit.Step, len(steps))
	for i, st := range steps {
		changes[i] = st.Step
	}
	op, err := b.Timeline.Operations.Alter(ctx, of, records.Operation{Kind: records.OpApply, What: fmt.Sprintf("apply branch %s", s.Name), Branch: s.ID, Kept: changed.Snapshot}, changes)
	if err != nil {
		return nil, err
	}
	a.Done, a.Operation, a.Safety = true, op.ID(), fmt.Sprintf("s%d", op.Safety)
	return a, nil
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

// plan returns the changes of the original. Conflicts are in the answer. Temp is a directory in which files are merged.
func plan(ctx context.Context, temp string, dirs sides, paths []string, conflicts string, a *Applied) (steps []step, err error) {
	var roots [len(dirs)]*os.Root
	for i, dir := range dirs {
		if dir == "" {
			continue
		}
		if roots[i], err = os.OpenRoot(dir); err != nil {
			return nil, err
		}
		defer func() { _ = roots[i].Close() }()
	}
	for _, name := range paths {
		if path.Base(name) == ".git" || strings.HasPrefix(name, ".git/") { // a branch lacks those that name repositories elsewhere
			continue
		}
		var versions [3]*edit.File
		var why error
		for i := range versions {
			if versions[i], err = edit.Read(roots[i], name); err != nil {
				why = err
			}
		}
		base, theirs, ours := versions[0], versions[1], versions[2]
		st := step{edit.Step{Path: name, From: ours, To: theirs}, "replace"}
		switch {
		case why != nil:
			a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(name), event.OneLine(why.Error())})
			continue
		case theirs.Same(ours) || theirs.Same(base):
			continue
		case ours.Same(base):
			switch {
			case theirs == nil:
				st.kind = "delete"
			case ours == nil:
				st.kind = "create"
			}
			steps = append(steps, st)
			continue
		}
		merged, reason, err := merge(ctx, temp, "", base, theirs, ours)
		if err == nil && reason != "" && roots[3] != nil { // the user has settled what was applied before
			var before *edit.File
			if before, err = edit.Read(roots[3], name); err == nil && theirs.Same(before) {
				continue
			} else if err == nil {
				base = before
				merged, reason, err = merge(ctx, temp, "", base, theirs, ours)
			}
		}
		if err != nil {
			return nil, err
		}
		side := conflicts == "original" || conflicts == "branch"
		switch lines := merged != nil; {
		case reason != "" && side:
			a.Settled = append(a.Settled, Conflict{event.OneLine(name), reason + settled(conflicts, lines)})
			if lines {
				if merged, _, err = merge(ctx, temp, conflicts, base, theirs, ours); err != nil {
					return nil, err
				}
			} else if merged = theirs; conflicts == "original" {
				merged = ours
			}
		case reason != "" && (conflicts == "" || !lines):
			a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(name), reason})
			continue
		}
		st.To = merged
		switch {
		case merged == nil:
			st.kind = "delete"
		case ours == nil:
			st.kind = "create"
		case merged != theirs:
			st.kind = "merge"
		}
		if st.To.Same(ours) { // it was applied before
			continue
		}
		steps = append(steps, st)
	}
	if steps, err = fitting(steps, roots[2], conflicts, a); err != nil {
		return nil, err
	}
	return emptied(steps, roots[1], roots[2])
}

// fitting returns steps without those that cannot be done because a directory and a file would have the same path. Where the
// original has a file that the branch made a directory, that file is a conflict already. Where the branch made a file of a directory,
// what only the original has in it is one.
func fitting(steps []step, original *os.Root, conflicts string, a *Applied) (fit []step, err error) {
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
		case conflicts == "branch":
			a.Settled = append(a.Settled, Conflict{event.OneLine(st.Path), reason + settled(conflicts, false)})
			for _, name := range only {
				f, err := edit.Read(original, name)
				if err != nil {
					return nil, err
				}
				steps = append(steps, step{edit.Step{Path: name, From: f}, "delete"})
			}
		case conflicts == "original":
			a.Settled = append(a.Settled, Conflict{event.OneLine(st.Path), reason + settled(conflicts, false)})
			kept[st.Path] = true
		default:
			a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(st.Path), reason})
			kept[st.Path] = true
		}
	}
	for _, st := range steps {
		fits := !kept[st.Path]
		for above := path.Dir(st.Path); fits && above != "."; above = path.Dir(above) {
			if kept[above] {
				fits = false
				break
			}
			f, changes := after[above]
			if !changes {
				if f, err = edit.Read(original, above); err != nil {
					return nil, err
				}
			}
			if fits = st.To == nil || f == nil || isDir(f); !fits && !changes && conflicts == "branch" { // it was chosen, and cannot be had
				a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(st.Path), "the original has no directory at " + event.OneLine(above)})
			}
		}
		if fits {
			fit = append(fit, st)
		}
	}
	return fit, nil
}

// emptied returns steps with those that delete directories in which nothing is left, and which the branch does not have.
func emptied(steps []step, branch, original *os.Root) ([]step, error) {
	gone := map[string]bool{}
	var deleted []string
	for _, st := range steps {
		if st.To == nil {
			gone[st.Path] = true
			deleted = append(deleted, st.Path)
		}
	}
	for len(deleted) > 0 { // a directory that is deleted may be the last one in another
		name := path.Dir(deleted[0])
		if deleted = deleted[1:]; name == "." || gone[name] {
			continue
		}
		if stays, err := edit.Read(branch, name); err != nil || stays != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		list, err := fs.ReadDir(original.FS(), name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(e fs.DirEntry) bool { return !gone[path.Join(name, e.Name())] }) {
			continue
		}
		gone[name] = true
		deleted = append(deleted, name)
		steps = append(steps, step{edit.Step{Path: name, From: &edit.File{Mode: fs.ModeDir}}, "delete"})
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.Path, b.Path) })
	return steps, nil
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
		return &edit.File{Mode: mode, Data: out}, fmt.Sprintf("both changed the same lines (%d places)", exit.ExitCode()), nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, "both changed it, and Git, which merges, is not installed", nil
	}
	return nil, "", fmt.Errorf("git merge-file: %w", err)
}
