package branches

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// ApplyParams are the parameters of branch_apply.
type ApplyParams struct {
	timeline.Where
	Name string `json:"name"`
	// Conflicts is what to do with changes of both: "" applies nothing, "mark" writes both with markers where that is possible,
	// "original" and "branch" take one side.
	Conflicts string `json:"conflicts"`
	// Confirm applies. Without it the answer is the plan.
	Confirm bool `json:"confirm"`
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
	// Steps are the paths that change: create, replace, delete, merge.
	Steps []timeline.RestoreStep `json:"steps"`
	// Conflicts are the paths that both changed, with the reason.
	Conflicts []Conflict `json:"conflicts"`
}

// Conflict is a path that the branch and the original changed in different ways.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// file is what is at a path; nil for nothing.
type file struct {
	mode fs.FileMode
	data []byte // the target of a link
}

func (f *file) same(o *file) bool {
	return f == nil && o == nil || f != nil && o != nil && f.kind() == o.kind() && bytes.Equal(f.data, o.data)
}

// kind is the type of a file, and whether it is a program. Other permissions differ between a workspace and a view.
func (f *file) kind() fs.FileMode {
	kind := f.mode.Type()
	if kind == 0 && f.mode&0o111 != 0 {
		kind = 0o111
	}
	return kind
}

// text reports whether a file can be merged by lines.
func (f *file) text() bool {
	return f != nil && f.mode.IsRegular() && !bytes.Contains(f.data[:min(len(f.data), 8<<10)], []byte{0})
}

// maxMerged bounds a file that is merged, in bytes.
const maxMerged = 256 << 20

// read returns what is at a path, without following links.
func read(root *os.Root, name string) (*file, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return &file{mode: fs.ModeDir}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(name)
		return &file{mode: fs.ModeSymlink, data: []byte(to)}, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxMerged:
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxMerged)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxMerged+1))
	return &file{mode: info.Mode().Perm(), data: data}, err
}

// step is a change of the original.
type step struct {
	path, kind string
	from, to   *file
}

// Apply merges the changes of a branch into the workspace that it comes from, or answers with the plan.
func (b *Branches) Apply(ctx context.Context, client *checkpoint.Client, p ApplyParams) (*Applied, error) {
	if !slices.Contains([]string{"", "mark", "original", "branch"}, p.Conflicts) {
		return nil, usererr.Invalid("conflicts is %q; it must be mark, original or branch", p.Conflicts)
	}
	s, of, err := timeline.FindBranch(b.Timeline, client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	changed, err := timeline.ChangedSince(ctx, b.Timeline, client, s, "start")
	if err != nil {
		return nil, fmt.Errorf("cannot compare the branch with its start: %w", err)
	}
	a := &Applied{SessionID: s.ID, Of: of.ID, Workspace: of.Workspace, Steps: []timeline.RestoreStep{}, Conflicts: []Conflict{}}
	steps, err := plan(ctx, changed, of.Workspace, p.Conflicts, a)
	if err != nil {
		return nil, err
	}
	for _, st := range steps {
		a.Steps = append(a.Steps, timeline.RestoreStep{Path: event.OneLine(st.path), Change: st.kind})
	}
	if !p.Confirm || len(steps) == 0 && len(a.Conflicts) == 0 {
		a.Done = p.Confirm
		return a, nil
	}
	if len(a.Conflicts) > 0 {
		return nil, usererr.New(usererr.ActionRefused, "nothing was applied: %d files have conflicts, such as %s (%s). Use --conflicts mark, original or branch.", len(a.Conflicts), a.Conflicts[0].Path, a.Conflicts[0].Why)
	}
	op, err := timeline.Alter(ctx, b.Timeline, of, records.OpApply, fmt.Sprintf("apply branch %s", s.Name), func(root *os.Root) (paths []string, err error) {
		for _, st := range steps {
			if err := st.do(root); err != nil {
				return paths, fmt.Errorf("cannot change %s: %w", st.path, err)
			}
			paths = append(paths, st.path)
		}
		return paths, nil
	})
	if op != nil {
		a.Operation, a.Safety = op.ID(), fmt.Sprintf("s%d", op.Safety)
	}
	if err != nil {
		if a.Safety != "" {
			err = fmt.Errorf("%w. The state before is %s; `tidemark timeline undo %s` brings it back.", err, a.Safety, a.Operation)
		}
		return nil, err
	}
	a.Done = true
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
		x, err := read(a, filepath.FromSlash(path))
		y, err2 := read(b, filepath.FromSlash(path))
		if err != nil || err2 != nil || !x.same(y) {
			list = append(list, path)
		}
	}
	return list, nil
}

// plan returns the changes of the original. Conflicts are in the answer.
func plan(ctx context.Context, changed *timeline.Changed, original, conflicts string, a *Applied) (steps []step, err error) {
	var roots [3]*os.Root
	for i, dir := range []string{changed.Base, changed.Root, original} {
		if roots[i], err = os.OpenRoot(dir); err != nil {
			return nil, err
		}
		defer func() { _ = roots[i].Close() }()
	}
	for _, name := range changed.Paths {
		if name == ".git" || strings.HasPrefix(name, ".git/") {
			continue
		}
		var versions [3]*file
		var why error
		for i, root := range roots {
			if versions[i], err = read(root, filepath.FromSlash(name)); err != nil {
				why = err
			}
		}
		base, theirs, ours := versions[0], versions[1], versions[2]
		st := step{path: name, kind: "replace", from: ours, to: theirs}
		switch {
		case why != nil:
			a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(name), event.OneLine(why.Error())})
			continue
		case theirs.same(ours) || theirs.same(base):
			continue
		case ours.same(base):
			switch {
			case theirs == nil:
				st.kind = "delete"
			case ours == nil:
				st.kind = "create"
			}
			steps = append(steps, st)
			continue
		case conflicts == "original":
			continue
		case conflicts == "branch":
			steps = append(steps, st)
			continue
		}
		reason := ""
		if st.to, reason, err = merge(ctx, base, theirs, ours); err != nil {
			return nil, err
		}
		if st.kind = "merge"; reason != "" && (conflicts != "mark" || st.to == nil) {
			a.Conflicts = append(a.Conflicts, Conflict{event.OneLine(name), reason})
			continue
		}
		if st.to.same(ours) { // it was applied before
			continue
		}
		steps = append(steps, st)
	}
	return steps, nil
}

// merge merges two changes of a file by lines. Reason says why they conflict; then the file has markers, or is nil.
func merge(ctx context.Context, base, theirs, ours *file) (merged *file, reason string, err error) {
	switch {
	case ours == nil:
		return nil, "the original deleted it, the branch changed it", nil
	case theirs == nil:
		return nil, "the branch deleted it, the original changed it", nil
	case base == nil && theirs.text() && ours.text():
		base = &file{mode: theirs.mode} // both created it
	case !base.text() || !theirs.text() || !ours.text():
		return nil, "both changed it, and it is not text", nil
	}
	dir, err := os.MkdirTemp("", "tidemark-merge-")
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"merge-file", "-p", "-L", "original", "-L", "before", "-L", "branch"}
	for _, one := range []struct {
		name string
		*file
	}{{"original", ours}, {"before", base}, {"branch", theirs}} {
		path := filepath.Join(dir, one.name)
		if err := os.WriteFile(path, one.data, 0o600); err != nil {
			return nil, "", err
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.Output()
	mode := ours.mode
	if ours.kind() == base.kind() {
		mode = theirs.mode
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &file{mode, out}, "", nil
	case errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128:
		return &file{mode, out}, fmt.Sprintf("both changed the same lines (%d places)", exit.ExitCode()), nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, "both changed it, and Git, which merges, is not installed", nil
	}
	return nil, "", fmt.Errorf("git merge-file: %w", err)
}

// do makes a change, unless the file is no longer as it was planned.
func (st step) do(root *os.Root) error {
	name := filepath.FromSlash(st.path)
	now, err := read(root, name)
	if err != nil {
		return err
	}
	if !now.same(st.from) {
		return errors.New("it was changed in the meantime")
	}
	if st.to == nil {
		return root.Remove(name)
	}
	if st.to.mode.IsDir() {
		return root.MkdirAll(name, 0o755)
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if st.from != nil && st.from.mode.IsDir() {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	temp := filepath.FromSlash(path.Join(path.Dir(st.path), fmt.Sprintf(".%s.tidemark-apply", path.Base(st.path))))
	if st.to.mode&fs.ModeSymlink != 0 {
		err = root.Symlink(string(st.to.data), temp)
	} else {
		err = root.WriteFile(temp, st.to.data, 0o600)
		if err == nil {
			err = root.Chmod(temp, st.to.mode)
		}
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
