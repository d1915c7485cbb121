//go:build !windows

package gitrepo_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/gitrepo"
)

// repository makes a repository with a commit, in which secret.env and b.log are ignored.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".gitignore": "*.env\n*.log\n", "secret.env": "1", "b.log": "2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"}} {
		if _, err := gitrepo.Run(t.Context(), dir, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAPipeInPlaceOfTheListIsRefused: nobody writes to it, so a program that opened it would wait for ever.
func TestAPipeInPlaceOfTheListIsRefused(t *testing.T) {
	dir := repository(t)
	if err := syscall.Mkfifo(filepath.Join(dir, ".worktreeinclude"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path, err := gitrepo.AddWorktree(ctx, dir, "w")
	if ctx.Err() != nil || path == "" || err == nil || !strings.Contains(err.Error(), ".worktreeinclude") {
		t.Errorf("%q, %v, %v", path, err, ctx.Err())
	}
}

func TestTheListNamesIgnoredFiles(t *testing.T) {
	dir := repository(t)
	if err := os.WriteFile(filepath.Join(dir, ".worktreeinclude"), []byte("*.env\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := gitrepo.AddWorktree(t.Context(), dir, "w")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(path, "secret.env")); string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(path, "b.log")); err == nil {
		t.Error("a file was copied that the list does not name")
	}
}

// TestGitEndsWithWhatItStarted: a git that is a script, as version managers have it.
func TestGitEndsWithWhatItStarted(t *testing.T) {
	dir := t.TempDir()
	note := filepath.Join(dir, "pid")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\nsleep 600 >/dev/null 2>&1 &\necho $! >"+note+".new\nmv "+note+".new "+note+"\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := gitrepo.Run(ctx, dir, nil, "status")
		ended <- err
	}()
	var pid int
	for pid == 0 {
		if text, err := os.ReadFile(note); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if t.Context().Err() != nil {
			t.Fatal("git was not started")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a git that was canceled succeeded")
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	for until := time.Now().Add(time.Minute); running(pid); {
		if time.Now().After(until) {
			t.Fatal("what git started still runs")
		}
		time.Sleep(time.Millisecond)
	}
}

// running reports whether a process runs: one that has ended may be there until its parent looks.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
