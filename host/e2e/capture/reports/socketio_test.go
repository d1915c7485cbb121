package reports

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/npm"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// socketIO serves the pages of testdata/socketio with the real library, and returns their origin.
func socketIO(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("packages are installed from npm: not with -short")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	const from = "testdata/socketio"
	dir := e2etest.Repository(filepath.Join(".cache", "socketio"))
	if err := errors.Join(npm.Install(from, dir), npm.Overlay(dir, from)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "serve.mjs")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
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
	t.Cleanup(func() {
		_ = in.Close() // it ends with its input
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// TestClientsOfSocketIOAreNamedByTheCodeThatMadeThem: a client connects again by its own timers, and it polls after answers to
// its polls. No code of the page is in those stacks.
func TestClientsOfSocketIOAreNamedByTheCodeThatMadeThem(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, c := range []struct {
		page  string
		holds func(r *report.Report) bool
	}{
		{"/path", func(r *report.Report) bool { // it polls a path that nobody serves
			f := r.Network.Failures
			return len(f) == 1 && f[0].URL == "/sockets/" && f[0].Status == 404 && f[0].Count >= 3 && f[0].Initiator == "path.js:2" && !f[0].Generated
		}},
		{"/socket", func(r *report.Report) bool { // so it does by WebSocket
			f := r.WebSocket.ErrorMessages
			return len(f) == 1 && f[0].URL == "/sockets/" && f[0].Count >= 3 && f[0].Initiator == "socket.js:3" && !f[0].Generated && len(r.WebSocket.Disconnections) == 0
		}},
		{"/token", func(r *report.Report) bool { // it is refused in the answer to a poll
			f := r.Network.Failures
			return len(f) == 1 && f[0].URL == "/socket.io/" && f[0].Status == 200 && f[0].Detail == "the token has expired" && f[0].Initiator == "token.js:3" && len(r.Console.NewWarnings) == 0
		}},
		{"/room", func(r *report.Report) bool { // it is refused in a frame
			f := r.WebSocket.ErrorMessages
			return len(f) == 1 && strings.Contains(f[0].Message, "the token has expired") && f[0].Initiator == "room.js:3" && len(r.Network.Failures) == 0
		}},
	} {
		t.Run(c.page[1:], func(t *testing.T) {
			origin := socketIO(t)
			w.Open(t, origin+c.page)
			a := w.NewAgent(t, "--origin", origin)
			var r *report.Report
			if err := testbed.Eventually(t.Context(), func() (bool, error) {
				r = a.ChangesWith(map[string]any{"checkpoint": "auto_0"})
				return c.holds(r), nil
			}); err != nil {
				t.Error(e2etest.Show(r))
			}
		})
	}
}
