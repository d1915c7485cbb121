//go:build !windows

package home

import (
	"os"
	"strings"
	"testing"
)

func TestATokenThatOthersCanReadIsNotUsed(t *testing.T) {
	h := Home{State: t.TempDir()}
	first, err := h.Secret()
	if err != nil || len(first) < 32 {
		t.Fatal(first, err)
	}
	if again, err := h.Secret(); err != nil || again != first {
		t.Errorf("%q, then %q, %v", first, again, err)
	}
	if err := os.Chmod(h.Token(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Secret(); err == nil || !strings.Contains(err.Error(), "read by others") || !strings.Contains(err.Error(), "Delete it") {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(h.Token(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Token(), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Secret(); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("%v", err)
	}
}
