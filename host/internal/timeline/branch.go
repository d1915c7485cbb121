package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// maxMessage bounds the message for the agent of a branch, in bytes.
const maxMessage = 64 << 10

// branchName is what the name of a branch looks like. It is the name of a directory on every system.
var branchName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,49}$`)

// BranchParams are the parameters of timeline_branch.
type BranchParams struct {
	Where
	From    string `json:"from"`
	Name    string `json:"name"`
	Message string `json:"message"`
	// Confirm makes it however long the copy takes. Without it the answer is the plan of a long copy.
	Confirm bool `json:"confirm"`
	// Continue prepares the agent of a branch whose files are there, before the branch exists. Nil prepares none.
	Continue func(ctx context.Context, b *Beginning) error `json:"-"`
}

// Beginning is a branch that is being made.
type Beginning struct {
	// Branch is its session, From that of the original. Both have a workspace.
	Branch, From *Session
	// Moment is the moment as a user reads it, At when it was.
	Moment string
	At     time.Time
	// Leaves keeps the path of the file that continues the conversation, before it is written: it is removed where the branch is
	// interrupted. A file that it is followed by ".tmp" is one, too.
	Leaves func(path string) error
	// Anchor is the last place in an agent's conversation at or before the moment, nil for none. Exact is true where the moment
	// itself has it, Asking where that is a prompt, and Ended where it is the end of an answer.
	Anchor               *records.Anchor
	Exact, Asking, Ended bool
}

// beginning describes a branch from a place.
func beginning(l *line, branch *Session, place *Place, present bool) *Beginning {
	b := &Beginning{Branch: branch, From: place.Session, At: place.at()}
	named := place.Moment
	if present { // its snapshot may be an earlier one, if no file has changed since
		b.At = branch.Started
		b.Moment = b.At.UTC().Format(time.RFC3339)
		b.follow(l)
		return b
	}
	for _, m := range l.all() {
		if named == nil && m.Snapshot == place.Snapshot.Number && m.SnapshotAt == place.Snapshot.At.UnixNano() {
			named = m // the first one that has it
		}
	}
	b.Moment = place.ID()
	if named != nil {
		b.At = named.At
		b.Moment = named.ID() + " (" + named.Label + ", " + named.At.UTC().Format(time.RFC3339) + ")"
		if named.Anchor != nil {
			b.Anchor, b.Exact, b.Asking, b.Ended = named.Anchor, true, named.Source == records.FromPrompt, named.Source == records.FromStop
			return b
		}
	}
	b.follow(l)
	return b
}

// follow finds the last place in an agent's conversation at or before the moment.
func (b *Beginning) follow(l *line) {
	for _, m := range slices.Backward(l.of(b.From)) {
		if m.Anchor != nil && !m.At.After(b.At) {
			b.Anchor, b.Ended = m.Anchor, m.Source == records.FromStop
			return
		}
	}
}

// Branch makes a session with a writable copy of a moment's files. The original workspace stays as it is.
func (t *Timeline) Branch(ctx context.Context, client *checkpoint.Client, p BranchParams) (*Branched, error) {
	if !branchName.MatchString(p.Name) {
		return nil, usererr.Invalid("name is %q; it must have 1 to 50 lower-case letters, digits, - and _, and begin with a letter or a digit", p.Name)
	}
	if len(p.Message) > maxMessage {
		return nil, usererr.Invalid("message has %d bytes; the limit is %d", len(p.Message), maxMessage)
	}
	s, l, err := t.sessionBy(client, p.Where, false, []*string{&p.From}, needs(client, grants.AgentsBranch)...)
	if err != nil {
		return nil, err
	}
	place, err := t.locate(ctx, client, s, l, p.From)
	if err != nil {
		return nil, err
	}
	if place.Lost != "" { // its conversation would be of another moment than its files
		return nil, usererr.New(usererr.NotFound, "cannot branch from %s: its snapshot is missing (%s); the nearest one is %s of %s. Branch from that one.", p.From, place.Lost, snapshotID(place.Snapshot.Number), place.Moment.ID())
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir, err := t.branchDir(ctx, l, p.Name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, usererr.New(usererr.AlreadyExists, "%s already has a branch %q. Choose another name.", l.root, p.Name)
	}
	k := place.Snapshot
	if !p.Confirm && t.o.Long > 0 {
		plan, err := planOf(ctx, t, l, k.Number, dir)
		if err != nil {
			return nil, fmt.Errorf("cannot plan the copy of %s: %w", snapshotID(k.Number), err)
		}
		if plan != nil {
			return &Branched{About: About{Workspace: dir, Started: diff.Time{Time: t.o.Clock()}, Name: p.Name, Message: p.Message}, FsSnapshot: snapshotID(k.Number), Note: place.Note, Notes: k.Problems, Plan: plan}, nil
		}
	}
	op := &Operation{At: t.o.Clock(), Session: s.ID, Kind: records.OpBranch, State: records.Begun, What: fmt.Sprintf("branch %s from %s", p.Name, snapshotID(k.Number)), Target: k.Number, Dir: dir}
	if err := t.db.Log(l.space, op); err != nil {
		return nil, fmt.Errorf("cannot save the operation: %w", err)
	}
	branch, err := t.makeBranch(ctx, l, op, place, p)
	if err != nil {
		op.State = records.Failed
		return nil, errors.Join(err, removeCopy(op.Copy), t.db.Log(l.space, op))
	}
	op.State, op.Branch = records.Done, branch.ID
	if err := t.db.Log(l.space, op); err != nil {
		return nil, fmt.Errorf("the branch %s was made in %s, but the operation could not be saved: %w", branch.ID, dir, err)
	}
	return &Branched{About: aboutOf(t, branch), FsSnapshot: snapshotID(k.Number), Operation: op.ID(), Note: place.Note, Notes: k.Problems}, nil
}

// planOf returns the plan of a branch whose copy takes long, nil for another one. Dir is where it would go.
func planOf(ctx context.Context, t *Timeline, l *line, snapshot uint64, dir string) (*BranchPlan, error) {
	w, err := t.open(ctx, l.root)
	if err != nil {
		return nil, err
	}
	at, err := w.Placement(filepath.Join(t.o.Branches, l.space))
	if err != nil || at.Shares {
		return nil, err
	}
	e, err := w.Estimate(ctx, snapshot, dir)
	if err != nil || e.Time < t.o.Long {
		return nil, err
	}
	return &BranchPlan{Files: e.Files, Bytes: e.Bytes, Seconds: e.Time.Seconds(), Why: at.Why}, nil
}

// makingSuffix is at the end of a branch's directory while its files are copied.
const makingSuffix = ".making"

// branchDir returns the directory of a branch, without links, as decisions have it. The directory above it exists.
func (t *Timeline) branchDir(ctx context.Context, l *line, name string) (string, error) {
	w, err := t.open(ctx, l.root)
	if err != nil {
		return "", err
	}
	above, err := w.Place(filepath.Join(t.o.Branches, l.space))
	if err != nil {
		return "", err
	}
	above, err = grants.Resolve(above)
	return filepath.Join(above, name), err
}

// needs returns the grant that an agent needs. The user's own programs need none.
func needs(client *checkpoint.Client, grant string) []string {
	if client.User {
		return nil
	}
	return []string{grant}
}

// makeBranch makes the directory and the session of a branch: both, or neither.
func (t *Timeline) makeBranch(ctx context.Context, l *line, op *Operation, place *Place, p BranchParams) (*Session, error) {
	dir := op.Dir
	w, err := t.open(ctx, l.root)
	if err != nil {
		return nil, err
	}
	making := dir + makingSuffix
	if err := w.Clone(ctx, place.Snapshot.Number, making); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot copy the files of %s: %w", snapshotID(place.Snapshot.Number), err), tracked.RemoveAll(making))
	}
	if err := os.Rename(making, dir); err != nil {
		return nil, errors.Join(err, tracked.RemoveAll(making))
	}
	branch := &Session{
		Workspace: dir, Started: t.o.Clock(), Name: p.Name, Message: p.Message,
		BranchOf: &records.BranchOf{Session: place.Session.ID, FsSnapshot: snapshotID(place.Snapshot.Number)},
	}
	if place.Moment != nil {
		branch.BranchOf.Moment = place.Moment.ID()
	}
	if p.Continue != nil {
		begun := beginning(l, branch, place, p.From == "now")
		begun.Leaves = func(path string) error {
			op.Copy = path
			return t.db.Log(l.space, op)
		}
		if err := p.Continue(ctx, begun); err != nil {
			return nil, errors.Join(err, tracked.RemoveAll(dir))
		}
	}
	if err := t.sessions.Begin(branch); err != nil {
		return nil, errors.Join(err, tracked.RemoveAll(dir))
	}
	if of := t.sessions.Origin(branch); of != nil {
		t.o.Workspaces.Branch(dir, of.Workspace)
	}
	bl, err := t.line(dir)
	if err != nil {
		return nil, err
	}
	unlock, err := bl.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	label := "branched from " + place.Session.ID
	if place.Moment != nil {
		label += " at " + place.Moment.ID() + ", " + place.Moment.Label
	}
	if _, err = t.keep(bl, branch, Moment{At: branch.Started, Ran: t.o.Elapsed(), Label: t.o.label(label), Kind: records.Auto, Source: records.FromBranch}); err != nil {
		t.o.Workspaces.CloseDir(dir)
		return nil, errors.Join(err, t.sessions.Remove(branch), tracked.RemoveAll(dir))
	}
	return branch, nil
}

// Require returns an error where the user's decision about a directory lacks a grant.
func Require(t *Timeline, dir, grant string) error {
	_, err := t.o.Workspaces.Root(dir, grant)
	return err
}

// BranchesOf returns the branches of a session.
func BranchesOf(t *Timeline, s *Session) []*Session { return t.sessions.BranchesOf(s) }

// UpdateAgent changes what is known of the agent of a branch, and keeps it. An error of change keeps nothing.
func UpdateAgent(t *Timeline, id string, change func(*records.Agent) error) error {
	s, err := t.sessions.Find(id)
	if err != nil {
		return err
	}
	if s.Agent == nil {
		return usererr.New(usererr.NotFound, "branch %s has no agent", id)
	}
	agent := *s.Agent
	if err := change(&agent); err != nil {
		return err
	}
	return t.sessions.Update(id, func(s *Session) { s.Agent = &agent })
}
