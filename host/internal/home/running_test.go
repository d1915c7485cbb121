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
		if record != "" {
			if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(record), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lock, err := h.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
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
