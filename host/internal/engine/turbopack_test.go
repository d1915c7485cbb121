package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

const (
	chunks    = "/_next/static/chunks/"
	nextChunk = chunks + "node_modules_next_dist_05y3oi5z9mc_3._.js"
	appChunk  = chunks + "_099wiqnnowdq5._.js"
	evaluated = appChunk + "?id=%255Bproject%255D/src/Item.jsx+%255Bapp-client%255D+(ecmascript)"
)

// hmr reports a frame that a development server of Next.js sent to a page.
func hmr(w *enginetest.World, text string) {
	w.Pass(time.Millisecond)
	w.Send("websocket", fmt.Sprintf(`"id":"hmr","url":"ws://localhost:3000/_next/hmr?id=1","op":"received","text":%q,"size":%d`, text, len(text)))
	w.Pass(time.Millisecond)
}

func refreshed(w *enginetest.World) {
	w.Send("console", fmt.Sprintf(`"level":"log","via":"console","text":"[Fast Refresh] done in 368ms","url":%q,"line":1,"column":1`, enginetest.Page+nextChunk))
	w.Pass(time.Millisecond)
}

// TestOnlyAnUpdateOfTurbopackMakesMapsUnknown: Next.js logs what it compiles for a first request as a refresh too. Without
// the connection over which updates come, such a message may be one.
func TestOnlyAnUpdateOfTurbopackMakesMapsUnknown(t *testing.T) {
	const connected = `{"type":"turbopack-connected","data":{"sessionId":1}}`
	const issues = `{"type":"turbopack-message","data":[{"resource":{"path":"a.js"},"type":"issues","issues":[]}]}`
	const update = `{"type":"turbopack-message","data":[{"resource":{"path":"a.js"},"type":"partial","instruction":{}}]}`
	for name, c := range map[string]struct {
		frames []string
		closed bool
		want   string
	}{
		"no connection is known": {nil, false, "_099wiqnnowdq5._.js:1 (generated) boom×1"},
		"nothing changed":        {[]string{connected, issues}, false, "Item.jsx:5 boom×1"},
		"an update":              {[]string{connected, update}, false, "_099wiqnnowdq5._.js:1 (generated) boom×1"},
		"it closed":              {[]string{connected}, true, "_099wiqnnowdq5._.js:1 (generated) boom×1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			s.put(appChunk, oneFile("src/Item.jsx"))
			w := enginetest.NewWithMaps(t, s.fetch)
			loaded(w, appChunk, "")
			for _, text := range c.frames {
				hmr(w, text)
			}
			if c.closed {
				w.Send("websocket", `"id":"hmr","url":"ws://localhost:3000/_next/hmr?id=1","op":"close","code":1000`)
				w.Pass(time.Millisecond)
			}
			refreshed(w)
			throw(w, "boom", appChunk, 45)
			w.Changes(w.Agent(), params{})
			s.fetched(w)
			if got := sources(w.Changes(w.Agent(), params{Checkpoint: "start"})); got != c.want {
				t.Error(got)
			}
		})
	}
}

// TestTheProjectsFrameIsNamedAlsoWithoutAMap, not that of a library below or above it.
func TestTheProjectsFrameIsNamedAlsoWithoutAMap(t *testing.T) {
	at := func(function, path string) string {
		return fmt.Sprintf("%s (%s%s:1:45)", function, enginetest.Page, path)
	}
	for frame, want := range map[string]string{
		evaluated: "Item.jsx [evaluated]:1 (generated)",
		appChunk:  "_099wiqnnowdq5._.js:1 (generated)",
	} {
		for _, mapped := range []bool{true, false} {
			s := &server{}
			if mapped {
				s.put(nextChunk, oneFile("file:///shop/node_modules/next/src/client/intercept-console-error.ts"))
			}
			w := enginetest.NewWithMaps(t, s.fetch)
			loaded(w, nextChunk, "")
			loaded(w, appChunk, "")
			throw(w, "picked", nextChunk, 45, at("console.error", nextChunk), at("pick", frame), at("executeDispatch", nextChunk))
			sent(w, "GET", "/api/none", 500, "", "pick "+frame+":45", "executeDispatch "+nextChunk+":45", "instantiate "+chunks+"turbopack-_11q0wbt2n0d9y._.js:45")
			for range 2 {
				r := w.Changes(w.Agent(), params{Checkpoint: "start"})
				if got := sources(r); got != want+" picked×1" {
					t.Errorf("mapped %v: %s", mapped, got)
				}
				if f := r.Network.Failures[0]; report.Marked(f.Initiator, f.Generated) != want {
					t.Errorf("mapped %v: %+v", mapped, f)
				}
				s.fetched(w)
			}
			if e := logs(t, w, w.Agent())[0]; e.Source != enginetest.Page+frame+":1:45" || !e.Generated {
				t.Errorf("mapped %v: %+v", mapped, e)
			}
		}
	}
}
