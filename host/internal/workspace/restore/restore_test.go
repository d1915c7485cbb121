package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/winname"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// world is a workspace with its store.
type world struct {
	t               treetest.Fataler
	dir, top, store string
	p               *tracked.Provider
	options         tracked.Options
}

func newWorld(t treetest.Fataler, top string) *world {
	t.Helper()
	w := &world{t: t, top: top, dir: filepath.Join(top, "workspace"), store: filepath.Join(top, "store")}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.options = tracked.Options{Workspace: w.dir, Store: w.store, Clock: time.Now}
	w.open()
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.p, err = tracked.Open(w.options); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	if w.p != nil {
		_ = w.p.Close()
	}
	_ = tracked.RemoveAll(w.dir)
}

func (w *world) path(path string) string { return filepath.Join(w.dir, filepath.FromSlash(path)) }

// write writes files, given as pairs of path and content.
func (w *world) write(pairs ...string) {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := w.path(pairs[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(pairs[i+1]), 0o644)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) must(errs ...error) {
	w.t.Helper()
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) take() uint64 {
	w.t.Helper()
	s, _, err := w.p.Take(context.Background(), "test")
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Number
}

func (w *world) prepare(target uint64, paths ...string) *restore.Plan {
	w.t.Helper()
	plan, err := restore.Prepare(context.Background(), w.p, target, paths)
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

func (w *world) apply(plan *restore.Plan) *restore.Result {
	w.t.Helper()
	result, err := plan.Apply(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	if result.Kept != "" {
		w.t.Fatalf("kept %s", result.Kept)
	}
	w.clean()
	return result
}

// clean fails if something is left, or the store is damaged.
func (w *world) clean() {
	w.t.Helper()
	w.left()
	if damages := w.p.Check(); len(damages) > 0 {
		w.t.Fatal(damages)
	}
}

// left fails if a staging directory or a journal is left.
func (w *world) left() {
	w.t.Helper()
	for _, dir := range []string{w.top, w.store} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), "restore") {
				w.t.Fatalf("%s is left in %s", e.Name(), dir)
			}
		}
	}
}

func (w *world) read() []string {
	w.t.Helper()
	return treetest.ReadWhole(w.t, w.dir)
}

func (w *world) is(want []string) {
	w.t.Helper()
	if got := w.read(); !slices.Equal(got, want) {
		w.t.Fatalf("the workspace is\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestARestoreIsTheSnapshot, whatever the edits, the paths, and the way between: the paths are as the target has them,
// all others as before, with their inodes. A restore of the safety snapshot undoes it.
func TestARestoreIsTheSnapshot(t *testing.T) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp(top, "case")
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, base)
		defer w.close()
		edits := func() {
			for range rapid.IntRange(0, 10).Draw(t, "edits") {
				editor.Edit(t, w.dir)
			}
		}
		was := map[uint64][]string{}
		var numbers []uint64
		for range rapid.IntRange(1, 4).Draw(t, "snapshots") {
			edits()
			n := w.take()
			was[n] = w.read()
			numbers = append(numbers, n)
		}
		for range rapid.IntRange(1, 3).Draw(t, "restores") {
			edits()
			target := rapid.SampledFrom(numbers).Draw(t, "target")
			before := w.read()
			var paths []string
			if rapid.Bool().Draw(t, "some") {
				for range rapid.IntRange(1, 3).Draw(t, "paths") {
					line := rapid.SampledFrom(slices.Concat(before, was[target])).Draw(t, "path")
					if path := treetest.Path(t, line); path != "" { // no path is the whole workspace
						paths = append(paths, path)
					}
				}
			}
			plan := w.prepare(target, paths...)
			if len(plan.Problems) > 0 {
				plan.Leave()
			}
			left := plan.Left
			if len(left) > 0 && len(paths) == 0 {
				t.Fatal(left)
			}
			inodes := map[string]uint64{}
			for _, line := range before {
				inodes[treetest.Path(t, line)] = w.inode(treetest.Path(t, line))
			}
			planned := map[string]bool{}
			for _, s := range plan.Steps {
				planned[s.Path] = true
			}
			result := w.apply(plan)
			if len(paths) == 0 {
				w.is(was[target])
				if len(result.Differs) > 0 {
					t.Fatal(result.Differs)
				}
			} else if len(left) == 0 {
				t.Log(paths)
				if got, want := loose(t, w.read()), mixed(t, before, was[target], paths); !slices.Equal(got, want) {
					t.Fatalf("%q: the workspace is\n%s\nnot\n%s", paths, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			for path, inode := range inodes {
				if !planned[path] && w.inode(path) != inode {
					t.Fatalf("%q has another inode", path)
				}
			}
			if rapid.Bool().Draw(t, "undo") {
				w.apply(w.prepare(result.Safety))
				w.is(before)
			}
		}
	})
}

// loose are lines without hard links.
func loose(t treetest.Fataler, lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "\t")
		out = append(out, line)
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(treetest.Path(t, a), treetest.Path(t, b)) })
	return out
}

// mixed is what a restore of paths makes.
func mixed(t treetest.Fataler, before, target []string, paths []string) []string {
	all, there := map[string]string{}, map[string]string{}
	within := func(path string) bool {
		return slices.ContainsFunc(paths, func(at string) bool { return tree.Within(path, at) })
	}
	for _, line := range loose(t, before) {
		if path := treetest.Path(t, line); !within(path) {
			all[path] = line
		}
	}
	for _, line := range loose(t, target) {
		there[treetest.Path(t, line)] = line
	}
	for path, line := range there {
		if !within(path) {
			continue
		}
		all[path] = line
		for dir := tree.Parent(path); dir != ""; dir = tree.Parent(dir) {
			if all[dir] == "" {
				all[dir] = there[dir]
			}
		}
	}
	var out []string
	for _, line := range all {
		out = append(out, line)
	}
	return loose(t, out)
}

// TestHardLinksStayTogether, also with a file that the restore does not touch.
func TestHardLinksStayTogether(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("a", "one", "x", "two")
	w.must(os.Link(w.path("a"), w.path("b")), os.Link(w.path("a"), w.path("c")), os.Link(w.path("x"), w.path("y")))
	target := w.take()
	want := w.read()
	w.must(os.Remove(w.path("c")), os.Remove(w.path("x")), os.Remove(w.path("y")))
	w.write("x", "two", "y", "two", "b2", "new")
	inode := w.inode("a")
	plan := w.prepare(target)
	for _, s := range plan.Steps {
		if s.Path == "a" || s.Path == "b" {
			t.Errorf("%s: %s", s.Kind, s.Path)
		}
	}
	w.apply(plan)
	w.is(want)
	if w.inode("a") != inode || w.inode("c") != inode {
		t.Error("the file was replaced")
	}
	if plan := w.prepare(target); len(plan.Steps) > 0 {
		t.Errorf("what is restored is not the target: %+v", plan.Steps)
	}
}

// TestOddNames have no meaning.
func TestOddNames(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	names := []string{"new\nline", "\xff\xfe", "-rf", " ", "n0", "o0", "x1", "restore-0123456789abcdef", strings.Repeat("ü", 127), "readme", "...", "a\\b", "*"}
	if runtime.GOOS == "windows" { // which does not have some of these names, and has others
		names = []string{"-rf", "n0", "o0", "x1", "restore-0123456789abcdef", strings.Repeat("ü", 127), "readme", "LONGNA~1"}
		if unpaired := "s\xed\xa0\x80"; os.WriteFile(w.path(unpaired), nil, 0o600) == nil {
			names = append(names, unpaired)
		} else {
			t.Log("no name can have an unpaired surrogate here")
		}
	}
	for _, name := range names {
		w.write(name, name, "dir-"+strings.ToUpper(name[:1])+"/"+name, "in it")
	}
	target := w.take()
	want := w.read()
	for _, name := range names {
		w.must(os.Remove(w.path(name)))
		w.must(os.MkdirAll(w.path(name+"/"+name), 0o700))
		w.write(name+"/"+name+"/x", "x")
	}
	before := w.read()
	result := w.apply(w.prepare(target))
	w.is(want)
	w.apply(w.prepare(result.Safety))
	w.is(before)
	// Case-only renames.
	w.apply(w.prepare(target))
	w.must(os.Rename(w.path("readme"), w.path("README")))
	w.apply(w.prepare(target))
	w.is(want)
}

// TestNamesThatWindowsDoesNotHaveAreNotWritten: they are problems of the plan, and stay as they are where the others are restored.
func TestNamesThatWindowsDoesNotHaveAreNotWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no snapshot has them")
	}
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("aux.c", "one", "nul/a", "one", "nul/b/c", "one", "s:t", "one", "good", "one", "changed.", "one", "new ", "one")
	target := w.take()
	w.must(os.Remove(w.path("aux.c")), os.RemoveAll(w.path("nul")), os.Remove(w.path("s:t")))
	w.write("good", "two", "changed.", "two", "com1", "two")
	unnamed.Here = winname.InPath
	defer func() { unnamed.Here = winname.Here }()
	plan := w.prepare(target)
	var blocked []string
	for _, p := range plan.Problems {
		blocked = append(blocked, p.Path)
		if !strings.HasPrefix(p.Reason, "cannot write it: on Windows, ") {
			t.Errorf("%+v", p)
		}
	}
	if slices.Sort(blocked); !slices.Equal(blocked, []string{"aux.c", "changed.", "nul", "s:t"}) {
		t.Errorf("%q", blocked)
	}
	plan.Leave()
	w.apply(plan)
	for path, want := range map[string]string{"good": "one", "changed.": "two", "new ": "one", "aux.c": "", "nul": "", "s:t": "", "com1": ""} {
		if data, err := os.ReadFile(w.path(path)); string(data) != want || (err == nil) != (want != "") {
			t.Errorf("%q has %q, %v", path, data, err)
		}
	}
}

// TestOneOfTwoSpellings: where case is ignored, a path that is spelled in another way now needs both to be restored.
func TestOneOfTwoSpellings(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("readme", "one", "src/a", "a")
	target := w.take()
	want := w.read()
	w.must(os.Remove(w.path("readme")), os.RemoveAll(w.path("src"))) // Wine does not rename a file to another spelling
	w.write("README", "one", "SRC/a", "a")
	_, err := os.Stat(w.path("readme"))
	ignored := err == nil
	for one, other := range map[string]string{"readme": "README", "src": "SRC", "src/a": "SRC"} {
		t.Run(one, func(t *testing.T) {
			plan := w.prepare(target, one)
			if blocked := len(plan.Problems) > 0; blocked != ignored {
				t.Fatalf("case is ignored: %v; problems: %v", ignored, plan.Problems)
			}
			if plan := w.prepare(target, one, other); len(plan.Problems) > 0 {
				t.Error(plan.Problems)
			}
		})
	}
	w.apply(w.prepare(target))
	w.is(want)
}

// TestWhatNoSnapshotHasStays: the repository, skipped paths, sockets and pipes, and the directories they are in.
func TestWhatNoSnapshotHasStays(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.must(w.p.Close())
	w.options.Skip = func(path string) bool { return tree.Base(path) == "node_modules" }
	w.open()
	w.write("a", "a", ".git/config", "old", "node_modules/x", "old", "was/a/dir", "d")
	target := w.take()
	w.must(os.RemoveAll(w.path("was")))
	w.write("a", "b", ".git/config", "new", "node_modules/x", "new", "src/a", "a", "src/sub/node_modules/y", "y", "src/sub/z", "z", "was", "file", "pipes/b", "b")
	pipes := runtime.GOOS != "windows"
	if pipes {
		w.must(mkfifo(w.path("pipes/fifo")))
	}
	plan := w.prepare(target)
	if len(plan.Problems) > 0 {
		t.Fatal(plan.Problems)
	}
	var left []string
	for _, l := range plan.Left {
		left = append(left, l.Path)
	}
	want := []string{"pipes", "src", "src/sub"}
	if !pipes {
		want = want[1:]
	}
	if !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	result := w.apply(plan)
	if len(result.Differs) != len(want) {
		t.Errorf("%+v", result.Differs)
	}
	for path, want := range map[string]string{".git/config": "new", "node_modules/x": "new", "src/sub/node_modules/y": "y", "a": "a", "was/a/dir": "d"} {
		if got, err := os.ReadFile(w.path(path)); string(got) != want {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"src/a", "src/sub/z", "pipes/b"} {
		if _, err := os.Lstat(w.path(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(w.path("pipes/fifo")); pipes && err != nil {
		t.Error(err)
	}
	if _, err := restore.Prepare(context.Background(), w.p, target, []string{"node_modules/x"}); err == nil {
		t.Error("a skipped path was prepared")
	}
	for _, path := range []string{"/etc", "..", "a/../b", "a//b", "nowhere"} {
		if _, err := restore.Prepare(context.Background(), w.p, target, []string{path}); err == nil {
			t.Errorf("%q was prepared", path)
		}
	}
	var unknown *tracked.UnknownError
	if _, err := restore.Prepare(context.Background(), w.p, 99, nil); !errors.As(err, &unknown) {
		t.Error(err)
	}
	if !pipes {
		return // names of pipes are not in directories
	}
	// A pipe where the target has a file.
	w.must(os.Remove(w.path("a")), mkfifo(w.path("a")))
	blocked := w.prepare(target)
	if len(blocked.Problems) != 1 || blocked.Problems[0].Path != "a" {
		t.Fatal(blocked.Problems)
	}
	var err *restore.BlockedError
	if _, e := blocked.Apply(context.Background()); !errors.As(e, &err) {
		t.Error(e)
	}
}

// TestAHardLinkFromOutsideIsRestoredAsAFile, as package managers make them, and is the same then.
func TestAHardLinkFromOutsideIsRestoredAsAFile(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("in/module.js", "one", "in/other.js", "two")
	w.must(os.Link(w.path("in/module.js"), filepath.Join(w.top, "elsewhere")), os.Link(w.path("in/other.js"), w.path("other")))
	target := w.take()
	w.must(os.RemoveAll(w.path("in")))
	w.take()
	result := w.apply(w.prepare(target))
	if len(result.Differs) > 0 {
		t.Errorf("%+v", result.Differs)
	}
	if again := w.prepare(target); len(again.Steps) > 0 || len(again.Left) > 0 {
		t.Errorf("%+v, %+v", again.Steps, again.Left)
	}
	a, err := os.Stat(w.path("other"))
	w.must(err)
	b, err := os.Stat(w.path("in/other.js"))
	w.must(err)
	if !os.SameFile(a, b) {
		t.Error("names of one file in the workspace are two files")
	}
}

// TestANameOutsideOfTheWorkspaceKeepsItsAttributes: a restore of a mode or of a time gives the workspace a file of its own.
func TestANameOutsideOfTheWorkspaceKeepsItsAttributes(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	then, now := time.Unix(1e9, 0), time.Unix(1.5e9, 0)
	w.write("mode", "one", "time", "two", "module", "five", "pair/a", "three", "inside/a", "four")
	w.must(os.Link(w.path("pair/a"), w.path("pair/b")), os.Link(w.path("inside/a"), w.path("inside/b")))
	names := []string{"mode", "time", "module", "pair/a", "inside/a"}
	outside := map[string]string{"module": filepath.Join(w.top, "elsewhere")} // as package managers make them
	w.must(os.Link(w.path("module"), outside["module"]))
	for _, name := range names {
		w.must(os.Chmod(w.path(name), 0o644), os.Chtimes(w.path(name), time.Time{}, then))
	}
	target := w.take()
	for _, name := range names[:4] {
		if outside[name] == "" {
			outside[name] = filepath.Join(w.top, "outside-"+filepath.Base(name))
			w.must(os.Link(w.path(name), outside[name]))
		}
		w.must(os.Chtimes(outside[name], time.Time{}, now))
		if name != "time" {
			w.must(os.Chmod(outside[name], 0o600))
		}
	}
	w.must(os.Chmod(w.path("inside/a"), 0o600))
	w.take()
	if result := w.apply(w.prepare(target)); len(result.Differs) > 0 {
		t.Errorf("%+v", result.Differs)
	}
	for _, name := range []string{"mode", "time", "module", "pair/a", "pair/b", "inside/a", "inside/b"} {
		info, err := os.Stat(w.path(name))
		w.must(err)
		if !info.ModTime().Equal(then) || info.Mode().Perm()&0o077 == 0 && runtime.GOOS != "windows" {
			t.Errorf("%s has %s, %s after the restore", name, info.Mode(), info.ModTime())
		}
	}
	for name, path := range outside {
		info, err := os.Stat(path)
		w.must(err)
		if !info.ModTime().Equal(now) || name != "time" && info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("the other name of %s has %s, %s: it is outside of the workspace", name, info.Mode(), info.ModTime())
		}
	}
	for _, pair := range []string{"pair", "inside"} {
		a, err := os.Stat(w.path(pair + "/a"))
		w.must(err)
		b, err := os.Stat(w.path(pair + "/b"))
		w.must(err)
		if !os.SameFile(a, b) {
			t.Errorf("the names in %s are two files", pair)
		}
	}
	if again := w.prepare(target); len(again.Steps) > 0 || len(again.Left) > 0 {
		t.Errorf("%+v, %+v", again.Steps, again.Left)
	}
}
