package tracked_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// victimEnv names the directory in which a process of this test works until it is killed.
const victimEnv = "TIDEMARK_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

// state is what the workspace of a victim contains: a small file that names it, a large one, and one in a directory that
// comes and goes.
func writeState(workspace, name string, large int) error {
	sub := filepath.Join(workspace, "dir")
	if len(name)%2 == 0 {
		return errors.Join(os.WriteFile(filepath.Join(workspace, "small"), []byte(name), 0o600),
			os.WriteFile(filepath.Join(workspace, "large"), []byte(strings.Repeat(name, large)), 0o600), os.RemoveAll(sub))
	}
	return errors.Join(os.WriteFile(filepath.Join(workspace, "small"), []byte(name), 0o600), os.WriteFile(filepath.Join(workspace, "large"), []byte(strings.Repeat(name, large)), 0o600),
		os.MkdirAll(sub, 0o755), os.WriteFile(filepath.Join(sub, "file"), []byte(name), 0o600))
}

// isState returns the name of the state that a directory has.
func isState(dir string) (string, error) {
	small, err := os.ReadFile(filepath.Join(dir, "small"))
	if err != nil {
		return "", err
	}
	name := string(small)
	large, err := os.ReadFile(filepath.Join(dir, "large"))
	if err != nil {
		return "", err
	}
	if strings.ReplaceAll(string(large), name, "") != "" {
		return "", fmt.Errorf("its large file is not one of %s", name)
	}
	file, err := os.ReadFile(filepath.Join(dir, "dir", "file"))
	switch {
	case len(name)%2 == 0 && errors.Is(err, os.ErrNotExist):
		return name, nil
	case err != nil || string(file) != name || len(name)%2 == 0:
		return "", fmt.Errorf("its other file is %q instead of %q, %w", file, name, err)
	}
	return name, nil
}

// victim takes snapshots, deletes and prunes them, and restores them, at random. It prints each step when it begins, and
// each snapshot with its state when it was returned.
func victim(dir string) {
	workspace := filepath.Join(dir, "workspace")
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
	if err == nil {
		_, err = restore.Recover(context.Background(), p)
	}
	if err != nil {
		fail(err)
	}
	ctx := context.Background()
	say := func(words ...any) { _, _ = fmt.Fprintln(os.Stdout, words...) }
	for {
		list := p.List()
		some := func() []uint64 {
			var numbers []uint64
			for _, s := range list {
				if rand.IntN(3) == 0 { //nolint:gosec // which ones
					numbers = append(numbers, s.Number)
				}
			}
			return numbers
		}
		step := rand.IntN(8) //nolint:gosec // what to do
		if len(list) == 0 {
			step = 0
		}
		switch step {
		case 5, 6:
			numbers := some()
			say("delete", strings.Trim(fmt.Sprint(numbers), "[]"))
			if step == 5 {
				err = p.Delete(numbers...)
			} else {
				_, err = p.Prune(ctx, numbers...)
			}
		case 7:
			say("restore")
			var plan *restore.Plan
			if plan, err = restore.Prepare(ctx, p, list[rand.IntN(len(list))].Number, nil); err == nil { //nolint:gosec // which one
				_, err = plan.Apply(ctx)
			}
		default:
			name := strings.Repeat("x", rand.IntN(2)) + strconv.FormatUint(rand.Uint64N(1<<40), 36) //nolint:gosec // a test's edits
			if err = writeState(workspace, name, rand.IntN(100_000)); err != nil {                  //nolint:gosec // a test's edits
				break
			}
			say("take")
			var s *tracked.Snapshot
			if s, _, err = p.Take(ctx, name); err == nil {
				say("taken", s.Number, name)
			}
		}
		if err != nil {
			fail(err)
		}
		say("next")
	}
}

func fail(err error) {
	_, _ = fmt.Fprintln(os.Stdout, "failed", err)
	os.Exit(1)
}

// kills is how often a process is killed; TIDEMARK_KILLS says otherwise.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_KILLS")); err == nil {
		return n
	}
	if testing.Short() {
		return 3
	}
	return 20
}

// TestAKilledProcessLosesNothingThatItReturned, whatever it was doing: no snapshot that was not to be deleted, and nothing
// of the workspace.
func TestAKilledProcessLosesNothingThatItReturned(t *testing.T) {
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	returned := map[uint64]string{}
	at := map[string]int{}
	for range kills() {
		doomed := map[uint64]bool{}
		step := ""
		run(t, dir, func(word, rest string) {
			switch word {
			case "failed":
				t.Fatal(rest)
			case "taken":
				number, name, _ := strings.Cut(rest, " ")
				n, err := strconv.ParseUint(number, 10, 64)
				if err != nil {
					t.Fatal(rest)
				}
				returned[n] = name
			case "delete":
				for _, number := range strings.Fields(rest) {
					n, err := strconv.ParseUint(number, 10, 64)
					if err != nil {
						t.Fatal(rest)
					}
					doomed[n] = true
				}
			case "next":
				maps.DeleteFunc(returned, func(n uint64, _ string) bool { return doomed[n] })
				word = ""
			}
			step = word
		})
		at[step]++
		survived(t, dir, returned, doomed)
	}
	t.Logf("killed while %v", at)
	if len(returned) == 0 && kills() > 3 {
		t.Fatal("no snapshot was returned")
	}
}

// run runs a victim, calls said with what it says, and kills it at a random moment.
func run(t *testing.T, dir string, said func(word, rest string)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), victimEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	kill := func() { _ = cmd.Process.Kill() }
	timer := time.AfterFunc(time.Minute, kill)
	defer timer.Stop()
	after := rand.IntN(30) //nolint:gosec // how many steps to wait
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		said(word, rest)
		if n == after {
			time.AfterFunc(time.Duration(rand.IntN(15_000))*time.Microsecond, kill) //nolint:gosec // at any moment of the next steps
		}
	}
}

// survived checks that every returned snapshot is there, and whole, and that the store is clean. What was to be deleted
// when the process was killed may be there or not.
func survived(t *testing.T, dir string, returned map[uint64]string, doomed map[uint64]bool) {
	t.Helper()
	p := openProvider(t, filepath.Join(dir, "workspace"), filepath.Join(dir, "store"), nil)
	defer func() {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	if r, err := restore.Recover(context.Background(), p); err != nil || r != nil && (len(r.Differs) > 0 || r.Kept != "") {
		t.Fatalf("%+v, %v", r, err)
	}
	there := map[uint64]bool{}
	list := p.List()
	for _, s := range list {
		there[s.Number] = true
	}
	for n, name := range returned {
		if doomed[n] && !there[n] {
			delete(returned, n)
			continue
		}
		if !there[n] {
			t.Fatalf("s%d, which was returned as %q, is not there; s%v are", n, name, slices.Sorted(maps.Keys(there)))
		}
	}
	for i, s := range list {
		if name := returned[s.Number]; len(list) > 6 && i > 2 && i < len(list)-3 || name == "" {
			continue // some of them will do
		}
		out := filepath.Join(dir, "out")
		if err := p.Checkout(context.Background(), s.Number, out, false); err != nil {
			t.Fatal(err)
		}
		if name, err := isState(out); err != nil || name != returned[s.Number] {
			t.Fatalf("s%d is %q instead of %q, %v", s.Number, name, returned[s.Number], err)
		}
		if err := tracked.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	for _, damage := range p.Check() {
		if !strings.Contains(damage, "was not whole") { // the end that was being written, which was not returned
			t.Fatal(damage)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if !slices.Contains([]string{"objects", "history", "history.cut"}, f.Name()) {
			t.Fatalf("%s was left in the store", f.Name())
		}
	}
	if len(list) > 0 && rand.IntN(4) == 0 { //nolint:gosec // how often
		var numbers []uint64
		for _, s := range list[:len(list)*3/4] {
			numbers = append(numbers, s.Number)
			delete(returned, s.Number)
		}
		if _, err := p.Prune(context.Background(), numbers...); err != nil {
			t.Fatal(err)
		}
	}
}
