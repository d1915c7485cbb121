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

// TestAServerThatARecordedShellStartsIsAMilestone, behind the shell, once it answers. An address at which nothing answers is none.
func TestAServerThatARecordedShellStartsIsAMilestone(t *testing.T) {
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
	if _, err := shell.Write([]byte("./parcel &\nwait\n./vite &\n")); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Moments []struct{ Label, Source string }
	}
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
		if m.Source == "server_ready" && !strings.Contains(m.Label, "./vite &: server ready") {
			t.Errorf("%+v", m)
		}
	}
}
