//go:build !windows

package gitrepo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/gitrepo"
)

// hostile is a repository whose settings name programs for all that Git can run. Each of them leaves a note.
func hostile(t *testing.T, without ...string) (dir, notes string) {
	t.Helper()
	dir, notes = repository(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("* filter=evil diff=evil merge=evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "."}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "second"}} {
		if _, err := gitrepo.Run(t.Context(), dir, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	program := func(name string) string {
		path := filepath.Join(notes, name+".sh")
		if err := os.WriteFile(path, []byte("#!/bin/sh\ntouch "+filepath.Join(notes, name)+"\ncat\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	settings := map[string]string{
		"core.fsmonitor": program("fsmonitor"), "core.sshCommand": program("ssh"), "core.pager": program("pager"), "core.editor": program("editor"),
		"core.askPass": program("askpass"), "core.gitProxy": program("proxy"), "core.alternateRefsCommand": program("alternates"), "gc.recentObjectsHook": program("recent"),
		"credential.helper": program("credential"), "gpg.program": program("gpg"), "commit.gpgSign": "true", "diff.external": program("external"), "diff.evil.command": program("command"),
		"diff.evil.textconv": program("textconv"), "merge.evil.driver": program("merge"), "filter.evil.clean": program("clean"), "filter.evil.smudge": program("smudge"),
		"filter.evil.process": program("process"), "core.hooksPath": notes, "alias.worktree": "!" + program("alias"), "uploadpack.packObjectsHook": program("pack"),
		"status.submoduleSummary": "true", "submodule.recurse": "true", "protocol.ext.allow": "always", "sequence.editor": program("sequence"), "interactive.diffFilter": program("interactive"),
	}
	for _, key := range without {
		delete(settings, key)
	}
	configure(t, dir, settings)
	for _, hook := range []string{"post-checkout", "post-index-change", "pre-commit", "reference-transaction", "post-commit"} {
		text, err := os.ReadFile(program("hook"))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{notes, filepath.Join(dir, ".git", "hooks")} {
			if err := os.WriteFile(filepath.Join(at, hook), text, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir, notes
}

// configure adds to the settings of a repository.
func configure(t *testing.T, dir string, settings map[string]string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range settings {
		section, name := key[:strings.LastIndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
		if section, sub, found := strings.Cut(section, "."); found {
			_, err = fmt.Fprintf(f, "[%s %q]\n%s = %q\n", section, sub, name, value)
		} else {
			_, err = fmt.Fprintf(f, "[%s]\n%s = %q\n", section, name, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// ran returns the names of programs that left a note.
func ran(t *testing.T, notes string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(notes)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".sh") && e.Name() != "post-checkout" && e.Name() != "post-index-change" && e.Name() != "pre-commit" && e.Name() != "reference-transaction" && e.Name() != "post-commit" {
			names = append(names, e.Name())
		}
	}
	return names
}

var filters = []string{"filter.evil.clean", "filter.evil.smudge", "filter.evil.process"}

// TestNoProgramOfARepositoryRuns: an archive can bring settings, which a clone does not.
func TestNoProgramOfARepositoryRuns(t *testing.T) {
	const refused = `the filter "evil"`
	for name, c := range map[string]struct {
		without         []string
		adds, registers string // errors
	}{
		"filters":      {nil, refused, refused},
		"no filters":   {filters, "", ""},
		"no process":   {filters[2:], refused, refused},
		"only a clean": {filters[1:], "", refused},
	} {
		t.Run(name, func(t *testing.T) {
			dir, notes := hostile(t, c.without...)
			check := func(what string, err error, want string) {
				t.Helper()
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %v", what, err)
				}
			}
			path, err := gitrepo.AddWorktree(t.Context(), dir, "w")
			check("add", err, c.adds)
			copied := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(copied, ".git")); err != nil {
				t.Fatal(err)
			}
			_, err = gitrepo.Register(t.Context(), dir, copied, t.TempDir(), "c")
			check("register", err, "")
			for _, args := range [][]string{{"add", "--all", "--", "."}, {"status", "--porcelain"}} {
				_, err := gitrepo.Run(t.Context(), copied, nil, args...)
				check(args[0], err, c.registers)
			}
			if path != "" {
				check("remove", gitrepo.RemoveWorktree(t.Context(), dir, path), c.registers)
			}
			if names := ran(t, notes); len(names) > 0 {
				t.Errorf("these programs ran: %q", names)
			}
		})
	}
}

// TestAFilterOfTheUsersOwnRuns: large files are kept by one, which some put into the repository's settings, too.
func TestAFilterOfTheUsersOwnRuns(t *testing.T) {
	dir, notes := hostile(t, "filter.evil.process")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
	for setting, program := range map[string]string{"clean": "tr a-z A-Z", "smudge": "tr A-Z a-z"} {
		if _, err := gitrepo.Run(t.Context(), dir, nil, "config", "--global", "filter.evil."+setting, program); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gitrepo.Run(t.Context(), dir, nil, "add", "file"); err != nil {
		t.Fatal(err)
	}
	if text, err := gitrepo.Run(t.Context(), dir, nil, "show", ":file"); err != nil || text != "OTHER" {
		t.Errorf("%q, %v", text, err)
	}
	if names := ran(t, notes); len(names) > 0 {
		t.Errorf("these programs ran: %q", names)
	}
}

func TestNothingIsFetchedForARepository(t *testing.T) {
	dir, notes := hostile(t, filters...)
	evil := filepath.Join(notes, "fetched")
	configure(t, dir, map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true", "remote.origin.uploadpack": "touch " + evil + ";",
	})
	blob, err := gitrepo.Run(t.Context(), dir, nil, "rev-parse", "HEAD:file")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"ext::sh -c touch% " + evil, "ssh://host/x", dir} {
		configure(t, dir, map[string]string{"remote.origin.url": url})
		if path, err := gitrepo.AddWorktree(t.Context(), dir, "w"); err == nil {
			t.Errorf("a file that is missing was checked out to %s", path)
		}
		if names := ran(t, notes); len(names) > 0 {
			t.Errorf("with %s these programs ran: %q", url, names)
		}
	}
}
