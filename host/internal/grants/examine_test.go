package grants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
)

func storeFor(t *testing.T) *Store {
	dir := t.TempDir()
	return &Store{
		File: filepath.Join(dir, "grants.json"), Own: []string{dir}, Clock: time.Now,
		Lock: func(context.Context) (func(), error) { return func() {}, nil },
	}
}

func TestDirectoriesThatAreNoProject(t *testing.T) {
	s := storeFor(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	own := filepath.Dir(s.File)
	refused := map[string]string{
		home: "is your home directory", filepath.Dir(home): "contains your home directory", own: "belongs to Tidemark",
		filepath.Dir(filepath.Dir(filepath.Dir(own))): "", filepath.VolumeName(home) + string(filepath.Separator): "is the root of a file system",
		os.TempDir(): "",
	}
	if runtime.GOOS == "linux" {
		for dir, why := range map[string]string{
			"/etc": "of the system", "/usr/share": "of the system", "/tmp": "", "/var": "of the system", "/proc/self": "of the system", "/home": "of the system",
		} {
			refused[dir] = why
		}
	}
	for dir, why := range refused {
		if err := s.Examine(t.Context(), dir); usererr.CodeOf(err) != usererr.NotAllowed || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "--confirm") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Examine(t.Context(), project); err != nil {
		t.Error(err)
	}
	if link := filepath.Join(project, "link"); os.Symlink(home, link) == nil {
		if err := s.Examine(t.Context(), link); err == nil {
			t.Error("a link to the home directory is accepted")
		}
	}
}

func TestTheCountStopsAtItsLimits(t *testing.T) {
	dir := t.TempDir()
	put := func(path string, size int64) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		put(fmt.Sprintf("many/%d", i), 1)
	}
	put("big/one", 3<<30)
	put("small", 1)
	put(".git/pack", 9<<30)
	link := filepath.Join(dir, "link")
	err := os.Symlink(t.TempDir(), link)
	if err == nil {
		_, err = os.Lstat(link) // Wine 8 says that it made one
	}
	if err != nil {
		t.Logf("an empty file stands for a symbolic link, which cannot be made here: %v", err)
		put("link", 0)
	}
	c := counter{dir: dir, skip: func(path string) bool { return path == ".git" }}
	for _, want := range []struct {
		entries, bytes int64
		over           string
	}{
		{25, 3<<30 + 21, ""}, // many, big, small and link
		{24, 4 << 30, "24 files and directories (of those counted, 21 are in many)"},
		{1000, 2 << 30, "2 GiB of files (of those counted, 3 GiB are in big)"},
	} {
		c.entries, c.bytes = want.entries, want.bytes
		if over, err := c.count(t.Context()); err != nil || over != want.over {
			t.Errorf("%+v: %q, %v", want, over, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.count(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := thousands(200_000) + " " + thousands(999) + " " + thousands(1_234_567); got != "200,000 999 1,234,567" {
		t.Error(got)
	}
}

// What .tidemark.toml excludes and what is denied below do not count.
func TestALargeWorkspaceNeedsConfirmation(t *testing.T) {
	s, dir := storeFor(t), t.TempDir()
	for _, name := range []string{"data", "dist"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "disk"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, name, "disk"), 21<<30); err != nil {
			t.Skip(err)
		}
	}
	err := s.Examine(t.Context(), dir)
	if usererr.CodeOf(err) != usererr.NotAllowed || !strings.Contains(err.Error(), "has more than 20 GiB of files") || !strings.Contains(err.Error(), "exclude") {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".tidemark.toml")
	if err := os.WriteFile(file, []byte("[files]\nexclude = ['/dist']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Deny(t.Context(), filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	if err := s.Examine(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("[files]\nexclude = ['[']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Examine(t.Context(), dir); err == nil || !strings.Contains(err.Error(), ".tidemark.toml:2:12") {
		t.Error(err)
	}
}

func TestAnAnswerIsAskedForOnce(t *testing.T) {
	for _, c := range []struct {
		in    string
		state State
		err   error
	}{
		{"y\n", Allowed, nil},
		{" YES \n", Allowed, nil},
		{"n\n", Denied, nil},
		{"\n", Denied, nil},
		{"all\n", Denied, nil},
		{"", Undecided, ErrNoAnswer},
		{"y", Undecided, ErrNoAnswer},
	} {
		s, dir := storeFor(t), t.TempDir()
		var out strings.Builder
		allowed, err := s.Ask(t.Context(), strings.NewReader(c.in), &out, dir)
		d, lerr := s.Lookup(dir)
		if allowed != (c.state == Allowed) || !errors.Is(err, c.err) || d.State != c.state || lerr != nil || !strings.Contains(out.String(), "[y/N]") {
			t.Errorf("%q: %v, %v, %+v\n%s", c.in, allowed, err, d, out.String())
		}
		if d.Has(AgentsRestore) || d.Has(AgentsBranch) {
			t.Errorf("%q: %+v", c.in, d)
		}
		if c.err != nil {
			continue
		}
		out.Reset()
		if again, err := s.Ask(t.Context(), strings.NewReader(""), &out, dir); again != allowed || err != nil || out.Len() > 0 {
			t.Errorf("%q, again: %v, %v\n%s", c.in, again, err, out.String())
		}
	}
}

func TestNobodyIsAskedAboutAHomeDirectory(t *testing.T) {
	s, home := storeFor(t), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	var out strings.Builder
	if allowed, err := s.Ask(t.Context(), strings.NewReader("y\n"), &out, home); allowed || usererr.CodeOf(err) != usererr.NotAllowed || out.Len() > 0 {
		t.Errorf("%v, %v\n%s", allowed, err, out.String())
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	s, dir := storeFor(t), t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	var out askedWriter
	out.asked = cancel
	if allowed, err := s.Ask(ctx, r, &out, dir); allowed || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", allowed, err)
	}
}

// askedWriter calls a function when the question was written.
type askedWriter struct{ asked func() }

func (w *askedWriter) Write(p []byte) (int, error) {
	w.asked()
	return len(p), nil
}

// Names are looked up as the directory spells them, where the other case is the same file.
func TestASystemThatIgnoresCase(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "Project", "Sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	want, err := Resolve(filepath.Join(dir, "Project", "Sub"))
	if err != nil || filepath.Base(want) != "Sub" {
		t.Fatal(want, err)
	}
	got, err := Resolve(filepath.Join(dir, "pROJECT", "sub"))
	if _, ierr := os.Stat(filepath.Join(dir, "project")); ierr != nil {
		if err == nil {
			t.Error("a directory that does not exist was resolved")
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("%s, want %s: %v", got, want, err)
	}
}
