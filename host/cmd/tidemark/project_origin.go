package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// origin is where a directory comes from: a branch, or a workspace that was moved.
type origin struct{ timeline.Origin }

// originJSON is an origin in the output of project show --json.
type originJSON struct {
	Session string       `json:"branch,omitempty"`
	Of      *grants.Path `json:"branch_of,omitempty"`
	Moved   *grants.Path `json:"moved_from,omitempty"`
}

func (o origin) json() *originJSON {
	path := func(dir string) *grants.Path {
		if dir == "" {
			return nil
		}
		p := grants.PathOf(dir)
		return &p
	}
	if o.Of == "" && o.MovedFrom == "" {
		return nil
	}
	return &originJSON{o.Session, path(o.Of), path(o.MovedFrom)}
}

// originOf asks the daemon where a directory comes from. Where nothing was recorded yet, it starts none.
func originOf(cmd *cobra.Command, dir string) (o origin, err error) {
	h, err := home.Find(version)
	if err != nil {
		return o, err
	}
	if _, err := os.Stat(h.Timeline()); errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	err = clientOf(h).Tool(cmd.Context(), "workspace_origin", timeline.DirParams{Dir: dir}, &o.Origin)
	return o, err
}

// notMoved returns an error for a directory that is a workspace which was moved: the user decides whether it keeps its
// snapshots.
func notMoved(cmd *cobra.Command, dir string) error {
	o, err := originOf(cmd, dir)
	if err != nil || o.MovedFrom == "" {
		return err
	}
	return usererr.New(usererr.NotAllowed, "%s is %s, which was moved. Run `%s` to keep its sessions and snapshots, or use --confirm to begin without them.",
		grants.Printable(o.Moved), grants.Printable(o.MovedFrom), workspace.AllowMoved(o.MovedFrom, o.Moved))
}

// relink makes what was recorded and decided of a directory that was moved that of its new place.
func relink(cmd *cobra.Command, s *grants.Store, from, dir string) error {
	from, err := grants.Former(from)
	if err != nil {
		return err
	}
	all, err := s.All()
	if err != nil {
		return err
	}
	c, err := clientFor("workspace_move")
	if err != nil {
		return err
	}
	var moved timeline.Moved
	if err := c.Tool(cmd.Context(), "workspace_move", timeline.MoveParams{From: from, To: dir}, &moved); err != nil {
		return err
	}
	if moved.Sessions == 0 && !slices.ContainsFunc(all, func(d grants.Decision) bool { return grants.Within(d.Dir, from) }) {
		return usererr.New(usererr.NotFound, "nothing was recorded of %s, and nothing was decided for it. Name the directory in which the project was. `tidemark session list --all` lists those that have sessions.", grants.Printable(from))
	}
	if err := s.Move(cmd.Context(), from, dir); err != nil {
		return fmt.Errorf("%w. Run the command again.", err)
	}
	return render.Line(cmd.OutOrStdout(), "%d sessions of %s are of %s now.", moved.Sessions, grants.Printable(from), grants.Printable(filepath.Clean(dir)))
}

// denyNow has the daemon treat a directory as denied, though the decision cannot be saved because of err.
func denyNow(cmd *cobra.Command, dir string, err error) error {
	resolved, unknown := grants.Resolve(dir)
	if unknown != nil || errors.Is(err, context.Canceled) {
		return err
	}
	h, failed := home.Find(version)
	if failed != nil {
		return err
	}
	c := clientOf(h)
	c.Dial = h.DialRunning
	switch failed = c.Tool(cmd.Context(), "workspace_deny", timeline.DirParams{Dir: resolved}, nil); {
	case errors.Is(failed, home.ErrUnreachable):
		return fmt.Errorf("%w\nNo daemon is running, so nothing is watched now. The next daemon uses the decision that is saved.", err)
	case failed != nil:
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w\nUntil the running daemon stops, %s is denied all the same.", err, grants.Printable(resolved))
}

// showStored names what stays stored of a directory that was denied, and how it is deleted.
func showStored(out io.Writer, s *grants.Store, denied string) error {
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	all, err := workspace.New(workspace.Options{Dir: h.Workspaces()}).Stored()
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.Workspace != denied && grants.Within(denied, one.Workspace) {
			if err := render.Line(out, "Older snapshots of %[1]s keep its files. Diffs hide them; views, restores and branches do not. To delete those snapshots, run `tidemark timeline prune --denied` in %[1]s.", grants.Printable(one.Workspace)); err != nil {
				return err
			}
		}
		if !grants.Within(one.Workspace, denied) {
			continue
		}
		if d, err := s.Lookup(one.Workspace); err != nil || d.Has(grants.Workspace) {
			continue
		}
		if err := render.Line(out, "Its snapshots stay (%s). To delete them, run `tidemark timeline prune --gone %s`.", mib(one.Bytes), grants.Printable(one.Workspace)); err != nil {
			return err
		}
	}
	return nil
}
