package frameworks

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// segmentsPage has a date in three parts, as React Aria has them: a part takes one key after the other, the key that deletes in an
// empty part moves the focus to the part before, and a full part moves it to the next.
const segmentsPage = `<div role="group" aria-label="Birth"><span role="spinbutton" contenteditable="true" tabindex="0" aria-label="month" data-empty="mm" data-max="12">mm</span>/<span
role="spinbutton" contenteditable="true" tabindex="0" aria-label="day" data-empty="dd" data-max="31">dd</span>/<span role="spinbutton" contenteditable="true" tabindex="0" aria-label="year" data-empty="yyyy" data-max="9999">yyyy</span></div>
<script>
const parts = [...document.querySelectorAll('[role=spinbutton]')];
document.addEventListener('selectionchange', () => {
	const selection = getSelection();
	if (parts.some((part) => part.contains(selection.anchorNode)) && !selection.isCollapsed) selection.collapse(document.activeElement);
});
for (const [i, part] of parts.entries()) {
	let typed = '';
	const show = (text) => { part.textContent = text || part.dataset.empty; };
	part.onfocus = () => { typed = ''; getSelection().collapse(part); };
	part.onkeydown = (event) => {
		if (event.key !== 'Backspace' && event.key !== 'Delete') return;
		event.preventDefault();
		if (part.textContent === part.dataset.empty) parts[i - 1]?.focus();
		else show(typed = part.textContent.slice(0, -1));
	};
	part.onbeforeinput = (event) => {
		event.preventDefault();
		const next = typed + event.data;
		if (!/^\d+$/.test(next)) return;
		show(Number(next) > part.dataset.max ? event.data : String(Number(next)));
		typed = next;
		if (Number(next + '0') > part.dataset.max) { typed = ''; parts[i + 1]?.focus(); }
	};
}
const date = () => parts.map(({ textContent }) => textContent).join('/');
</script>`

// TestPartsOfADateAreFilledIn: whatever is empty or full, text reaches the part that was named, or the answer names the other one.
func TestPartsOfADateAreFilledIn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Birth", segmentsPage)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	look := a.Look()
	ref := map[string]string{}
	for _, name := range []string{"month", "day", "year"} {
		ref[name] = e2etest.RefOf(t, look, `"`+name+`"`)
	}
	fill := func(values ...string) map[string]any {
		var fields []any
		for i := 0; i < len(values); i += 2 {
			fields = append(fields, map[string]any{"ref": ref[values[i]], "value": values[i+1]})
		}
		return map[string]any{"fields": fields}
	}
	for _, c := range []struct {
		tool    string
		args    map[string]any
		want    string
		strayed bool
	}{
		{"browser_fill_form", fill("year", "2025"), "mm/dd/2025", false},
		{"browser_type", map[string]any{"ref": ref["day"], "text": "7", "clear": true}, "mm/7/2025", false},
		{"browser_type", map[string]any{"ref": ref["day"], "text": "07", "clear": true}, "mm/7/2025", false},
		{"browser_type", map[string]any{"ref": ref["day"], "text": "", "clear": true}, "mm/dd/2025", false},
		{"browser_type", map[string]any{"ref": ref["day"], "text": "", "clear": true}, "mm/dd/2025", false},
		{"browser_fill_form", fill("year", "1999", "month", "12", "day", "31"), "12/31/1999", false},
		{"browser_type", map[string]any{"ref": ref["day"], "text": "2025", "clear": true}, "12/20/25", true},
	} {
		d := a.Act(c.tool, c.args)
		if got := p.Text(`date()`); got != c.want || len(d.Ignored) > 0 || len(d.Strayed) > 0 != c.strayed {
			t.Errorf("%s %v: the date is %s, not %s\n%s", c.tool, c.args, got, c.want, d)
		}
		for _, strayed := range d.Strayed {
			if !strings.Contains(strayed.Element, `"day"`) || !strings.Contains(strayed.Reached, `"year"`) {
				t.Errorf("strayed: %+v", strayed)
			}
		}
	}
}

// TestTextThatGoesElsewhereIsReported: a page may move the focus while text is typed, or while a field is emptied for it.
func TestTextThatGoesElsewhereIsReported(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Code", `<input id="first" aria-label="First"><input id="second" aria-label="Second">
<div id="note" contenteditable="true" role="textbox" aria-label="Note">One <b contenteditable="false">@Ada</b></div><script>
first.oninput = () => { if (first.value.length === 2) second.focus(); };
note.onkeydown = (event) => { if (event.key === 'Delete') setTimeout(() => second.focus()); };
</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	look := a.Look()
	d := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, look, `"First"`), "text": "1234"})
	if got := p.Text(`first.value + "," + second.value`); got != "12,34" || len(d.Strayed) != 1 || !strings.Contains(d.Strayed[0].Reached, `"Second"`) {
		t.Errorf("%s\n%s", got, d)
	}
	d = a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, look, `"Note"`), "text": "New", "clear": true})
	if got := p.Text(`note.textContent + "," + second.value`); got != "New,34" || len(d.Strayed) > 0 {
		t.Errorf("%s\n%s", got, d)
	}
}
