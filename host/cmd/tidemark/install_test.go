package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// All that an installation writes is absolute, with relative homes of Tidemark and of the user too.
func TestAnInstallationWritesOnlyAbsolutePaths(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{".claude", ".cursor", ".codex", ".gemini", ".config/chromium"} {
		if err := os.MkdirAll(filepath.Join(dir, "user", d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) string {
		t.Helper()
		cmd := exec.Command("tidemark", command, "--yes")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME=user", "TIDEMARK_HOME=h", "XDG_CONFIG_HOME=", "CODEX_HOME=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	if out := run("install"); !strings.Contains(out, filepath.Join(dir, "h", "extension", "installed")) {
		t.Errorf("the extension's directory is relative:\n%s", out[strings.Index(out, "Extension\n"):])
	}
	record, err := installer.ReadRecord(filepath.Join(dir, "h", "install.json"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, w := range record.Written {
		if !filepath.IsAbs(w.Path) {
			t.Errorf("a relative path is recorded: %s", w.Path)
		}
		text, _ := os.ReadFile(w.Path) // the extension's is a directory
		for _, m := range regexp.MustCompile(`"?(?:path|command)"?\s*[:=]\s*["']([^"']*)["']`).FindAllStringSubmatch(string(text), -1) {
			if commands++; !filepath.IsAbs(m[1]) {
				t.Errorf("%s: %s", w.Path, m[0])
			}
		}
	}
	if len(record.Written) < 8 || commands < 8 {
		t.Errorf("%d commands in %+v", commands, record.Written)
	}
	run("uninstall")
	if _, err := os.Lstat(filepath.Join(dir, "h")); !os.IsNotExist(err) {
		t.Errorf("the home is left: %v", err)
	}
}
