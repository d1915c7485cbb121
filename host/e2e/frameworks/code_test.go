package frameworks

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
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
				e2etest.Holds(t, long, " of ~500]")
			}
			if name != "tinymce" {
				e2etest.Holds(t, end, "-500]")
			}
			if len(end) > 3000 {
				t.Errorf("a long text takes %d bytes", len(end))
			}
			do("browser_type", map[string]any{"ref": field, "text": "short", "clear": true})
			written("short")
			e2etest.Holds(t, a.Whole(), `: "short"`)
			do("browser_type", map[string]any{"ref": field, "text": " and one more", "submit": true})
			do("browser_type", map[string]any{"ref": field, "text": "end"})
			written("short and one more\nend")
			do("browser_press_key", map[string]any{"ref": field, "key": "Control+Home"})
			do("browser_press_key", map[string]any{"ref": field, "key": "Shift+End"})
			do("browser_type", map[string]any{"text": "a new line"}) // in place of what is selected
			written("a new line\nend")
			do("browser_type", map[string]any{"ref": field, "text": []string{"one", "two"}, "submit": true, "clear": true})
			do("browser_type", map[string]any{"text": "three"})
			written("two\nthree")
			if name == "tinymce" { // its keys are in a frame
				return
			}
			// A text that is there already is pasted as soon as another one.
			p.JS(`document.addEventListener('paste', () => { window.drawn = 0; const count = () => { window.drawn++; requestAnimationFrame(count) }; requestAnimationFrame(count) }, true)
				document.addEventListener('keydown', ({ key }) => { if (key === 'Enter') window.waited = window.drawn }, true)`)
			do("browser_type", map[string]any{"ref": field, "text": "two\nthree", "clear": true, "submit": true})
			written("two\nthree\n")
			if p.Text(`String(window.waited < 20)`) != "true" {
				t.Errorf("the editor got the next key %s frames later", p.Text(`String(window.waited)`))
			}
		})
	}
}

// editorPage is a page with code editors of the applications' packages.
func editorPage(t *testing.T, w *e2etest.World, page string) (*e2etest.Agent, *e2etest.Tab) {
	t.Helper()
	buildApps(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Code</title><style>#app { height: 300px; width: 600px }</style><main><div id="app"></div></main>` + page})
	s.Mux.Handle("/node_modules/", http.StripPrefix("/node_modules/", http.FileServer(http.Dir(filepath.FromSlash("../apps/node_modules")))))
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.WaitUntil(`document.querySelector('.view-line, .ace_line, .xterm-rows > div')`)
	return a, p
}

const monacoScripts = `<link rel="stylesheet" href="/node_modules/monaco-editor/min/vs/editor/editor.main.css"><script src="/node_modules/monaco-editor/min/vs/loader.js"></script><script>require.config({ paths: { vs: '/node_modules/monaco-editor/min/vs' } })</script>`

// TestLinesOfCodeThatAreNotTheTexts: an editor draws more than its text, and less.
func TestLinesOfCodeThatAreNotTheTexts(t *testing.T) {
	w := e2etest.SharedWorld(t)
	t.Run("a comparison", func(t *testing.T) {
		a, p := editorPage(t, w, monacoScripts+`<script>require(['vs/editor/editor.main'], () => {
	const { editor } = monaco;
	editor.createDiffEditor(app, { renderSideBySide: false }).setModel({ original: editor.createModel('one\ntwo\nthree'), modified: editor.createModel('one\nthree\nfour') });
})</script>`)
		p.WaitUntil(`document.querySelector('.line-delete')`)
		e2etest.Holds(t, a.Whole(), `: "one\nthree\nfour"`)
	})
	t.Run("folded lines", func(t *testing.T) {
		a, p := editorPage(t, w, monacoScripts+`<script>require(['vs/editor/editor.main'], () => {
	window.editor = monaco.editor.create(app, { language: 'javascript', value: 'function a() {\n  let b\n  let c\n}\nlet d' });
})</script>`)
		p.WaitUntil(`window.editor && document.querySelector('.codicon-folding-expanded')`)
		e2etest.Lacks(t, a.Everything(), "- item [")
		p.JS(`editor.trigger('', 'editor.foldAll')`)
		p.WaitUntil(`document.querySelector('.inline-folded')`)
		e2etest.Holds(t, a.Whole(), `[lines=1,4-5]: "function a() {\n}\nlet d"`)
	})
	t.Run("wrapped lines", func(t *testing.T) {
		a, _ := editorPage(t, w, `<script src="/node_modules/ace-builds/src-min-noconflict/ace.js"></script><script>
ace.edit('app', { wrap: 40 }).setValue('if (a)\n    let b = "aaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb cccccccccccccccccc"', -1);
</script>`)
		e2etest.Holds(t, a.Whole(), `"if (a)\n    let b = \"aaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb cccccccccccccccccc\""`)
	})
	t.Run("buttons", func(t *testing.T) {
		s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Write", `<div contenteditable="true" role="textbox" aria-label="Message"><p>See:</p><div contenteditable="false"><button>js</button><div role="button" tabindex="0">Copy</div></div><pre>let a</pre></div>`)})
		a := w.AgentOf(t, s)
		w.Open(t, s.URL)
		e2etest.Holds(t, a.Whole(), `"See:\nlet a"`, `button "js"`, `button "Copy"`)
	})
}

// TestATerminalInAPage: what xterm.js draws is the value of its field, and what is typed comes once.
func TestATerminalInAPage(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := editorPage(t, w, `<link rel="stylesheet" href="/node_modules/@xterm/xterm/css/xterm.css"><script src="/node_modules/@xterm/xterm/lib/xterm.js"></script><script>
const terminal = new Terminal({ rows: 10 });
terminal.open(app);
terminal.write('$ ');
window.received = '';
terminal.onData((data) => {
	received += data;
	terminal.write(data === '\r' ? '\r\n3 tests passed\r\n$ ' : data);
});
</script>`)
	p.WaitUntil(`document.querySelector('.xterm-rows').textContent.includes('$')`)
	look := a.Whole()
	e2etest.Holds(t, look, `textbox "Terminal input"`, `[lines=1+]: "$`)
	field := e2etest.RefOf(t, look, "Terminal input")
	d := a.Act("browser_type", map[string]any{"ref": field, "text": "npm test", "submit": true})
	e2etest.Intact(t, d)
	p.WaitUntil(`document.querySelector('.xterm-rows').textContent.includes('passed')`)
	e2etest.Holds(t, a.Whole(), `[lines=3+]: "$ npm test\n3 tests passed\n$`)
	d = a.Act("browser_type", map[string]any{"ref": field, "text": "ls", "clear": true}) // nothing of a terminal's can be cleared so
	p.WaitUntil(`document.querySelector('.xterm-rows').textContent.includes('ls')`)
	e2etest.Holds(t, a.Whole(), `3 tests passed\n$ ls`)
	if got := p.Text(`received`); got != "npm test\rls" || len(d.Ignored) > 0 {
		t.Errorf("the terminal received %q, ignored: %s", got, d)
	}
}

// TestEditorsSayHowManyLinesTheyHave: what they draw is never taken for all of a longer text, and how long that is, is said as
// exactly as the page shows it.
func TestEditorsSayHowManyLinesTheyHave(t *testing.T) {
	w := e2etest.SharedWorld(t)
	// Each case is an editor that is made with options in place of the one before. A page loads its editor's scripts once.
	type made struct {
		kind                string
		height, lines       int
		options, then, want string
	}
	cases := map[string]made{
		"a view below the last line":         {"monaco", 290, 500, `{}`, ``, `\[lines=1-15 of ~500\]`},
		"none below it":                      {"monaco", 290, 500, `{ scrollBeyondLastLine: false }`, ``, `\[lines=1-15 of ~500\]`},
		"either":                             {"monaco", 300, 500, `{}`, ``, `\[lines=1-15 of ~500-514\]`},
		"a padding":                          {"monaco", 290, 500, `{ padding: { top: 7 } }`, ``, `\[lines=1-1[45] of ~500-51[345]\]`},
		"lines that just fit":                {"monaco", 300, 15, `{ scrollBeyondLastLine: false }`, ``, `textbox "Editor content" \[\w+\]( \[focused\])?: "line 1\\n`},
		"one more":                           {"monaco", 300, 16, `{ scrollBeyondLastLine: false }`, ``, `\[lines=1-15 of ~15-16\]`},
		"no numbers":                         {"monaco", 290, 500, `{ lineNumbers: 'off' }`, `editor.setScrollTop(2000)`, `\[lines=~101-115 of ~500\]: "line 101\\n`},
		"numbers from the cursor":            {"monaco", 290, 500, `{ lineNumbers: 'relative' }`, `editor.setScrollTop(2000)`, `\[lines=~\d+-\d+ of ~500\]: "line 101\\n`},
		"more lines than an element is high": {"monaco", 290, 60_000, `{}`, `editor.setScrollTop(800_000)`, `\[lines=400\d\d-400\d\d of ~49\d\d\d\+\]: "line 400`},
		"many lines without numbers":         {"monaco", 290, 60_000, `{ lineNumbers: 'off' }`, `editor.setScrollTop(800_000)`, `\[lines=\d+\+\]: "line 400`},
		"Ace with more than an element":      {"ace", 300, 5000, `{}`, ``, `\[lines=1-\d+ of ~\d{4}\+\]`},
		"Ace without numbers":                {"ace", 300, 500, `{ showGutter: false }`, `editor.renderer.scrollToY(1600)`, `\[lines=~1\d\d-1\d\d of ~500\]: "line 1\d\d\\n`},
		// A tokenizer in the background lets it draw numbers that are hidden, which stay when the view is scrolled.
		"Ace with hidden numbers of before":   {"ace", 300, 500, `{ showGutter: false }`, `await frames(3); editor.session._signal('tokenizerUpdate', { data: { first: 0, last: 10 } }); await frames(3); editor.renderer.scrollToY(1600)`, `\[lines=~1\d\d-1\d\d of ~500\]: "line 1\d\d\\n`},
		"Ace without numbers, and many lines": {"ace", 300, 5000, `{ showGutter: false }`, `editor.renderer.scrollToY(1600)`, `\[lines=\d+\+\]: "line 1\d\d\\n`},
	}
	for kind, how := range map[string]struct{ page, creates string }{
		"monaco": {monacoScripts + `<script>require(['vs/editor/editor.main'], () => monaco.editor.create(app))</script>`, `monaco.editor.getEditors().forEach((editor) => editor.dispose()); const editor = monaco.editor.create(app, { lineHeight: 20, value, ...options })`},
		"ace":    {`<script src="/node_modules/ace-builds/src-min-noconflict/ace.js"></script><script>ace.edit('app')</script>`, `const editor = ace.edit(app, { value, ...options })`},
	} {
		a, p := editorPage(t, w, how.page)
		for what, c := range cases {
			if c.kind != kind {
				continue
			}
			t.Run(what, func(t *testing.T) {
				p.JS(fmt.Sprintf(`const before = document.getElementById('app'), app = before.cloneNode(); app.style.height = '%dpx'; app.className = ''; before.replaceWith(app);
const frames = async (n) => { while (n-- > 0) await new Promise(requestAnimationFrame) };
const options = %s, value = Array.from({ length: %d }, (_, i) => 'line ' + (i + 1)).join('\n'); %s; %s; await frames(5)`, c.height, c.options, c.lines, how.creates, c.then))
				if got := a.Whole(); !regexp.MustCompile(c.want).MatchString(got) {
					t.Errorf("is not %s:\n%s", c.want, got)
				}
			})
		}
	}
}

// TestCodeMirror5: it has its text beside a hidden field, and takes a paste a moment later.
func TestCodeMirror5(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Code", `<div class="CodeMirror" style="position: relative; height: 100px; overflow: hidden"><div style="overflow: hidden; position: absolute; width: 3px; height: 0"><textarea id="keys"></textarea></div>
<div class="CodeMirror-scroll" tabindex="-1"><div class="CodeMirror-sizer" id="sizer"><div class="CodeMirror-lines" role="presentation"><div class="CodeMirror-code" id="code" role="presentation"></div></div></div></div></div><script>
let text = 'let a = 1\n\tb()\n', all = false, pending = 0;
const draw = () => {
	const lines = text.split('\n');
	sizer.style.minHeight = lines.length * 20 + 8 + 'px';
	code.innerHTML = lines.slice(0, 8).map((line, i) => '<div style="position: relative"><div class="CodeMirror-gutter-wrapper"><div class="CodeMirror-linenumber" style="position: absolute">' + (i + 1) + '</div></div><pre class=" CodeMirror-line " role="presentation" style="margin: 0 0 0 30px; height: 20px">' +
		(line === '' ? '<span cm-text="">\u200b</span>' : line.replaceAll('\t', '<span class="cm-tab" cm-text="\t">    </span>')) + '</pre></div>').join('');
};
const write = (next) => { text = all ? next : text + next; all = false; draw(); };
keys.onpaste = (event) => { event.preventDefault(); const pasted = event.clipboardData.getData('text'); pending = setTimeout(() => write(pasted), 60); };
keys.onkeydown = (event) => {
	if (event.key === 'Control') return;
	clearTimeout(pending);
	if (event.key === 'a' && event.ctrlKey) all = true;
	else if (event.key === 'Enter') write('\n');
	else return;
	event.preventDefault();
};
draw();
</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	look := a.Everything()
	e2etest.Holds(t, look, `: "let a = 1\n\tb()\n"`)
	e2etest.Lacks(t, look, `text: "let`, `"1"`)
	field := e2etest.RefOf(t, look, "textbox")
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"browser_click", map[string]any{}, "let a = 1\n\tb()\n"},
		{"browser_type", map[string]any{"text": "REPLACED", "clear": true}, "REPLACED"},
		{"browser_type", map[string]any{"text": " and more", "submit": true}, "REPLACED and more\n"},
		{"browser_type", map[string]any{"text": []string{"one", "two"}, "submit": true}, "REPLACED and more\none\ntwo\n"},
	} {
		c.args["ref"] = field
		d := a.Act(c.tool, c.args)
		if got := p.Text(`text`); got != c.want || d.Refused != nil || len(d.Ignored) > 0 {
			t.Errorf("%s %v: the editor holds %q\n%s", c.tool, c.args, got, d)
		}
	}
	p.JS(`text = Array.from({ length: 40 }, (_, i) => 'line ' + i).join('\n'); draw()`)
	e2etest.Holds(t, a.Whole(), "[lines=1-8 of ~40]")
}
