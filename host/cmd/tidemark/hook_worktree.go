package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/hook"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// A hook of a worktree may take worktreeLimit, and the daemon worktreePatience of it.
const (
	worktreeLimit    = 110 * time.Second
	worktreePatience = 80 * time.Second
)

// worktreeHook makes or removes a worktree for an agent. A daemon gives a new one the files that Git ignores. Without one it is
// made all the same.
func worktreeHook(ctx context.Context, call *hook.Call) hookOutcome {
	dir := call.Dir
	if dir == "" {
		dir = "."
	}
	if path := call.Worktree.Path; path != "" {
		p := branches.WorktreeParams{Dir: path}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			p = branches.WorktreeParams{Dir: dir, Name: path}
		}
		err := askWorktree(ctx, "worktree_remove", p, nil)
		if errors.Is(err, home.ErrUnreachable) || usererr.CodeOf(err) == usererr.NotFound || usererr.CodeOf(err) == usererr.NotAllowed { // it is one of Git alone
			err = gitrepo.RemoveWorktree(ctx, dir, path)
		}
		if err != nil {
			return hookOutcome{missing: fmt.Sprintf("the worktree %s was not removed: %v", path, err), err: err}
		}
		return hookOutcome{why: "the worktree was removed"}
	}
	var made branches.Worktree
	err := askWorktree(ctx, "worktree_add", branches.WorktreeParams{Dir: dir, Name: call.Worktree.Name}, &made)
	if err == nil {
		return hookOutcome{text: []byte(made.Path + "\n")}
	}
	missing := "the worktree has no files that Git ignores, such as .env and node_modules, and no changes that are not committed: " + err.Error()
	if errors.Is(err, home.ErrUnreachable) {
		missing = "the worktree has no files that Git ignores, such as .env and node_modules, and no changes that are not committed, because no daemon is running. Start one with `tidemark status`."
	}
	path, err := gitrepo.AddWorktree(ctx, dir, call.Worktree.Name)
	if err != nil && path != "" {
		missing, err = err.Error(), nil
	}
	if err != nil {
		return hookOutcome{missing: "no worktree was made: " + err.Error(), err: err}
	}
	return hookOutcome{text: []byte(path + "\n"), missing: missing}
}

// askWorktree asks a running daemon and never starts one.
func askWorktree(ctx context.Context, tool string, p branches.WorktreeParams, answer any) error {
	found, err := home.Find(version)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, worktreePatience)
	defer cancel()
	c := clientOf(found)
	c.Dir, c.Dial = p.Dir, found.DialRunning
	return c.Tool(ctx, tool, p, answer)
}
