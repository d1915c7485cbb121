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
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/removal"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/testbed"
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
	// One that comes back says that another one has got its ports.
	var removed branches.Removed
	w.json(&removed, "branch", "rm", "way-1")
	w.branch("third", "run: true")
	w.ended()
	if out := w.run("timeline", "undo", removed.Operation, "--yes"); !strings.Contains(out, "remove branch way-1. The port offset of branch way-1 is now 300, because another branch has 100.") {
		t.Errorf("the undo says %q", out)
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
	operation := c.Operation
	for _, want := range []string{"* main", "* main\n  other-way", "* main"} { // the last undos undo the undo before
		var undone answers.Restored
		w.json(&undone, "timeline", "undo", operation, "--yes")
		if got := w.git("branch"); got != want {
			t.Errorf("the branches of Git are %q, want %q", got, want)
		}
		operation = undone.Operation
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
// it writes. On ext4, which shares no extents, they are mounted, and the disk has Tidemark's home too.
func TestEightBranchesAtOnce(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			var disk string
			big := 1 << 20
			if kind == "ext4" {
				if err := overlay.Refused(); err != nil {
					t.Skip("no branch can be mounted: ", err)
				}
				disk = disktest.Seconds(t)
				t.Setenv("TMPDIR", disk)
				big *= 5 // a mount takes less time than a copy
			} else {
				disk = disktest.Sharing(t, kind)
			}
			w := newWorldIn(t, filepath.Join(disk, "shop"), "")
			w.edited("toolu_1")
			for i := range 1000 {
				dir := filepath.Join(w.project, "node_modules", fmt.Sprint(i%20))
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(dir, fmt.Sprintf("%d.js", i)), strings.Repeat(fmt.Sprint(i), 2000))
			}
			w.write("big.bin", strings.Repeat("0123456789abcdef", big))
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
			for _, b := range list { // mounts outlive the daemon
				w.run("branch", "rm", b.Name)
			}
			w.run("stop")
			if err := removal.All(filepath.Join(w.Home, "workspaces")); err != nil {
				t.Error(err)
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

// TestAKillDuringTheLaunchLeavesAWholeBranch: the agent kills the daemon that starts it.
func TestAKillDuringTheLaunchLeavesAWholeBranch(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	before, pid := fmt.Sprint(treetest.Read(t, w.project)), w.pid()
	w.try("timeline", "session-branch", "--moment", "now", "--name", "other-way", "--message", "run: kill -9 $PPID; echo ran > ran.txt") // it may have been answered
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		ran, err := filepath.Glob(filepath.Join(w.Home, "branches", "*", "other-way", "ran.txt"))
		return len(ran) == 1, err
	}); err != nil {
		t.Fatal(err)
	}
	if now := w.pid(); now == pid {
		t.Errorf("the daemon is still process %d", pid)
	}
	w.ended()
	list := w.list()
	if len(list) != 1 || list[0].Problem != "" || list[0].Agent == nil {
		t.Fatalf("the branches are %+v", list)
	}
	b := list[0]
	for path, want := range map[string]string{"ran.txt": "ran\n", "cart.js": "one\ntwo\nthree\nfour\nfive\n", ".env": "KEY=1\n"} {
		w.has(filepath.Join(b.Workspace, path), want)
	}
	if log := w.run("timeline", "op", "log"); !strings.Contains(log, "done") || strings.Contains(log, "begun") {
		t.Errorf("the log is %s", log)
	}
	if after := fmt.Sprint(treetest.Read(t, w.project)); after != before {
		t.Errorf("the original is %s, before %s", after, before)
	}
	was := fmt.Sprint(treetest.Read(t, b.Workspace))
	w.run("branch", "rm", "other-way")
	w.run("timeline", "undo", "--yes")
	if is := fmt.Sprint(treetest.Read(t, b.Workspace)); is != was {
		t.Errorf("the branch is %s, before %s", is, was)
	}
}
