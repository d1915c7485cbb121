//go:build !windows

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/hook"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

// A command that finds an odd file in a repository exits and names the file.
func TestOddFilesOfARepositoryAreRefused(t *testing.T) {
	t.Run("project file", func(t *testing.T) {
		oddfiles.Each(t, project.FileName, func(path string) error {
			if found := project.Find(filepath.Dir(path)); found != path {
				t.Errorf("found is %q", found)
			}
			_, _, err := projectOf(&hook.Call{Dir: filepath.Dir(path)})
			return err
		})
	})
	t.Run("exported checkpoint", func(t *testing.T) {
		oddfiles.Each(t, "since.json", func(path string) error {
			_, err := readCheckpoint(path)
			return err
		})
	})
	t.Run("command", func(t *testing.T) {
		home := t.TempDir()
		oddfiles.Each(t, project.FileName, func(path string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "tidemark", "changes")
			cmd.Dir = filepath.Dir(path)
			cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+home)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), project.FileName) {
				t.Errorf("tidemark changes: %v\n%s", err, out)
			}
			return refusal(out)
		})
	})
}

// A directory whose path is not UTF-8 has no sessions, and the error says why.
func TestADirectoryThatIsNotUTF8IsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "caf\xe9")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip("the filesystem has no such name: ", err)
	}
	if where, err := whereIs(newSessionBranch(), "", dir); err == nil || !strings.Contains(err.Error(), `caf\xe9" is not UTF-8`) {
		t.Errorf("%+v, %v", where, err)
	}
}

// refusal is the output of a command as an error.
type refusal []byte

func (r refusal) Error() string { return string(r) }

// A rule is never written through a link to a file outside the project.
func TestNoRuleIsWrittenThroughALinkOutOfTheProject(t *testing.T) {
	outside, dir := filepath.Join(t.TempDir(), "other.toml"), t.TempDir()
	if err := os.WriteFile(outside, []byte("[other]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, project.FileName)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tidemark", "noise", "add", "--project", "chatter")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "outside the project") {
		t.Errorf("%v\n%s", err, out)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "[other]\n" {
		t.Errorf("the file outside is now:\n%s%v", data, err)
	}
}
