package providertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// attempts are the ways to change something in a directory that has a file "file" and a directory "dir" with a file. Each
// returns nil where it was allowed.
func attempts(dir string) map[string]error {
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	open := func(path string, flags int) error {
		f, err := os.OpenFile(path, flags, 0o600)
		if err == nil {
			_ = f.Close()
		}
		return err
	}
	return map[string]error{
		"write":          open(at("file"), os.O_WRONLY),
		"append":         open(at("dir", "file"), os.O_WRONLY|os.O_APPEND),
		"truncate":       os.Truncate(at("file"), 0),
		"create":         open(at("new"), os.O_WRONLY|os.O_CREATE),
		"create below":   open(at("dir", "new"), os.O_WRONLY|os.O_CREATE),
		"make directory": os.Mkdir(at("newdir"), 0o755),
		"link":           os.Link(at("file"), at("dir", "link")),
		"symbolic link":  os.Symlink("file", at("symlink")),
		"rename":         os.Rename(at("file"), at("renamed")),
		"remove":         os.Remove(at("dir", "file")),
		"remove all":     os.RemoveAll(at("dir")),
		"replace":        os.Rename(at("dir", "file"), at("file")),
	}
}

func (w *world) smallTree() []string {
	w.Helper()
	w.write("file", "file")
	w.write("dir/file", "file in dir")
	return treetest.Read(w, w.workspace)
}

// readOnly: a user cannot change anything in a view.
func readOnly(t *testing.T, s Suite) {
	if s.NeedsRoot != "" {
		t.Skip(s.NeedsRoot + " needs root; RootInViews tests it")
	}
	if asUser(t) {
		return
	}
	w := s.world(t)
	want := w.smallTree()
	view := w.view(w.take(), "view")
	before := treetest.ReadWhole(t, view)
	for what, err := range attempts(view) {
		if !errors.Is(err, fs.ErrPermission) && !strings.Contains(fmt.Sprint(err), "read-only") {
			t.Errorf("%s in a view: %v", what, err)
		}
	}
	w.same("the view", treetest.ReadWhole(t, view), before)
	w.same("the view", withoutModes(before[1:]), withoutModes(want[1:]))
	w.release(view)
}

// rootInViews: root cannot change anything either, or the suite says why it can. What it changes reaches neither the
// snapshot nor the workspace.
func rootInViews(t *testing.T, s Suite) {
	if os.Geteuid() != 0 {
		t.Skip("this is about root")
	}
	w := s.world(t)
	want := w.smallTree()
	n := w.take()
	view := w.view(n, "view")
	for what, err := range attempts(view) {
		if err != nil && s.RootWrites != "" || err == nil && s.RootWrites == "" {
			t.Logf("%s in a view, as root: %v", what, err)
			if s.RootWrites == "" {
				t.Fail()
			}
		}
	}
	if s.RootWrites != "" {
		t.Logf("root can write in views: %s", s.RootWrites)
	}
	w.release(view)
	w.same("the workspace", treetest.Read(t, w.workspace), want)
	w.is(n, want)
}

// isolated: what is written in a clone is only there.
func isolated(t *testing.T, s Suite) {
	w := s.world(t)
	w.must(os.WriteFile(w.path("shared"), []byte(strings.Repeat("shared ", 30_000)), 0o600), os.Link(w.path("shared"), w.path("hard link")))
	want := w.smallTree()
	n := w.take()
	one, two := w.clone(n, "one"), w.clone(n, "two")
	view := w.view(n, "view")
	for what, err := range attempts(one) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // what an earlier one has removed
			t.Errorf("%s in a clone: %v", what, err)
		}
	}
	f, err := os.OpenFile(filepath.Join(one, "shared"), os.O_WRONLY, 0)
	w.must(err)
	_, err = f.WriteString("changed")
	w.must(err, f.Close())
	if content, err := os.ReadFile(filepath.Join(one, "hard link")); err != nil || !strings.HasPrefix(string(content), "changed") {
		t.Errorf("the hard link in the clone has %.10q, %v", content, err)
	}
	w.same("the workspace", treetest.Read(t, w.workspace), want)
	w.same("the other clone", treetest.Read(t, two), want)
	w.same("the view", withoutModes(treetest.Read(t, view)), withoutModes(want))
	w.write("shared", "by the workspace")
	w.same("the other clone", treetest.Read(t, two), want)
	w.is(n, want)
	w.reopen()
	w.same("the clone after reopening", treetest.Read(t, two), want)
	for _, dir := range []string{one, two, view} {
		w.release(dir)
	}
}

// restless: a snapshot ends, names the file or has a state of it, and has everything else.
func restless(t *testing.T, s Suite) {
	w := s.world(t)
	w.write("other", "other")
	w.write("log", "")
	stop, stopped := make(chan struct{}), make(chan int)
	began := make(chan struct{})
	go func() {
		f, err := os.OpenFile(w.path("log"), os.O_WRONLY|os.O_APPEND, 0)
		i := 0
		for ; err == nil; i++ {
			if _, err = fmt.Fprintln(f, i); i == 0 {
				close(began)
			}
			select {
			case <-stop:
				err = f.Close()
				if err == nil {
					err = fs.ErrClosed
				}
			default:
			}
		}
		stopped <- i
	}()
	<-began
	for range 3 {
		snapshot, _, err := w.Snapshot(context.Background(), "busy")
		w.must(err)
		dir := w.clone(snapshot.Number, "clone")
		content, err := os.ReadFile(filepath.Join(dir, "log"))
		w.must(err)
		named := slices.ContainsFunc(snapshot.Problems, func(p string) bool { return strings.HasPrefix(p, "log: ") })
		if !named {
			for i, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
				if line != strconv.Itoa(i) && (i > 0 || line != "") {
					t.Fatalf("line %d is %q, and the snapshot names no problem", i, line)
				}
			}
		}
		if other, err := os.ReadFile(filepath.Join(dir, "other")); string(other) != "other" {
			t.Fatalf("%q, %v", other, err)
		}
		w.release(dir)
	}
	close(stop)
	if lines := <-stopped; lines == 0 {
		t.Fatal("nothing was written")
	}
	w.is(w.take(), treetest.Read(t, w.workspace))
}

// denied: what a user cannot read is named, and everything else is there.
func denied(t *testing.T, s Suite) {
	if s.NeedsRoot != "" {
		t.Skip(s.NeedsRoot + " needs root, which reads everything")
	}
	if asUser(t) {
		return
	}
	w := s.world(t)
	w.smallTree()
	w.write("secret/file", "x")
	w.write("closed", "x")
	w.write("was/open", "x")
	w.write("was/dir/open", "x")
	w.must(os.Chmod(w.path("closed"), 0), os.Chmod(w.path("secret"), 0))
	check := func(want ...string) uint64 {
		t.Helper()
		snapshot, _, err := w.Snapshot(context.Background(), "")
		w.must(err)
		for _, name := range want {
			if !slices.ContainsFunc(snapshot.Problems, func(p string) bool {
				return strings.HasPrefix(p, name+": ") && strings.Contains(p, "permission denied")
			}) {
				t.Errorf("%s is not among the problems %q", name, snapshot.Problems)
			}
		}
		if len(snapshot.Problems) != len(want) {
			t.Errorf("%q instead of %q", snapshot.Problems, want)
		}
		dir := w.view(snapshot.Number, "view")
		if content, err := os.ReadFile(filepath.Join(dir, "dir", "file")); string(content) != "file in dir" {
			t.Errorf("%q, %v", content, err)
		}
		w.release(dir)
		return snapshot.Number
	}
	check("closed", "secret")
	w.must(os.Chmod(w.path("was"), 0))
	check("closed", "secret", "was")
	check("closed", "secret", "was") // it is still a problem if nothing changed
	w.reopen()
	check("closed", "secret", "was")
	w.must(os.Chmod(w.path("was"), 0o755), os.Chmod(w.path("secret"), 0o755), os.Chmod(w.path("closed"), 0o644)) //nolint:gosec // a test's file
	w.is(check(), treetest.Read(t, w.workspace))
}

// full: a full disk is an error that changes nothing.
func full(t *testing.T, s Suite) {
	if !s.OwnStore {
		t.Skip("the snapshots are on the filesystem of the workspace")
	}
	small := disktest.Small(t, "12m")
	w := s.world(t)
	w.must(w.Close())
	w.store = filepath.Join(small, "store")
	w.open()
	t.Cleanup(func() { _ = w.Close() })
	w.write("file", "content")
	first, want := w.take(), treetest.Read(t, w.workspace)
	w.write("large", incompressible(20<<20))
	for range 2 {
		if _, _, err := w.Snapshot(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatal(err)
		}
	}
	if got := w.numbers(); !slices.Equal(got, []uint64{first}) {
		t.Fatal(got)
	}
	w.is(first, want)
	w.clean()
	w.must(os.Remove(w.path("large")))
	w.write("file", "another content")
	w.must(w.Delete(context.Background())) // what the failed ones have stored
	second, now := w.take(), treetest.Read(t, w.workspace)
	w.reopen()
	w.is(first, want)
	w.is(second, now)

	w.write("large", incompressible(8<<20))
	third := w.take()
	dir := filepath.Join(small, "clone")
	if s.Anywhere {
		w.must(w.Clone(context.Background(), third, dir))
		w.release(dir)
		w.clean()
		return
	}
	if err := w.Clone(context.Background(), third, dir); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Fatal("half a clone is there")
	}
	w.clean()
}

// victim takes and deletes snapshots.
func (s Suite) victim(v killtest.Process, dir string) {
	w := &world{Fataler: v, suite: s, dir: dir, workspace: filepath.Join(dir, "workspace"), store: filepath.Join(dir, "store"), now: time.Now}
	w.open()
	for {
		content := strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // a test's edits
		w.write("small", content)
		w.write("large", strings.Repeat(content, rand.IntN(50_000))) //nolint:gosec // a test's edits
		v.Say("take")
		n := w.take()
		v.Say("taken", n, content)
		v.Say("checkout")
		w.release(w.clone(n, "out"))
		w.release(w.view(n, "out"))
		if all := w.numbers(); rand.IntN(3) == 0 { //nolint:gosec // how often
			n := all[rand.IntN(len(all))] //nolint:gosec // which one
			v.Say("delete", n)
			w.must(w.Delete(context.Background(), n))
			v.Say("deleted", n)
		}
	}
}

// killed: a process that is killed at any moment loses no snapshot that it returned, but those that it was deleting.
func killed(t *testing.T, s Suite) {
	killtest.Victim(s.victim)
	w := s.world(t)
	w.must(w.Close())
	returned, doomed := map[uint64]string{}, uint64(0)
	hunt := killtest.Hunt{
		Dir: w.dir, Steps: []string{"take", "checkout", "delete"}, Short: 1, Usual: 3,
		Said: func(step, rest string) {
			number, content, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseUint(number, 10, 64)
			switch step {
			case "taken":
				returned[n] = content
			case "delete":
				doomed = n
			case "deleted":
				delete(returned, n)
				doomed = 0
			default:
				err = nil
			}
			w.must(err)
		},
		Survived: func(string) {
			w.survived(returned, doomed)
			doomed = 0
		},
	}
	hunt.Run(t)
	w.open()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// survived checks that what was returned is there, but for a snapshot that was being deleted.
func (w *world) survived(returned map[uint64]string, doomed uint64) {
	w.Helper()
	w.open()
	list, err := w.List(context.Background())
	w.must(err)
	if w.suite.Left != nil {
		w.must(w.suite.Left(w.store, list))
	}
	if out := filepath.Join(w.dir, "out"); exists(out) {
		w.release(out)
	}
	there := w.numbers()
	for n, content := range returned {
		if !slices.Contains(there, n) {
			if n == doomed {
				delete(returned, n)
				continue
			}
			w.Fatalf("s%d, which was returned, is not among %v", n, there)
		}
		if rand.IntN(len(returned)) > 8 { //nolint:gosec // some of them will do
			continue
		}
		dir := w.clone(n, "clone")
		small, _ := os.ReadFile(filepath.Join(dir, "small"))
		large, _ := os.ReadFile(filepath.Join(dir, "large"))
		if string(small) != content || strings.ReplaceAll(string(large), content, "") != "" {
			w.Fatalf("s%d has %q instead of %q", n, small, content)
		}
		w.release(dir)
	}
	damages, err := w.Check(context.Background())
	w.must(err)
	for _, damage := range damages {
		if !strings.Contains(damage, "was not whole") { // the end that was being written
			w.Fatal(damage)
		}
	}
	w.must(w.Close())
}
