//go:build !windows

package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/home"
)

// opened asks a home's daemon for the dashboard: where it is, and the code to sign in by.
func opened(t *testing.T, h home.Home) (origin, code string) {
	t.Helper()
	resp, err := control(h).Post("http://tidemark/v1/open", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var a api.Opened
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Hostname() != "127.0.0.1" || u.Path != dashboardPath {
		t.Fatal(a.URL, err)
	}
	return "http://" + u.Host, u.Fragment
}

// request is one request of a test and its expected answer.
type request struct {
	method, path, host, origin, token, body string
}

// answered is how a request was answered.
type answered struct {
	Status     string
	StatusCode int
	Header     http.Header
}

func (r request) send(t *testing.T, server string) (answered, string) {
	t.Helper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), r.method, server+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.host != "" {
		req.Host = r.host
	}
	if r.origin != "" {
		req.Header.Set("Origin", r.origin)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return answered{resp.Status, resp.StatusCode, resp.Header}, b.String()
}

// signIn exchanges a code.
func signIn(t *testing.T, server, code string) (api.Session, int) {
	t.Helper()
	resp, text := request{method: http.MethodPost, path: "/api/session", origin: server, body: fmt.Sprintf(`{"code":%q}`, code)}.send(t, server)
	var s api.Session
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err, text)
	}
	return s, resp.StatusCode
}

func TestACodeSignsInOnce(t *testing.T) {
	h := newHome(t)
	start(t, h)
	server, code := opened(t, h)
	if resp, text := (request{path: "/api/overview"}).send(t, server); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "tidemark open") || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("without a token: %s %s", resp.Status, text)
	}
	session, status := signIn(t, server, code)
	if status != http.StatusCreated || len(session.Token) < 43 || time.Until(session.Until) < 11*time.Hour {
		t.Fatalf("%d %+v", status, session)
	}
	if resp, text := (request{path: "/api/overview", token: session.Token}).send(t, server); resp.StatusCode != http.StatusOK || !strings.Contains(text, `"severity":"clean"`) || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("with the session: %s %s", resp.Status, text)
	}
	for _, again := range []string{code, "", strings.Repeat("A", 26)} {
		if _, status := signIn(t, server, again); status != http.StatusForbidden {
			t.Errorf("the code %q is taken: %d", again, status)
		}
	}
	if resp, _ := (request{method: http.MethodPost, path: "/mcp", token: session.Token, body: "{}"}).send(t, server); resp.StatusCode != http.StatusNotFound {
		t.Errorf("agents are served where nobody configured it: %s", resp.Status)
	}
	data, err := os.ReadFile(h.Token())
	if err != nil {
		t.Fatal(err)
	}
	if resp, _ := (request{path: "/api/overview", token: strings.TrimSpace(string(data))}).send(t, server); resp.StatusCode != http.StatusOK {
		t.Errorf("with the home's token: %s", resp.Status)
	}
}

func TestOtherPagesAndNamesAreRefusedEverywhere(t *testing.T) {
	h := newHome(t)
	start(t, h)
	server, code := opened(t, h)
	session, _ := signIn(t, server, code)
	own := strings.TrimPrefix(server, "http://")
	_, port, _ := strings.Cut(own, ":")
	for _, path := range []string{"/api/overview", "/api/events", dashboardPath, "/", "/api/session"} {
		for name, r := range map[string]request{
			"a name that was made to point here": {host: "evil.test:" + port},
			"another port":                       {host: "127.0.0.1:1"},
			"a foreign page":                     {origin: "https://evil.test"},
			"a page of another local server":     {origin: "http://127.0.0.1:5173"},
			"a sandboxed page":                   {origin: "null"},
		} {
			r.path, r.token = path, session.Token
			resp, _ := r.send(t, server)
			if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: %s", path, name, resp.Status)
			}
		}
	}
	for _, path := range []string{"/api/overview", "/api/openapi.json", "/api/nothing"} {
		resp, _ := request{path: path, token: session.Token}.send(t, server)
		if p := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'") || !strings.Contains(p, "frame-ancestors 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: %q", path, p)
		}
	}
	if resp, _ := (request{path: "/"}).send(t, server); resp.Header.Get("Location") != dashboardPath {
		t.Errorf("the root leads to %q", resp.Header.Get("Location"))
	}
	for _, path := range []string{dashboardPath + "assets/", dashboardPath + ".gitignore", dashboardPath + "../go.mod"} {
		if resp, text := (request{path: path}).send(t, server); resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, text)
		}
	}
}

func TestASessionEndsAndCannotBeMade(t *testing.T) {
	now := time.Now()
	good := newSession("secret", now.Add(time.Minute))
	for name, c := range map[string]struct {
		secret, token string
		at            time.Time
		want          bool
	}{
		"it lasts":                 {"secret", good, now, true},
		"it has ended":             {"secret", good, now.Add(time.Minute), false},
		"of another home":          {"other", good, now, false},
		"cut":                      {"secret", good[:len(good)-4], now, false},
		"a later end":              {"secret", newSession("guess", now.Add(time.Hour))[:40] + good[40:], now, false},
		"nothing":                  {"secret", "", now, false},
		"no base64":                {"secret", strings.Repeat("!", len(good)), now, false},
		"the secret is no session": {"secret", "secret", now, false},
	} {
		if got := checkSession(c.secret, c.token, c.at); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestACodeIsTooOldAfterTwoMinutes(t *testing.T) {
	var c codes
	now := time.Now()
	late := c.make(now)
	if c.take(late, now.Add(codeLife)) {
		t.Error("an old code is taken")
	}
	first := c.make(now)
	for range maxCodes {
		c.make(now)
	}
	if c.take(first, now) {
		t.Error("more codes wait than there shall")
	}
}

// TestADashboardOutlivesItsDaemon: the next daemon serves on the same port and accepts the same sign-ins.
func TestADashboardOutlivesItsDaemon(t *testing.T) {
	h := newHome(t)
	first := start(t, h)
	server, code := opened(t, h)
	session, _ := signIn(t, server, code)
	first.stop()
	if err := first.wait(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp4", strings.TrimPrefix(server, "http://")); err == nil {
		_ = conn.Close()
		t.Fatal("somebody answers")
	}
	start(t, h)
	if again, _ := opened(t, h); again != server {
		t.Errorf("it was at %s and is at %s", server, again)
	}
	if resp, text := (request{path: "/api/overview", token: session.Token}).send(t, server); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, text)
	}
	if err := h.KeepDashboard(1, time.Now().Add(-time.Second)); err != nil || h.DashboardPort(time.Now()) != 0 {
		t.Error("a dashboard whose session has ended is waited for", err)
	}
}
