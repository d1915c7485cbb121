package devservers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// maxPause bounds the answers about a pause in the application, in tokens of o200k.
const maxPause = 400

// TestAPauseInReactIsSmall: frames of libraries are folded, and the rest is there when asked for.
func TestAPauseInReactIsSmall(t *testing.T) {
	o200k := codec.NewO200kBase()
	for _, name := range []string{"react18", "vite"} {
		t.Run(name, func(t *testing.T) {
			w := e2etest.SharedWorld(t)
			app := devserver.Start(t, name, reactFiles, nil)
			app.Write("src/cart.js", "export const empty = { lines: [] };\n\nexport function add(cart, item) {\n  const lines = [...cart.lines, item];\n  return { lines };\n}\n")
			a := w.NewAgent(t, "--origin", app.URL, "--tools", "observe,act,debug")
			p := w.Open(t, app.URL)
			p.WaitUntil(`document.querySelectorAll('main li').length === 2`)
			ask := func(tool string, args map[string]any) (debugger.DebuggerState, int) {
				t.Helper()
				var s debugger.DebuggerState
				text := a.Do(tool, args)
				if err := json.Unmarshal([]byte(text), &s); err != nil {
					t.Fatal(err)
				}
				n, err := o200k.Count(text)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s %v: %d tokens\n%s", tool, args, n, text)
				return s, n
			}
			a.Breakpoint(map[string]any{"url": "src/cart.js", "line": 5})
			p.Start(`document.querySelector('main li button').click()`)
			state, n := ask("debugger_state", map[string]any{"wait_ms": 15000})
			if n > maxPause {
				t.Errorf("a pause has %d tokens", n)
			}
			var folded int
			for _, f := range state.Threads[0].Stack {
				if folded += f.Libraries; f.Libraries > 0 && !strings.Contains(f.Source, "react") {
					t.Errorf("%d frames of %q", f.Libraries, f.Source)
				}
			}
			all, _ := ask("debugger_state", map[string]any{"all_frames": true})
			if own := state.Threads[0].Stack; folded < 10 || len(all.Threads[0].Stack)-len(own) < 10 || own[0].Source != all.Threads[0].Stack[0].Source {
				t.Errorf("%d frames are folded: %d lines for %d", folded, len(own), len(all.Threads[0].Stack))
			}
			for _, kind := range []string{"over", "out"} {
				if _, n := ask("debugger_step", map[string]any{"kind": kind}); n > maxPause {
					t.Errorf("a step has %d tokens", n)
				}
			}
		})
	}
}
