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
	if _, err := shell.Write([]byte("./jest 0\n./jest 1\n./jest 1 | cat\n./parcel &\nwait\n./vite &\n")); err != nil {
		t.Fatal(err)
	}
	var (
		reached []string
		list    struct {
			Moments []struct{ Label, Source string }
		}
	)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		r := w.RunIn(dir, "timeline", "list", "--json")
		if r.Code != 0 {
			return false, nil // there is no session yet
		}
		err := json.Unmarshal([]byte(r.Out), &list)
		return slices.ContainsFunc(list.Moments, func(m struct{ Label, Source string }) bool { return m.Source == "server_ready" }), err
	}); err != nil {
		t.Fatalf("%v: %+v", err, list)
	}
	for _, m := range list.Moments {
		want := map[string]string{"server_ready": "./vite &: server ready", "tests_passed": "./jest 0", "tests_failed": "./jest 1 (exit 1)"}[m.Source]
		if want != "" && m.Label != want {
			t.Errorf("%+v", m)
		}
		reached = append(reached, m.Source)
	}
	for _, milestone := range []string{"server_ready", "tests_passed", "tests_failed"} {
		if !slices.Contains(reached, milestone) {
			t.Errorf("%s is not among %q", milestone, reached)
		}
	}
}
