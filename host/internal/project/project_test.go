package project_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/project"
)

func TestThePathsThatAreExcluded(t *testing.T) {
	for _, c := range []struct {
		patterns string
		skips    []string
		keeps    []string
	}{
		{`"dist/", "*.log"`, []string{"dist", "dist/a.js", "a/dist/b", "x.log", "a/x.log"}, []string{"distinct", "log", "a/x.logs"}},
		{`"/build"`, []string{"build", "build/a"}, []string{"a/build"}},
		{`"a/b"`, []string{"a/b", "a/b/c"}, []string{"b", "c/a/b"}},
		{`"**/cache/**"`, []string{"cache/x", "a/cache/x"}, []string{"cache", "a/cache"}},
		{`"a/**/z"`, []string{"a/z", "a/b/c/z"}, []string{"z", "b/a/z"}},
		{`"*.log", "!keep.log"`, []string{"a.log"}, []string{"keep.log", "a/keep.log"}},
		{`"out", "!out/keep"`, []string{"out", "out/keep"}, nil},
		{`"/*", "!/src"`, []string{"a", "b/c"}, []string{"src", "src/a"}},
		{`"{a,b}"`, []string{"{a,b}"}, []string{"a", "b"}},
		{`'\#a', '\!b'`, []string{"#a", "!b"}, []string{"a", "b"}},
		{`"[ab]?"`, []string{"ax", "x/b1"}, []string{"a", "cx"}},
		{``, nil, []string{"a", ".git"}},
	} {
		s, err := project.Parse("f", []byte("[files]\nexclude = ["+c.patterns+"]\n"))
		if err != nil {
			t.Fatal(c.patterns, err)
		}
		for _, path := range c.skips {
			if !s.Exclude.Skip(path) {
				t.Errorf("%s: %s is kept", c.patterns, path)
			}
		}
		for _, path := range append(c.keeps, "", ".") {
			if s.Exclude.Skip(path) {
				t.Errorf("%s: %s is excluded", c.patterns, path)
			}
		}
	}
}

// Patterns are relative to the directory of the file, also for a workspace below it.
func TestAWorkspaceBelowTheFile(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, project.FileName), []byte("files.exclude = ['/a/b/c', '/d']"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := project.ExcludeIn(sub)
	if err != nil || !e.Skip("c") || !e.Skip("c/x") || e.Skip("d") || e.Skip("x/c") {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err = project.ExcludeIn(dir); err != nil || e.Skip("c") || !e.Skip("d") {
		t.Errorf("%+v, %v", e, err)
	}
	if root, ok := project.Root(sub); !ok || root != dir {
		t.Errorf("%s, %v", root, ok)
	}
}

func TestMistakesNameTheirLine(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"[files]\nexclude = [\n  # out\n  \"dist\",\n  \"[a\",\n]", "f:5:3: files.exclude: pattern \"[a\" is not valid"},
		{"files = {exclude = ['']}", "f: files.exclude: pattern \"\" names no path"},
		{"files.exclude = ['a', '/']", "f:1:23: files.exclude: pattern \"/\" names no path"},
		{"files.exclude = ['a/../b']", "is not a path below the project"},
		{`files.exclude = ['dist\sub']`, "write / between directories"},
		{`files.exclude = ['a\']`, "backslash"},
		{"files.exclude = ['#a']", "is a comment"},
		{"files.exclude = ['a ']", "ends with a space"},
		{"files.exclude = ['[[:alpha:]]']", "not supported"},
		{"files.exclude = ['" + strings.Repeat("a','", 500) + "']", "more than 500"},
		{"files.exclude = 'dist'", "f:1:7: files.exclude must be a list of strings"},
		{"files.exclude = [1]", "files.exclude must be a list of strings"},
		{"files = 3", "f:1:1: files must be a table"},
		{"[files]\nallow = true", "f:2:1: unknown key files.allow; the only key of this table is exclude"},
		{"[grants]\nworkspace = true", "f:1:2: unknown key grants; the keys of this file are origins, files and noise"},
		{"[[noise.rules]]\ntext = 'a'\n[files]\nexclude = ['[']", "f:4:12: files.exclude"},
		{"[[noise.rules]]\ntext = oops\n[files]\nexclude = ['[']", "f:4:12: files.exclude"},
		{"[[noise.rules]]\ntext = oops\n[files]\nexclude = oops", "f:4:11: toml"},
	} {
		if _, err := project.Parse("f", []byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", c.file, err, c.want)
		}
	}
	s, err := project.Parse("f", []byte("[[noise.rules]]\ntext = oops\n[files]\nexclude = ['a']"))
	if err != nil || !s.Exclude.Skip("a") {
		t.Errorf("a mistake in a noise rule changes what is excluded: %v", err)
	}
}

// Git decides alike, except for a slash at the end of a pattern.
func TestGitExcludesTheSame(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	element := rapid.SampledFrom([]string{"a", "b", "ab", "a.b", "*", "**", "?", "a*", "*b", "[ab]", "[!a]", "[a-c]b", "{a,b}", `\*`, "a**b", "***"})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "a.b", "cb", "{a,b}", "*"})
	rapid.Check(t, func(t *rapid.T) {
		var file strings.Builder
		var quoted []string
		for range rapid.IntRange(1, 4).Draw(t, "patterns") {
			p := strings.Join(rapid.SliceOfN(element, 1, 4).Draw(t, "elements"), "/")
			p = rapid.SampledFrom([]string{"", "", "!"}).Draw(t, "!") + rapid.SampledFrom([]string{"", "", "/"}).Draw(t, "/") + p
			fmt.Fprintln(&file, p)
			quoted = append(quoted, "'"+p+"'")
		}
		s, err := project.Parse("f", []byte("files.exclude = ["+strings.Join(quoted, ", ")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for range 20 {
			paths = append(paths, strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, "path"), "/"))
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.Command(git, "-C", dir, "check-ignore", "--no-index", "--stdin", "-z")
		check.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		check.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
		out, err := check.Output()
		if err != nil && check.ProcessState.ExitCode() != 1 { // 1: none
			t.Fatal(err)
		}
		ignored := map[string]bool{}
		for path := range bytes.SplitSeq(out, []byte{0}) {
			ignored[string(path)] = true
		}
		for _, path := range paths {
			if got := s.Exclude.Skip(path); got != ignored[path] {
				t.Errorf("%s with\n%sgot %v, git %v", path, file.String(), got, ignored[path])
			}
		}
	})
}
