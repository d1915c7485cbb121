package branches

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// WorktreeParams are the parameters of worktree_add and worktree_remove.
type WorktreeParams struct {
	// Dir is the agent's directory, or the worktree that is removed. Name is what the agent calls the new worktree, or the path of
	// one that is removed and no longer exists: Dir is the agent's directory then.
	Dir  string `json:"dir"`
	Name string `json:"name"`
}

// Worktree is a branch that is a worktree of Git.
type Worktree struct {
	Path string `json:"path"`
	// Branch is the one in Git, "" where none is checked out.
	Branch string `json:"branch"`
}

// AddWorktree makes a branch with the present files, which is a worktree of Git, too. One of the same name is used again.
func (b *Branches) AddWorktree(ctx context.Context, client *checkpoint.Client, p WorktreeParams) (*Worktree, error) {
	where := moments.Where{Dir: p.Dir}
	if err := b.Timeline.Operations.Require(p.Dir, grants.Worktrees); err != nil {
		return nil, err
	}
	name := gitrepo.Slug(p.Name)
	if s, _, err := b.Timeline.Operations.FindBranch(client, where, name); err == nil && s.Name == name { // else it is the ID of another one
		if at, err := gitrepo.Top(ctx, s.Workspace); err == nil && at == s.Workspace {
			return &Worktree{s.Workspace, gitrepo.BranchOf(ctx, at)}, nil
		}
	}
	w := &Worktree{}
	var of string
	_, err := b.Timeline.Operations.Branch(ctx, client, operations.BranchParams{Where: where, From: "now", Name: name, Confirm: true, Continue: func(ctx context.Context, at *operations.Beginning) error {
		top, err := gitrepo.Top(ctx, at.From.Workspace)
		switch {
		case err != nil:
			return err
		case top != at.From.Workspace:
			return usererr.New(usererr.NotFound, "the repository begins at %s, and the user allowed %s", grants.Printable(top), grants.Printable(at.From.Workspace))
		}
		temp, remove, err := operations.Temporary(b.Timeline.Operations, at.From.Space)
		if err != nil {
			return err
		}
		defer remove()
		of, w.Path = at.From.Workspace, at.Branch.Workspace
		w.Branch, err = gitrepo.Register(ctx, of, w.Path, temp, name)
		return err
	}})
	if err != nil && w.Branch != "" {
		err = errors.Join(err, gitrepo.Unregister(ctx, of, w.Path, w.Branch))
	}
	return w, err
}

// RemoveWorktree removes a branch that is a worktree of Git. A snapshot of its files remains, and what Git has of its branch that
// is in no other one.
func (b *Branches) RemoveWorktree(ctx context.Context, client *checkpoint.Client, p WorktreeParams) (*Removed, error) {
	dir, err := grants.Resolve(p.Dir)
	if err != nil {
		return nil, err
	}
	where := moments.Where{Dir: dir}
	if p.Name != "" {
		above, err := grants.Resolve(filepath.Dir(p.Name))
		if err != nil {
			return nil, usererr.New(usererr.NotFound, "%s does not exist", grants.Printable(p.Name))
		}
		dir = filepath.Join(above, filepath.Base(p.Name))
	}
	all, err := b.Timeline.Operations.BranchesIn(client, where)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Workspace != dir {
			continue
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			if at, err := gitrepo.Top(ctx, dir); err != nil || at != dir {
				break
			}
		}
		return b.Remove(ctx, client, OneParams{Where: where, Name: s.Workspace, Force: true}) // the agent itself runs there
	}
	return nil, usererr.New(usererr.NotFound, "%s is not a worktree that Tidemark made", filepath.ToSlash(grants.Printable(dir)))
}

// registered returns what has Git forget a branch that is a worktree, with its branch in Git where that has no commit of its own.
func registered(ctx context.Context, b *Branches, s *records.Session) (unregister func() error) {
	nothing, dir := func() error { return nil }, s.Workspace
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) { // it was removed by hand
		of := b.Timeline.Operations.OriginOf(s)
		if of == nil {
			return nothing
		}
		return func() error {
			_ = gitrepo.RemoveWorktree(ctx, of.Workspace, dir) // it need not be one
			return nil
		}
	}
	if at, err := gitrepo.Top(ctx, dir); err != nil || at != dir {
		return nothing
	}
	main, err := gitrepo.Main(ctx, dir)
	if err != nil || main == dir { // a repository that was made in the branch
		return nothing
	}
	branch := gitrepo.BranchOf(ctx, dir)
	return func() error { return gitrepo.Unregister(ctx, main, dir, branch) }
}
