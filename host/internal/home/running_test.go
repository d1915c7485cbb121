//go:build !windows

package home

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A daemon that does not respond, and whose record names no process, is not ended by a command that ends others.
func TestAnUnknownDaemonIsNotEndedByItsNumber(t *testing.T) {
	for _, record := range []string{"", "{", `{"pid":0}`, `{"pid":-1}`} {
		dir := t.TempDir()
		h := Home{State: dir, Run: dir}
		lock, err := h.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(h.infoFile()); err != nil {
			t.Fatal(err)
		}
		if record != "" {
			if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(record), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err = h.Stop(ctx)
		cancel()
		if err == nil || strings.Contains(err.Error(), "kill") || strings.Contains(err.Error(), "process 0") || !strings.Contains(err.Error(), "End the process `tidemark serve`") {
			t.Errorf("%s: %v", record, err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A daemon that hangs before it is ready is the one that is named, not the one before it, whose number may be of any process now.
func TestADaemonThatHangsIsNamedByItsOwnNumber(t *testing.T) {
	dir := t.TempDir()
	h := Home{State: dir, Run: dir, Version: "1.0.0"}
	if err := os.WriteFile(h.infoFile(), []byte(`{"version":"0.9.0","pid":2147480000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := h.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.Stop(ctx); err == nil || strings.Contains(err.Error(), "2147480000") || !strings.Contains(err.Error(), EndByHand(os.Getpid())) {
		t.Error(err)
	}
	if i := h.running(); i != (info{PID: os.Getpid()}) { // one that is not ready is not replaced by a newer one
		t.Errorf("%+v", i)
	}
}
