package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// page is the part of any raw answer that concerns paging.
type page struct {
	Entries []struct {
		Position uint64
		Message  string
		URL      string
		Target   string
	}
	Next    uint64
	Total   int
	Evicted uint64
}

func read(t *testing.T, w *enginetest.World, c *checkpoint.Client, tool, args string) (p page) {
	t.Helper()
	answer, err := w.Call(c, tool, args)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	if err := json.Unmarshal([]byte(answer), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p page) positions() string {
	var list []string
	for _, e := range p.Entries {
		list = append(list, fmt.Sprint(e.Position))
	}
	return strings.Join(list, " ")
}

func TestRawEntriesInFull(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Send("console", `"level":"error","via":"exception","text":"TypeError: x","url":"http://localhost:5173/src/app.js","line":42,"column":7,"stack":["go (app.js:42:7)"],"target":"worker"`)
	w.Send("network", `"id":"r","method":"POST","url":"http://localhost:5173/api?token=abc","resource":"fetch","status":500,"started":1769164199990,"duration":12.5,"mime":"application/json","size":99,
		"request_headers":{"Authorization":"Bearer abcdefghijklmnop"},"request_body":"{\"password\":\"x\"}","response_body":"{}","body_note":"n"`)
	w.Send("websocket", `"id":"w","url":"ws://localhost:5173/live","op":"close","code":1006,"reason":"gone"`)
	w.Send("action", `"action":"type","target":"textbox \"Email\"","selector":"#email","value":"a@b.c"`)
	w.Send("navigation", `"how":"history","url":"http://localhost:5173/cart"`)
	const head = `"position":1,"at":"2026-01-23T10:30:00.000Z","tab":1`
	for tool, want := range map[string]string{
		"get_browser_logs": `{"page_text":"untrusted","entries":[{` + head + `,"level":"error","via":"exception","message":"TypeError: x","source":"http://localhost:5173/src/app.js:42:7","stack":["go (app.js:42:7)"],"target":"worker"}],"total":1,"evicted":0}`,
		"get_network_bodies": `{"page_text":"untrusted","entries":[{` + head + `,"masked":3,"method":"POST","url":"http://localhost:5173/api?token=[masked]","resource":"fetch","status":500,"started_at":"2026-01-23T10:29:59.990Z","duration_ms":12.5,"mime":"application/json","size":99,` +
			`"request_headers":{"Authorization":"[masked]"},"request_body":"{\"password\":\"[masked]\"}","response_body":"{}","body_note":"n"}],"total":1,"evicted":0}`,
		"get_websocket_events": `{"page_text":"untrusted","entries":[{` + head + `,"connection":"w","url":"ws://localhost:5173/live","event":"close","code":1006,"reason":"gone"}],"total":1,"evicted":0}`,
		"get_enhanced_actions": `{"page_text":"untrusted","entries":[{` + head + `,"type":"type","target":"textbox \"Email\"","selector":"#email","value":"a@b.c"},{` + strings.Replace(head, "1", "2", 1) +
			`,"type":"navigate","target":"http://localhost:5173/cart"}],"total":2,"evicted":0}`,
	} {
		got, err := w.Call(a, tool, `{}`)
		if err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", tool, err, got, want)
		}
	}
}

func TestRawReadsArePaged(t *testing.T) {
	limits := capture.DefaultLimits()
	limits[capture.Console].Count = 10
	w := enginetest.New(t, limits)
	a := w.Agent()
	is := func(args, positions string, next uint64, total int, evicted uint64) {
		t.Helper()
		p := read(t, w, a, "get_browser_logs", args)
		if p.positions() != positions || p.Next != next || p.Total != total || p.Evicted != evicted {
			t.Errorf("%s: %q next %d total %d evicted %d; want %q %d %d %d", args, p.positions(), p.Next, p.Total, p.Evicted, positions, next, total, evicted)
		}
	}
	is(`{}`, "", 0, 0, 0)
	is(`{"after":0}`, "", 0, 0, 0)
	for range 4 {
		w.Log("log", "line")
	}
	is(`{}`, "1 2 3 4", 0, 4, 0)
	is(`{"limit":2}`, "3 4", observe.Older+3, 4, 0)
	is(fmt.Sprintf(`{"after":%d,"limit":2}`, observe.Older+3), "1 2", 0, 4, 0)
	is(`{"limit":3}`, "2 3 4", observe.Older+2, 4, 0)
	is(fmt.Sprintf(`{"after":%d,"limit":3}`, observe.Older+2), "1", 0, 4, 0)
	is(`{"limit":4}`, "1 2 3 4", 0, 4, 0)
	is(`{"after":0,"limit":2}`, "1 2", 2, 4, 0)
	is(`{"after":2,"limit":2}`, "3 4", 0, 4, 0)
	is(`{"after":4}`, "", 0, 4, 0)
	for range 10 {
		w.Log("log", "line")
	}
	is(`{}`, "5 6 7 8 9 10 11 12 13 14", 0, 10, 4)
	is(`{"after":2,"limit":3}`, "5 6 7", 7, 10, 4)
	is(`{"limit":3}`, "12 13 14", observe.Older+12, 10, 4)
	is(fmt.Sprintf(`{"after":%d,"limit":3}`, observe.Older+12), "9 10 11", observe.Older+9, 10, 4)
	is(fmt.Sprintf(`{"after":%d,"limit":3}`, observe.Older+2), "", 0, 10, 4)
	is(`{"after":8,"limit":3}`, "9 10 11", 11, 10, 4)
	is(`{"after":13,"limit":1000}`, "14", 0, 10, 4)
}

func TestRawReadsAreFiltered(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	for _, level := range []string{"debug", "log", "info", "warning", "error"} {
		w.Log(level, "A "+level+" line")
	}
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"elsewhere"`)
	requests(w, "GET /a 200 1", "POST /a 404 1", "GET /b 500 1", "GET /b 0 1")
	before := w.Now.Add(-time.Hour).UnixMilli()
	w.Send("network", fmt.Sprintf(`"id":"cut","method":"GET","url":"http://localhost:5173/cut","resource":"fetch","status":200,"error":"net::ERR_CONTENT_LENGTH_MISMATCH","started":%d,"duration":1`, before))
	w.Send("network", fmt.Sprintf(`"id":"given up","method":"GET","url":"http://localhost:5173/given-up","resource":"fetch","status":0,"canceled":true,"started":%d,"duration":1`, before))
	w.Send("websocket", `"id":"1","url":"ws://localhost:5173/one","op":"open"`)
	w.Send("websocket", `"id":"2","url":"ws://localhost:5173/two","op":"open"`)
	everything, narrowed := w.Agent(), w.Scoped("localhost:3000")
	for _, c := range []struct {
		client     *checkpoint.Client
		tool, args string
		want       string
	}{
		{everything, "get_browser_logs", `{"level":"warning"}`, "4 5 6"},
		{everything, "get_browser_logs", `{"level":"debug"}`, "1 2 3 4 5 6"},
		{everything, "get_browser_logs", `{"search":"a WARN"}`, "4"},
		{everything, "get_browser_logs", `{"level":"error","search":"line","tab":1}`, "5"},
		{everything, "get_browser_logs", `{"tab":2}`, "6"},
		{narrowed, "get_browser_logs", `{}`, "6"},
		{everything, "get_network_bodies", `{"method":"post"}`, "2"},
		{everything, "get_network_bodies", `{"url":"/b"}`, "3 4"},
		{everything, "get_network_bodies", `{"status_min":400}`, "5 2 3 4"},
		{everything, "get_network_bodies", `{"status_min":500,"method":"GET"}`, "5 3 4"}, // listed by start: 5 began first,
		{narrowed, "get_network_bodies", `{}`, ""},
		{everything, "get_websocket_events", `{"url":"two"}`, "2"},
		{everything, "get_enhanced_actions", `{"tab":1}`, ""},
	} {
		p := read(t, w, c.client, c.tool, c.args)
		if p.positions() != c.want || p.Total != len(p.Entries) {
			t.Errorf("%s %s: %q of %d, want %q", c.tool, c.args, p.positions(), p.Total, c.want)
		}
	}
}

// TestPagingIsComplete: following next from the start reads every matching entry once.
func TestPagingIsComplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		want := ""
		for i := range rapid.IntRange(0, 60).Draw(rt, "entries") {
			if level := rapid.SampledFrom([]string{"log", "error"}).Draw(rt, "level"); level == "error" {
				want += fmt.Sprint(" ", i+1)
				w.Log(level, "e")
			} else {
				w.Log(level, "l")
			}
		}
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		a, got, after := w.Agent(), "", uint64(0)
		for {
			p := read(t, w, a, "get_browser_logs", fmt.Sprintf(`{"level":"error","after":%d,"limit":%d}`, after, limit))
			if len(p.Entries) > 0 {
				got += " " + p.positions()
			}
			if p.Next == 0 {
				break
			}
			after = p.Next
		}
		if got != want {
			rt.Fatalf("read%s, want%s", got, want)
		}
	})
}

// TestPagingFromTheNewestIsComplete: following next from the newest page reads each entry of then once, and no other, whatever cut
// the pages and whatever arrives meanwhile.
func TestPagingFromTheNewestIsComplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		sent := 0
		send := func(n int) (errors []uint64) {
			for range n {
				sent++
				level := rapid.SampledFrom([]string{"log", "error"}).Draw(rt, "level")
				if level == "error" {
					errors = append(errors, uint64(sent))
				}
				w.Log(level, strings.Repeat(fmt.Sprint("row ", sent, " "), rapid.SampledFrom([]int{1, 1, 10, 300}).Draw(rt, "length")))
			}
			return errors
		}
		want := send(rapid.IntRange(0, 60).Draw(rt, "entries"))
		a, got, after := w.Agent(), []uint64{}, ""
		for {
			args := fmt.Sprintf(`{"level":"error","limit":%d,"max_tokens":%d%s}`, rapid.IntRange(1, 20).Draw(rt, "limit"), rapid.IntRange(100, 2000).Draw(rt, "tokens"), after)
			p := read(t, w, a, "get_browser_logs", args)
			for i := range p.Entries {
				if i > 0 && p.Entries[i].Position <= p.Entries[i-1].Position {
					rt.Fatalf("%s: not in order: %s", args, p.positions())
				}
				got = append(got, p.Entries[i].Position)
			}
			if p.Next == 0 {
				break
			}
			if len(p.Entries) == 0 {
				rt.Fatalf("%s: a page without entries leads to another", args)
			}
			after = fmt.Sprintf(`,"after":%d`, p.Next)
			send(rapid.IntRange(0, 5).Draw(rt, "arrive"))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			rt.Fatalf("read %v, want %v", got, want)
		}
	})
}

// TestMistakesNameTheArgumentAndWhatItTakes covers every tool and argument, as the command line and
// agents call them.
func TestMistakesNameTheArgumentAndWhatItTakes(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	w.Log("error", "e")
	everything, narrowed := w.Agent(), w.Scoped("localhost:3000")
	type mistake struct {
		client           *checkpoint.Client
		tool, args, want string
	}
	mistakes := []mistake{
		{everything, "get_changes_since", `{"checkpoint":"2026-01-23T10:30:00.001Z"}`, "the time 2026-01-23T10:30:00.001Z is in the future; it is now 2026-01-23T10:30:00.000Z"},
		{everything, "get_changes_since", `{"checkpoint":"2026-W60"}`, `"2026-W60" is not a valid ISO 8601 time: no such week; write it like 2026-01-23T10:25:00Z`},
		{everything, "get_changes_since", `{"checkpoint":"auto_7"}`, `there is no checkpoint "auto_7": such a name is your read position`},
		{everything, "get_changes_since", `{"timeout_ms":600001}`, "timeout_ms is 600001; it must be from 0 to 600000"},
		{everything, "get_changes_since", `{"timeout_ms":9223372036854775}`, "it must be from 0 to 600000"},
		{everything, "get_changes_since", `{"timeout_ms":1.5}`, "timeout_ms must be a whole number, not 1.5"},
		{everything, "get_changes_since", `{"include":[1]}`, "include must be a string, not a number"},
		{everything, "get_changes_since", `[]`, "get_changes_since takes one JSON object of arguments"},
		{everything, "get_changes_since", `{} {}`, "get_changes_since takes one JSON object of arguments"},
		{everything, "get_changes_since", `{"tab"`, "the arguments of get_changes_since are not JSON"},
		{narrowed, "get_changes_since", `{"tab":1}`, "there is no tab 1; watched tabs: 2 (http://localhost:3000/)"},
		{everything, "checkpoint_create", `{"name":"Nope"}`, "it must match [a-z][a-z0-9_]*"},
		{everything, "checkpoint_create", `{"name":5}`, "name must be a string, not a number"},
		{everything, "checkpoint_create", `{"title":"x"}`, `checkpoint_create has no argument "title"; it takes name, note`},
		{everything, "checkpoint_list", `{"all":true}`, `checkpoint_list has no argument "all"; it takes none`},
		{everything, "checkpoint_delete", `{}`, "name is missing"},
		{everything, "checkpoint_delete", `{"name":"nope"}`, `there is no checkpoint "nope"`},
		{everything, "get_browser_logs", `{"level":"loud"}`, `level is "loud"; it must be debug, log, info, warning or error`},
		{everything, "get_browser_logs", `{"since":1}`, `get_browser_logs has no argument "since"; it takes level, search, after, limit, tab, max_tokens, format`},
		{everything, "get_network_bodies", `{"status_min":-1}`, "status_min is -1; it must be from 0 to 599"},
		{everything, "get_network_bodies", `{"path":""}`, "it takes positions, method, url, status_min, after, limit, tab, max_tokens, format"},
		{everything, "get_websocket_events", `{"op":""}`, "it takes url, after, limit, tab, max_tokens, format"},
		{everything, "get_enhanced_actions", `{"op":""}`, "it takes after, limit, tab, max_tokens, format"},
	}
	for _, tool := range []string{"get_browser_logs", "get_network_requests", "get_network_bodies", "get_websocket_events", "get_enhanced_actions"} {
		mistakes = append(mistakes,
			mistake{everything, tool, `{"limit":0}`, "limit is 0; it must be from 1 to 1000"},
			mistake{everything, tool, `{"limit":1001}`, "limit is 1001; it must be from 1 to 1000"},
			mistake{everything, tool, `{"max_tokens":99}`, "max_tokens is 99; it must be 100 or more"},
			mistake{everything, tool, `{"format":"yaml"}`, `format is "yaml"; it must be lines or json`},
			mistake{everything, tool, `{"limit":"10"}`, "limit must be a whole number, not a string"},
			mistake{everything, tool, `{"after":-1}`, "after must be a whole number"},
			mistake{everything, tool, `{"after":2}`, "after is 2, but the newest position is "},
			mistake{everything, tool, `{"tab":9}`, "there is no tab 9; watched tabs: 1 (http://localhost:5173/), 2 (http://localhost:3000/)"},
		)
	}
	for _, c := range mistakes {
		_, err := w.Call(c.client, c.tool, c.args)
		if err == nil || !usererr.Is(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v; want %q", c.tool, c.args, err, c.want)
		}
	}
	if r := w.Changes(everything, params{}); r.Checkpoint != "auto_1" || r.Console.TotalNewEntries != 1 {
		t.Errorf("a mistake advanced the checkpoint: %s", show(r))
	}
}

func TestWithoutAWatchedTabTheMistakeSaysSo(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.SetTab(protocol.Tab{ID: 7, URL: enginetest.Page})
	a := w.Agent()
	if _, err := w.Call(a, "get_changes_since", `{"tab":3}`); err == nil || err.Error() != "there is no tab 3, and no tab is watched" {
		t.Errorf("%v", err)
	}
	if r := w.Changes(a, params{Tab: 1}); r.Coverage == nil || r.Coverage.Note != "tab 1 is not watched" {
		t.Errorf("%s", show(r))
	}
}

func TestANameThatSeveralScopesHaveIsAMistakeOfWhoSeesAll(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for _, origin := range []string{"localhost:5173", "localhost:3000"} {
		if _, err := w.Call(w.Scoped(origin), "checkpoint_create", `{"name":"session_start"}`); err != nil {
			t.Fatal(err)
		}
		w.Pass(time.Second)
	}
	for _, tool := range []string{"get_changes_since", "checkpoint_delete"} {
		args := `{"checkpoint":"session_start"}`
		if tool == "checkpoint_delete" {
			args = `{"name":"session_start"}`
		}
		_, err := w.Call(w.Agent(), tool, args)
		if err == nil || !usererr.Is(err) || !strings.Contains(err.Error(), "several scopes (http://localhost:5173 and http://localhost:3000)") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
