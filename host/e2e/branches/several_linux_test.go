package branches

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

func TestSeveralWaysFromOneMoment(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	var list []answers.Branched
	w.json(&list, "timeline", "session-branch", "--moment", "now", "--name", "way", "--try", "run: echo map > cart.js", "--try", "run: echo list > cart.js")
	w.ended()
	if len(list) != 2 || list[0].Name != "way-1" || list[1].Name != "way-2" || list[0].Agent.Ports == list[1].Agent.Ports {
		t.Fatalf("the branches are %+v", list)
	}
	w.has(filepath.Join(list[0].Workspace, "cart.js"), "map\n")
	w.has(filepath.Join(list[1].Workspace, "cart.js"), "list\n")
	var c branches.Comparison
	w.json(&c, "branch", "compare", "way-1", "way-2")
	if !slices.Contains(c.Different, "cart.js") || c.A.Name != "way-1" || c.B.Name != "way-2" {
		t.Errorf("the comparison is %+v", c)
	}
	if r := w.try("timeline", "session-branch", "--moment", "now", "--name", "x", "--try", "a", "--message", "b"); r.Code != 2 {
		t.Errorf("--try with --message: %+v", r)
	}
}

// All that is done with branches can be undone by the log, and a branch that was removed comes back as it was.
func TestWhatIsDoneWithBranchesIsUndone(t *testing.T) {
	w := newWorld(t, "")
	w.git("config", "user.name", "Test")
	w.git("config", "user.email", "test@example.com")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "new.js"), "new\n")
	var c branches.Committed
	w.json(&c, "branch", "commit", "other-way")
	w.run("timeline", "undo", c.Operation, "--yes")
	if got := w.git("branch"); got != "* main" {
		t.Errorf("the branches of Git are %q", got)
	}
	w.json(&c, "branch", "commit", "other-way")
	w.git("update-ref", "refs/heads/other-way", w.git("commit-tree", "-p", "other-way", "-m", "more", "other-way^{tree}"))
	if r := w.try("timeline", "undo", c.Operation, "--yes"); r.Code == 0 || !strings.Contains(r.Err, "was not deleted") {
		t.Errorf("a branch of Git with other commits: %+v", r)
	}

	// A branch of a branch, and what is removed comes back.
	r := w.RunIn(b.Workspace, "timeline", "session-branch", "--moment", "now", "--name", "inner")
	if r.Code != 0 {
		t.Fatal(r.Err)
	}
	inner := w.list()[0]
	w.has(filepath.Join(inner.Workspace, "new.js"), "new\n")
	before := fmt.Sprint(treetest.Read(t, b.Workspace))
	var removed branches.Removed
	w.json(&removed, "branch", "rm", "other-way")
	w.has(filepath.Join(inner.Workspace, "new.js"), "new\n")
	w.run("stop")
	w.run("timeline", "undo", removed.Operation, "--yes")
	if after := fmt.Sprint(treetest.Read(t, b.Workspace)); after != before {
		t.Errorf("the branch is %s\nbefore it was removed: %s", after, before)
	}
	names := ""
	for _, one := range w.list() {
		names += one.Name + " "
	}
	if names != "inner other-way " {
		t.Errorf("the branches are %q", names)
	}
	w.run("branch", "rm", "other-way")
	if log := w.run("timeline", "op", "log"); !strings.Contains(log, "branch other-way") || strings.Contains(log, "interrupted") {
		t.Errorf("the log is %s", log)
	}
}

// maxShared is what a branch may take beside what is written in it, in bytes.
const maxShared = 2 << 20

// Eight branches at once, each with an agent and a server of its own: none sees another one, and each takes the room of what
// it writes.
func TestEightBranchesAtOnce(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			disk := disktest.Sharing(t, kind)
			w := newWorldIn(t, filepath.Join(disk, "shop"), "")
			w.edited("toolu_1")
			for i := range 1000 {
				dir := filepath.Join(w.project, "node_modules", fmt.Sprint(i%20))
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(dir, fmt.Sprintf("%d.js", i)), strings.Repeat(fmt.Sprint(i), 2000))
			}
			w.write("big.bin", strings.Repeat("0123456789abcdef", 1<<20))
			moment := w.run("timeline", "moment", "add", "--label", "all is there", "--json")
			if !strings.Contains(moment, `"fsSnapshot":"s`) {
				t.Fatal(moment)
			}
			before := fmt.Sprint(treetest.Read(t, w.project))
			used := usedOf(t, disk)
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					name := fmt.Sprintf("way-%d", n)
					message := fmt.Sprintf("run: echo %s > own.txt; head -c 1000000 /dev/urandom > own.bin; sed -i s/one/%s/ cart.js", name, name)
					if r := w.try("timeline", "session-branch", "--moment", "now", "--name", name, "--message", message); r.Code != 0 {
						t.Errorf("%s: %s", name, r.Err)
					}
				})
			}
			all.Wait()
			w.ended()
			list := w.list()
			if len(list) != 8 {
				t.Fatalf("there are %d branches", len(list))
			}
			each := (usedOf(t, disk) - used) / 8
			t.Logf("a branch takes %d KiB beside the 1,000 KB that its agent writes", (each-1_000_000)/1024)
			if each > 1_000_000+maxShared {
				t.Errorf("a branch takes %d bytes", each)
			}
			ports := map[int]bool{}
			for _, b := range list {
				ports[b.Agent.Ports] = true
				server := httptest.NewServer(http.FileServer(http.Dir(b.Workspace)))
				for path, want := range map[string]string{"own.txt": b.Name + "\n", "cart.js": b.Name + "\ntwo\nthree\nfour\nfive\n", "env.txt": fmt.Sprintf("TIDEMARK_BRANCH=%s\nTIDEMARK_PORT_OFFSET=%d\n", b.Name, b.Agent.Ports)} {
					if got := get(t, server.URL+"/"+path); got != want {
						t.Errorf("%s of %s is %q", path, b.Name, got)
					}
				}
				server.Close()
				var c branches.Comparison
				w.json(&c, "branch", "compare", b.Name)
				if fmt.Sprint(c.A.Files) != "[arguments.txt cart.js env.txt own.bin own.txt]" || len(c.B.Files) != 0 {
					t.Errorf("%s changed %q, the original %q", b.Name, c.A.Files, c.B.Files)
				}
			}
			if len(ports) != 8 {
				t.Errorf("the ports are %v", ports)
			}
			if after := fmt.Sprint(treetest.Read(t, w.project)); after != before {
				t.Error("the original has changed")
			}
		})
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url) //nolint:gosec,noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// usedOf returns how many bytes of a filesystem are used, with everything on disk.
func usedOf(t *testing.T, dir string) int64 {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var s unix.Statfs_t
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		t.Fatal(err)
	}
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize
}
