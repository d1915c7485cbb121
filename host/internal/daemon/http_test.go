//go:build !windows

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// withHTTP is a daemon that serves agents over HTTP, on a port that was free.
func withHTTP(t *testing.T) (h home.Home, port int, token string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h = newHome(t)
	configure(t, h, fmt.Sprintf("[http]\nport = %d\n", port))
	start(t, h)
	waitForHTTP(t, h)
	data, err := os.ReadFile(h.Token())
	if err != nil {
		t.Fatal(err)
	}
	return h, port, strings.TrimSpace(string(data))
}

func configure(t *testing.T, h home.Home, text string) {
	t.Helper()
	if err := os.MkdirAll(h.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func waitForHTTP(t *testing.T, h home.Home) *viewer.HTTPStatus {
	t.Helper()
	for {
		resp, err := control(h).Get("http://tidemark/v1/status")
		if err != nil {
			t.Fatal(err)
		}
		var s viewer.Status
		err = json.NewDecoder(resp.Body).Decode(&s)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if s.HTTP != nil {
			return s.HTTP
		}
	}
}

// bearer shows a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func TestAnAgentIsServedOverHTTP(t *testing.T) {
	h, port, token := withHTTP(t)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	var sessions []*mcp.ClientSession
	for range 2 {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "http agent", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: fmt.Sprintf("http://127.0.0.1:%d/mcp?origin=http://localhost:5173", port), HTTPClient: &http.Client{Transport: bearer(token)},
			DisableStandaloneSSE: true,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
	}
	for i, want := range []string{"auto_1", "auto_2"} {
		result, err := sessions[0].CallTool(t.Context(), &mcp.CallToolParams{Name: "get_changes_since"})
		if err != nil {
			t.Fatal(err)
		}
		if text := result.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, fmt.Sprintf("%q", want)) {
			t.Errorf("call %d: %s", i, text)
		}
	}
	result, err := sessions[1].CallTool(t.Context(), &mcp.CallToolParams{Name: "get_changes_since"})
	if err != nil {
		t.Fatal(err)
	}
	if text := result.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, `"auto_1"`) || !strings.Contains(text, "no browser is connected") {
		t.Errorf("another session: %s", text)
	}
	names := func() (names []string) {
		resp, err := control(h).Get("http://tidemark/v1/status")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var s viewer.Status
		if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Clients {
			names = append(names, c.Name+" "+c.Scope)
		}
		return names
	}
	if got := names(); len(got) != 2 || got[0] != "http agent http://localhost:5173" {
		t.Errorf("clients: %q", got)
	}
	for _, s := range sessions {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for len(names()) > 0 {
		// (another goroutine notices the end of a session)
	}
}

func TestTheAddressSaysWhichToolsAnAgentGets(t *testing.T) {
	_, port, token := withHTTP(t)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for query, want := range map[string]string{
		"":                             "No significant changes",
		"?tools=observe,act":           "No significant changes",
		"?tools=act&workspace=/srv/me": "in the tool set observe, which is off",
		"?tools=":                      "in the tool set observe, which is off",
		"?tools=smell":                 "no session",
		"?workspace=here":              "no session",
	} {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "http agent", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: fmt.Sprintf("http://127.0.0.1:%d/mcp%s", port, query), HTTPClient: &http.Client{Transport: bearer(token)},
			DisableStandaloneSSE: true,
		}, nil)
		got := "no session"
		if err == nil {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_changes_since"})
			if err != nil {
				t.Fatal(err)
			}
			got = result.Content[0].(*mcp.TextContent).Text
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s", query, got)
		}
	}
}

func TestWhoeverIsNotTheUsersAgentIsRefused(t *testing.T) {
	_, port, token := withHTTP(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	own := fmt.Sprintf("127.0.0.1:%d", port)
	for _, c := range []struct {
		name, host, origin, auth string
		want                     int
	}{
		{"the user's agent", own, "", "Bearer " + token, 200},
		{"by the name localhost", fmt.Sprintf("localhost:%d", port), "", "Bearer " + token, 200},
		{"a page of the server's own", own, "http://" + own, "Bearer " + token, 200},
		{"no token", own, "", "", 401},
		{"a wrong token", own, "", "Bearer " + strings.Repeat("x", len(token)), 401},
		{"a part of the token", own, "", "Bearer " + token[:20], 401},
		{"another scheme", own, "", "Basic " + token, 401},
		{"a name that was made to point here", fmt.Sprintf("evil.test:%d", port), "", "Bearer " + token, 403},
		{"another port", "127.0.0.1:1", "", "Bearer " + token, 403},
		{"no port", "127.0.0.1", "", "Bearer " + token, 403},
		{"a foreign page", own, "https://evil.test", "Bearer " + token, 403},
		{"a page of another local server", own, "http://localhost:5173", "Bearer " + token, 403},
		{"a sandboxed page", own, "null", "Bearer " + token, 403},
		{"a page over https", own, "https://" + own, "Bearer " + token, 403},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+own+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.auth != "" {
			req.Header.Set("Authorization", c.auth)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.name, resp.Status, c.want)
		}
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", c.name, name)
			}
		}
	}
}

func TestAPortThatIsTakenStopsNothingElse(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	h := newHome(t)
	configure(t, h, fmt.Sprintf("[http]\nport = %d\n", l.Addr().(*net.TCPAddr).Port))
	start(t, h)
	if s := waitForHTTP(t, h); !strings.Contains(s.Problem, "in use") || !strings.Contains(s.Problem, h.Config) {
		t.Errorf("%+v", s)
	}
}

// TestAnAgentOverHTTPBeginsTheSessionOfItsWorkspace, as one does that was started in it. The workspace may be named by a link.
func TestAnAgentOverHTTPBeginsTheSessionOfItsWorkspace(t *testing.T) {
	h, port, token := withHTTP(t)
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, link := filepath.Join(top, "shop"), filepath.Join(top, "link")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	allowed := &grants.Store{File: h.Grants(), Lock: h.LockGrants, Clock: time.Now}
	if _, err := allowed.Allow(t.Context(), dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: bearer(token)}
	at := fmt.Sprintf("http://127.0.0.1:%d", port)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "http agent", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: at + "/mcp?workspace=" + url.QueryEscape(link), HTTPClient: client, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	var a answers.Sessions
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		resp, err := client.Get(at + "/api/v1/sessions")
		if err != nil {
			return false, err
		}
		defer func() { _ = resp.Body.Close() }()
		err = json.NewDecoder(resp.Body).Decode(&a)
		return len(a.Sessions) > 0, err
	}); err != nil || a.Sessions[0].Workspace != dir {
		t.Errorf("%+v, %v", a, err)
	}
}
