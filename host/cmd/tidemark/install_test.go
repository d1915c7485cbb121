package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidemark.dev/tidemark/installer"
)

// Concurrent installations record every change.
func TestInstallationsAtOnceLoseNothing(t *testing.T) {
	user, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	for _, dir := range []string{".cursor", ".gemini", ".codex"} {
		if err := os.Mkdir(filepath.Join(user, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	environment := append(os.Environ(), "HOME="+user, "TIDEMARK_HOME="+home, "XDG_CONFIG_HOME=", "CODEX_HOME=")
	var all sync.WaitGroup
	for _, agent := range []string{"cursor", "gemini", "codex", "cursor", "gemini", "codex"} {
		all.Go(func() {
			cmd := exec.Command("tidemark", "install", "--yes", "--browser", "chrome", "--agent", agent)
			cmd.Env = environment
			if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "extension") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	record, err := installer.ReadRecord(filepath.Join(home, "install.json"))
	if err != nil {
		t.Fatal(err)
	}
	agents := 0
	for _, w := range record.Written {
		if w.Group == installer.Agents {
			agents++
		}
	}
	if agents < 3 {
		t.Errorf("recorded: %+v", record.Written)
	}
	if err := os.WriteFile(filepath.Join(home, ".install.json.123"), nil, 0o600); err != nil { // as a killed installation leaves it
		t.Fatal(err)
	}
	cmd := exec.Command("tidemark", "uninstall", "--yes")
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(home); !os.IsNotExist(err) {
		t.Errorf("the home is left: %v", err)
	}
}

// A relative home is one place for the program and the daemon that it starts.
func TestARelativeHomeIsOnePlace(t *testing.T) {
	dir, err := os.MkdirTemp("", "rel") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, command := range []string{"status", "stop"} {
		cmd := exec.Command("tidemark", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TIDEMARK_HOME=h")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "h", "h")); !os.IsNotExist(err) {
		t.Errorf("the daemon had another home: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "h", "journal.db")); err != nil {
		t.Error(err)
	}
}
