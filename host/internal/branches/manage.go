package branches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

// ListParams are the parameters of branch_list.
type ListParams struct{ moments.Where }

// List are the branches of a workspace, the newest first.
type List struct {
	Branches []Branch `json:"branches"`
}

// Branch is a branch with what runs in it.
type Branch struct {
	answers.About
	// Running are the processes that work in the branch. Known is false where the system does not say that.
	Running []subprocess.Process `json:"running"`
	Known   bool                 `json:"runningKnown"`
	// Record is the agent's own record of its conversation, "" where no hook named one.
	Record string `json:"record,omitempty"`
	// Form says how the branch is mounted, "plain files" where it is not. It begins with "not mounted" where its process has ended.
	Form string `json:"form"`
	// Problem says what is wrong with the branch, "" for nothing.
	Problem string `json:"problem,omitempty"`
}

// plainFiles is the form of a branch that is not mounted.
const plainFiles = "plain files"

// List lists the branches of a workspace.
func (b *Branches) List(_ context.Context, client *checkpoint.Client, p ListParams) (*List, error) {
	all, err := b.Timeline.Operations.BranchesIn(client, p.Where)
	if err != nil {
		return nil, err
	}
	a := &List{Branches: []Branch{}}
	for _, s := range all {
		s, unknown := b.met(s, nil)
		one := Branch{About: b.Timeline.Operations.About(s), Running: []subprocess.Process{}, Form: cmp.Or(workspace.Mounted(s.Workspace), plainFiles)}
		if s.Agent != nil {
			one.Record = b.Timeline.Operations.RecordOf(s)
		}
		if unknown {
			one.Agent.Problem = notKnown(s.Name)
		}
		if _, err := os.Stat(s.Workspace); errors.Is(err, fs.ErrNotExist) {
			one.Problem = "its directory no longer exists"
		} else if later := operations.Successor(b.Timeline.Operations, s); later != nil {
			one.Problem = "its directory is that of " + later.ID + " now"
		} else if overlay.Dead(s.Workspace) {
			one.Form = "not " + one.Form
			one.Problem = fmt.Sprintf("the process of its mount has ended. What was written in it is kept. `tidemark branch open %s` mounts it again", s.Name)
		}
		running, known := subprocess.Within(s.Workspace)
		one.Running, one.Known = append(one.Running, running...), known
		a.Branches = append(a.Branches, one)
	}
	return a, nil
}

// OneParams name a branch.
type OneParams struct {
	moments.Where
	Name string `json:"name"`
	// Env is the environment of the user's program.
	Env []string `json:"env"`
	// PID is the process that is to become the agent, in the terminal of the user or one that terminal_command opened, 0 for none.
	PID int `json:"pid"`
	// Force removes a branch in which processes run.
	Force bool `json:"force"`
	// NoUndo removes a branch without a snapshot of its files, so that it cannot come back.
	NoUndo bool `json:"noUndo,omitempty"`
}

// present returns an error if the directory of a branch no longer exists.
func (b *Branches) present(s *records.Session) error {
	if err := b.Timeline.Operations.Present(s); err != nil {
		return fmt.Errorf("the directory of branch %s is missing: %w", s.Name, err)
	}
	return nil
}

// Command is how a branch is opened in a terminal.
type Command struct {
	answers.About
	// Line is the command line, Dir its directory, Env its whole environment.
	Line []string `json:"line"`
	Dir  string   `json:"dir"`
	Env  []string `json:"env"`
}

// Open returns the command that continues a branch's agent in a terminal, or that opens a shell where it has none.
func (b *Branches) Open(_ context.Context, client *checkpoint.Client, p OneParams) (*Command, error) {
	s, _, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	if err := b.present(s); err != nil {
		return nil, err
	}
	s, _ = b.met(s, p.Env)
	c := &Command{About: b.Timeline.Operations.About(s), Dir: s.Workspace}
	g := s.Agent
	if g == nil {
		shell := value(p.Env, "SHELL")
		if shell == "" {
			return nil, usererr.New(usererr.NotFound, "branch %s has no agent, and SHELL names no shell. Its directory is %s.", s.Name, s.Workspace)
		}
		c.Line, c.Env = []string{shell}, append(p.Env, "TIDEMARK_BRANCH="+s.Name, ceiling(p.Env, s.Workspace))
		return c, nil
	}
	if running, _ := subprocess.Within(s.Workspace); g.PID != 0 {
		for _, r := range running {
			if r.PID == g.PID && r.PID != p.PID {
				return nil, usererr.New(usererr.ActionRefused, "%s already runs in branch %s (process %d). Run `tidemark branch attach %s`.", g.Name, s.Name, g.PID, s.Name)
			}
		}
	}
	c.Dir, c.Env = g.Dir, environment(p.Env, s.Name, s.Workspace, g)
	if g.PID == 0 || g.PID == p.PID { // the latter where the request is repeated
		if c.Line, err = b.command(s.Workspace, g, c.Env, false); err == nil && p.PID != 0 {
			err = b.enter(s.ID, g.Dir, p.PID)
		}
		return c, err
	}
	again := agentOf(g.Name).again
	if again == nil {
		return nil, usererr.New(usererr.ActionRefused, "Tidemark does not know how %s continues. Its directory is %s.", g.Name, grants.Printable(g.Dir))
	}
	line, err := b.program(g.Name, c.Env)
	if err == nil {
		c.Line, err = b.inside(s.Workspace, g, c.Env, slices.Concat(line, again(g))) // it has the message already
	}
	return c, err
}

// RunIn is how a program runs in a branch under the path of the original.
type RunIn struct {
	// Dir is that of the branch, At the path that it is to have.
	Dir string   `json:"dir"`
	At  string   `json:"at"`
	Env []string `json:"env"`
	// Binds are the directories that it is to see at other paths, first Dir at At.
	Binds []ownpath.Bind `json:"binds"`
}

// RunParams are the parameters of branch_run.
type RunParams struct {
	OneParams
	// Program is the one that is to run, as the user names it. The conversations of an agent are kept apart from the original's.
	Program string `json:"program"`
}

// Run returns how a program runs in a branch.
func (b *Branches) Run(_ context.Context, client *checkpoint.Client, p RunParams) (*RunIn, error) {
	s, _, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	if err := b.present(s); err != nil {
		return nil, err
	}
	origin := b.Timeline.Operations.OriginOf(s)
	if origin == nil {
		return nil, usererr.New(usererr.NotFound, "the original of branch %s is not known", s.Name)
	}
	a := &RunIn{Dir: s.Workspace, At: origin.Workspace, Env: append(p.Env, "TIDEMARK_BRANCH="+s.Name, ceiling(p.Env, s.Workspace, origin.Workspace))}
	if s.Agent != nil {
		a.Env = append(a.Env, "TIDEMARK_PORT_OFFSET="+strconv.Itoa(s.Agent.Ports))
	}
	a.Binds, err = binds(s.Workspace, origin.Workspace, &records.Agent{Name: filepath.Base(p.Program), Dir: s.Workspace}, p.Env)
	return a, err
}

// Unmounted is a branch that has plain files.
type Unmounted struct {
	SessionID string `json:"sessionId"`
	Workspace string `json:"workspace"`
	// Form is "plain files", Was how the branch was mounted before, "" where it was not.
	Form string `json:"form"`
	Was  string `json:"was,omitempty"`
}

// Unmount makes a mounted branch plain files, at the same path.
func (b *Branches) Unmount(ctx context.Context, client *checkpoint.Client, p OneParams) (*Unmounted, error) {
	s, _, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	was, err := operations.Unmount(ctx, b.Timeline.Operations, s)
	if err != nil {
		return nil, err
	}
	return &Unmounted{s.ID, s.Workspace, plainFiles, was}, nil
}

// Removed is a branch that was removed.
type Removed struct {
	SessionID string `json:"sessionId"`
	Workspace string `json:"workspace"`
	// Operation is that of the removal, in the log of the session Of, "" where it cannot be undone.
	Operation string `json:"operation"`
	Of        string `json:"of"`
	// Note says which programs still run that worked in it, that its files are another branch's, or that it was removed before. It is ""
	// for nothing.
	Note string `json:"note,omitempty"`
}

// Remove removes a branch with its files. It is refused while processes run there, unless it is forced.
func (b *Branches) Remove(ctx context.Context, client *checkpoint.Client, p OneParams) (*Removed, error) {
	if done, of, err := operations.Called(ctx, b.Timeline.Operations, client, p.Where, records.OpRemove); err != nil || done != nil {
		if err != nil {
			return nil, err
		}
		return b.removedBefore(ctx, done, of, "")
	}
	s, of, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if usererr.CodeOf(err) == usererr.NotFound {
		is := func(s *records.Session) bool { return slices.Contains([]string{s.Name, s.ID, s.Workspace}, p.Name) }
		there, other := b.Timeline.Operations.BranchesIn(client, p.Where)
		if other != nil || slices.ContainsFunc(there, is) {
			return nil, err
		}
		done, of, other := operations.DoneBefore(b.Timeline.Operations, client, p.Where, func(o *records.Operation) bool {
			return o.Kind == records.OpRemove && o.Was != nil && is(o.Was)
		})
		if other == nil && done != nil {
			note := fmt.Sprintf("%s was removed before, at %s.", done.Was.Name, done.At.UTC().Format(time.RFC3339))
			return b.removedBefore(ctx, done, of, note)
		}
	}
	if err != nil {
		return nil, err
	}
	unregister := registered(ctx, b, s)
	lost := b.Timeline.Operations.Present(s) != nil // no snapshot is taken of what is not there
	undone, err := b.Timeline.Operations.RemoveBranch(ctx, s, of, operations.Removal{Force: p.Force, NoUndo: p.NoUndo})
	if err != nil {
		return nil, err
	}
	if p.NoUndo || lost {
		undone.Operation = ""
	}
	return b.removed(s, &Removed{s.ID, s.Workspace, undone.Operation, of.ID, undone.Note}, unregister)
}

// removedBefore answers for a removal that is done.
func (b *Branches) removedBefore(ctx context.Context, done *records.Operation, of *records.Session, note string) (*Removed, error) {
	a := &Removed{done.Was.ID, done.Was.Workspace, done.ID(), of.ID, note}
	if done.Kept == 0 { // no snapshot of its files was kept
		a.Operation = ""
	}
	return b.removed(done.Was, a, registered(ctx, b, done.Was))
}

// removed removes what else there is of a branch whose files and session are removed.
func (b *Branches) removed(s *records.Session, a *Removed, unregister func() error) (*Removed, error) {
	if operations.Successor(b.Timeline.Operations, s) != nil { // the rest is of the branch that has the directory now, so that this one cannot come back
		a.Operation = ""
		return a, nil
	}
	if err := os.Remove(logOf(s.Workspace)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Log.Warn("cannot remove the output of a branch's agent", "branch", s.ID, "error", err)
	}
	if s.Agent != nil && s.Agent.Record != "" && s.Agent.PID != 0 { // the agent has it
		if err := os.Remove(s.Agent.Record); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.Log.Warn("cannot remove the conversation of a branch", "branch", s.ID, "error", err)
		}
	}
	return a, unregister()
}

// CommitParams are the parameters of branch_commit.
type CommitParams struct {
	moments.Where
	Name string `json:"name"`
	// As is the branch in Git, "" for one of the same name. Message is that of the commit, "" for the message of the branch.
	As      string `json:"as"`
	Message string `json:"message"`
}

// Committed is a commit of a branch.
type Committed struct {
	SessionID string `json:"sessionId"`
	// Branch is the branch in Git, Commit its commit, Parent the one before, "" for none. Note says how that was chosen, and what the
	// commit lacks. Ref is by what Git finds the branch: its name, or more of it where a tag has the same.
	Branch    string `json:"branch"`
	Ref       string `json:"ref"`
	Commit    string `json:"commit"`
	Parent    string `json:"parent,omitempty"`
	Note      string `json:"note,omitempty"`
	Files     int    `json:"files"`
	Operation string `json:"operation"`
}

// Commit makes a branch in the Git repository of the original, with the files of a branch. It changes no files, no index and no
// other branch.
func (b *Branches) Commit(ctx context.Context, client *checkpoint.Client, p CommitParams) (*Committed, error) {
	s, of, err := b.Timeline.Operations.FindBranch(client, p.Where, p.Name)
	if err != nil {
		return nil, err
	}
	if err := b.present(s); err != nil {
		return nil, err
	}
	root := of
	if top, err := gitrepo.Top(ctx, of.Workspace); err != nil || top != of.Workspace { // a branch has no repository, but a worktree has
		if origin := b.Timeline.Operations.OriginOf(s); origin != nil {
			root = origin
		}
	}
	if err := b.Timeline.Operations.Present(root); err != nil {
		return nil, fmt.Errorf("cannot commit to a repository that is missing: %w", err)
	}
	if p.As == "" {
		p.As = s.Name
	}
	switch given := strings.TrimSpace(p.Message); {
	case given != "":
		p.Message = given
	case p.Message != "":
		return nil, usererr.Invalid("the message of the commit is blank. Write one, or leave it out for that of the branch.")
	default:
		subject, rest, _ := strings.Cut(strings.TrimSpace(s.Message), "\n") // Git separates them by an empty line
		p.Message = cmp.Or(strings.TrimSpace(strings.TrimSpace(subject)+"\n\n"+strings.TrimSpace(rest)), "Branch "+s.Name)
	}
	lacks, err := operations.LeftOut(ctx, b.Timeline.Operations, s, of)
	if err != nil {
		return nil, err
	}
	temp, remove, err := operations.Temporary(b.Timeline.Operations, s.Space)
	if err != nil {
		return nil, err
	}
	defer remove()
	before, _, err := operations.DoneBefore(b.Timeline.Operations, client, p.Where, func(o *records.Operation) bool {
		return o.Kind == records.OpCommit && o.Branch == s.ID && operations.Repository(b.Timeline.Operations, o) == root.Workspace && o.Ref == p.As
	})
	if err != nil {
		return nil, err
	}
	c, err := commit(ctx, root.Workspace, filepath.Join(temp, "index"), s, p, before, lacks)
	if err != nil {
		return nil, err
	}
	if before != nil && c.Commit == before.Commit {
		c.SessionID, c.Operation = s.ID, before.ID()
		return c, nil
	}
	op := &records.Operation{
		What: fmt.Sprintf("commit branch %s to Git as %s (%.10s)", s.Name, c.Branch, c.Commit), Branch: s.ID, Dir: root.Workspace, Ref: c.Branch, Commit: c.Commit,
	}
	if err := b.Timeline.Operations.Commit(ctx, of, op, func() error {
		return gitrepo.CreateBranch(ctx, root.Workspace, c.Branch, c.Commit)
	}); err != nil {
		return nil, err
	}
	c.SessionID, c.Operation = s.ID, op.ID()
	return c, nil
}
