package home

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain is the daemon that [Home.Dial] starts, one that cannot run.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		fmt.Fprint(os.Stderr, "level=INFO msg=\"another line\"\ntidemark: config.toml: snapshots: mib is wrong\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestADaemonThatCannotStartSaysWhy, where the user reads it.
func TestADaemonThatCannotStartSaysWhy(t *testing.T) {
	t.Setenv(Env, t.TempDir())
	h, err := Find("0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Log(), []byte("tidemark: an error of another day\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = h.Dial(t.Context(), "mcp.sock")
	if want := ": it exited immediately: config.toml: snapshots: mib is wrong. See " + h.Log(); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatal(err)
	}
}
