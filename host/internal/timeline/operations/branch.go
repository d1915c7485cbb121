package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/winname"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// maxMessage bounds the message for the agent of a branch, in bytes.
const maxMessage = 64 << 10

// branchName is what the name of a branch looks like. It is the name of a directory, where the system has such a name.
var branchName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,49}$`)

// BranchParams are the parameters of timeline_branch.
type BranchParams struct {
	moments.Where
	From    string `json:"from"`
	Name    string `json:"name"`
	Message string `json:"message"`
	// Also are names of branches that will be made after this one: it is made only where these are free, too.
	Also []string `json:"also"`
	// Confirm makes it however long the copy takes. Without it the answer is the plan of a long copy.
	Confirm bool `json:"confirm"`
	// Continue prepares the agent of a branch whose files are there, before the branch exists. Nil prepares none.
	Continue func(ctx context.Context, b *Beginning) error `json:"-"`
}

// Beginning is a branch that is being made.
type Beginning struct {
	// Branch is its session, From that of the original. Both have a workspace. Of is the session that the conversation is of: From, or
	// the one that From is a branch of, if no agent had worked in From.
	Branch, From, Of *records.Session
	// Moment is the moment as a user reads it. The conversation is as of At: that moment, or the one from which From began.
	Moment string
	At     time.Time
	// Leaves keeps the path of the file that continues the conversation, before it is written: it is removed where the branch is
	// interrupted. A file that it is followed by ".tmp" is one, too.
	Leaves func(path string) error
	// Anchor is the last place in an agent's conversation at or before the moment, nil for none. Exact is true where the moment
	// itself has it, Asking where that is a prompt, and Ended where it is the end of an answer.
	Anchor               *records.Anchor
	Exact, Asking, Ended bool
	// Problem is what the branch is to say about its agent: why none starts.
	Problem string
}

// beginning describes a branch from a place.
func beginning(ops *Operations, l *moments.Line, branch *records.Session, place *moments.Place, present bool) *Beginning {
	b := &Beginning{Branch: branch, From: place.Session, Of: place.Session, At: place.At()}
	named := place.Moment
	if present { // its snapshot may be an earlier one, if no file has changed since
		b.At = branch.Started
		b.Moment = b.At.UTC().Format(time.RFC3339)
		named = nil
	} else {
		for _, m := range l.All() {
			if named == nil && m.Snapshot == place.Snapshot.Number && m.SnapshotAt == place.Snapshot.At.UnixNano() {
				named = m // the first one that has it
			}
		}
		b.Moment = place.ID()
	}
	if named != nil {
		b.Moment = named.ID() + " (" + named.Label + ", " + named.At.UTC().Format(time.RFC3339) + ")"
	}
	b.follow(l, named)
	for b.Anchor == nil && b.Of.BranchOf != nil {
		began := b.Of
		of, err := ops.sessions.Find(began.BranchOf.Session)
		if err != nil {
			break
		}
		l, err := ops.lines.Line(of.Workspace)
		if err != nil {
			break
		}
		b.Of, b.At = of, began.Started
		i := slices.IndexFunc(l.All(), func(m *records.Moment) bool { return m.ID() == began.BranchOf.Moment })
		if i < 0 {
			b.follow(l, nil)
		} else {
			b.follow(l, l.All()[i])
		}
	}
	return b
}

// follow finds the place in an agent's conversation at a moment, which may be nil, or the last one before.
func (b *Beginning) follow(l *moments.Line, named *records.Moment) {
	if named != nil {
		b.At = named.At
		if named.Anchor != nil {
			b.Anchor, b.Exact, b.Asking, b.Ended = named.Anchor, true, named.Source == records.FromPrompt, named.Source == records.FromStop
			return
		}
	}
	for _, m := range slices.Backward(l.Of(b.Of)) {
		if m.Anchor != nil && !m.At.After(b.At) {
			b.Anchor, b.Ended = m.Anchor, m.Source == records.FromStop
			return
		}
	}
}

// Branch makes a session with a writable copy of a moment's files. The original workspace stays as it is, and need not exist any
// more.
func (ops *Operations) Branch(ctx context.Context, client *checkpoint.Client, p BranchParams) (*answers.Branched, error) {
	names := append([]string{p.Name}, p.Also...)
	for _, name := range names {
		if !branchName().MatchString(name) {
			return nil, usererr.Invalid("name is %q; it must have 1 to 50 lower-case letters, digits, - and _, and begin with a letter or a digit", name)
		}
		if _, why := winname.Here(name); why != "" {
			return nil, usererr.Invalid("name is %q, which cannot be that of a directory: %s", name, why)
		}
	}
	if len(p.Message) > maxMessage {
		return nil, usererr.Invalid("message has %d bytes; the limit is %d. Write the rest to a file that the agent can read, and name it.", len(p.Message), maxMessage)
	}
	if strings.Contains(p.Message, "\x00") {
		return nil, usererr.Invalid("message has the character U+0000, which no program can be started with")
	}
	s, l, err := ops.lines.RecordedBy(client, p.Where, false, []*string{&p.From}, needs(client, grants.AgentsBranch)...)
	if err != nil {
		return nil, err
	}
	place, err := ops.lines.Locate(ctx, client, s, l, p.From)
	if err != nil {
		return nil, err
	}
	if place.Lost != "" { // its conversation would be of another moment than its files
		return nil, usererr.New(usererr.NotFound, "cannot branch from %s: its snapshot is missing (%s); the nearest one is %s of %s. Branch from that one.", p.From, place.Lost, records.SnapshotID(place.Snapshot.Number), place.Moment.ID())
	}
	unlock, err := l.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if op, _, err := Called(ctx, ops, client, moments.Where{Session: s.ID}, records.OpBranch); err != nil || op != nil {
		if err != nil {
			return nil, err
		}
		return branched(ctx, ops, l, op)
	}
	dir, err := ops.branchDir(ctx, l, p.Name)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, usererr.New(usererr.AlreadyExists, "%s already has a branch %q. Choose another name.", grants.Printable(l.Root), name)
		}
	}
	for _, old := range ops.sessions.All() { // the directory of one was removed by hand: two would have it
		if old.Workspace != dir || old.BranchOf == nil || old.Removed {
			continue
		}
		of, err := ops.sessions.Find(old.BranchOf.Session)
		if err == nil {
			_, err = ops.RemoveBranch(ctx, old, of, Removal{})
		}
		if err != nil {
			return nil, fmt.Errorf("cannot remove branch %s, whose directory no longer exists: %w", old.ID, err)
		}
	}
	k := place.Snapshot
	if !p.Confirm && ops.o.Long > 0 {
		plan, err := ops.planOf(ctx, l, k.Number, dir)
		if err != nil {
			return nil, fmt.Errorf("cannot plan the copy of %s: %w", records.SnapshotID(k.Number), err)
		}
		if plan != nil {
			return &answers.Branched{About: answers.About{Workspace: dir, Started: report.Time{Time: ops.o.Clock()}, Name: p.Name, Message: p.Message}, FsSnapshot: records.SnapshotID(k.Number), Note: place.Note, Notes: k.Problems, Plan: plan}, nil
		}
	}
	op := &records.Operation{At: ops.o.Clock(), Session: s.ID, Kind: records.OpBranch, What: fmt.Sprintf("branch %s from %s", p.Name, records.SnapshotID(k.Number)), Target: k.Number, Dir: dir}
	a := &answers.Branched{Note: place.Note, Notes: k.Problems}
	if err := errors.Join(Answer(op, a), begin(ctx, ops, l.Space, op)); err != nil {
		return nil, err
	}
	branch, problem, err := ops.makeBranch(ctx, l, op, place, p)
	if err != nil {
		op.State = records.Failed
		return nil, errors.Join(err, removeCopy(op.Copy), ops.db.Log(l.Space, op))
	}
	op.State, op.Branch, a.Problem = records.Done, branch.ID, problem
	if err := errors.Join(Answer(op, a), ops.db.Log(l.Space, op)); err != nil {
		return nil, fmt.Errorf("the branch %s was made in %s, but the operation could not be saved: %w", branch.ID, dir, err)
	}
	return branched(ctx, ops, l, op)
}

// branched describes the branch that an operation made.
func branched(ctx context.Context, ops *Operations, l *moments.Line, op *records.Operation) (*answers.Branched, error) {
	a := &answers.Branched{}
	if err := json.Unmarshal(op.Answer, a); err != nil {
		return nil, err
	}
	branch, err := ops.sessions.Find(op.Branch)
	if err != nil {
		return nil, err
	}
	w, err := ops.lines.OpenRecorded(ctx, l.Root)
	if err != nil {
		return nil, err
	}
	a.About, a.FsSnapshot, a.Operation = ops.lines.About(branch), records.SnapshotID(op.Target), op.ID()
	a.Form, a.Unnamed = workspace.Form(w, op.Dir, true), workspace.Unnamed(w, op.Dir)
	return a, nil
}

// planOf returns the plan of a branch whose copy takes long, nil for another one. Dir is where it would go.
func (ops *Operations) planOf(ctx context.Context, l *moments.Line, snapshot uint64, dir string) (*answers.BranchPlan, error) {
	w, err := ops.lines.OpenRecorded(ctx, l.Root)
	if err != nil {
		return nil, err
	}
	at, err := w.Placement(filepath.Join(ops.o.Branches, l.Space))
	if err != nil || at.Shares || workspace.Instant(w, snapshot) {
		return nil, err
	}
	e, err := w.Estimate(ctx, snapshot, dir)
	if err != nil || e.Time < ops.o.Long {
		return nil, err
	}
	return &answers.BranchPlan{Files: e.Files, Bytes: e.Bytes, Seconds: e.Time.Seconds(), Why: at.Why}, nil
}

// makingSuffix is at the end of a branch's directory while its files are copied.
const makingSuffix = ".making"

// branchDir returns the directory of a branch, without links, as decisions have it. The directory above it exists.
func (ops *Operations) branchDir(ctx context.Context, l *moments.Line, name string) (string, error) {
	w, err := ops.lines.OpenRecorded(ctx, l.Root)
	if err != nil {
		return "", err
	}
	above, err := w.Place(filepath.Join(ops.o.Branches, l.Space))
	if err != nil {
		return "", err
	}
	above, err = grants.Resolve(above)
	return filepath.Join(above, name), err
}

// makeBranch makes the directory and the session of a branch, both or neither. Problem says why it has no agent.
func (ops *Operations) makeBranch(ctx context.Context, l *moments.Line, op *records.Operation, place *moments.Place, p BranchParams) (_ *records.Session, problem string, err error) {
	dir := op.Dir
	w, err := ops.lines.OpenRecorded(ctx, l.Root)
	if err != nil {
		return nil, "", err
	}
	if err := workspace.CloneAs(ctx, w, place.Snapshot.Number, dir, dir+makingSuffix); err != nil {
		return nil, "", fmt.Errorf("cannot copy the files of %s: %w", records.SnapshotID(place.Snapshot.Number), err)
	}
	first := records.Moment{Kind: records.Auto, Source: records.FromBranch}
	if len(workspace.Unnamed(w, dir)) == 0 { // else its first snapshot is of what it has: nobody deleted the rest
		if err := workspace.Share(ctx, w, place.Snapshot.Number, dir); err == nil {
			moments.SetSnapshot(&first, place.Snapshot)
		} else if !errors.Is(err, fs.ErrExist) {
			ops.o.Log.Warn("the first snapshot of a branch must read all its files", "branch", dir, "error", err)
		}
	}
	if err := gitrepo.Apart(l.Root, dir); err != nil {
		return nil, "", errors.Join(fmt.Errorf("cannot keep the branch apart from other repositories: %w", err), ops.dropCopy(dir))
	}
	branch := &records.Session{
		Workspace: dir, Started: ops.o.Clock(), Name: p.Name, Message: p.Message,
		BranchOf: &records.BranchOf{Session: place.Session.ID, FsSnapshot: records.SnapshotID(place.Snapshot.Number)},
	}
	if place.Moment != nil {
		branch.BranchOf.Moment = place.Moment.ID()
	}
	if p.Continue != nil {
		begun := beginning(ops, l, branch, place, p.From == "now")
		begun.Leaves = func(path string) error {
			op.Copy = path
			return ops.db.Log(l.Space, op)
		}
		if err := p.Continue(ctx, begun); err != nil {
			return nil, "", errors.Join(err, ops.dropCopy(dir))
		}
		problem = begun.Problem
	}
	if err := withPorts(ops, place.Session, branch, ops.sessions.Begin); err != nil {
		return nil, "", errors.Join(err, ops.dropCopy(dir))
	}
	if of := ops.sessions.Origin(branch); of != nil {
		ops.o.Workspaces.Branch(dir, of.Workspace)
	}
	bl, err := ops.lines.Line(dir)
	if err != nil {
		return nil, "", err
	}
	unlock, err := bl.Lock(ctx)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	label := "branched from " + place.Session.ID
	if place.Moment != nil {
		label += " at " + place.Moment.ID() + ", " + place.Moment.Label
	}
	first = ops.lines.Stamp(first)
	first.At, first.Label = branch.Started, ops.lines.Label(label)
	if _, err = ops.lines.Keep(bl, branch, first); err != nil {
		ops.o.Workspaces.CloseDir(dir)
		return nil, "", errors.Join(err, ops.sessions.Remove(branch, ops.o.Clock()), ops.dropCopy(dir))
	}
	watch(ops, dir, "after "+label)
	return branch, problem, nil
}

// dropCopy removes the directory of a branch that was not made, with the snapshot that it began with.
func (ops *Operations) dropCopy(dir string) error {
	return errors.Join(tracked.RemoveAll(dir), ops.o.Workspaces.Unshare(dir))
}
