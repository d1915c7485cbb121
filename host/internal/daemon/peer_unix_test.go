//go:build unix

package daemon

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/safesocket"
)

// nobody is a user other than the user of the tests.
const nobody = 65534

// asNobody runs this test binary's helper as another user, who has a copy of it that they may read.
func asNobody(t *testing.T, what, path string) (string, error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be two users")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tmo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "other")
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^$")
	cmd.Env = append(os.Environ(), "TIDEMARK_TEST_OTHER_USER="+what, "TIDEMARK_TEST_SOCKET="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// beSomebodyElse runs the helper in the copy of this program and exits.
func beSomebodyElse() {
	path := os.Getenv("TIDEMARK_TEST_SOCKET")
	switch os.Getenv("TIDEMARK_TEST_OTHER_USER") {
	case "dial": // connects and prints the answer
		conn, err := net.Dial("unix", path)
		if err != nil {
			os.Exit(2)
		}
		_, _ = conn.Write([]byte("POST /v1/stop HTTP/1.1\r\nHost: tidemark\r\n\r\n"))
		var answer bytes.Buffer
		_, _ = answer.ReadFrom(conn)
		_, _ = os.Stdout.Write(answer.Bytes())
		os.Exit(0)
	case "listen": // stands in the place of the daemon for one connection
		l, err := net.Listen("unix", path)
		if err != nil {
			os.Exit(2)
		}
		if err := os.Chmod(path, 0o777); err != nil {
			os.Exit(2)
		}
		_, _ = os.Stdout.WriteString("ready\n")
		conn, err := l.Accept()
		if err == nil {
			_ = conn.Close()
		}
		os.Exit(0)
	}
}

func TestAnotherUserIsRefusedOnEverySocket(t *testing.T) {
	h := newHome(t)
	start(t, h)
	// Only the check of the peer shall stand between.
	for _, dir := range []string{filepath.Dir(h.State), h.State, h.Run} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{home.RelaySocket, home.MCPSocket, home.ControlSocket} {
		if err := os.Chmod(h.Socket(name), 0o777); err != nil {
			t.Fatal(err)
		}
		out, err := asNobody(t, "dial", h.Socket(name))
		if err != nil || out != "" {
			t.Errorf("%s answered another user: %q, %v", name, out, err)
		}
		dial(t, h, name) // and still answers its own user
	}
}

func TestASocketOfAnotherUserIsNotSpokenTo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be two users")
	}
	h := newHome(t)
	if err := h.Create(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(h.State), h.State, h.Run} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	path := h.Socket(home.ControlSocket)
	done := make(chan string, 1)
	go func() {
		out, _ := asNobody(t, "listen", path)
		done <- out
	}()
	var err error
	for {
		var conn net.Conn
		if conn, err = h.DialRunning(context.Background(), home.ControlSocket); err == nil {
			_ = conn.Close()
			break
		}
		if errors.Is(err, safesocket.ErrStranger) {
			break
		}
	}
	if !errors.Is(err, safesocket.ErrStranger) || !strings.Contains(err.Error(), home.Env) {
		t.Errorf("%v", err)
	}
	if out := <-done; !strings.Contains(out, "ready") {
		t.Errorf("%q", out)
	}
}
