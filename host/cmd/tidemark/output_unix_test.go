//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/recording"
)

// TestAnExportIntoAPipeIsInterrupted: the pipe has no reader, or one that stopped reading.
func TestAnExportIntoAPipeIsInterrupted(t *testing.T) {
	t.Setenv(home.Env, t.TempDir())
	h, err := home.Find(version)
	if err != nil {
		t.Fatal(err)
	}
	w, err := recording.Store{Dir: h.Terminals()}.Create(recording.Header{ID: recording.NewID(time.Now()), Command: "seq", Started: time.Now(), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	const more = 1 << 20 // than a pipe takes
	if err := errors.Join(w.Append(0, recording.Output, []byte(strings.Repeat("x", more))), w.Finish(0)); err != nil {
		t.Fatal(err)
	}
	for name, reads := range map[string]bool{"no reader": false, "a reader that stopped": true} {
		t.Run(name, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := unix.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				cmd := newTimelineExport()
				cmd.SetArgs([]string{"--output", pipe})
				done <- cmd.ExecuteContext(ctx)
			}()
			if reads {
				f, err := os.Open(pipe)
				if err == nil {
					defer func() { _ = f.Close() }()
					_, err = io.ReadFull(f, make([]byte, 1))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			interrupt()
			if err := <-done; exitCode(err) != 130 {
				t.Errorf("it ends with %v", err)
			}
			if !reads { // ends what still waits for a reader
				f, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
				if err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
		})
	}
}
