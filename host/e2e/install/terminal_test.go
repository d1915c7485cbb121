//go:build unix

package install

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestARecordedShellHasMilestones: a server that it starts behind itself, once it answers, and tests. An address at which nothing
// answers is none.
func TestARecordedShellHasMilestones(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	w, _ := alone(t)
	dir := t.TempDir()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	ended := httptest.NewServer(http.NotFoundHandler())
	ended.Close()
	for name, url := range map[string]string{"vite": server.URL, "parcel": ended.URL} {
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "#!/bin/sh\nsleep 0.1\necho \"Local: %s/\"\n", url), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	if r := w.RunIn(dir, "project", "allow", "--grant", "workspace,terminal", dir); r.Code != 0 {
		t.Fatal(r.Err)
	}
	cmd := w.Command("record", "--", bash)
	cmd.Dir = dir
	shell, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = shell.Write([]byte("exit\n"))
		_ = shell.Close()
		_ = cmd.Wait()
	}()
	if err := os.WriteFile(filepath.Join(dir, "jest"), []byte("#!/bin/sh\nexit $1\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if _, err := shell.Write([]byte("mkdir 'a b'\ncd 'a b'\ntrue in there\ncd ..\n./jest 0\n./jest 1\n./jest 1 | cat\n./parcel &\nwait\n./vite &\n")); err != nil {
		t.Fatal(err)
	}
	type moment struct {
		Label, Source string
		Terminal      struct{ Cwd string }
	}
	var (
		reached []string
		list    struct{ Moments []moment }
	)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		r := w.RunIn(dir, "timeline", "list", "--json")
		if r.Code != 0 {
			return false, nil // there is no session yet
		}
		err := json.Unmarshal([]byte(r.Out), &list)
		return slices.ContainsFunc(list.Moments, func(m moment) bool { return m.Source == "server_ready" }), err
	}); err != nil {
		t.Fatalf("%v: %+v", err, list)
	}
	for _, m := range list.Moments {
		want := map[string]string{"server_ready": "./vite &: server ready", "tests_passed": "./jest 0", "tests_failed": "./jest 1 (exit 1)"}[m.Source]
		if want != "" && m.Label != want {
			t.Errorf("%+v", m)
		}
		reached = append(reached, m.Source)
		if cwd, known := map[string]string{"cd 'a b'": dir, "true in there": filepath.Join(dir, "a b"), "./jest 0": dir}[m.Label]; known && m.Terminal.Cwd != cwd {
			t.Errorf("%q was in %q, want %q", m.Label, m.Terminal.Cwd, cwd)
		}
	}
	for _, milestone := range []string{"server_ready", "tests_passed", "tests_failed"} {
		if !slices.Contains(reached, milestone) {
			t.Errorf("%s is not among %q", milestone, reached)
		}
	}
}

// TestCommandsOfSeveralLinesAreExact: the label of a moment is one line, and its command is what was typed.
func TestCommandsOfSeveralLinesAreExact(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			w, _ := alone(t)
			dir, home := t.TempDir(), t.TempDir()
			if err := os.MkdirAll(filepath.Join(home, "fish", "generated_completions"), 0o700); err != nil {
				t.Fatal(err)
			}
			if r := w.RunIn(dir, "project", "allow", "--grant", "workspace,terminal", dir); r.Code != 0 {
				t.Fatal(r.Err)
			}
			cmd := w.Command("record", "--", path)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+w.Home, "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
			long := "echo " + strings.Repeat("long ", 100) + "end"
			cmd.Stdin = strings.NewReader("echo plain\necho \"one\ntwo  three\n    four\"\n" + long + "\nexit\n")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			r := w.RunIn(dir, "timeline", "list", "--kind", "terminal", "--json")
			var list struct {
				Moments []struct {
					ID, Label string
					Terminal  struct{ Command string }
				}
			}
			if err := json.Unmarshal([]byte(r.Out), &list); err != nil || len(list.Moments) < 3 {
				t.Fatalf("%v: %s", err, r.Out)
			}
			plain, several, cut := list.Moments[0], list.Moments[1], list.Moments[2]
			if plain.Label != "echo plain" || plain.Terminal.Command != "" {
				t.Errorf("%+v", plain)
			}
			if several.Label != `echo "one two three four"` || several.Terminal.Command != "echo \"one\ntwo  three\n    four\"" {
				t.Errorf("%+v", several)
			}
			if len(cut.Label) > 200 || cut.Terminal.Command != long {
				t.Errorf("%+v", cut)
			}
			if r := w.RunIn(dir, "timeline", "show", several.ID); !strings.Contains(r.Out, "\n$ echo \"one\n  two  three\n      four\"\n") {
				t.Errorf("%s", r.Out)
			}
		})
	}
}
