package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestRichTextEditors: each keeps a document of its own beside the page's, from which it takes back what it did not
// notice. Two of them send when Enter is pressed.
func TestRichTextEditors(t *testing.T) {
	w := e2etest.SharedWorld(t)
	built := buildApps(t)
	for _, name := range []string{"quill", "lexical", "prosemirror"} {
		t.Run(name, func(t *testing.T) {
			script, err := os.ReadFile(filepath.Join(built, "editor-"+name+".js"))
			if err != nil {
				t.Fatal(err)
			}
			s := e2etest.NewSite(t, map[string]string{
				"/{$}":       `<!doctype html><meta charset="utf-8"><title>Write</title><main><div id="app"></div><p role="status" id="said"></p><input aria-label="Other"></main><script src="/editor.js"></script>`,
				"/editor.js": string(script),
			})
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			first := a.Look()
			field, other := e2etest.RefOf(t, first, "textbox \"Message\""), e2etest.RefOf(t, first, `"Other"`)
			written := func(want string) {
				t.Helper()
				if got := p.Text(`window.written()`); got != want {
					t.Errorf("the editor holds %q, not %q", got, want)
				}
			}
			do := func(tool string, args map[string]any) *e2etest.Acted {
				t.Helper()
				d := a.Act(tool, args)
				if len(d.Ignored) > 0 {
					t.Errorf("ignored: %s", d)
				}
				return d
			}
			e2etest.Holds(t, do("browser_type", map[string]any{"ref": field, "text": "Hello Ada"}).Page, "Hello Ada")
			written("Hello Ada")
			do("browser_click", map[string]any{"ref": other})
			do("browser_type", map[string]any{"ref": field, "text": " and Bob"}) // behind what is there
			written("Hello Ada and Bob")
			do("browser_type", map[string]any{"ref": field, "text": "New", "clear": true})
			written("New")
			do("browser_fill_form", map[string]any{"fields": []any{map[string]any{"ref": field, "value": "Filled in"}, map[string]any{"ref": other, "value": "x"}}})
			written("Filled in")
			do("browser_press_key", map[string]any{"ref": field, "key": "Backspace"})
			written("Filled i")
			do("browser_type", map[string]any{"ref": field, "text": "", "clear": true})
			written("")
			do("browser_type", map[string]any{"ref": field, "text": "One line", "submit": true})
			d := do("browser_type", map[string]any{"ref": field, "text": []string{"First", "Second"}, "submit": true})
			if name == "quill" {
				written("One line\nFirst\nSecond")
				return
			}
			written("")
			e2etest.Holds(t, d.Page, "sent One line; sent First; sent Second;")
			e2etest.Intact(t, d)
		})
	}
}

// TestTextIsTypedBehindATable: where the caret would stand behind a table, editors such as CKEditor select the table, and typing
// replaces it.
func TestTextIsTypedBehindATable(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Write", `<div id="field" contenteditable="true" role="textbox" aria-label="Message"><p>One</p>
<figure contenteditable="false"><table><tr><td contenteditable="true">a</td><td contenteditable="true">b</td></tr></table></figure>
</div><script>
document.addEventListener('selectionchange', () => {
	const selection = getSelection();
	if (selection.anchorNode === field && selection.isCollapsed && selection.anchorOffset >= field.childNodes.length - 1) selection.selectAllChildren(field.querySelector('figure'));
});
</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	d := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Message"`), "text": "XY"})
	if got := p.Text(`field.textContent.replace(/\s+/g, ' ').trim()`); got != "One abXY" {
		t.Errorf("the editor holds %q\n%s", got, d)
	}
}

// TestCKEditorIsClearedWithItsTables: a selection that begins with a table is narrowed to it, and what is in a cell is selected
// apart from what is around it.
func TestCKEditorIsClearedWithItsTables(t *testing.T) {
	w := e2etest.SharedWorld(t)
	script, err := os.ReadFile(filepath.Join(buildApps(t), "editor-ckeditor.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":       `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Write</title><main><div id="app"></div><input id="other" aria-label="Other"></main><script src="/editor.js"></script>`,
		"/editor.js": string(script),
	})
	const table = `<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>`
	for name, content := range map[string]string{
		"only": table, "first": table + `<p>Two</p>`, "last": `<p>One</p>` + table, "nested": `<p>One</p><table><tr><td><p>x</p>` + table + `</td></tr></table><p>Two</p>`,
	} {
		t.Run(name, func(t *testing.T) {
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			p.WaitUntil(`window.written`)
			for _, from := range []string{"elsewhere", "in a cell"} {
				for _, c := range []struct {
					text, want string
					fill       bool
				}{{"New", "<p>New</p>", false}, {"", "", false}, {"Two\nlines", "<p>Two</p><p>lines</p>", true}} {
					p.JS(fmt.Sprintf(`other.focus(); window.write(%q); for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame)`, content))
					if from == "in a cell" {
						p.Do(chromedp.Click("td td, td"))
					}
					field := e2etest.RefOf(t, a.Snapshot(map[string]any{"full_snapshot": true}), "Message")
					var d *e2etest.Acted
					if c.fill {
						d = a.Act("browser_fill_form", map[string]any{"fields": []any{map[string]any{"ref": field, "value": c.text}}})
					} else {
						d = a.Act("browser_type", map[string]any{"ref": field, "text": c.text, "clear": true})
					}
					if got := p.Text(`window.written()`); got != c.want || len(d.Ignored)+len(d.Uncleared) > 0 {
						t.Errorf("%s, %q: the editor holds %q\n%s", from, c.text, got, d)
					}
				}
			}
		})
	}
}

// TestAPartOfAnEditorIsClearedAlone: the key that selects all of an empty part selects what is around it.
func TestAPartOfAnEditorIsClearedAlone(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Write", `<div id="field" contenteditable="true"><p>One</p>
<figure contenteditable="false"><div id="part" contenteditable="true" role="textbox" aria-label="Caption">Dear <b contenteditable="false">@Ada</b></div></figure></div><script>
field.onkeydown = (event) => {
	if (event.key !== 'a' || !event.ctrlKey) return;
	event.preventDefault();
	getSelection().selectAllChildren(part.textContent === '' ? field : part);
}
part.onbeforeinput = (event) => { if (event.inputType.startsWith('delete')) { event.preventDefault(); part.textContent = ''; } };
</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	ref := e2etest.RefOf(t, a.Look(), `"Caption"`)
	for _, text := range []string{"", "New"} {
		d := a.Act("browser_type", map[string]any{"ref": ref, "text": text, "clear": true})
		if got := p.Text(`field.innerText.replace(/\s+/g, ' ').trim()`); got != strings.TrimSpace("One "+text) {
			t.Errorf("the editor holds %q\n%s", got, d)
		}
	}
}
