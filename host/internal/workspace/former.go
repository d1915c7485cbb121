package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// OpenFormer returns a workspace that no longer exists, whose snapshots can be compared and seen. Root is its directory.
func OpenFormer(ctx context.Context, ws *Workspaces, root string) (*Workspace, error) {
	return openAs(ctx, ws, func() (allowed, error) {
		if err := AllowedFormer(ws, root); err != nil {
			return allowed{}, err
		}
		if !ws.Keeps(root) {
			return allowed{}, usererr.New(usererr.NotFound, "the workspace %s no longer exists, and there are no snapshots of it", root)
		}
		return allowed{root: root, former: true}, nil // without rules, because no snapshot is taken of it
	})
}

// AllowedFormer returns an error with the code [usererr.NotAllowed] if the user does not allow a workspace that no longer exists, or
// the decision lacks a needed grant. Its history is read while the decision for its directory, or for that of which it was a
// branch, remains.
func AllowedFormer(ws *Workspaces, root string, needed ...string) error {
	d, err := ws.o.Grants.LookupFormer(root)
	if branch, of := ws.BranchOf(root); err == nil && branch != "" && !grants.Within(d.For, branch) {
		d, err = ws.o.Grants.LookupFormer(of)
	}
	if err == nil && !d.Has(grants.Workspace) {
		err = usererr.New(usererr.NotAllowed, "the workspace %s no longer exists, and its history is not shown: the user does not allow it", root)
	}
	for _, grant := range needed {
		if err == nil && !d.Has(grant) {
			dir, _ := grants.Quoted(d.For)
			err = usererr.New(usererr.NotAllowed, "the workspace %s no longer exists, and the user allowed it without the grant %s. Create the directory again, then run `tidemark project allow --grant %s %s`.", root, grant, grant, dir)
		}
	}
	return err
}

// stillAllowed returns an error if the user no longer allows a workspace that is open.
func stillAllowed(ws *Workspaces, a allowed) error {
	if a.former {
		return AllowedFormer(ws, a.root)
	}
	_, err := ws.Root(a.root)
	return err
}

// startFormer opens what is stored of a workspace that no longer exists. An interrupted restore waits until the directory is
// there again.
func startFormer(w *Workspace) (err error) {
	w.place = provider.Placement{Dir: filepath.Join(w.home, "views"), Why: "the workspace no longer exists"}
	w.watching = &watching{start: func() (watch.Watcher, error) { return nil, fs.ErrNotExist }}
	w.provider, err = tracked.Open(tracked.Options{Workspace: w.Dir, Store: filepath.Join(w.home, storeDir), SkipBy: skipBy, Changes: w.watching, Clock: w.o.Clock, References: w.references})
	if err != nil {
		return fmt.Errorf("cannot open the snapshots of %s: %w", w.Dir, err)
	}
	w.comparer = compare.New(w.provider, w.o.Redactor)
	w.sweepViews()
	return nil
}
