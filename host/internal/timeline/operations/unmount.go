package operations

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
)

// Unmount makes a branch that is mounted plain files, at the same path. It changes no content, so the log does not have it. It returns
// how the branch was mounted, "" where it has plain files already. It is refused while processes run in the branch.
func Unmount(ctx context.Context, ops *Operations, s *records.Session) (was string, err error) {
	l, err := ops.lines.Line(s.Workspace)
	if err != nil {
		return "", err
	}
	unlock, err := l.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if was = workspace.Mounted(s.Workspace); was == "" {
		return "", nil
	}
	if running, known := subprocess.Within(s.Workspace); known && len(running) > 0 {
		return "", usererr.New(usererr.ActionRefused, "the branch stays mounted, because programs run in it: %s. End them and try again.", named(running))
	}
	original := ""
	if of := ops.sessions.Origin(s); of != nil {
		original = of.Workspace
	}
	err = workspace.MakePlain(ctx, ops.o.Workspaces, s.Workspace, original)
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, overlay.ErrWritten) {
		return "", usererr.New(usererr.ActionRefused, "%v", err)
	}
	if err != nil {
		return "", fmt.Errorf("cannot turn branch %s into plain files: %w", s.Name, err)
	}
	watch(ops, s.Workspace, "after the branch was unmounted")
	return was, nil
}

// watch has a branch's files watched, from a snapshot on that is taken in the background.
func watch(ops *Operations, dir, label string) {
	_ = ops.lines.Start(func() {
		b, err := ops.lines.Open(ops.lines.Life(), dir)
		if err == nil {
			_, _, err = b.Take(ops.lines.Life(), label, "", false)
		}
		if err != nil && ops.lines.Life().Err() == nil {
			ops.o.Log.Warn("cannot watch a branch yet", "branch", dir, "error", err)
		}
	})
}
