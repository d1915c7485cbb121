package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is the API of a test world.
type served struct {
	*enginetest.World
	t       *testing.T
	url     string
	client  *http.Client
	stopped chan struct{}
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{World: enginetest.New(t, capture.Limits{}), t: t, stopped: make(chan struct{})}
	server := httptest.NewServer(api.New(api.Options{
		Engine:   s.Engine,
		Complete: func(status *viewer.Status) { status.Version, status.PID, status.Socket = "1.2.3", 42, "/run/mcp.sock" },
		Stop:     func() { close(s.stopped) },
	}))
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	return s
}

func (s *served) do(method, path, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusMethodNotAllowed && answer.StatusCode != http.StatusNotFound && kind != "application/json" {
		s.t.Errorf("%s %s answers with %q", method, path, kind)
	}
	return answer.StatusCode, string(data)
}

// TestAToolAnswersWithTheJSONThatItGivesAnAgent compares with the tool itself, whose JSON is the text of MCP answers.
func TestAToolAnswersWithTheJSONThatItGivesAnAgent(t *testing.T) {
	s := serve(t)
	s.Log("error", "it <broke> & burned")
	s.Request("POST", "/api/users", 500, 10)
	agent := s.Agent()
	for _, c := range []struct{ tool, args string }{
		{"get_changes_since", `{}`},
		{"get_changes_since", ``},
		{"get_changes_since", `{"include":["console"],"severity":"errors_only"}`},
		{"get_changes_since", `{"checkpoint":"2026-01-23T10:00:00Z"}`},
		{"checkpoint_list", `{}`},
		{"get_browser_logs", `{"limit":1}`},
		{"get_network_bodies", `{"status_min":400}`},
		{"get_websocket_events", `{}`},
		{"get_enhanced_actions", `{}`},
	} {
		want, err := s.Call(agent, c.tool, c.args)
		if err != nil {
			t.Fatal(err)
		}
		status, got := s.do("POST", "/v1/tools/"+c.tool+"?client=one", c.args)
		if status != http.StatusOK || got != want {
			t.Errorf("%s %s: %d\n got %s\nwant %s", c.tool, c.args, status, got, want)
		}
	}
}

func TestAClientIsFoundAgainByItsNameAndScope(t *testing.T) {
	s := serve(t)
	s.Log("error", "e")
	ask := func(query string) (answer report.Report) {
		status, body := s.do("POST", "/v1/tools/get_changes_since"+query, `{}`)
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return answer
	}
	for _, c := range []struct {
		query      string
		checkpoint string
		entries    int
	}{
		{"", "auto_1", 1},
		{"", "auto_2", 0},
		{"?client=other", "auto_1", 1},
		{"?origin=localhost:5173", "auto_1", 1},
		{"?origin=localhost:5173", "auto_2", 0},
		{"?origin=http://localhost:9999", "auto_1", 0},
		{"", "auto_3", 0},
	} {
		if r := ask(c.query); r.Checkpoint != c.checkpoint || r.Console.TotalNewEntries != c.entries {
			t.Errorf("%q: %s with %d entries, want %s with %d", c.query, r.Checkpoint, r.Console.TotalNewEntries, c.checkpoint, c.entries)
		}
	}
}

func TestProblemsAreJSONThatSaysWhatToDo(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", "/v1/tools/get_changes_since", `{"checkpoint":"nope"}`, http.StatusNotFound, "create one with checkpoint_create"},
		{"POST", "/v1/tools/get_changes_since", `{"include":["smell"]}`, http.StatusBadRequest, "sections are"},
		{"POST", "/v1/tools/get_changes_since", `{`, http.StatusBadRequest, "not JSON"},
		{"POST", "/v1/tools/get_changes_since?origin=ftp://x", `{}`, http.StatusBadRequest, "not a valid origin"},
		{"POST", "/v1/tools/checkpoint_create", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, http.StatusBadRequest, "cannot read the arguments"},
		{"POST", "/v1/tools/smell", `{}`, http.StatusNotFound, "no tool smell"},
		{"POST", "/v1/watch", `{"include":["smell"]}`, http.StatusBadRequest, "sections are"},
		{"POST", "/v1/watch", `{"checkpoint":7}`, http.StatusBadRequest, "cannot read the arguments"},
		{"POST", "/v1/watch?origin=ftp://x", `{}`, http.StatusBadRequest, "not a valid origin"},
		{"GET", "/v1/status?origin=ftp://x", ``, http.StatusBadRequest, "not a valid origin"},
	} {
		status, body := s.do(c.method, c.path, c.body)
		var p api.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || status != c.status || p.Code == usererr.Internal || p.Code == "" || !strings.Contains(p.Message, c.words) {
			t.Errorf("%s %s %.40s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	for _, wrong := range []string{"/v1/tools/get_changes_since", "/v1/stop", "/v1/watch"} {
		if status, _ := s.do("GET", wrong, ``); status != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d", wrong, status)
		}
	}
}

func TestStatusNamesBrowsersTabsAndClients(t *testing.T) {
	s := serve(t)
	s.Open(8, "http://localhost:3000/admin")
	s.Log("error", "e")
	_ = s.Scoped("localhost:3000")
	status, body := s.do("GET", "/v1/status", ``)
	if want := `{"version":"1.2.3","pid":42,"socket":"/run/mcp.sock","browsers":[{"name":"Chromium 156","instance":"i","extension":"1","connected":true,"tabs":[` +
		`{"id":1,"url":"http://localhost:5173/","title":"page","watched":true,"capture":"debugger"},{"id":2,"url":"http://localhost:3000/admin","title":"page","watched":true,"capture":"debugger"}]}],` +
		`"clients":[{"name":"agent","scope":"http://localhost:3000","since":"2026-01-23T10:30:00.000Z"}],"severity":"error","summary":"1 new console error(s)","masked":0}`; status != http.StatusOK || body != want {
		t.Errorf("%d\n got %s\nwant %s", status, body, want)
	}
	if _, body := s.do("GET", "/v1/status?origin=http://localhost:3000", ``); strings.Contains(body, "5173") || !strings.Contains(body, `"severity":"clean"`) {
		t.Errorf("narrowed: %s", body)
	}
}

// watching is an open stream of reports.
type watching struct {
	t     *testing.T
	lines *bufio.Scanner
	leave func()
}

func (s *served) watch(query, args string) *watching {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/watch"+query, strings.NewReader(args))
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.client.Do(req) //nolint:bodyclose // leave closes it
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	w := &watching{s.t, bufio.NewScanner(answer.Body), func() {
		cancel()
		_ = answer.Body.Close()
	}}
	s.t.Cleanup(w.leave)
	return w
}

func (w *watching) next() *report.Report {
	w.t.Helper()
	if !w.lines.Scan() {
		w.t.Fatalf("the stream ended: %v", w.lines.Err())
	}
	r := &report.Report{}
	if err := json.Unmarshal(w.lines.Bytes(), r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestWatchingReportsEverythingOnceAndMovesNoCheckpoint(t *testing.T) {
	s := serve(t)
	s.Log("error", "before")
	w := s.watch("?client=cli", `{}`)
	seen := map[string]int{}
	read := func(until int) {
		for n := 0; n < until; {
			for _, e := range w.next().Console.NewErrors {
				seen[e.Message] += e.Count
				n++
			}
		}
	}
	read(1)
	s.Log("error", "after")
	read(1)
	for i := range 20 {
		s.Log("error", fmt.Sprintf("burst %c", 'a'+i))
	}
	read(20)
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q was reported %d times", text, n)
		}
	}
	if len(seen) != 22 {
		t.Errorf("%d of 22 were reported: %v", len(seen), seen)
	}
	_, body := s.do("POST", "/v1/tools/get_changes_since?client=cli", `{}`)
	if !strings.Contains(body, `"checkpoint":"auto_1"`) || !strings.Contains(body, `"total_new_entries":22`) {
		t.Errorf("the client's own checkpoint moved: %s", body)
	}
}

func TestWatchingStartsAtACheckpointAndContinuesFromNow(t *testing.T) {
	s := serve(t)
	s.Log("error", "long ago")
	if _, err := s.Call(s.Agent(), "checkpoint_create", `{"name":"before_refactor"}`); err != nil {
		t.Fatal(err)
	}
	s.Log("error", "since")
	w := s.watch("?"+url.Values{"origin": {"localhost:5173"}}.Encode(), `{"checkpoint":"before_refactor","include":["console"]}`)
	first := w.next()
	if first.Checkpoint != "before_refactor" || len(first.Console.NewErrors) != 1 || first.Console.NewErrors[0].Message != "since" || first.Network != nil {
		t.Errorf("%+v", first.Console)
	}
	s.Log("error", "now")
	if second := w.next(); second.Checkpoint == "before_refactor" || len(second.Console.NewErrors) != 1 || second.Console.NewErrors[0].Message != "now" {
		t.Errorf("%+v", second.Console)
	}
}

func TestAClientThatDisconnectsIsForgotten(t *testing.T) {
	s := serve(t)
	w := s.watch("", `{}`)
	w.next()
	if _, body := s.do("GET", "/v1/status", ``); !strings.Contains(body, `"name":"watch"`) {
		t.Errorf("%s", body)
	}
	w.leave() // goleak checks after all tests that its goroutine ended
}

func TestStopAnswersFirst(t *testing.T) {
	s := serve(t)
	if status, body := s.do("POST", "/v1/stop", ``); status != http.StatusOK || body != "{}" {
		t.Errorf("%d %s", status, body)
	}
	<-s.stopped
}

func TestAHookGetsNewErrorsOnce(t *testing.T) {
	s := serve(t)
	s.Log("error", "before the session")
	ask := func(event, query string) string {
		t.Helper()
		s.Pass(time.Second) // the page is quiet
		status, answer := s.do("POST", "/v1/hook"+query, `{"session":"a","event":"`+event+`"}`)
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", event, status, answer)
		}
		return answer
	}
	here := "?origin=" + url.QueryEscape(enginetest.Page)
	if got := ask("start", here); !strings.HasPrefix(got, `{"watched":1,"problems":[{"kind":"console","text":"before the session","source":"app.js:42","count":1}]`) {
		t.Error(got)
	}
	s.Log("error", "by an edit")
	if got := ask("stop", here); !strings.HasPrefix(got, `{"watched":1,"problems":[{"kind":"console","text":"by an edit","source":"app.js:42","count":1}],"summary":"1 new console error(s)`) {
		t.Error(got)
	}
	if got := ask("stop", here); got != `{"watched":1,"problems":[]}` {
		t.Error(got)
	}
	if got := ask("stop", "?origin=http%3A%2F%2Flocalhost%3A9"); got != `{"watched":0,"problems":[]}` {
		t.Errorf("another project: %s", got)
	}
	for _, wrong := range []string{``, `{}`, `{"session":"a","event":"lunch"}`, `{"session":7}`, `[]`} {
		if status, answer := s.do("POST", "/v1/hook", wrong); status != http.StatusBadRequest || !strings.Contains(answer, `"code":"invalid_argument"`) {
			t.Errorf("%s: %d %s", wrong, status, answer)
		}
	}
}
