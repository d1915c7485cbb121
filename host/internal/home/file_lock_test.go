package home

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// One installation at a time, however many are begun and although each removes the lock.
func TestInstallationsTakeTurns(t *testing.T) {
	h := Home{State: filepath.Join(t.TempDir(), "home")}
	var inside sync.Mutex
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			unlock, err := h.LockInstall(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if !inside.TryLock() {
				t.Error("two have the lock")
				return
			}
			time.Sleep(time.Millisecond) // long enough for another one to come
			inside.Unlock()
		})
	}
	all.Wait()
	if _, err := os.Lstat(h.installLock()); !os.IsNotExist(err) && runtime.GOOS != "windows" { // which removes no open file
		t.Errorf("the lock is left: %v", err)
	}
}

func TestAnInstallationThatCannotHaveTheLockSaysWhy(t *testing.T) {
	h := Home{State: t.TempDir()}
	unlock, err := h.LockInstall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.LockInstall(ctx); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Error(err)
	}
}
