package compare_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

var redactor = redact.Default()

// memory is a source in memory.
type memory struct {
	trees    []*tree.Tree
	contents map[objects.ID]string
}

func newMemory() *memory { return &memory{contents: map[objects.ID]string{}} }

// files are the contents of a snapshot by path. One that begins with "-> " is a link.
type files map[string]string

// take adds a snapshot and returns its number.
func (m *memory) take(all files) uint64 {
	entries := map[string]*tree.Entry{}
	for path, content := range all {
		for dir := tree.Parent(path); dir != ""; dir = tree.Parent(dir) {
			if _, is := all[dir]; !is {
				entries[dir] = &tree.Entry{Kind: tree.Dir, Mode: 0o755}
			}
		}
		entries[path] = m.entry(content)
	}
	var changes []tree.Change
	for path, e := range entries {
		changes = append(changes, tree.Change{Path: path, After: e})
	}
	tree.Sort(changes)
	t := tree.New()
	if err := t.Apply(changes); err != nil {
		panic(err)
	}
	m.trees = append(m.trees, t)
	return uint64(len(m.trees))
}

func (m *memory) entry(content string) *tree.Entry {
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		return &tree.Entry{Kind: tree.Link, Mode: 0o777, Size: int64(len(target)), Target: target}
	}
	id := objects.IDOf([]byte(content))
	m.contents[id] = content
	return &tree.Entry{Kind: tree.File, Mode: 0o644, Size: int64(len(content)), Content: id}
}

func (m *memory) List() []tracked.Snapshot {
	list := make([]tracked.Snapshot, len(m.trees))
	for i := range list {
		list[i] = tracked.Snapshot{Number: uint64(i + 1), At: time.Unix(int64(i), 0), Label: fmt.Sprint("label ", i+1)}
	}
	return list
}

func (m *memory) Diff(from, to uint64) ([]tree.Change, error) {
	changes := tree.Compare(m.trees[from-1], m.trees[to-1])
	tree.Sort(changes)
	return changes, nil
}

func (m *memory) Entry(n uint64, path string) (*tree.Entry, error) {
	node := m.trees[n-1].Lookup(path)
	if node == nil {
		return nil, nil
	}
	return &node.Entry, nil
}

func (m *memory) Content(w io.Writer, e *tree.Entry) error {
	content, ok := m.contents[e.Content]
	if !ok {
		return objects.ErrMissing
	}
	_, err := io.WriteString(w, content)
	return err
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// diffOf compares two states.
func diffOf(t fataler, before, after files, o compare.Options) *compare.Diff {
	t.Helper()
	m := newMemory()
	from, to := m.take(before), m.take(after)
	d, err := compare.New(m, redactor).Diff(context.Background(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// patch are the options of a patch that is to be applied.
var patch = compare.Options{MaxFiles: -1, MaxLines: -1, MaxBytes: -1, MaxFileLines: -1, MaxLineBytes: -1, Secrets: true, Exact: true}

var lines = []string{
	"", "a", "b", "c", "}", "\tindented", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No newline at end of file", "# note",
	"crlf\r", "two\rreturns\r\r", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "invalid \xff\xfe", "bidi \u202e text", "zero\u200bwidth", "ü", "trailing ",
	"GIT binary patch", "rename from x", "deleted file mode 100644", "-----BEGIN RSA PRIVATE KEY-----", "password: hunter2-and-more", strings.Repeat("long ", 600),
}

func content() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 30).Draw(t, "lines"), "\n")
		switch rapid.IntRange(0, 9).Draw(t, "end") {
		case 0:
			return "\x00" + s
		case 1, 2:
			return s
		}
		return s + "\n"
	})
}

// edited changes some lines of a text.
func edited(t *rapid.T, s string) string {
	all := strings.SplitAfter(s, "\n")
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		at := rapid.IntRange(0, len(all)-1).Draw(t, "at")
		line := rapid.SampledFrom(lines).Draw(t, "line") + "\n"
		switch rapid.IntRange(0, 2).Draw(t, "edit") {
		case 0:
			all[at] = line
		case 1:
			all = slices.Insert(all, at, line)
		case 2:
			if all = slices.Delete(all, at, at+1); len(all) == 0 {
				return ""
			}
		}
	}
	return strings.Join(all, "")
}

var names = []string{"a", "b", "B.go", "src", "lib", "ü", "with space", "new\nline", "tab\tname", "\xff\xfe", "-rf", "quo\"te", "back\\slash", "\x1b[2J", "\u202egnp.exe", ".env", "a => b", "# x"}

// change edits a workspace.
func change(t *rapid.T, dir string) {
	path := func(label string) string {
		parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, label)
		return filepath.Join(append([]string{dir}, parts...)...)
	}
	at := path("path")
	switch rapid.IntRange(0, 9).Draw(t, "change") {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.WriteFile(at, []byte(content().Draw(t, "content")), 0o600) // a directory may be in the way
	case 3, 4, 5:
		if all := regular(dir); len(all) > 0 {
			at = rapid.SampledFrom(all).Draw(t, "file")
			b, _ := os.ReadFile(at)
			_ = os.WriteFile(at, []byte(edited(t, string(b))), 0o600)
		}
	case 6:
		if all := regular(dir); len(all) > 0 {
			from := rapid.SampledFrom(all).Draw(t, "from")
			_ = os.MkdirAll(filepath.Dir(at), 0o755)
			_ = os.Rename(from, at)
		}
	case 7:
		_ = os.RemoveAll(at)
	case 8:
		_ = os.Symlink(rapid.SampledFrom(names).Draw(t, "target"), at)
	case 9:
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(at, rapid.SampledFrom([]os.FileMode{0o600, 0o644, 0o755}).Draw(t, "mode"))
		}
	}
}

func regular(dir string) []string {
	var all []string
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
		}
		return nil
	})
	return all
}

// state is the files and links in a directory, as Git knows them.
func state(t fataler, dir string) files {
	t.Helper()
	all := files{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.Type()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			all[name] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		all[name] = fmt.Sprint(info.Mode()&0o100 != 0, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func gitApply(dir, patch string) error {
	cmd := exec.Command("git", "apply", "-p1", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestGitAppliesThePatch of two snapshots of a real workspace, whatever the edits, names and contents: to a checkout of
// the first one, with the result that is the second one. What is not text is left as it was.
func TestGitAppliesThePatch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp(top, "case")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tracked.RemoveAll(base) }()
		workspace := filepath.Join(base, "workspace")
		if err := os.Mkdir(workspace, 0o755); err != nil {
			t.Fatal(err)
		}
		p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(base, "store"), Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close() }()
		var taken [2]uint64
		for i := range taken {
			for range rapid.IntRange(1, 10).Draw(t, "changes") {
				change(t, workspace)
			}
			s, _, err := p.Take(context.Background(), "")
			if err != nil {
				t.Fatal(err)
			}
			taken[i] = s.Number
		}
		if rapid.Bool().Draw(t, "backwards") {
			taken[0], taken[1] = taken[1], taken[0]
		}
		c := compare.New(p, redactor)
		options := patch
		options.Binary = rapid.Bool().Draw(t, "binary")
		d, err := c.Diff(context.Background(), taken[0], taken[1], options)
		if err != nil {
			t.Fatal(err)
		}
		if options.Binary && !d.Applies {
			t.Fatalf("the patch is not whole:\n%s", d.Text())
		}
		a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
		if err := errors.Join(p.Checkout(context.Background(), taken[0], a, false), p.Checkout(context.Background(), taken[1], b, false)); err != nil {
			t.Fatal(err)
		}
		was, want := state(t, a), state(t, b)
		text := d.Text()
		if blocked(d) { // a file that the patch leaves is in the way of one that it makes
			return
		}
		if strings.Contains(text, "diff --git ") {
			if err := gitApply(a, text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
		got := state(t, a)
		if d.Applies {
			compareStates(t, got, want, text)
		} else { // what is not text stays as it was
			for _, f := range d.Files {
				if f.Content != compare.Text && f.Content != compare.Directory {
					for _, path := range []string{f.Path, f.OldPath} {
						delete(got, path)
						delete(was, path)
						delete(want, path)
					}
				}
			}
			compareStates(t, got, want, text)
		}
		safe, err := c.Diff(context.Background(), taken[0], taken[1], compare.Options{Secrets: true})
		if err != nil {
			t.Fatal(err)
		}
		checkSafe(t, safe.Text())
		if safe.Applies && safe.Text() != text {
			t.Fatalf("it applies and is not the patch:\n%s\n%s", safe.Text(), text)
		}
	})
}

// TestPatchAppliesIt: GNU patch, names with spaces and notes between the files included.
func TestPatchAppliesIt(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch")
	}
	before := files{"a file": "1\n2\n3\n", "crlf": "a\r\nb\r\n", "gone": "x\n", "old": "one\ntwo\nthree\n", "bin": "\x00", "end": "a"}
	after := files{"a file": "1\n3\nb", "crlf": "a\r\nc\r\n", "fresh/new": "x\n", "moved": "one\ntwo\nthree\nfour\n", "bin": "\x00\x00", "end": "b"}
	dir := t.TempDir()
	for name, content := range before {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := diffOf(t, before, after, patch).Text()
	cmd := exec.Command("patch", "-p1", "--binary", "--no-backup-if-mismatch")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	got := state(t, dir)
	for name, content := range after {
		if want := fmt.Sprint(false, content); name != "bin" && got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if len(got) != len(after) {
		t.Errorf("%q", got)
	}
}

// blocked reports whether a file that is not text was, or is, where another file needs a directory.
func blocked(d *compare.Diff) bool {
	for _, f := range d.Files {
		for _, g := range d.Files {
			if f.Content != compare.Text && f.Content != compare.Directory && f.Path != g.Path && (tree.Within(f.Path, g.Path) || tree.Within(g.Path, f.Path)) {
				return true
			}
		}
	}
	return false
}

func compareStates(t *rapid.T, got, want files, text string) {
	t.Helper()
	for path := range want {
		if got[path] != want[path] {
			t.Fatalf("%q is\n%q\nwant\n%q\n%s", path, got[path], want[path], text)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Fatalf("%q is there\n%s", path, text)
		}
	}
}

// checkSafe checks that a terminal can show a text.
func checkSafe(t fataler, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if clean := event.Clean(text); clean != text {
		t.Fatal(fmt.Sprintf("%q\nis not\n%q", text, clean))
	}
}

// TestNoChangeIsLost: the listed files make the second state from the first one, renames included.
func TestNoChangeIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d/a", "d/b", "e/a", "e/f/a", "e/f/b", "e/f/c"}), content(), 0, 9)
		before, after := files(state.Draw(t, "before")), files(state.Draw(t, "after"))
		for from, content := range before { // some files are moved, some with an edit
			if to := rapid.SampledFrom([]string{"", "", "d/c", "g/a", "g/b"}).Draw(t, "to "+from); to != "" {
				if delete(after, from); rapid.Bool().Draw(t, "edit "+from) {
					content = edited(t, content)
				}
				after[to] = content
			}
		}
		m := newMemory()
		m.take(before)
		m.take(after)
		d, err := compare.New(m, redactor).Diff(context.Background(), 1, 2, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := files{}
		for path, content := range before {
			got[path] = content
		}
		seen := map[string]bool{}
		for _, f := range d.Files {
			from := f.Path
			if f.OldPath != "" {
				from = f.OldPath
			}
			if f.Before != nil && f.Before.Kind == tree.File {
				if got[from] != m.contents[f.Before.Content] || seen[from] {
					t.Fatalf("%+v", f)
				}
				seen[from] = true
				delete(got, from)
			}
		}
		for _, f := range d.Files {
			if f.After != nil && f.After.Kind == tree.File {
				if _, ok := got[f.Path]; ok {
					t.Fatalf("%+v", f)
				}
				got[f.Path] = m.contents[f.After.Content]
			}
		}
		compareStates(t, got, after, d.Text())
	})
}

func TestRenamesAreFound(t *testing.T) {
	long := func(name string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "%s: line %d of its own\n", name, i)
		}
		return b.String()
	}
	before := files{"src/a.go": long("a"), "src/b.go": long("b"), "src/c.go": long("c"), "one": long("same"), "two": long("same"), "src/empty": "", "gone": long("gone")}
	after := files{
		"lib/a.go": long("a"), "lib/b.go": long("b") + "more\n", "lib/c.go": strings.Repeat("else\n", 40), "x/two": long("same"), "x/three": long("same"),
		"lib/empty": "", "other": "",
	}
	var got []string
	d := diffOf(t, before, after, compare.Options{})
	for _, f := range d.Files {
		got = append(got, fmt.Sprintf("%s %s %s +%d -%d", f.Change, f.OldPath, f.Path, f.Added, f.Removed))
	}
	want := []string{
		"removed  gone +0 -40", "renamed src/a.go lib/a.go +0 -0", "renamed src/b.go lib/b.go +1 -0", "added  lib/c.go +40 -0",
		"renamed src/empty lib/empty +0 -0", "added  other +0 -0", "removed  src/c.go +0 -40", "renamed one x/three +0 -0", "renamed two x/two +0 -0",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestASubsetOfPathsKeepsRenamesOutOfIt(t *testing.T) {
	d := diffOf(t, files{"a/x": "one\ntwo\n", "c": "c\n"}, files{"b/x": "one\ntwo\n", "c": "d\n"}, compare.Options{Paths: []string{"./a/"}})
	if len(d.Files) != 1 || d.Files[0].Change != compare.Renamed || d.Files[0].Path != "b/x" {
		t.Errorf("%+v", d.Files)
	}
}

// TestWhatBinaryPatchesLeaveOut: secrets that are not asked for, and contents that cannot be read.
func TestWhatBinaryPatchesLeaveOut(t *testing.T) {
	options := patch
	options.Binary, options.Secrets = true, false
	key := strings.Repeat("-----BEGIN PRIVATE KEY-----\n", 50_000)
	d := diffOf(t, files{}, files{"large.pem.txt": key, "id.p12": "\x00", "image": "\x00"}, options)
	if text := d.Text(); d.Applies || strings.Count(text, "GIT binary patch") != 1 || strings.Count(text, "it looks like a secret") != 2 {
		t.Errorf("%+v\n%s", d, text)
	}
	m := newMemory()
	from, to := m.take(files{}), m.take(files{"lost": "\x00"})
	clear(m.contents)
	d, err := compare.New(m, redactor).Diff(context.Background(), from, to, options)
	if err != nil || d.Applies || len(d.Files) != 1 || d.Files[0].Content != compare.Unread {
		t.Errorf("%+v %v", d, err)
	}
}
