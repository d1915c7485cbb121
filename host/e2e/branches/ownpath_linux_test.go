package branches

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command runs in a branch as if it were the project: under its path. The project stays, and the branch is in use meanwhile.
func TestACommandRunsInABranchUnderThePathOfTheOriginal(t *testing.T) {
	w := newWorld(t, "")
	const mounted = 2100 // files from which on a branch is mounted
	if err := os.Mkdir(filepath.Join(w.project, "many"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range mounted {
		w.write(fmt.Sprintf("many/%d.txt", i), "")
	}
	w.run("session", "start")
	w.edited("toolu_1")
	b := w.branch("other-way", "")
	t.Cleanup(func() { w.try("branch", "rm", "other-way", "--force") }) // it is mounted
	w.write("cart.js", "of the original\n")
	r := w.try("branch", "run", "other-way", "--", "sh", "-c", `pwd; head -1 cart.js; echo $TIDEMARK_BRANCH; echo made > "$PWD/made.txt"; exit 3`)
	if want := w.project + "\none\nother-way\n"; r.Code != 3 || r.Out != want {
		t.Errorf("%+v, want %q", r, want)
	}
	w.has(filepath.Join(b.Workspace, "made.txt"), "made\n")
	if _, err := os.Stat(filepath.Join(w.project, "made.txt")); err == nil {
		t.Error("it wrote into the original")
	}
	if r := w.try("branch", "run", "other-way", "make"); r.Code != 2 {
		t.Errorf("without --: %+v", r)
	}
	cmd := w.Command("branch", "run", "other-way", "--", "sh", "-c", "echo runs; read line; cat cart.js")
	cmd.Dir = w.project
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "runs" {
		t.Fatal(lines.Text(), lines.Err())
	}
	if r := w.try("branch", "rm", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "programs run in it") {
		t.Errorf("it is removed while a command runs: %+v", r)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "one" {
		t.Error(lines.Text(), lines.Err())
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	w.run("branch", "rm", "other-way")
	w.has(filepath.Join(w.project, "cart.js"), "of the original\n")
}
