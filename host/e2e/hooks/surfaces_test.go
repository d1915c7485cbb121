package hooks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// surfaces are the ways to one daemon, which serves the live API on a port.
type surfaces struct {
	t       *testing.T
	w       *e2etest.World
	dir     string
	url     string
	token   string
	key     string // the ID of requests
	session string
	agent   *e2etest.Agent
}

func newSurfaces(t *testing.T, settings string) *surfaces {
	t.Helper()
	return newSurfacesIn(t, t.TempDir(), settings)
}

// newSurfacesIn is newSurfaces with the directory that the project is in.
func newSurfacesIn(t *testing.T, dir, settings string) *surfaces {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	w := e2etest.EmptyWorld(t)
	if err := os.WriteFile(filepath.Join(w.Home, "config.toml"), fmt.Appendf(nil, "[http]\nport = %d\n%s", port, settings), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &surfaces{t: t, w: w, dir: filepath.Join(dir, "shop"), url: fmt.Sprintf("http://127.0.0.1:%d/api/v1/sessions", port)}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s.write("one")
	s.cli(nil, "project", "allow", "--grant", "agents-branch,agents-restore", s.dir)
	var started struct{ SessionID string }
	s.cli(&started, "session", "start", "--json")
	s.session = started.SessionID
	token, err := os.ReadFile(filepath.Join(w.Home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	s.agent = w.NewAgent(t, "--tools", "observe,timetravel", "--workspace", s.dir)
	return s
}

func (s *surfaces) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "a"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// cli runs the program, and decodes what it prints if answer is not nil.
func (s *surfaces) cli(answer any, args ...string) {
	s.t.Helper()
	r := s.w.RunIn(s.dir, args...)
	if r.Code != 0 {
		s.t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(r.Out), answer); err != nil {
			s.t.Fatalf("%q prints %s: %v", args, r.Out, err)
		}
	}
}

// rest requests a path below the session. A nil body is a GET.
func (s *surfaces) rest(answer any, path string, body any) (status int, text string) {
	s.t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	status, text = s.send(method, path, body)
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil || status >= 300 {
			s.t.Fatalf("%s %s: %d %s, %v", method, path, status, text, err)
		}
	}
	return status, text
}

func (s *surfaces) send(method, path string, body any) (status int, text string) {
	s.t.Helper()
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			s.t.Fatal(err)
		}
	}
	to, err := url.Parse(s.url + "/")
	if err == nil {
		to, err = to.Parse(path)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, to.String(), bytes.NewReader(content))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", s.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

type object = map[string]any

// same compares what several ways answered, without the named fields.
func same(t *testing.T, what string, answers map[string]object, but ...string) {
	t.Helper()
	var first, name string
	for way, a := range answers {
		for _, field := range but {
			delete(a, field)
		}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first, name = string(data), way
		} else if string(data) != first {
			t.Errorf("%s by %s and %s differ:\n%s\n%s", what, name, way, first, data)
		}
	}
}

// List, moment, snapshot, seek, branch and what broke mean the same by the command line, the live API and MCP.
func TestTheTimelineIsTheSameOnEverySurface(t *testing.T) {
	s := newSurfaces(t, "")
	add := func(way string) (m object) {
		s.write(way)
		switch way {
		case "cli":
			s.cli(&m, "timeline", "moment", "add", "--label", "a moment", "--json")
		case "rest":
			s.rest(&m, s.session+"/moments", object{"label": "a moment"})
		case "mcp":
			s.agent.Call("moment_add", object{"label": "a moment"}, &m)
		}
		return m
	}
	ways := []string{"cli", "rest", "mcp"}
	moments := map[string]object{}
	for _, way := range ways {
		m := add(way)
		moments[way] = m
		if m["sessionId"] != s.session || m["kind"] != "manual" || m["fsSnapshot"] == false || m["label"] != "a moment" {
			t.Errorf("a moment by %s is %v", way, m)
		}
	}

	list := map[string]object{"cli": {}, "rest": {}, "mcp": {}}
	for way, a := range list {
		switch way {
		case "cli":
			s.cli(&a, "timeline", "list", "--json")
		case "rest":
			s.rest(&a, s.session+"/timeline", nil)
		case "mcp":
			s.agent.Call("timeline_list", nil, &a)
		}
		if n := len(a["moments"].([]any)); n != 4 {
			t.Errorf("the list by %s has %d moments", way, n)
		}
	}
	same(t, "the list", list, "cursor", "durationSec")

	for _, of := range ways {
		id := moments[of]["id"]
		seek := map[string]object{"cli": {}, "rest": {}, "mcp": {}}
		for way, a := range seek {
			switch way {
			case "cli":
				s.cli(&a, "timeline", "seek", id.(string), "--json")
			case "rest":
				s.rest(&a, s.session+"/seek", object{"moment": id})
			case "mcp":
				s.agent.Call("timeline_seek", object{"to": id}, &a)
			}
			if got, err := os.ReadFile(filepath.Join(a["mount"].(string), "a")); err != nil || string(got) != of {
				t.Errorf("%s of %s by %s has %q, %v", id, of, way, got, err)
			}
		}
		same(t, fmt.Sprintf("seek %s", id), seek)
	}

	// Where they are mounted is in the list, the same by each.
	list = map[string]object{"cli": {}, "rest": {}, "mcp": {}}
	for way, a := range list {
		switch way {
		case "cli":
			s.cli(&a, "timeline", "list", "--json")
		case "rest":
			s.rest(&a, s.session+"/timeline", nil)
		case "mcp":
			s.agent.Call("timeline_list", nil, &a)
		}
		for _, k := range a["fsSnapshots"].([]any)[1:] {
			if mount, _ := k.(object)["snapshot"].(object)["mount"].(string); mount == "" {
				t.Errorf("by %s, %v has no mount", way, k)
			}
		}
	}
	same(t, "the list with mounts", list, "cursor", "durationSec")

	found := map[string]object{"cli": {}, "rest": {}, "mcp": {}}
	for way, a := range found {
		from := moments["cli"]["id"].(string)
		switch way {
		case "cli":
			s.cli(&a, "timeline", "find-regression", from, "--json")
		case "rest":
			s.rest(&a, s.session+"/regression?from="+from, nil)
		case "mcp":
			s.agent.Call("find_regression", object{"from": from}, &a)
		}
		if a["sessionId"] != s.session || a["verdict"] != "unknown" || a["note"] == "" {
			t.Errorf("what broke by %s is %v", way, a)
		}
	}
	same(t, "what broke", found, "page_text")

	for _, way := range ways {
		var b object
		from, name := moments[way]["fsSnapshot"], "by-"+way
		switch way {
		case "cli":
			r := s.w.RunIn(s.dir, "timeline", "session-branch", "--fs-snapshot", from.(string), "--name", name, "--message", "go on", "--json")
			if err := json.Unmarshal([]byte(r.Out), &b); err != nil || r.Code != 5 {
				t.Errorf("a branch without an agent for its message: %+v, %v", r, err)
			}
		case "rest":
			s.rest(&b, s.session+"/session-branch", object{"fsSnapshotId": from, "name": name, "injectedMessage": "go on"})
		case "mcp":
			s.agent.Call("timeline_branch", object{"from": from, "name": name, "message": "go on"}, &b)
		}
		of, _ := b["sessionBranchOf"].(object)
		if of["sessionId"] != s.session || of["fsSnapshotId"] != from || b["injectedMessage"] != "go on" || b["name"] != name || b["sessionId"] == s.session {
			t.Errorf("the branch by %s is %v", way, b)
		}
		if why, _ := b["problem"].(string); b["agent"] != nil || !strings.Contains(why, "no agent was started, because no conversation of one is known at this moment") || !strings.Contains(why, "`tidemark branch rm "+name+"`") {
			t.Errorf("the branch by %s has the agent %v, and the problem %q", way, b["agent"], why)
		}
		if got, err := os.ReadFile(filepath.Join(b["workspace"].(string), "a")); err != nil || string(got) != way {
			t.Errorf("the branch by %s has %q, %v", way, got, err)
		}
	}

	// A moment is a checkpoint of reports.
	m := moments["cli"]["id"].(string)
	reports := map[string]object{"cli": {}, "mcp": {}, "rest": {}}
	for way, a := range reports {
		switch way {
		case "cli":
			s.cli(&a, "changes", "--since", m, "--include", "files", "--json")
		case "mcp":
			s.agent.Call("get_changes_since", object{"checkpoint": m, "include": []string{"files"}}, &a)
		case "rest":
			s.rest(&a, "../../report?from="+m+"@"+s.session, nil)
			a = a["report"].(object)
		}
		files, _ := a["files"].(object)
		if way != "rest" && files["total_changed"] != 1.0 || a["checkpoint"] != m && way != "rest" {
			t.Errorf("changes since %s by %s: %v", m, way, a)
		}
	}
}

// The live API's requests in the words of the specification, with its failures.
func TestTheSpecificationsRequests(t *testing.T) {
	s := newSurfaces(t, "")
	events := s.events("")
	if e := events(); e != ": connected" {
		t.Fatalf("the stream begins with %q", e)
	}
	s.write("two")
	var added, snapshot, list, all, branch object
	if status, text := s.rest(nil, s.session+"/moments", object{"label": "before"}); status != http.StatusCreated || json.Unmarshal([]byte(text), &added) != nil {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := s.rest(nil, s.session+"/fs-snapshots", object{"label": "post-clone"}); status != http.StatusCreated || json.Unmarshal([]byte(text), &snapshot) != nil {
		t.Fatalf("%d %s", status, text)
	}
	if ref, ok := snapshot["snapshot"].(object); !ok || ref["id"] == "" || snapshot["provider"] != "tracked" || snapshot["id"] == "" || snapshot["ts"] == nil || snapshot["at"] == nil {
		t.Errorf("the snapshot is %v", snapshot)
	}
	if status, text := s.rest(nil, s.session+"/session-branch", object{"fromTs": snapshot["ts"].(float64) + 1, "name": "other", "injectedMessage": "use a map"}); status != http.StatusCreated || json.Unmarshal([]byte(text), &branch) != nil {
		t.Fatalf("%d %s", status, text)
	}
	s.rest(&list, s.session+"/timeline", nil)
	for _, field := range []string{"sessionId", "durationSec", "moments", "fsSnapshots", "cursor"} {
		if list[field] == nil {
			t.Errorf("the timeline has no %s: %v", field, list)
		}
	}
	for _, m := range list["moments"].([]any) {
		for _, field := range []string{"id", "ts", "at", "label", "kind", "source", "fsSnapshot"} {
			if m.(object)[field] == nil {
				t.Errorf("a moment has no %s: %v", field, m)
			}
		}
	}
	s.rest(&all, s.session+"/fs-snapshots", nil)
	if n := len(all["fsSnapshots"].([]any)); n != 2 {
		t.Errorf("%d snapshots: %v", n, all)
	}
	var detail object
	s.rest(&detail, branch["sessionId"].(string), nil)
	if _, ok := detail["sessionTimeline"].(object)["moments"]; !ok || detail["sessionBranchOf"].(object)["sessionId"] != s.session {
		t.Errorf("the branch is %v", detail)
	}
	var sessions struct{ Sessions []object }
	s.rest(&sessions, "../sessions", nil)
	if len(sessions.Sessions) != 2 {
		t.Errorf("the sessions are %v", sessions)
	}

	want := []string{"timeline.sessionMoment", "timeline.fsSnapshot.created", "timeline.sessionMoment", "timeline.sessionBranch.created"}
	last := ""
	for _, name := range want {
		id, event, data := events(), events(), events()
		if event != "event: "+name || !strings.HasPrefix(id, "id: ") || !strings.HasPrefix(data, "data: {") {
			t.Fatalf("%q %q %q, want %s", id, event, data, name)
		}
		last = strings.TrimPrefix(id, "id: ")
	}
	if list["cursor"] != last {
		t.Errorf("the list goes up to %v, the last event is %s", list["cursor"], last)
	}

	for _, c := range []struct {
		path   string
		body   any
		status int
		part   string
	}{
		{"nothing-9/timeline", nil, 404, "The last sessions are"},
		{"nothing-9/events", nil, 404, "there is no session"},
		{s.session + "/events?after=m1", nil, 400, "is not the ID of an event"},
		{s.session + "/timeline?after=x", nil, 400, "must be the ID of a moment"},
		{s.session + "/regression?from=m99", nil, 404, "there is no moment m99"},
		{s.session + "/regression?from=now&to=start", nil, 400, "Swap the two"},
		{s.session + "/seek", object{}, 400, "name one of ts"},
		{s.session + "/seek", object{"ts": 1, "moment": "m1"}, 400, "name one of ts"},
		{s.session + "/seek", object{"fsSnapshotId": "s99"}, 404, "the nearest one is s2"},
		{s.session + "/seek", object{"ts": -1}, 422, "validation failed"},
		{s.session + "/moments", object{"ts": 1e6}, 400, "has lasted"},
		{s.session + "/moments", object{"kind": "lunch"}, 422, "validation failed"},
		{s.session + "/moments", object{"waitFence": true}, 400, "no fence command is set"},
		{s.session + "/session-branch", object{"fsSnapshotId": "s1", "name": "other"}, 409, "already has a branch"},
		{s.session + "/session-branch", object{"fsSnapshotId": "s1", "name": "No"}, 422, "validation failed"},
	} {
		if status, text := s.rest(nil, c.path, c.body); status != c.status || !strings.Contains(text, c.part) {
			t.Errorf("%s %v: %d %s, want %d with %q", c.path, c.body, status, text, c.status, c.part)
		}
	}
	s.token = "wrong"
	if status, _ := s.rest(nil, s.session+"/timeline", nil); status != http.StatusUnauthorized {
		t.Errorf("another token gets %d", status)
	}
}

// events returns a function that reads the next line of the session's stream that is not empty.
func (s *surfaces) events(after string) func() string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/"+s.session+"/events?after="+after, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatal(resp, err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		s.t.Fatal("the stream ended: ", lines.Err())
		return ""
	}
}

// The fence command runs after the snapshot, and whoever asks for it waits until it has: by the command line and by the live
// API, where it succeeds and where it fails.
func TestWhoAsksWaitsForTheFenceCommand(t *testing.T) {
	settings := `
[timeline]
fence = ["sh", "-c", "sleep 0.2; echo $TIDEMARK_FS_SNAPSHOT > ../followed; test \"$(cat a)\" != bad || { echo no follower; exit 3; }"]
`
	s := newSurfaces(t, settings)
	s.cli(nil, "project", "allow", "--grant", "fence", s.dir)
	followed := func(snapshot any) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(s.dir, "..", "followed"))
		if err != nil || strings.TrimSpace(string(got)) != snapshot {
			t.Errorf("the command ran for %q, %v; the snapshot is %v", got, err, snapshot)
		}
	}
	ended := func(how string, fence any) {
		t.Helper()
		if f, _ := fence.(object); f["state"] != how {
			t.Errorf("the fence command is %v, want %s", fence, how)
		}
	}
	for i, of := range []struct{ kind, snapshot string }{{"moment", "fsSnapshot"}, {"fs-snapshot", "id"}} {
		kind := of.kind
		var added object
		s.write(fmt.Sprint("two", i))
		s.cli(&added, "timeline", kind, "add", "--wait-fence", "--json")
		ended("done", added["fence"])
		followed(added[of.snapshot])

		s.write(fmt.Sprint("three", i))
		added = nil
		s.rest(&added, s.session+"/"+kind+"s", object{"waitFence": true})
		ended("done", added["fence"])
		followed(added[of.snapshot])

		s.write("bad")
		r := s.w.RunIn(s.dir, "timeline", kind, "add", "--wait-fence")
		if r.Code != 1 || !strings.Contains(r.Out, "exit status 3: no follower") || !strings.Contains(r.Err, "the fence command did not succeed") {
			t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
		}
		s.write("bad")
		added = nil
		s.rest(&added, s.session+"/"+kind+"s", object{"waitFence": true})
		ended("failed", added["fence"])
	}
}

// TestASuspendedAgentGoesBackToNothing: it neither sees the timeline nor changes what is on it, until the user resumes it.
func TestASuspendedAgentGoesBackToNothing(t *testing.T) {
	s := newSurfaces(t, "")
	s.write("two")
	s.cli(nil, "timeline", "moment", "add", "--label", "two")
	suspend := func(is bool) {
		t.Helper()
		var overview struct {
			Agents []struct {
				ID   int
				Name string
			}
		}
		s.rest(&overview, "../../overview", nil)
		if len(overview.Agents) != 1 {
			t.Fatalf("the agents are %+v", overview.Agents)
		}
		if status, text := s.send(http.MethodPut, fmt.Sprintf("../../agents/%d/hold", overview.Agents[0].ID), object{"held": is}); status/100 != 2 {
			t.Fatalf("%d %s", status, text)
		}
	}
	calls := map[string]object{
		"timeline_list": {}, "moment_add": {"label": "three"}, "timeline_seek": {"to": "s1"}, "timeline_diff": {"from": "s1"}, "timeline_blame": {"path": "a", "line": 1},
		"timeline_restore": {"to": "s1"}, "timeline_branch": {"from": "s1", "name": "other"}, "find_regression": {},
	}
	suspend(true)
	for tool, args := range calls {
		if _, err := s.agent.Text(tool, args); err == nil || !strings.Contains(err.Error(), "a user suspended this agent") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	var list object
	s.rest(&list, s.session+"/timeline", nil)
	if text, err := os.ReadFile(filepath.Join(s.dir, "a")); err != nil || string(text) != "two" || len(list["moments"].([]any)) != 2 {
		t.Errorf("the project has %q, %v; the moments are %v", text, err, list["moments"])
	}
	suspend(false)
	for tool, args := range calls {
		if _, err := s.agent.Text(tool, args); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
