// Package mounttest lets tests mount snapshots: their own program serves them. A test that uses it ends what it mounted.
package mounttest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/imagefs"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
)

// command is the first argument of a test program that serves.
const command = "serve-snapshot-of-a-test"

// In each test program that uses this package, another process of it serves a snapshot instead of testing.
func init() {
	if len(os.Args) != 3 || os.Args[1] != command {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := overlay.ServedFor(os.Args[2])
	err := overlay.Lock(s.Lock)
	if err == nil {
		err = imagefs.Serve(ctx, imagefs.Options{
			Image: image.Files{Index: s.Index, Changes: s.Changes, Packs: s.Packs}, Dir: s.At, Source: overlay.Source, Written: s.Written, Sealed: s.Sealed,
			Ready: func() { _, _ = fmt.Fprintln(os.Stdout, overlay.Ready) },
		})
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Server is the command line that serves a snapshot.
func Server() []string { return []string{os.Args[0], command} }

// ServerByPaths is the command line that serves a snapshot as on Windows, by paths. It is a program that `make test-pathfs` builds,
// and nil without it.
func ServerByPaths() []string {
	if program := os.Getenv("TIDEMARK_TEST_SERVEPATHS"); program != "" {
		return []string{program, command}
	}
	return nil
}

// Need skips a test where snapshots cannot be mounted, and prints the reason.
func Need(t *testing.T) {
	t.Helper()
	if err := overlay.Refused(); err != nil {
		t.Skipf("snapshots cannot be mounted here: %v", err)
	}
}
