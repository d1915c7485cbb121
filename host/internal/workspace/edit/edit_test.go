package edit_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/edit"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// steps are changes of every kind: of files, directories, links, and of one into another.
func steps() []edit.Step {
	text := func(s string) *edit.File { return &edit.File{Mode: 0o640, Data: []byte(s)} }
	dir, link := &edit.File{Mode: fs.ModeDir}, &edit.File{Mode: fs.ModeSymlink, Data: []byte("b")}
	list := []edit.Step{
		{Path: "a", From: text("a"), To: text("A")},
		{Path: "b", From: text("b")},
		{Path: "c/d/e", To: text("e")},
		{Path: "file", From: text("file"), To: dir},
		{Path: "file/in", To: text("in")},
		{Path: "gone", From: dir},
		{Path: "gone/x", From: text("x")},
		{Path: "l", To: link},
		{Path: "tree", From: dir, To: text("tree")},
		{Path: "tree/y", From: text("y")},
	}
	if !makesLinks() {
		return slices.DeleteFunc(list, func(s edit.Step) bool { return s.To == link })
	}
	return list
}

// makesLinks reports whether a symbolic link can be made here. Wine 8 makes none, and on Windows not every user may.
var makesLinks = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "links")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "link")
	if err = os.Symlink("nowhere", path); err == nil {
		_, err = os.Lstat(path) // Wine 8 may say that it made one
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "symbolic links are not tested, because none can be made here: %v\n", err)
	}
	return err == nil
})

func workspace(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"gone", "tree"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "file", "gone/x", "tree/y", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(filepath.Base(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func TestStepsOfEveryKind(t *testing.T) {
	root := workspace(t)
	all, err := edit.Complete(root, steps())
	if err != nil {
		t.Fatal(err)
	}
	if err := edit.Do(root, all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if now, err := edit.Read(root, s.Path); err != nil || !now.Same(s.To) {
			t.Errorf("%s is %+v, %v", s.Path, now, err)
		}
	}
	want := "a c file l other tree"
	if !makesLinks() {
		want = "a c file other tree"
	}
	var names []string
	list, err := os.ReadDir(root.Name())
	for _, e := range list {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != want {
		t.Errorf("there is %s, %v", got, err)
	}
	// All is as it was written, so that nothing is set back.
	if done, _, err := edit.Recover(t.Context(), nil, root.Name(), 1, edit.Wrote(all)); err != nil || !done {
		t.Errorf("%t, %v", done, err)
	}
}

func TestAFileThatChangedIsNotTouched(t *testing.T) {
	root := workspace(t)
	if err := root.WriteFile("b", []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := strings.Join(treetest.States(t, root.Name()), "\n")
	all, err := edit.Complete(root, steps()[:2])
	if err != nil {
		t.Fatal(err)
	}
	if err := edit.Do(root, all); err == nil || !strings.Contains(err.Error(), "changed in the meantime") {
		t.Errorf("%v", err)
	}
	if after := strings.Join(treetest.States(t, root.Name()), "\n"); after != before {
		t.Errorf("%s\nbefore:\n%s", after, before)
	}
	if !makesLinks() {
		return
	}
	outside := t.TempDir()
	if err := root.Symlink(outside, "out"); err != nil {
		t.Fatal(err)
	}
	if err := edit.Do(root, []edit.Step{{Path: "out/x", To: &edit.File{Mode: 0o600, Data: []byte("x")}}}); err == nil {
		t.Error("a link was followed out of the workspace")
	}
	if list, _ := os.ReadDir(outside); len(list) != 0 {
		t.Errorf("outside there is %v", list)
	}
}
