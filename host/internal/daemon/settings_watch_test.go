package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A settings file that is replaced by rename, as Tidemark writes them, or written in place with the same size, is noticed.
func TestAReplacedSettingsFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "grants.json")
	ctx, cancel := context.WithCancel(t.Context())
	seen, done := make(chan bool, 100), make(chan error, 1)
	go func() { done <- watchFile(ctx, path, func() { seen <- true }) }()
	wait := func() {
		t.Helper()
		select {
		case <-seen:
		case <-time.After(30 * time.Second):
			t.Fatal("it was not noticed")
		}
	}
	wait() // the watch has begun
	other := path + ".tmp"
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	wait()
	for len(seen) > 0 {
		<-seen
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("[]"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wait()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wait()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
