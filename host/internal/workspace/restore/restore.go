// Package restore sets a workspace back to a snapshot, wholly or only some paths, in place.
//
// Guarantees:
//   - A restore destroys nothing. The state before it is a snapshot, of which everything that is replaced or deleted was read
//     back. It is moved away first.
//     It is deleted at the end, and only if it still is what that snapshot recorded.
//   - A path that changed since the plan was made is not touched. The restore stops, sets back what it has done, and
//     returns a [ChangedError] that names the path.
//   - A process that is killed at any moment leaves the workspace wholly before or wholly after, once [Recover] ran.
//     What was edited between the kill and the recovery keeps its newest state, and is reported.
//   - What the system does not allow this user to change is a problem of the plan, but for times alone. What it no longer allows
//     to be set back is reported, and blocks no later restore.
//   - Every new content is written and compared with the recorded one before anything in the workspace is touched. A full
//     disk leaves the workspace as it was. That holds for files too that share the extents of another one instead of being copied.
//   - Symbolic links are never followed, the workspace's own .git and what the provider skips are never touched. Paths
//     that are not in the plan keep their inode and their times. An undo sets back the times of the directories above its paths,
//     where nothing else in them differs from the target.
//   - A file whose content was not recorded is never replaced by an empty one, and a file whose present content cannot be
//     recorded is never replaced at all. Nor is anything in a directory that could not be listed. These are [Plan.Problems].
//
// Not restored: owners, except that a replaced file keeps its own where the system allows it. A program that has a
// replaced file open keeps writing to the old one, as after any replacement by rename.
package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Kind is what a restore does with a path.
type Kind uint8

// The kinds of steps. Attributes sets modes, times and extended attributes, and leaves the content in place.
const (
	Create Kind = iota + 1
	Replace
	Delete
	Attributes
)

func (k Kind) String() string {
	return map[Kind]string{Create: "create", Replace: "replace", Delete: "delete", Attributes: "attributes"}[k]
}

// Step is a path that a restore changes. Before is nil for [Create], After for [Delete].
type Step struct {
	Path          string
	Kind          Kind
	Before, After *tree.Entry
	// names is how many names the file has in the workspace, 0 for one.
	names int
}

// Plan is what a restore would do. It is used once, and not concurrently.
type Plan struct {
	// Target is the number of the snapshot to restore, Safety that of the state before.
	Target, Safety uint64
	// Steps are sorted by path, a directory before what is in it.
	Steps []Step
	// Problems prevent the restore of paths. While there are some, Apply refuses; see [Plan.Leave].
	Problems []tree.Problem
	// Left are the paths that stay different from the target, with the reasons.
	Left []tree.Problem
	// Recovered is what was done about an earlier restore that was interrupted, nil if none was.
	Recovered *Recovery

	p     *tracked.Provider
	paths []string
	// undo is true for a plan of [PrepareUndo]. Above are the directories outside of the paths whose times it sets back.
	undo  bool
	above map[string]bool
	// nodes are what the safety snapshot recorded of the paths of the steps, and of anchors.
	nodes map[string]*tree.Node
	// anchors are the files outside of the plan of which files in it are hard links, by the number of their group.
	anchors map[uint64]string
	// skipped reports whether a path was left out of the target. Stay are the paths that are there, and not changed for that.
	skipped func(path string) bool
	stay    map[string]bool
	// unread are the paths that one of the two states could not read, with the reasons. What is below them is not changed.
	unread map[string]string
	// renewed are the paths whose files get new times. It is nil without [Plan.Renew].
	renewed map[string]bool
	// observe is called before each change to the workspace. Tests set it.
	observe func(path string)
	used    bool
}

// Count returns how many steps are of a kind.
func (p *Plan) Count(k Kind) int {
	n := 0
	for _, s := range p.Steps {
		if s.Kind == k {
			n++
		}
	}
	return n
}

// Bytes returns the size of the contents that the restore writes.
func (p *Plan) Bytes() int64 {
	var n int64
	for _, s := range p.Steps {
		if s.Kind == Create || s.Kind == Replace {
			n += s.After.Size
		}
	}
	return n
}

// Result is what a restore did.
type Result struct {
	// Target is the number of the restored snapshot. Safety is that of the state before: restore it to undo. After is that
	// of the state after.
	Target, Safety, After uint64
	// Restored are the steps that were done.
	Restored []Step
	// Differs are the paths that differ from the target, with the reasons.
	Differs []tree.Problem
	// Kept is a directory with files that were changed after they had been moved away, "" in the usual case.
	Kept string
}

// ChangedError means that a path changed after the plan was made. The workspace is as it was before Apply.
type ChangedError struct {
	Path string
	// Reason says what changed.
	Reason string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q changed while it was being restored: %s. Nothing was restored. Prepare the restore again.", e.Path, e.Reason)
}

// BlockedError means that a plan has problems.
type BlockedError struct{ Problems []tree.Problem }

func (e *BlockedError) Error() string {
	var b strings.Builder
	whole := false // its own directory is one of them
	if b.WriteString("cannot restore "); len(e.Problems) > 1 {
		fmt.Fprintf(&b, "%d paths: ", len(e.Problems))
	}
	for i, p := range e.Problems {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", len(e.Problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		if p.Path == "" {
			fmt.Fprintf(&b, "the workspace: %s", p.Reason)
			whole = true
			continue
		}
		fmt.Fprintf(&b, "%q: %s", p.Path, p.Reason)
	}
	if whole {
		b.WriteString(". Change that, leave these as they are (--leave), or copy the files of the moment with `tidemark timeline session-branch`.")
		return b.String()
	}
	b.WriteString(". Restore other paths, or leave these as they are (--leave).")
	return b.String()
}

// PartialError means that a restore failed, and that not everything could be set back.
type PartialError struct {
	// Err is why the restore failed.
	Err error
	// Safety is the snapshot of the state before.
	Safety uint64
	// Differs are the paths that are not as before, with the reasons.
	Differs []tree.Problem
	// Kept is that of [Result].
	Kept string
}

// maxNamed bounds the paths that an error names.
const maxNamed = 10

func (e *PartialError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	for i, p := range e.Differs {
		if i == maxNamed {
			fmt.Fprintf(&b, "\n%d more paths are left as they are now. Their state before is in s%d.", len(e.Differs)-i, e.Safety)
			break
		}
		fmt.Fprintf(&b, "\n%q is left as it is now: %s. Its state before is in s%d.", p.Path, p.Reason, e.Safety)
	}
	if e.Kept != "" {
		fmt.Fprintf(&b, "\nFiles that were changed after they had been moved away are in %s.", e.Kept)
	}
	return b.String()
}

func (e *PartialError) Unwrap() error { return e.Err }

var (
	errNoExchange = errors.New("the filesystem cannot exchange two names")
	// errUsed is the answer to a second Apply.
	errUsed = errors.New("this plan was already applied. Prepare another one.")
)

// Prepare takes a snapshot of the workspace and plans what would set the paths back to the target. Paths are relative,
// with "/"; a directory stands for everything in it. No paths mean the whole workspace. An earlier restore that was
// interrupted is set back first. Nothing else in the workspace changes. After an error, a plan that is not nil has only what
// was recovered.
func Prepare(ctx context.Context, p *tracked.Provider, target uint64, paths []string) (*Plan, error) {
	return prepare(ctx, p, target, paths, false)
}

// PrepareUndo is [Prepare] for what changed the paths and nothing else: the directories that they are in get their times back, too,
// unless something else in them differs.
func PrepareUndo(ctx context.Context, p *tracked.Provider, target uint64, paths []string) (*Plan, error) {
	return prepare(ctx, p, target, paths, true)
}

func prepare(ctx context.Context, p *tracked.Provider, target uint64, paths []string, undo bool) (*Plan, error) {
	for _, path := range paths {
		if err := valid(path); err != nil {
			return nil, err
		}
		switch tracked.LeftOut(p.Options().Skip, path) {
		case "":
		case ".git":
			return nil, usererr.Invalid("cannot restore %q: it is part of no snapshot", path)
		default:
			return nil, usererr.Invalid("cannot restore %q: %s. Copy it from `tidemark timeline seek`, or remove the exclusion.", path, excludedNow)
		}
	}
	held, err := p.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	plan := &Plan{Target: target, p: p, paths: paths, undo: undo, above: map[string]bool{}, used: true}
	if plan.Recovered, err = recoverHeld(p, held); err != nil {
		return nil, err
	}
	if _, err := p.Diff(target, target); err != nil {
		return plan, err // before a snapshot is taken for nothing
	}
	safety, _, err := held.Take(ctx, fmt.Sprintf("before s%d is restored", target))
	if err != nil {
		return plan, fmt.Errorf("cannot take the snapshot of the state before: %w", err)
	}
	plan.Safety = safety.Number
	if err := plan.compute(held); err != nil {
		return plan, err
	}
	plan.used = false
	return plan, nil
}

// valid checks a path of a caller.
func valid(path string) error {
	if path == "" {
		return usererr.Invalid("a path is empty. Name a file or a directory, or no path for everything.")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return usererr.Invalid("%q is not a path in the workspace. Use a relative path with /, without \".\" and \"..\".", path)
		}
	}
	if strings.ContainsRune(path, 0) {
		return usererr.Invalid("%q is not a path: it has a zero byte", path)
	}
	return nil
}

// within reports whether a plan is about a path.
func (p *Plan) within(path string) bool {
	if len(p.paths) == 0 {
		return true
	}
	for _, at := range p.paths {
		if tree.Within(path, at) {
			return true
		}
	}
	return false
}

// Renew gives files whose contents the plan changes the time at which that is done, instead of the one that the target has. Programs
// such as make rebuild what depends on them then.
func (p *Plan) Renew() { p.renewed = map[string]bool{} }

// renew sets the times of [Plan.Renew].
func (p *Plan) renew() {
	if p.renewed == nil {
		return
	}
	now := time.Now().UnixNano()
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != Create && s.Kind != Replace || s.After.Kind != tree.File || s.After.Hard != 0 && p.anchors[s.After.Hard] != "" { // another name of it stays
			continue
		}
		if s.Before != nil && s.Before.Kind == tree.File && s.Before.SameContent(s.After) {
			continue
		}
		after := *s.After
		after.Mtime = now
		s.After, p.renewed[s.Path] = &after, true
	}
}

// Leave takes the paths with problems out of the plan, with what depends on them. They are in Left from then on.
func (p *Plan) Leave() {
	reasons := map[string]string{}
	for _, problem := range p.Problems {
		reasons[problem.Path] = problem.Reason
	}
	p.Left = append(p.Left, p.Problems...)
	p.Problems = nil
	p.prune(reasons)
	p.keepTimes()
}

// prune takes paths out of the steps. A directory that stays keeps what must be in it; one that cannot come has nothing
// in it.
func (p *Plan) prune(out map[string]string) {
	dirs := map[string]string{} // directories that stay, with a path that needs them
	for path, there := range p.stay {
		if parent := tree.Parent(path); there && (dirs[parent] == "" || path < dirs[parent]) {
			dirs[parent] = path
		}
	}
	if len(out) == 0 && len(dirs) == 0 {
		return
	}
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s := &p.Steps[i]
		if _, ok := out[s.Path]; !ok && dirs[s.Path] != "" && s.Before != nil && s.Before.Kind == tree.Dir && (s.After == nil || s.After.Kind != tree.Dir) {
			out[s.Path] = fmt.Sprintf("it has %q in it, which stays", dirs[s.Path])
			if !p.blocked(s.Path) {
				p.Left = append(p.Left, tree.Problem{Path: s.Path, Reason: out[s.Path]})
			}
		}
		if _, ok := out[s.Path]; ok && s.Before != nil {
			dirs[tree.Parent(s.Path)] = s.Path
		}
	}
	kept := p.Steps[:0]
	gone := map[string]bool{} // paths of steps that are out
	for _, s := range p.Steps {
		_, drop := out[s.Path]
		parent := tree.Parent(s.Path)
		if !drop && s.Path != "" && gone[parent] && s.Before == nil {
			drop = true
			p.Left = append(p.Left, tree.Problem{Path: s.Path, Reason: fmt.Sprintf("its directory %q is left as it is", parent)})
		}
		if drop {
			gone[s.Path] = true
			continue
		}
		kept = append(kept, s)
	}
	p.Steps = kept
}
