//go:build !windows

package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/protocol"
)

func TestMain(m *testing.M) {
	beSomebodyElse()
	// Package notify keeps its goroutines for as long as the process runs.
	const theirs = "github.com/rjeczalik/notify."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(theirs+"(*nonrecursiveTree).dispatch"), goleak.IgnoreAnyFunction(theirs+"(*nonrecursiveTree).internal"),
		goleak.IgnoreAnyFunction(theirs+"(*inotify).send"), goleak.IgnoreAnyFunction(theirs+"(*inotify).loop"))
}

// newHome is a home whose path is short enough for sockets.
func newHome(t *testing.T) home.Home {
	t.Helper()
	dir, err := os.MkdirTemp("", "tmd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return homeIn(t, dir)
}

func homeIn(t *testing.T, dir string) home.Home {
	t.Helper()
	t.Setenv(home.Env, dir)
	h, err := home.Find("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// served is a daemon that runs inside the test.
type served struct {
	stop  context.CancelFunc
	ended chan error
}

// readyHandler closes a channel when the daemon logs that it is ready.
type readyHandler struct {
	slog.Handler
	ready chan struct{}
}

func (h readyHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h readyHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "the daemon is ready" {
		close(h.ready)
	}
	return nil
}

func start(t *testing.T, h home.Home) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{cancel, make(chan error, 1)}
	ready := make(chan struct{})
	go func() { s.ended <- Serve(ctx, h, slog.New(readyHandler{slog.DiscardHandler, ready})) }()
	t.Cleanup(func() {
		cancel()
		if err, open := <-s.ended; open && err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-s.ended:
		close(s.ended)
		t.Fatalf("the daemon did not start: %v", err)
	}
	return s
}

// wait waits until the daemon has exited on its own.
func (s *served) wait() error {
	err := <-s.ended
	close(s.ended)
	return err
}

func dial(t *testing.T, h home.Home, socket string) net.Conn {
	t.Helper()
	conn, err := h.DialRunning(context.Background(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func control(h home.Home) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return h.DialRunning(ctx, home.ControlSocket)
	}}}
}

func TestSocketsAreTheirUsersAlone(t *testing.T) {
	h := newHome(t)
	start(t, h)
	for path, want := range map[string]os.FileMode{
		h.Run:                               os.ModeDir | 0o700,
		h.Socket(home.RelaySocket):          os.ModeSocket | 0o600,
		h.Socket(home.MCPSocket):            os.ModeSocket | 0o600,
		h.Socket(home.ControlSocket):        os.ModeSocket | 0o600,
		filepath.Join(h.Run, "daemon.lock"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %s, want %s", path, info.Mode(), want)
		}
	}
}

func TestADirectoryThatOthersCouldReadIsClosedToThem(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(h.Run, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.Run, 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, h)
	if info, err := os.Stat(h.Run); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestASecondDaemonIsRefused(t *testing.T) {
	h := newHome(t)
	start(t, h)
	err := Serve(context.Background(), h, slog.New(slog.DiscardHandler))
	if !errors.Is(err, home.ErrRunning) || !strings.Contains(err.Error(), h.State) || !strings.Contains(err.Error(), "tidemark stop") {
		t.Errorf("%v", err)
	}
	if running, err := h.Running(); !running || err != nil {
		t.Errorf("running %v, %v", running, err)
	}
	dial(t, h, home.MCPSocket) // the first one still answers
}

func TestWhoAsksForTheStopGetsAnAnswerAndNothingIsLeft(t *testing.T) {
	h := newHome(t)
	if running, err := h.Running(); running || err != nil {
		t.Errorf("before: running %v, %v", running, err)
	}
	s := start(t, h)
	open := []net.Conn{dial(t, h, home.RelaySocket), dial(t, h, home.MCPSocket), dial(t, h, home.ControlSocket)}
	answer, err := control(h).Post("http://tidemark/v1/stop", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || string(body) != "{}" {
		t.Errorf("%s %q %v", answer.Status, body, err)
	}
	if err := s.wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	for _, conn := range open {
		// A connection that was not yet accepted is reset with its listener.
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a connection was left open: %v", err)
		}
	}
	if running, err := h.Running(); running || err != nil {
		t.Errorf("after: running %v, %v", running, err)
	}
	if _, err := h.DialRunning(context.Background(), home.MCPSocket); !errors.Is(err, home.ErrUnreachable) {
		t.Errorf("%v", err)
	}
	left, err := filepath.Glob(filepath.Join(h.Run, "*.sock"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	start(t, h) // and another one can begin
}

func TestSocketsOfADeadDaemonAreReplaced(t *testing.T) {
	h := newHome(t)
	if err := h.Create(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", h.Socket(home.MCPSocket))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, h)
	dial(t, h, home.MCPSocket)
}

func TestAHomeWithALongPathHasItsSocketsElsewhere(t *testing.T) {
	tmp := newHome(t).State
	t.Setenv("TMPDIR", tmp)
	h := homeIn(t, filepath.Join(tmp, strings.Repeat("long/", 30)))
	path := h.Socket(home.MCPSocket)
	if len(path) > 103 || strings.HasPrefix(path, h.Run) || !strings.HasPrefix(path, tmp) {
		t.Errorf("%s", path)
	}
	start(t, h)
	dial(t, h, home.MCPSocket)
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	other := homeIn(t, filepath.Join(tmp, strings.Repeat("long/", 30), "other"))
	if filepath.Dir(other.Socket(home.MCPSocket)) == filepath.Dir(path) {
		t.Error("two homes share a directory of sockets")
	}
}

func TestMistakesInTheSettingsNameTheirPlace(t *testing.T) {
	for settings, want := range map[string]string{
		"[buffers.console]\nentries = \"many\"\n":    "config.toml:2: ",
		"[buffers.console]\nentries =\n":             "config.toml:2:",
		"[buffers":                                   "config.toml:1:",
		"[buffers.console]\n\nentires = 5\n":         "config.toml:3: there is no setting buffers.console.entires.",
		"x = 1\n\n[daemon]\ny = 2\n":                 "config.toml:1: there is no setting x, and 1 more are unknown.",
		"[buffers.network]\nentries = -1\n":          "config.toml:2: buffers.network: entries must be",
		"[buffers.dom]\nmib = 5000\n":                "config.toml:2: buffers.dom: ",
		"[buffers]\n[buffers.smell]\nentries = 10\n": "config.toml:2: buffers.smell: there is no such buffer",
		"[http]\nport=1\n[journal]\ndays = 4000\n":   "config.toml:4: journal: mib must be",
		"journal.days = 4000\n":                      "config.toml:1: journal: mib must be",
		"\n[http]\n# port\nport = 70000\n":           "config.toml:4: http: port must be",
		"[branches.commands]\nnone = [\"a\"]\n":      "config.toml:2: branches: commands names the agent \"none\"",
	} {
		h := newHome(t)
		if err := os.WriteFile(h.Config, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Serve(context.Background(), h, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), h.Config) || !strings.HasSuffix(err.Error(), "Correct the line, or remove it to get the default.") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", settings, err)
		}
	}
}

func TestSettingsBoundTheBuffers(t *testing.T) {
	h := newHome(t)
	if err := os.WriteFile(h.Config, []byte("[buffers.console]\nentries = 7\n[buffers.network]\nmib = 0.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := c.Limits()
	if err != nil || l[capture.Console].Count != 7 || l[capture.Console].Bytes != 6<<20 || l[capture.Network].Bytes != 512<<10 || l[capture.Network].Count != 5000 {
		t.Errorf("%+v %v", l, err)
	}
	none, err := ReadConfig(filepath.Join(h.State, "none.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if l, _, err := none.Limits(); err != nil || l != capture.DefaultLimits() {
		t.Errorf("without settings: %+v %v", l, err)
	}
}

// extension acts as a browser on the relay's socket.
type extension struct {
	t *testing.T
	r *wire.Reader
	w *wire.Writer
}

func connectExtension(t *testing.T, h home.Home) *extension {
	t.Helper()
	conn := dial(t, h, home.RelaySocket)
	e := &extension{t, wire.NewReader(conn, 0), wire.NewWriter(conn, protocol.MaxToHost)}
	e.send(`{"type":"hello","protocol":1,"extension":"1","browser":"Chromium 156","instance":"i","stream":"s","first":1}`)
	if m := e.read(); m["type"] != "welcome" || m["host"] != "1.2.3" {
		t.Fatalf("%v", m)
	}
	return e
}

func (e *extension) send(message string) {
	e.t.Helper()
	if err := e.w.Write([]byte(message)); err != nil {
		e.t.Fatal(err)
	}
}

func (e *extension) read() map[string]any {
	e.t.Helper()
	frame, err := e.r.Read()
	if err != nil {
		e.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(frame, &m); err != nil {
		e.t.Fatal(err)
	}
	return m
}

// ask sends a request of the popup and returns its result or error.
func (e *extension) ask(method, params string) map[string]any {
	e.t.Helper()
	e.send(fmt.Sprintf(`{"type":"request","id":1,"method":%q,"params":%s}`, method, params))
	m := e.read()
	if bad, ok := m["error"].(map[string]any); ok {
		return bad
	}
	result, _ := m["result"].(map[string]any)
	return result
}

const twoTabs = `{"type":"tabs","tabs":[
	{"id":1,"url":"http://localhost:5173/","title":"shop","watched":true,"capture":"debugger","dom":true},
	{"id":2,"url":"http://localhost:3000/","title":"admin","watched":true,"capture":"debugger","dom":true}]}`

func TestThePopupSpeaksForAllTabs(t *testing.T) {
	h := newHome(t)
	start(t, h)
	e := connectExtension(t, h)
	e.send(twoTabs)
	made := e.ask("checkpoint", `{"name":"session_start","note":"n","tab":1}`)
	if made["name"] != "session_start" || made["at"] == nil || made["replaced"] != nil {
		t.Errorf("%v", made)
	}
	if again := e.ask("checkpoint", `{"name":"session_start","tab":2}`); again["replaced"] != nil {
		t.Errorf("another project's was replaced: %v", again)
	}
	if again := e.ask("checkpoint", `{"name":"session_start","tab":1}`); again["replaced"] != made["at"] {
		t.Errorf("%v does not replace %v", again, made)
	}
	overview := e.ask("overview", `{}`)
	if list, _ := overview["checkpoints"].([]any); len(list) != 2 || overview["severity"] != "clean" || overview["host"] != "1.2.3" || overview["since"] != nil || overview["tabs"] != nil {
		t.Errorf("%v", overview) // each checkpoint is of one project only
	}
	e.ask("checkpoint", `{"name":"before_commit"}`)
	overview = e.ask("overview", `{"tabs":true}`)
	if list, _ := overview["tabs"].([]any); len(list) != 2 || overview["since"] != "before_commit" {
		t.Errorf("%v", overview)
	}
	for _, c := range []struct{ method, params, code, words string }{
		{"checkpoint", `{"name":"Before Refactor","tab":1}`, protocol.CodeInvalid, "must match"},
		{"checkpoint", `{"name":7}`, protocol.CodeMalformed, "cannot read"},
		{"smell", `{}`, protocol.CodeUnknown, "smell"},
	} {
		if bad := e.ask(c.method, c.params); bad["code"] != c.code || !strings.Contains(fmt.Sprint(bad["message"]), c.words) {
			t.Errorf("%s %s: %v", c.method, c.params, bad)
		}
	}
}

// speak sends lines to the agents' socket, ends its side, and returns what comes back.
func speak(t *testing.T, h home.Home, lines ...string) []string {
	t.Helper()
	conn := dial(t, h, home.MCPSocket)
	for _, line := range lines {
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	var answers []string
	s := bufio.NewScanner(conn)
	for s.Scan() {
		answers = append(answers, s.Text())
	}
	if err := s.Err(); err != nil && !errors.Is(err, syscall.ECONNRESET) { // refused before all was read
		t.Fatal(err)
	}
	return answers
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	changes    = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_changes_since","arguments":{}}}`
)

// TestALineOfAHundredMegabytesIsRefused at once, and the daemon goes on.
func TestALineOfAHundredMegabytesIsRefused(t *testing.T) {
	h := newHome(t)
	start(t, h)
	line := bytes.Repeat([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":"`), 100<<20/48)
	for name, ended := range map[string]bool{"with an end": true, "without an end": false} {
		conn := dial(t, h, home.MCPSocket)
		go func() {
			_, err := conn.Write(line)
			if ended && err == nil {
				_, _ = conn.Write([]byte("\n"))
			}
		}()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		answer, err := io.ReadAll(conn) // the reset that follows may come first
		if !strings.Contains(string(answer), "more than 16 MiB") && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %.200q, %v", name, answer, err)
		}
	}
	if answers := speak(t, h, initialize, ready, changes); len(answers) != 2 {
		t.Errorf("afterwards: %q", answers)
	}
}

func TestAnAgentHearsOfItsScopeAndEveryRequestIsAnsweredBeforeTheEnd(t *testing.T) {
	h := newHome(t)
	start(t, h)
	e := connectExtension(t, h)
	e.send(twoTabs)
	e.send(`{"type":"events","stream":"s","first":1,"events":[
		{"kind":"console","at":1769164200000,"tab":1,"level":"error","via":"console","text":"in the shop"},
		{"kind":"console","at":1769164200000,"tab":2,"level":"error","via":"console","text":"in the admin"}]}`)
	if m := e.read(); m["type"] != "ack" || m["next"] != 3.0 {
		t.Fatalf("%v", m)
	}
	for name, c := range map[string]struct {
		preamble    []string
		shop, admin bool
	}{
		"without a preamble":      {nil, true, true},
		"without origins":         {[]string{`{"tidemark":{"client":"editor"}}`}, true, true},
		"narrowed to one project": {[]string{`{"tidemark":{"client":"editor","origins":["localhost:3000"]}}`}, false, true},
	} {
		answers := speak(t, h, append(c.preamble, initialize, ready, changes)...)
		if len(answers) != 2 {
			t.Errorf("%s: %d answers: %q", name, len(answers), answers)
			continue
		}
		if strings.Contains(answers[1], "in the shop") != c.shop || strings.Contains(answers[1], "in the admin") != c.admin {
			t.Errorf("%s: %s", name, answers[1])
		}
	}
	for _, bad := range []string{`{"tidemark":5}`, `{"tidemark":{"origins":["ftp://x"]}}`, `{"tidemark":{"client":"` + strings.Repeat("x", 10_000) + `"}}`} {
		if answers := speak(t, h, bad); len(answers) != 0 {
			t.Errorf("%.40s: %q", bad, answers)
		}
	}
}
