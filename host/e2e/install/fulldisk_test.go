//go:build unix

package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestCommandsOnAFullDiskHaveMomentsLater: the disk with the recording and the timeline is full for a while. The commands that end
// meanwhile are in the recording and in the timeline once there is room again, each once and in their order.
func TestCommandsOnAFullDiskHaveMomentsLater(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	e2etest.NeedBrowser(t)
	disk := disktest.Small(t, "24m")
	t.Setenv("TMPDIR", disk)
	w, err := testbed.New(e2etest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	dir, err := os.MkdirTemp("/tmp", "full")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if r := w.RunIn(dir, "project", "allow", "--grant", "workspace,terminal", dir); r.Code != 0 {
		t.Fatal(r.Err)
	}
	cmd := w.Command("record", "--", bash, "-i")
	cmd.Dir = dir
	shell, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	n := 0
	command := func() string { // returns when the command has run
		t.Helper()
		n++
		text := fmt.Sprintf("touch c%d", n)
		if _, err := io.WriteString(shell, text+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			_, err := os.Stat(filepath.Join(dir, fmt.Sprint("c", n)))
			return err == nil, nil
		}); err != nil {
			t.Fatal(text, err)
		}
		return text
	}
	type moment struct{ Label, Source, Notes string }
	var list []moment
	listed := func() []string {
		r := w.RunIn(dir, "timeline", "list", "--json", "--kind", "terminal")
		var a struct{ Moments []moment }
		_ = json.Unmarshal([]byte(r.Out), &a) // a full disk may prevent the answer
		list = a.Moments
		var labels []string
		for _, m := range list {
			labels = append(labels, m.Label)
		}
		return labels
	}
	want := []string{command()}
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return slices.Equal(listed(), want), nil }); err != nil {
		t.Fatal(err, list)
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 32<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for range 6 {
		want = append(want, command())
	}
	t.Logf("while the disk is full, the timeline has %q", listed())
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	want = append(want, command())
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return slices.Equal(listed(), want), nil }); err != nil {
		t.Errorf("%v: %+v\nwant %q", err, list, want)
	}
	t.Logf("%+v", list)
	if _, err := io.WriteString(shell, "exit\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r := w.RunIn(dir, "timeline", "export", "--cast", "v3")
	for _, text := range want {
		if c := len(regexp.MustCompile(`"m", "(m[0-9]+ )?`+text+`"\]`).FindAllString(r.Out, -1)); c != 1 {
			t.Errorf("%q is a marker of the recording %d times", text, c)
		}
	}
	t.Log(said.String())
}
