package edit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/edit"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// steps are changes of every kind: of files, directories, links, and of one into another.
func steps() []edit.Step {
	text := func(s string) *edit.File { return &edit.File{Mode: 0o640, Data: []byte(s)} }
	dir, link := &edit.File{Mode: fs.ModeDir}, &edit.File{Mode: fs.ModeSymlink, Data: []byte("b")}
	return []edit.Step{
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
}

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
	if list, _ := os.ReadDir(root.Name()); len(list) != 6 { // a, c, file, l, other, tree
		t.Errorf("there is %v", list)
	}
	// All is as it was written, so that nothing is set back.
	if done, err := edit.Recover(t.Context(), nil, root.Name(), 1, edit.Wrote(all)); err != nil || !done {
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
