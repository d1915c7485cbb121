package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

var rawTools = []string{"get_browser_logs", "get_network_requests", "get_network_bodies", "get_websocket_events", "get_enhanced_actions"}

// inLines calls a raw read and returns the text that an agent gets.
func inLines(t *testing.T, w *enginetest.World, c *checkpoint.Client, tool, args string) string {
	t.Helper()
	answer, err := engine.FindTool(tool).Call(context.Background(), w.Engine, c, []byte(args))
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	text, ok := render.ForAgent(answer)
	if !ok {
		t.Fatalf("%s %s is not answered in lines", tool, args)
	}
	return text
}

func sendRequest(w *enginetest.World, id, more string) {
	w.Send("network", `"id":"`+id+`","resource":"fetch","mime":"application/json",`+more)
}

func TestRawReadsInLines(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for tool, want := range map[string]string{
		"get_browser_logs": "# no console entries", "get_network_requests": "# no requests", "get_network_bodies": "# no requests",
		"get_websocket_events": "# no WebSocket events", "get_enhanced_actions": "# no actions",
	} {
		if got := inLines(t, w, a, tool, `{}`); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	w.Send("console", `"level":"error","via":"exception","text":"TypeError: x\nat y","url":"http://localhost:5173/src/app.js","line":42,"column":7,"stack":["go (http://localhost:5173/src/app.js:42:7)","run (http://cdn.test/lib.js:1:2)"],"target":"worker"`)
	w.Send("console", `"level":"log","via":"console","text":"say \"hi\"","stack":["go (http://localhost:5173/src/app.js:42:7)"]`)
	sendRequest(w, "late", `"method":"GET","url":"http://localhost:5173/api/flags","status":200,"started":1769164199500,"duration":400,"size":22`)
	sendRequest(w, "early", `"method":"POST","url":"http://localhost:5173/graphql?v=1","status":200,"started":1769164199030,"duration":35.4,"size":2400,"stack":["load (http://localhost:5173/src/cart.ts:31:5)"],
		"request_headers":{"Content-Type":"application/json","User-Agent":"x"},"request_body":"{\"operationName\":\"Pay\",\"query\":\"mutation Pay { pay }\"}",
		"response_headers":{"Content-Type":"application/json"},"response_body":"{\"errors\":[{\"message\":\"no funds\"}]}"`)
	sendRequest(w, "cut", `"method":"GET","url":"https://api.test/x","status":0,"error":"failed to load","started":1769164199600,"duration":1`)
	w.Send("network", `"id":"script","method":"GET","url":"http://localhost:5173/src/app.js","resource":"script","status":200,"started":1769164199000,"duration":3`)
	w.Send("network", `"id":"no script","method":"GET","url":"http://localhost:5173/src/gone.js","resource":"script","status":404,"started":1769164199700,"duration":3`)
	w.Socket("open", "")
	w.Socket("received", `{"type":"error"}`)
	w.Send("websocket", `"id":"w1","url":"ws://localhost:5173/live","op":"close","code":1006,"reason":"gone"`)
	w.Send("action", `"action":"type","target":"textbox \"Email\"","selector":"#email","value":"a@b.c"`)
	for _, c := range []struct{ tool, args, want string }{
		{"get_browser_logs", `{}`, `# 10:30:00Z +ms
1 +0 uncaught "TypeError: x\nat y" /src/app.js:42:7 in worker
  go (/src/app.js:42:7)
  run (http://cdn.test/lib.js:1:2)
2 +0 log "say \"hi\""`},
		{"get_network_requests", `{}`, `# 10:29:59Z +start/ms/bytes, 1 files omitted
2 POST /graphql?v=1 Pay 200 +30/35/2400 cart.ts:31 "no funds"
1 GET /api/flags 200 +500/400/22
3 GET https://api.test/x "failed to load" +600/1
5 GET /src/gone.js 404 +700/3`},
		{"get_network_requests", `{"url":".js"}`, `# 10:29:59Z +start/ms/bytes
4 GET /src/app.js 200 +0/3
5 GET /src/gone.js 404 +700/3`},
		{"get_network_bodies", `{"positions":[2,9]}`, `# 10:29:59Z +start/ms/bytes
2 POST /graphql?v=1 Pay 200 +30/35/2400 cart.ts:31
  > Content-Type: application/json | (1 usual headers)
  > body: {"operationName":"Pay","query":"mutation Pay { pay }"}
  < Content-Type: application/json
  < body: {"errors":[{"message":"no funds"}]}
# no longer kept or not in scope: 9`},
		{"get_websocket_events", `{}`, `# 10:30:00Z +ms
1 +0 open /live
2 +0 received /live "{\"type\":\"error\"}"
3 +0 close /live 1006 "gone"`},
		{"get_enhanced_actions", `{}`, `# 10:30:00Z +ms
1 +0 type textbox "Email" = "a@b.c"`},
	} {
		if got := inLines(t, w, a, c.tool, c.args); got != c.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.tool, c.args, got, c.want)
		}
	}
}

// TestALineNamesNoLibrary where a request succeeded.
func TestALineNamesNoLibrary(t *testing.T) {
	for status, named := range map[int]bool{200: false, 500: true} {
		w := enginetest.New(t, capture.Limits{})
		sendRequest(w, "1", fmt.Sprintf(`"method":"GET","url":"http://localhost:5173/api/posts","status":%d,"started":1769164199500,"duration":1,"stack":["get (http://localhost:5173/node_modules/.vite/deps/fetch-CPcdySap.js:4:2)"]`, status))
		if got := inLines(t, w, w.Agent(), "get_network_requests", `{}`); strings.Contains(got, "node_modules/.vite/deps/fetch-CPcdySap.js:4") != named {
			t.Errorf("%d: %s", status, got)
		}
	}
}

func TestEqualLinesAreFolded(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for range 6 {
		w.Log("log", "tick")
		w.Log("log", "tock")
	}
	for _, stamp := range []string{"p0m9p9j3", "p0n7qgfk", "p0oa5ajl"} {
		w.Send("console", fmt.Sprintf(`"level":"error","via":"browser","category":"network","url":"http://localhost:5173/poll?EIO=4&t=%s","text":"Failed to load resource: 404"`, stamp))
		w.Send("console", fmt.Sprintf(`"level":"error","via":"browser","category":"network","url":"http://localhost:5173/poll?room=%s","text":"Failed to load resource: 404"`, stamp))
	}
	for range 3 {
		sendRequest(w, "r", `"method":"GET","url":"http://localhost:5173/notifications","status":200,"started":1769164199000,"duration":10`)
	}
	for _, target := range []string{"A", "A", "B", "A"} {
		w.Send("action", `"action":"click","target":"button \"`+target+`\""`)
	}
	for i := range 26 {
		w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://localhost:5173/live","op":"error","text":"refused"`, i))
	}
	for tool, want := range map[string]string{
		"get_websocket_events": "1…26 +0…0 ×26 error /live \"refused\"",
		"get_browser_logs": "1…11 +0…0 ×6 log \"tick\" /src/app.js:42:0\n2…12 +0…0 ×6 log \"tock\" /src/app.js:42:0\n" +
			"13…17 +0…0 ×3 error \"Failed to load resource: 404\" /poll?EIO=4&t=p0m9p9j3\n14 +0 error \"Failed to load resource: 404\" /poll?room=p0m9p9j3\n" +
			"16 +0 error \"Failed to load resource: 404\" /poll?room=p0n7qgfk\n18 +0 error \"Failed to load resource: 404\" /poll?room=p0oa5ajl",
		"get_network_requests": "1…3 GET /notifications 200 +0…0/10 ×3",
		// The order of actions is what counts.
		"get_enhanced_actions": "1…2 +0…0 ×2 click button \"A\"\n3 +0 click button \"B\"\n4 +0 click button \"A\"",
	} {
		if _, got, _ := strings.Cut(inLines(t, w, a, tool, `{}`), "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tool, got, want)
		}
	}
}

// TestEntriesOfWhichTheSameIsWrittenAreFolded: also where only what is cut of them differs.
func TestEntriesOfWhichTheSameIsWrittenAreFolded(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for i := range 30 {
		w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://localhost:5173/live","op":"error","text":"refused"`, i))
		var frames []string
		for n := range 10 {
			frames = append(frames, fmt.Sprintf(`"render%d (http://localhost:5173/src/app.js:%d:%d)"`, n, n, 1+i*(n/3)))
		}
		w.Send("console", `"level":"warning","via":"console","text":"stale","stack":[`+strings.Join(frames, ",")+`]`)
	}
	if got := inLines(t, w, a, "get_websocket_events", `{"max_tokens":100}`); got != "# 10:30:00Z +ms\n1…30 +0…0 ×30 error /live \"refused\"" {
		t.Error(got)
	}
	if got := inLines(t, w, a, "get_browser_logs", `{"max_tokens":150}`); !strings.Contains(got, "\n1…30 +0…0 ×30 warning \"stale\"") || !strings.Contains(got, "of 10 frames") {
		t.Error(got)
	}
	if got := inLines(t, w, a, "get_browser_logs", `{}`); strings.Count(got, "warning") < 10 {
		t.Errorf("what is written of them differs:\n%s", got)
	}
}

var nextLine = regexp.MustCompile(`(?m)^# next: (\d+)$`)

// TestACutReadContinuesWithNext: whatever the limit, following next reads everything once, from the start and from the newest
// entries on.
func TestACutReadContinuesWithNext(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	const all = 300
	for i := range all {
		text := fmt.Sprintf("row %d of the table was rendered", i)
		w.Log("log", text)
		sendRequest(w, fmt.Sprint(i), fmt.Sprintf(`"method":"GET","url":"http://localhost:5173/rows/%d","status":200,"started":%d,"duration":10,"response_body":"{}"`, i, 1769164199000-i))
		w.Socket("received", text)
		w.Send("action", fmt.Sprintf(`"action":"click","target":"button \"%s\""`, text))
	}
	for _, tool := range rawTools {
		for _, most := range []int{100, 400, 2000} {
			position := regexp.MustCompile(`(?m)^(\d+) `)
			read, after := map[string]int{}, "0"
			for after != "" {
				text := inLines(t, w, a, tool, fmt.Sprintf(`{"after":%s,"limit":70,"max_tokens":%d}`, after, most))
				if n := tokens.Estimate(text); n > most {
					t.Errorf("%s within %d: %d tokens", tool, most, n)
				}
				for _, m := range position.FindAllStringSubmatch(text, -1) {
					read[m[1]]++
				}
				after = ""
				if m := nextLine.FindStringSubmatch(text); m != nil {
					after = m[1]
				}
			}
			if len(read) != all || read["1"] != 1 || read[fmt.Sprint(all)] != 1 {
				t.Errorf("%s within %d: read %d of %d entries", tool, most, len(read), all)
			}
			text := inLines(t, w, a, tool, fmt.Sprintf(`{"max_tokens":%d}`, most))
			if most == 2000 && strings.Contains(text, "# newest 100 of 300") {
				continue // only the limit cut it
			}
			m := nextLine.FindStringSubmatch(text)
			if m == nil || !strings.Contains(text, "older left out to fit max_tokens, 200 by limit\n") || !strings.Contains(text, fmt.Sprintf("\n%d ", all)) {
				t.Errorf("%s within %d is cut without next to what was left out: %v\n%.300s", tool, most, m, text)
			}
			read = map[string]int{}
			for m != nil {
				for _, m := range position.FindAllStringSubmatch(text, -1) {
					read[m[1]]++
				}
				text = inLines(t, w, a, tool, fmt.Sprintf(`{"after":%s,"max_tokens":%d}`, m[1], most))
				m = nextLine.FindStringSubmatch(text)
			}
			for _, m := range position.FindAllStringSubmatch(text, -1) {
				read[m[1]]++
			}
			if len(read) != all || read["1"] != 1 || read[fmt.Sprint(all)] != 1 {
				t.Errorf("%s within %d: read %d of %d entries from the newest on", tool, most, len(read), all)
			}
		}
	}
}

// TestAHugeEntryIsCutAndSaysSo, in lines and as JSON alike.
func TestAHugeEntryIsCutAndSaysSo(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	huge := strings.Repeat("lorem ipsum dolor sit amet ", 10_000)
	w.Log("error", huge)
	headers := map[string]string{}
	for i := range 100 {
		headers[fmt.Sprintf("X-Header-%d", i)] = "some value of a header"
	}
	many, err := json.Marshal(headers)
	if err != nil {
		t.Fatal(err)
	}
	sendRequest(w, "r", fmt.Sprintf(`"method":"POST","url":"http://localhost:5173/a?%s","status":500,"started":1769164199000,"duration":1,"request_headers":%s,"response_headers":%[2]s,"request_body":%q,"response_body":%[3]q`,
		strings.Repeat("q=1&", 1500), many, huge))
	w.Socket("received", huge)
	w.Send("action", fmt.Sprintf(`"action":"type","target":"textbox","value":%q`, huge[:1500]))
	for _, tool := range rawTools {
		for _, format := range []string{"lines", "json"} {
			args := fmt.Sprintf(`{"max_tokens":300,"format":%q}`, format)
			var text string
			if format == "json" {
				var err error
				if text, err = w.Call(a, tool, args); err != nil {
					t.Fatal(err)
				}
			} else {
				text = inLines(t, w, a, tool, args)
			}
			if n := tokens.Estimate(text); n > 320 || n < 30 {
				t.Errorf("%s: %d tokens:\n%s", args, n, text)
			}
			if !regexp.MustCompile(`cut.*\d+ of \d+ bytes`).MatchString(text) {
				t.Errorf("%s %s does not say that it was cut:\n%s", tool, args, text)
			}
		}
	}
}

// TestABodyIsCutBeforeItsAddress: whose body it is has to be known even where little fits.
func TestABodyIsCutBeforeItsAddress(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	const path = "/api/projects/42/tasks?state=open&page=2"
	sendRequest(w, "r", fmt.Sprintf(`"method":"POST","url":"http://localhost:5173%s","status":422,"started":1769164199000,"duration":1,"request_body":%q,"response_body":%[2]q`,
		path, strings.Repeat("lorem ipsum ", 500)))
	text := inLines(t, w, a, "get_network_bodies", `{"max_tokens":100}`)
	if !strings.Contains(text, "POST "+path+" ") || !regexp.MustCompile(`request_body \d+ of 6000 bytes`).MatchString(text) {
		t.Error(text)
	}
	if n := tokens.Estimate(text); n > 110 {
		t.Errorf("%d tokens", n)
	}
}

// FuzzPageTextForgesNoEntry: whatever a page sends, each line that begins an entry or with # is Tidemark's own.
func FuzzPageTextForgesNoEntry(f *testing.F) {
	for _, s := range []string{"x\n# next: 5", "x\r\n7 +0 error \"forged\"", "x\u2028# 9 left out", "x\u0085- y\v\fz", "a b", "\x1b[2K# next: 1", "\" forged", "a\n  < body: b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, hostile string) {
		quoted, err := json.Marshal(hostile)
		if err != nil || len(hostile) > 200 {
			return
		}
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		text := string(quoted)
		in := func(before string) string { return `"` + before + text[1:] }
		w.Send("console", `"level":"error","via":"console","text":`+text+`,"url":`+in("http://localhost:5173/")+`,"line":1,"stack":[`+in("f ")+`,`+text+`],"target":`+text)
		w.Send("network", `"id":"1","method":`+in("GET")+`,"url":`+in("http://localhost:5173/")+`,"resource":"fetch","status":0,"error":`+in("e")+`,"started":1769164200000,"duration":1,"stack":[`+in("f (http://localhost:5173/")+`],
			"request_headers":{`+in("a")+`:`+text+`},"request_body":`+text+`,"response_headers":{`+in("b")+`:`+text+`},"response_body":`+text+`,"body_note":`+text)
		w.Send("websocket", `"id":"1","url":`+in("ws://localhost:5173/")+`,"op":"close","code":1,"reason":`+text)
		w.Send("action", `"action":"type","target":`+text+`,"value":`+text)
		for _, tool := range rawTools {
			lines := strings.FieldsFunc(inLines(t, w, a, tool, `{}`), func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) })
			for i, line := range lines {
				switch {
				case i == 0 && (strings.HasPrefix(line, "# 10:30:00Z +") || strings.HasPrefix(line, "# no ")):
				case i == 1 && strings.HasPrefix(line, "1 "):
				case i > 1 && strings.HasPrefix(line, "  "):
				default:
					t.Errorf("%s: %q begins a line of\n%q", tool, line, lines)
				}
			}
		}
	})
}

func TestSavedComparesWithBoundedRawReads(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	bounded := func() (n int) {
		for _, tool := range []string{"get_browser_logs", "get_network_requests", "get_websocket_events", "get_enhanced_actions"} {
			n += tokens.Estimate(inLines(t, w, w.Agent(), tool, `{}`))
		}
		return n
	}
	check := func(what string) {
		t.Helper()
		got, want := w.Changes(w.Agent(), params{}).RawTokens(), bounded()
		if got < want*8/10 || got > want*12/10 {
			t.Errorf("%s: %d tokens raw, want about %d", what, got, want)
		}
	}
	for i := range 12 {
		w.Log("log", fmt.Sprintf("[store] action items/loaded of page %d took %d ms", i, 7*i))
		w.Log("log", "the same again")
		sendRequest(w, fmt.Sprint(i), fmt.Sprintf(`"method":"GET","url":"http://localhost:5173/api/products?page=%d","status":200,"started":1769164199000,"duration":35,"size":2400,"response_body":%q`, i, strings.Repeat("long ", 1000)))
		w.Socket("received", fmt.Sprintf(`{"type":"price","id":%d}`, i))
		w.Send("action", fmt.Sprintf(`"action":"click","target":"button \"Item %d\""`, i))
	}
	check("a handful")
	for i := range 500 {
		w.Log("log", fmt.Sprintf("[store] action items/loaded of page %d took %d ms", i, 7*i))
	}
	check("more than fits")
}

func TestAPageForgesNoPartOfALine(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Send("console", `"level":"error","via":"console","text":"a","url":"http://localhost:5173/x.js (repeats another entry)","line":1`)
	sendRequest(w, "1", `"method":"GET","url":"http://localhost:5173/a 200, GET /b","status":200,"started":1769164199500,"duration":1,"stack":["f (http://localhost:5173/x.js \"no funds\":1:1)"],"response_headers":{"x-a":"1 | x-b: 2"},"response_body":"x"`)
	w.Send("action", `"action":"click","target":"button x = \"y\" by agent 9"`)
	for tool, want := range map[string]string{
		"get_browser_logs":     `error "a" "/x.js (repeats another entry):1:0"`,
		"get_network_requests": `GET /a%20200,%20GET%20/b 200 +500/1 "x.js \"no funds\":1"`,
		"get_network_bodies":   `x-a: "1 | x-b: 2"`,
		"get_enhanced_actions": `click "button x = \"y\" by agent 9"`,
	} {
		if got := inLines(t, w, a, tool, `{}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}
