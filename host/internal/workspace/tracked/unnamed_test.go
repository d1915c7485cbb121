package tracked_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/winname"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
)

// TestACheckoutLacksTheNamesThatWindowsGivesToNoFile, and nothing else. It is whole in spite of them, but not without another file.
func TestACheckoutLacksTheNamesThatWindowsGivesToNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no snapshot has them")
	}
	top := t.TempDir()
	dir, out := filepath.Join(top, "workspace"), filepath.Join(top, "out")
	write := func(path string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"aux.c", "nul/a", "nul/b/c", "null/a", "s:t", "src/end.", "src/good", "trail /x", "z"} {
		write(path)
	}
	if err := os.Link(filepath.Join(dir, "s:t"), filepath.Join(dir, "s-t")); err != nil {
		t.Fatal(err)
	}
	p, err := tracked.Open(tracked.Options{Workspace: dir, Store: filepath.Join(top, "store"), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	s, _, err := p.Take(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	unnamed.Here = winname.InPath
	defer func() { unnamed.Here = winname.Here }()
	if err := p.Checkout(t.Context(), s.Number, out, false); err == nil || !strings.Contains(err.Error(), `cannot write "aux.c": on Windows, AUX is a device`) {
		t.Errorf("a whole checkout: %v", err)
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("it is there")
	}
	want := []string{"aux.c", "nul", "s:t", "src/end.", "trail "}
	lacking, err := tracked.CheckoutNamed(t.Context(), p, s.Number, out, false)
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := tracked.Stamp(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	later, intact, err := tracked.Intact(t.Context(), p, s.Number, out, stamp)
	if err != nil || !intact || !slices.Equal(later, lacking) {
		t.Errorf("%v, %v, %v", later, intact, err)
	}
	var named []string
	for _, l := range lacking {
		if named = append(named, l.Path); !strings.HasPrefix(l.Reason, "on Windows, ") {
			t.Errorf("%+v", l)
		}
	}
	if !slices.Equal(named, want) {
		t.Errorf("%q are lacking, want %q", named, want)
	}
	for _, path := range []string{"null/a", "s-t", "src/good", "z"} {
		if data, err := os.ReadFile(filepath.Join(out, path)); string(data) != "content" {
			t.Errorf("%s has %q, %v", path, data, err)
		}
	}
	if err := os.Remove(filepath.Join(out, "z")); err != nil {
		t.Fatal(err)
	}
	tree, err := p.Tree(s.Number)
	if err != nil {
		t.Fatal(err)
	}
	if _, named := unnamed.In(out, tree, false); named {
		t.Error("a removed file counts as one without a name")
	}
}
