package tracked_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// victimEnv names the directory in which a process of this test takes snapshots until it is killed.
const victimEnv = "TIDEMARK_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

// victim edits and takes snapshots, and prints the number of each with the content that it has.
func victim(dir string) {
	workspace := filepath.Join(dir, "workspace")
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
	if err != nil {
		fail(err)
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) //nolint:gosec // a test's edits
	for {
		content := strconv.FormatUint(random.Uint64(), 36)
		large := strings.Repeat(content, random.IntN(200_000))
		if err := errors.Join(os.WriteFile(filepath.Join(workspace, "small"), []byte(content), 0o600), os.WriteFile(filepath.Join(workspace, "large"), []byte(large), 0o600)); err != nil {
			fail(err)
		}
		s, _, err := p.Take(context.Background(), content)
		if err != nil {
			fail(err)
		}
		_, _ = fmt.Fprintln(os.Stdout, s.Number, content)
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
		return 2
	}
	return 10
}

// TestAKilledProcessLosesNoSnapshotThatItReturned, whenever it is killed.
func TestAKilledProcessLosesNoSnapshotThatItReturned(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	returned := map[uint64]string{}
	for range kills() {
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
		cmd.Env = append(os.Environ(), victimEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		after := 1 + rand.IntN(8) //nolint:gosec // when to kill
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		for n := 0; lines.Scan(); n++ {
			number, content, _ := strings.Cut(lines.Text(), " ")
			i, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				t.Fatal(lines.Text())
			}
			returned[i] = content
			if n == after {
				delay := time.Duration(rand.IntN(20_000)) * time.Microsecond //nolint:gosec // at any moment of the next one
				time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait()
		timer.Stop()

		p := openProvider(t, filepath.Join(dir, "workspace"), filepath.Join(dir, "store"), nil)
		there := map[uint64]string{}
		for _, s := range p.List() {
			there[s.Number] = s.Label
		}
		for n, content := range returned {
			if there[n] != content {
				t.Fatalf("s%d is %q, it was returned as %q", n, there[n], content)
			}
		}
		for n, content := range there {
			if n+3 < uint64(len(there)) {
				continue
			}
			out := filepath.Join(dir, "out")
			if err := p.Checkout(context.Background(), n, out, false); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(out, "small")); string(got) != content {
				t.Fatalf("s%d has %q instead of %q, %v", n, got, content, err)
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
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(returned) == 0 {
		t.Fatal("no snapshot was returned")
	}
}
