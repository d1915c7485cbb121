package frameworks

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// codeEditors are the pages of editors that draw their text themselves, or in a frame. Three are served as their packages
// have them for pages.
var codeEditors = map[string]string{
	"monaco":     `<link rel="stylesheet" href="/node_modules/monaco-editor/min/vs/editor/editor.main.css"><script src="/node_modules/monaco-editor/min/vs/loader.js"></script><script src="/editor/monaco.js"></script>`,
	"codemirror": `<script src="/built/editor-codemirror.js"></script>`,
	"ace":        `<script src="/node_modules/ace-builds/src-min-noconflict/ace.js"></script><script src="/editor/ace.js"></script>`,
	"tinymce":    `<script src="/node_modules/tinymce/tinymce.min.js"></script><script src="/editor/tinymce.js"></script>`,
}

// TestEditorsThatDrawTheirText: what they hold is the value of their field, beside their own record of it, and it can be
// clicked, typed into, selected and replaced.
func TestEditorsThatDrawTheirText(t *testing.T) {
	w := e2etest.SharedWorld(t)
	built := buildApps(t)
	for name, scripts := range codeEditors {
		t.Run(name, func(t *testing.T) {
			s := e2etest.NewSite(t, map[string]string{
				"/{$}": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Write</title><style>#app { height: 300px; width: 600px }</style><main><div id="app"></div><input aria-label="Other"></main>` + scripts,
			})
			for path, dir := range map[string]string{"/node_modules/": "../apps/node_modules", "/editor/": "../apps/editor", "/built/": built} {
				s.Mux.Handle(path, http.StripPrefix(path, http.FileServer(http.Dir(filepath.FromSlash(dir)))))
			}
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			p.WaitUntil(`window.written`)
			first := a.Look()
			e2etest.Lacks(t, a.Everything(), `text: "1"`) // a line's number
			field, other := e2etest.RefOf(t, first, `textbox "Message"`), e2etest.RefOf(t, first, `"Other"`)
			written := func(want string) {
				t.Helper()
				if got := strings.ReplaceAll(p.Text(`window.written()`), "\u00a0", " "); got != want { // of several spaces
					t.Errorf("the editor holds %q, not %q", got, want)
				}
			}
			do := func(tool string, args map[string]any) *e2etest.Acted {
				t.Helper()
				d := a.Act(tool, args)
				e2etest.Intact(t, d)
				if len(d.Ignored) > 0 {
					t.Errorf("ignored: %s", d)
				}
				return d
			}
			do("browser_click", map[string]any{"ref": field})
			d := do("browser_type", map[string]any{"ref": field, "text": "let a = [1]"})
			written("let a = [1]")
			e2etest.Holds(t, d.Page, `"let a = [1]"`)
			do("browser_click", map[string]any{"ref": other})
			d = do("browser_type", map[string]any{"ref": field, "text": "\nf(\"x\")"}) // behind what is there, and nothing closes itself
			written("let a = [1]\nf(\"x\")")
			e2etest.Holds(t, d.Page, `"let a = [1]\nf(\"x\")"`)
			for range 4 {
				do("browser_press_key", map[string]any{"ref": field, "key": "Shift+ArrowLeft"})
			}
			if got := p.Text(`window.selected()`); got != `"x")` {
				t.Errorf("selected is %q", got)
			}
			do("browser_press_key", map[string]any{"ref": field, "key": "Backspace"})
			written("let a = [1]\nf(")
			d = do("browser_type", map[string]any{"ref": field, "text": "New {", "clear": true})
			written("New {")
			e2etest.Holds(t, d.Page, `"New {"`)
			do("browser_fill_form", map[string]any{"fields": []any{map[string]any{"ref": field, "value": "if (a) {\n  b()\n}"}, map[string]any{"ref": other, "value": "x"}}})
			written("if (a) {\n  b()\n}")
			do("browser_type", map[string]any{"ref": field, "text": "", "clear": true})
			written("")
			lines := make([]string, 500)
			for i := range lines {
				lines[i] = fmt.Sprintf("line %d of a long text", i+1)
			}
			p.JS(fmt.Sprintf(`window.write(%q); for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame)`, strings.Join(lines, "\n")))
			long := a.Look()
			e2etest.Holds(t, long, "[lines=", `"line 1 of a long text\nline 2 of`)
			do("browser_press_key", map[string]any{"ref": field, "key": "Control+End"})
			end := a.Whole()
			if name != "tinymce" {
				e2etest.Holds(t, end, "-500]")
			}
			if len(end) > 3000 {
				t.Errorf("a long text takes %d bytes", len(end))
			}
			do("browser_type", map[string]any{"ref": field, "text": "short", "clear": true})
			written("short")
			e2etest.Holds(t, a.Whole(), `: "short"`)
		})
	}
}
