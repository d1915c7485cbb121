//go:build cgofuse && linux

// Command servepaths serves a snapshot for tests on Linux as Tidemark does on Windows: by paths, with libfuse in place of WinFsp.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/imagefs"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/pathfs"
)

func main() {
	if err := serve(os.Args[2]); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
}

// serve serves the snapshot of a directory. Libfuse 3.14 prints a warning before it mounts, which nobody wants to read.
func serve(dir string) error {
	s := overlay.ServedFor(dir)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	const stderr = 2
	if err == nil {
		err = errors.Join(unix.Dup3(int(null.Fd()), stderr, 0), overlay.Lock(s.Lock))
	}
	if err != nil {
		return err
	}
	return pathfs.Serve(context.Background(), pathfs.Options{
		Image: image.Files{Index: s.Index, Changes: s.Changes, Packs: s.Packs}, Dir: s.At, Source: overlay.Source, Name: imagefs.Name, Written: s.Written, Sealed: s.Sealed,
		Fold:  os.Getenv("TIDEMARK_TEST_FOLD") != "",
		Ready: func() { _, _ = fmt.Fprintln(os.Stdout, overlay.Ready) },
	})
}
