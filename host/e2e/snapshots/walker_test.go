package snapshots

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// underOne fails unless a text stands once in a snapshot, under a line, and no reference stands there twice.
func underOne(t *testing.T, full, owner, text string) {
	t.Helper()
	if n := strings.Count(full, text); n != 1 {
		t.Errorf("%s is there %d times in\n%s", text, n, full)
	}
	at, within := "", map[int]string{}
	seen := map[string]bool{}
	for line := range strings.Lines(full) {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		within[depth] = line
		if i := strings.Index(line, "[e"); i >= 0 {
			ref := line[i : i+strings.Index(line[i:], "]")+1]
			if seen[ref] {
				t.Errorf("%s stands in two places in\n%s", ref, full)
			}
			seen[ref] = true
		}
		if strings.Contains(line, text) {
			for d := depth - 2; d >= 0; d -= 2 {
				at += within[d]
			}
		}
	}
	if !strings.Contains(at, owner) {
		t.Errorf("%s is not under %s in\n%s", text, owner, full)
	}
}

// TestFramesStandWhereTheyAreAfterOthersWentOrCame: a frame's place among the window's frames is another
// one as soon as a frame before it goes, and no element says so.
func TestFramesStandWhereTheyAreAfterOthersWentOrCame(t *testing.T) {
	w := e2etest.SharedWorld(t)
	pages := map[string]string{}
	for _, name := range []string{"A", "B", "C", "D"} {
		pages["/"+name] = `<!doctype html><button>In ` + name + `</button>`
	}
	other := e2etest.NewSite(t, pages)
	frames := func(origin, attributes string) string {
		var b strings.Builder
		for _, name := range []string{"A", "B", "C"} {
			fmt.Fprintf(&b, `<iframe id="%s" title="T%s" src="%s/%s" %s></iframe>`, name, name, origin, name, attributes)
		}
		return `<div id="frames">` + b.String() + `</div>`
	}
	own := map[string]string{
		"/same": e2etest.StorePage("Same", frames("", "")), "/cross": e2etest.StorePage("Cross", frames(other.URL, "")), "/sandbox": e2etest.StorePage("Sandbox", frames("", `sandbox="allow-scripts"`)),
		"/inline": e2etest.StorePage("Inline", strings.ReplaceAll(strings.ReplaceAll(frames("", ""), `src="/`, `srcdoc="<button>In `), `" ></iframe>`, `</button>"></iframe>`)),
	}
	for path, body := range pages {
		own[path] = body
	}
	s := e2etest.NewSite(t, own)
	for _, path := range []string{"same", "cross", "sandbox", "inline"} {
		t.Run(path, func(t *testing.T) {
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL+"/"+path)
			first := a.Whole()
			for _, name := range []string{"A", "B", "C"} {
				underOne(t, first, "T"+name, "In "+name)
			}
			p.JS(`document.getElementById('A').remove()`)
			d := a.Look()
			e2etest.Lacks(t, d, "In B", "In C")
			full := a.Whole()
			e2etest.Lacks(t, full, "In A")
			underOne(t, full, "TB", "In B")
			underOne(t, full, "TC", "In C")
			if e2etest.RefOf(t, first, "In B") != e2etest.RefOf(t, full, "In B") {
				t.Error("an element of a frame that stayed has another reference")
			}
			// One that comes first in the page is the last of the window's frames.
			p.JS(`new Promise((done) => { const f = document.createElement('iframe'); f.title = 'TD'; f.onload = done; f.src = '` + other.URL + `/D'; document.getElementById('frames').prepend(f) })`)
			full = a.Whole()
			underOne(t, full, "TD", "In D")
			underOne(t, full, "TB", "In B")
			underOne(t, full, "TC", "In C")
			// What moves is loaded anew.
			p.JS(`new Promise((done) => { const f = document.getElementById('B'); f.onload = done; document.getElementById('frames').append(f) })`)
			full = a.Whole()
			underOne(t, full, "TD", "In D")
			underOne(t, full, "TB", "In B")
			underOne(t, full, "TC", "In C")
			p.JS(`document.getElementById('C').style.display = 'none'`)
			full = a.Whole()
			e2etest.Lacks(t, full, "In C")
			underOne(t, full, "TD", "In D")
			underOne(t, full, "TB", "In B")
		})
	}
}

// TestFramesOfAPageThatCameBackAreRead: the browser keeps it as it was, and no longer lists what frames it has.
func TestFramesOfAPageThatCameBackAreRead(t *testing.T) {
	w := e2etest.SharedWorld(t)
	other := e2etest.NewSite(t, map[string]string{"/talk": `<!doctype html><button>Talk</button>`})
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":  e2etest.StorePage("Shop", `<iframe title="Own" src="/own"></iframe><iframe title="Chat" src="`+other.URL+`/talk"></iframe>`),
		"/own":  `<!doctype html><button onclick="this.textContent = 'Clicked'">Ours</button>`,
		"/next": e2etest.StorePage("Next", `<button>There</button>`),
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	underOne(t, first, "Own", "Ours")
	p.JS(`window.kept = 'kept'`)
	p.Do(chromedp.Navigate(s.URL + "/next"))
	e2etest.Holds(t, a.Look(), "There")
	p.JS(`setTimeout(() => history.back())`)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		kept, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](`String(window.kept)`))
		return kept == "kept", err
	}); err != nil {
		t.Fatal(err)
	}
	back := a.Look()
	e2etest.Lacks(t, back, "Not read")
	underOne(t, back, "Own", "Ours")
	underOne(t, back, "Chat", "Talk")
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, back, `"Ours"`)}).Page, `button "Clicked"`)
}

func TestFramesInShadowRootsStandWhereTheyAre(t *testing.T) {
	w := e2etest.SharedWorld(t)
	other := e2etest.NewSite(t, map[string]string{"/a": `<!doctype html><button>Talk</button>`, "/b": `<!doctype html><script>document.write('<button>Size ' + innerWidth + '</button>')</script>`})
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Shop", `<div id="host"></div><script>const root = document.getElementById('host').attachShadow({mode: 'closed'});
			root.innerHTML = '<iframe title="Gone" src="/own"></iframe><iframe title="Own" src="/own"></iframe><iframe title="Chat" src="`+other.URL+`/a"></iframe>' +
				'<iframe title="Wide" width="400" src="`+other.URL+`/b"></iframe><iframe title="Narrow" width="200" src="`+other.URL+`/b"></iframe>';
			window.root = root</script>`),
		"/own": `<!doctype html><button>Ours</button>`,
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Look()
	p.JS(`root.querySelector('iframe').remove()`)
	full := a.Whole()
	underOne(t, full, "Own", "Ours")
	underOne(t, full, "Chat", "Talk")
	underOne(t, full, "Wide", "Size 400")
	underOne(t, full, "Narrow", "Size 200")
	p.JS(`for (const f of root.querySelectorAll('[title=Wide], [title=Narrow]')) f.width = 300`)
	full = a.Whole()
	e2etest.Lacks(t, full, "Size ")
	e2etest.Holds(t, full, "[Not read: 2 frame(s): "+other.URL+"/b, "+other.URL+"/b]")
}

// TestWhatIsWrittenInAnEditorIsItsValue: whichever node inside changes, and with its lines.
func TestWhatIsWrittenInAnEditorIsItsValue(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Mail", `<div contenteditable aria-label="Letter" id="l"><div><p id="p">hello <b id="b">you</b></p></div></div>
		<div contenteditable aria-label="Lines" id="lines"><p>one</p><p>second</p><div><br></div><ul><li>third <a href="/there" id="a">link</a></li></ul>four<br>five <button>Chip</button></div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `textbox "Letter" [e`, `: "hello you"`, `"one\nsecond\n\nthird link\nfour\nfive"`, `link "link" [e`, `button "Chip" [e`)
	for _, step := range []struct{ script, want string }{
		{`document.getElementById('b').firstChild.data = 'all'`, `: "hello all"  # was "hello you"`},
		{`document.getElementById('b').textContent = ''`, `: "hello"  # was "hello all"`},
		{`document.getElementById('p').innerHTML = 'a<br>b'`, `: "a\nb"  # was "hello"`},
		{`document.getElementById('p').append(' c')`, `: "a\nb c"  # was "a\nb"`},
		{`document.getElementById('p').innerHTML = '<br>'`, `: ""  # was "a\nb c"`},
		{`document.getElementById('a').textContent = 'elsewhere'`, `link "elsewhere"`},
	} {
		p.JS(step.script)
		e2etest.Holds(t, a.Look(), step.want)
	}
	if d := a.Look(); strings.Contains(d, "# was") {
		t.Error(d)
	}
}

// TestAShadowRootIsNoticedWheneverItComes: on an element that was read before, open or closed.
func TestAShadowRootIsNoticedWheneverItComes(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div id="open"></div><div id="closed"></div><section id="full"><p>Light</p></section><h2 id="h">Title</h2>
		<div id="many"></div><script>document.getElementById('many').innerHTML = '<div></div>'.repeat(3000)
		window.grow = (id, mode, html) => { const root = document.getElementById(id).attachShadow({mode}); root.innerHTML = html; window.root = root }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Look()
	p.JS(`grow('open', 'open', '<button>Through the open</button>')`)
	e2etest.Holds(t, a.Look(), `button "Through the open"`)
	p.JS(`root.querySelector('button').textContent = 'Open still'`)
	e2etest.Holds(t, a.Look(), `button "Open still"`)
	p.JS(`grow('closed', 'closed', '<button>Behind closed</button>'); grow('full', 'closed', '<button>Beside</button><slot></slot>'); grow('h', 'open', 'Other <slot></slot>')`)
	whole := a.Whole()
	e2etest.Holds(t, whole, `button "Behind closed"`, `button "Beside"`, `heading "Other Title"`)
	p.JS(`root.append('!'); document.querySelector('#many > :nth-child(2000)').attachShadow({mode: 'closed'}).innerHTML = '<button>One of many</button>'`)
	seen := ""
	for range 7 { // some hundred elements are asked in each
		seen += a.Look()
	}
	e2etest.Holds(t, seen, `button "One of many"`, `heading "Other Title !"`)
}

// TestWhatIsOperableInAPictureIsKept: a drawing is more than its title.
func TestWhatIsOperableInAPictureIsKept(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Chart", `<svg width="200" height="100"><title id="t">Sales</title><a href="/jan"><text y="20">January</text></a><g role="button" aria-label="Zoom"><rect width="9" height="9"/></g>
		<foreignObject width="90" height="30"><button>Inside</button></foreignObject><text y="60">Axis</text></svg>
		<div role="img" aria-label="Map" id="map"><span>drawn</span><a href="/pin">Pin</a></div><div role="switch" aria-checked="false" tabindex="0" aria-label="Night" id="sw"><i>on</i></div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `img "Sales"`, `link "January"`, `button "Zoom"`, `button "Inside"`, `img "Map"`, `link "Pin"`, `switch "Night"`)
	all := a.Everything()
	e2etest.Lacks(t, all, "drawn", `"on"`)
	e2etest.Holds(t, all, "Axis")
	p.JS(`document.getElementById('t').textContent = 'Profit'; document.querySelector('#map a').textContent = 'Pinned'; document.getElementById('sw').innerHTML = '<button>Help</button>'`)
	e2etest.Holds(t, a.Look(), `img "Profit"`, `link "Pinned"`, `button "Help"`)
}

// TestWhatIsInertIsLeftOut: nothing in it can be operated. It comes back as what it was.
func TestWhatIsInertIsLeftOut(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div id="i"><button>Pay</button><p>Words</p></div><div inert><button>Never</button><dialog id="in" aria-label="Inner"><button>Yes</button></dialog></div>
		<dialog id="d" aria-label="Sure?"><button>No</button></dialog>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Lacks(t, first, "Never")
	p.JS(`document.getElementById('i').inert = true`)
	d := a.Look()
	e2etest.Holds(t, d, "Removed: ", e2etest.RefOf(t, first, `"Pay"`))
	e2etest.Lacks(t, a.Everything(), "Words")
	p.JS(`document.getElementById('i').inert = false`)
	e2etest.Holds(t, a.Look(), `button "Pay" [`+e2etest.RefOf(t, first, `"Pay"`)+`]`)
	p.JS(`document.getElementById('d').showModal()`)
	e2etest.Holds(t, a.Look(), `dialog "Sure?" [`, `[modal]`, `button "No"`)
	p.JS(`document.getElementById('d').close(); document.getElementById('in').showModal()`)
	inner := a.Look()
	e2etest.Holds(t, inner, `dialog "Inner" [`, `[modal]`, `button "Yes"`)
	e2etest.Lacks(t, inner, "Never")
}

// TestTextThatIsHiddenWithItsSurroundingsIsLeftOut: where an element is shown and its contents are not.
func TestTextThatIsHiddenWithItsSurroundingsIsLeftOut(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Help", `<details id="d"><summary>More</summary>Folded words</details><div style="content-visibility:hidden" id="c">Skipped words</div><div hidden="until-found" id="u">Sought words</div>
		<style>.off .by { content-visibility: hidden }</style><div class="off" id="o"><div class="by">By class</div></div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Everything()
	e2etest.Holds(t, first, `button "More"`)
	e2etest.Lacks(t, first, "Folded", "Skipped", "Sought", "By class")
	p.JS(`document.getElementById('d').open = true; document.getElementById('c').style.contentVisibility = 'visible'; document.getElementById('u').hidden = false; document.getElementById('o').className = ''`)
	e2etest.Holds(t, a.Everything(), "Folded words", "Skipped words", "Sought words", "By class")
	p.JS(`document.getElementById('d').open = false; document.getElementById('o').className = 'off'`)
	gone := a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true})
	e2etest.Lacks(t, gone, "Folded", "By class")
}

func TestLiveRegionsAreToldAsStatusRegionsAre(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div aria-live="polite" id="l">2 results</div><section aria-label="Errors" aria-live="assertive" id="e"><p>None</p></section>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Holds(t, a.Look(), `[live=polite]: "2 results"`, `region "Errors" [`, `[live=assertive]`, "None")
	p.JS(`document.getElementById('l').textContent = '3 results'; document.querySelector('#e p').textContent = 'Two'`)
	e2etest.Holds(t, a.Look(), `"3 results"  # was "2 results"`, `"Two"  # was "None"`)
}

// TestAlternativesOfPicturesInStyleSheetsAreNames: what stands after the slash is what is heard.
func TestAlternativesOfPicturesInStyleSheetsAreNames(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style>.s::before { content: "★" / "star \"alt\" "; } .n::after { content: "→" / ""; }</style><button class="s">Rate</button><a href="/next" class="n">Next</a>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	e2etest.Holds(t, a.Look(), `star \"alt\" Rate"`, `link "Next" [e`)
}

// TestChoicesAreToldWithTheirStates: what is disabled, what a choice is called, what is focused.
func TestChoicesAreToldWithTheirStates(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<select aria-label="Many" multiple size="4"><option label="lab"></option><option disabled>Off</option><optgroup label="Warm"><option>Red</option></optgroup><optgroup label="Cold" disabled><option>Blue</option></optgroup></select>
		<select aria-label="One"><option label="named">x</option><optgroup label="Warm"><option>Orange</option></optgroup><option disabled>Never</option></select>
		<div aria-disabled="true" id="d"><button>Held</button><input aria-label="Field"></div><div tabindex="0" id="f">Box</div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true})
	e2etest.Holds(t, first, `option "lab" [e`, `option "Off" [e`, `group "Warm" [e`, `option "Blue" [e`, `combobox "One" [e`, `[value="named"]`, `"Held"`,
		`- options: ["named", {"Warm": ["Orange"]}, "Never"]  # disabled: "Never"`)
	for _, line := range []string{`option "Off"`, `option "Blue"`, `button "Held"`, `textbox "Field"`} {
		for l := range strings.Lines(first) {
			if strings.Contains(l, line) && !strings.Contains(l, "[disabled]") {
				t.Errorf("%s is not disabled", l)
			}
		}
	}
	a.Whole()
	p.JS(`document.getElementById('d').removeAttribute('aria-disabled'); document.getElementById('f').focus()`)
	e2etest.Holds(t, a.Look(), `button "Held" [`, `# was [disabled]`, `# was not [focused]`)
}

// TestWhoHasTheKeysIsTold: the option that the arrows have come to while the focus stays in the field, and what
// opens a menu.
func TestWhoHasTheKeysIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button aria-haspopup="true">More</button><button aria-haspopup="false">Less</button>
		<input id="c" role="combobox" aria-label="City" aria-expanded="true" aria-controls="l"><ul id="l" role="listbox" aria-label="Cities"><li role="option" id="o1">Bergen</li><li role="option" id="o2">Oslo</li></ul>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `[haspopup=menu]`)
	e2etest.Lacks(t, first, "[active]", "haspopup=false")
	p.JS(`c.focus(); c.setAttribute('aria-activedescendant', 'o1')`)
	bergen, oslo := e2etest.RefOf(t, first, `"Bergen"`), e2etest.RefOf(t, first, `"Oslo"`)
	e2etest.Holds(t, a.Look(), `option "Bergen" [`+bergen+`] [active]  # was not [active]`)
	p.JS(`c.setAttribute('aria-activedescendant', 'o2')`)
	second := a.Look()
	e2etest.Holds(t, second, `option "Oslo" [`+oslo+`] [active]  # was not [active]`, `option "Bergen" [`+bergen+`]  # was [active]`)
	e2etest.Lacks(t, second, "City")
	p.JS(`c.blur()`)
	e2etest.Holds(t, a.Look(), `option "Oslo" [`+oslo+`]  # was [active]`)
}

// TestWhatOtherLanguagesAndMapsHoldIsRead: formulas, what stands in for an object, areas of an image.
func TestWhatOtherLanguagesAndMapsHoldIsRead(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Mix", `<p>So <math><mi>x</mi><mo>=</mo><mn>42</mn></math> it is</p><object type="x/unknown" data="/none">Nothing to show <a href="/get">Get it</a></object>
			<object type="text/html" data="/page" width="200" height="50">Never shown</object><embed src="/other.html" type="text/html" width="200" height="50">
			<img usemap="#m" width="50" height="50" alt="Plan" src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"><map name="m"><area href="/room" alt="Room" shape="rect" coords="0,0,9,9"></map>
			<map name="unused"><area href="/attic" alt="Attic"></map>`),
		"/page": `<!doctype html><button>In the object</button>`, "/other.html": `<!doctype html><button>Embedded</button>`,
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	all := a.Everything()
	e2etest.Holds(t, all, "x=42", "Nothing to show", `link "Get it"`, `link "Room"`, `button "In the object"`, `button "Embedded"`)
	e2etest.Lacks(t, all, "Never shown", "Attic")
}

// TestFramesThatCannotBeReadAreNamed: an agent is told that something is there, and what.
func TestFramesThatCannotBeReadAreNamed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<iframe title="Refused" src="http://127.0.0.1:9/nobody"></iframe><iframe title="Paper" src="/paper"></iframe>`)})
	s.Mux.HandleFunc("/paper", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = io.WriteString(w, "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF")
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	full := ""
	if err := testbed.Eventually(t.Context(), func() (bool, error) { // the browser's reader of PDF takes its time
		full = a.Whole()
		return strings.Contains(full, s.URL+"/paper"), nil
	}); err != nil {
		t.Error(err)
	}
	e2etest.Holds(t, full, "[Not read: 2 frame(s): ", "http://127.0.0.1:9/nobody", s.URL+"/paper", `iframe "Refused"`)
}

// TestAStyleSheetHidesWhatHoldsOthers: by a rule that a script writes, of which no mutation tells.
func TestAStyleSheetHidesWhatHoldsOthers(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style id="s"></style><ul id="l" aria-label="Things"><li id="i"><a href="/a">First</a></li><li><a href="/b">Second</a></li></ul><p>Below</p>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Everything()
	list, item, link := e2etest.RefOf(t, first, `list "Things"`), e2etest.RefOf(t, first, "listitem"), e2etest.RefOf(t, first, `link "First"`)
	p.JS(`document.getElementById('s').sheet.insertRule('#i { display: none }')`)
	d := a.Everything()
	e2etest.Holds(t, d, "Removed:", item, link)
	if strings.Contains(d, list+"]") {
		t.Errorf("the list is there still:\n%s", d)
	}
	p.JS(`document.getElementById('s').sheet.insertRule('#l { visibility: hidden }')`)
	e2etest.Holds(t, a.Everything(), "Removed:", list)
	p.JS(`const { sheet } = document.getElementById('s'); sheet.deleteRule(0); sheet.deleteRule(0)`)
	e2etest.Holds(t, a.Everything(), "Added:", `list "Things" [`+list, `link "First" [`+link)
}

// TestARuleInOneOfManyShadowRootsIsTold: more of them than one look looks into, which have their turn.
func TestARuleInOneOfManyShadowRootsIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<main></main><script>
		customElements.define('my-button', class extends HTMLElement {
			connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<style>p { margin: 0 }</style><p><button>Button ' + this.id.slice(1) + '</button></p>' }
		});
		document.querySelector('main').innerHTML = Array.from({length: 300}, (_, i) => '<my-button id="n' + i + '"></my-button>').join('');
		function rule(i, text) { const [sheet] = document.getElementById('n' + i).shadowRoot.styleSheets; text ? sheet.insertRule(text) : sheet.deleteRule(0) }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Holds(t, a.Snapshot(map[string]any{"full_snapshot": true, "max_tokens": 20000}), `button "Button 0"`, `button "Button 299"`)
	for _, i := range []int{0, 150, 299, 299, 150, 0} {
		name := fmt.Sprintf("button %q", fmt.Sprintf("Button %d", i))
		p.JS(fmt.Sprintf(`rule(%d, 'p { display: none }')`, i))
		told(t, a, "Removed:")
		p.JS(fmt.Sprintf(`rule(%d)`, i))
		told(t, a, name)
	}
}

// told looks until an answer holds a text.
func told(t *testing.T, a *e2etest.Agent, want string) {
	t.Helper()
	var last string
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		last = a.Look()
		return strings.Contains(last, want), nil
	}); err != nil {
		t.Fatalf("%q is not told, but\n%s", want, last)
	}
}

// TestALabelStandsForAFieldThatIsNotShown: styled checkboxes hide the real one, and draw another.
func TestALabelStandsForAFieldThatIsNotShown(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<label><input type="checkbox" id="c" style="display:none" onchange="out.textContent = 'on: ' + c.checked"><span>Toggle it</span></label><p role="status" id="out"></p>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	text := a.Look()
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, text, "Toggle it")}).Page, "on: true")
}

// TestALabelTakesThePlaceOfAHiddenField: the field of a styled upload is hidden after it was seen.
func TestALabelTakesThePlaceOfAHiddenField(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style>.h { display: none }</style>
		<label>Upload <p>a picture</p><input type="file" id="f"></label><label for="g">Terms <section>and conditions</section></label><input type="checkbox" id="g">`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Holds(t, a.Whole(), `button "Upload a picture"`, `checkbox "Terms and conditions"`)
	p.JS(`f.className = g.className = 'h'`)
	after := a.Whole()
	e2etest.Holds(t, after, "generic [e", `text: "Upload"`, `text: "a picture"`, `text: "Terms"`, `text: "and conditions"`)
	p.JS(`f.className = g.className = ''`)
	back := a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true})
	e2etest.Holds(t, back, `button "Upload a picture"`, `checkbox "Terms and conditions"`)
	e2etest.Lacks(t, back, `text: "a picture"`, `text: "and conditions"`)
}

// TestWhatHasNoRoleOfItsOwnIsTold: media and drawings, splitters with their value.
func TestWhatHasNoRoleOfItsOwnIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<video controls aria-label="Tour" width="100"></video><canvas aria-label="Sales" width="20" height="20"></canvas>
		<div role="separator" tabindex="0" aria-valuenow="5" aria-label="Divider" id="d">|</div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Holds(t, a.Look(), `video "Tour" [e`, `separator "Divider" [e`, `: "5"`)
	e2etest.Holds(t, a.Everything(), `canvas "Sales"`)
	p.JS(`d.setAttribute('aria-valuenow', '9')`)
	e2etest.Holds(t, a.Look(), `: "9"  # was "5"`)
}

// TestAFieldThatTheBrowserRefusesIsInvalid: a form that is not sent says which field is wrong.
func TestAFieldThatTheBrowserRefusesIsInvalid(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<form><label>Name <input id="n" required></label><label>Mail <input type="email" id="m"></label><button id="b">Send</button></form>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Lacks(t, first, "invalid")
	send := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Send"`)})
	e2etest.Holds(t, send.Page, `textbox "Name"`, "# was not [invalid]")
	e2etest.Lacks(t, send.String(), `textbox "Mail"`)
	p.JS(`n.value = 'Ann'`)
	e2etest.Holds(t, a.Look(), `# was "", [invalid]`)
}

// TestWhatAHiddenOwnerClaimedStandsInItsOwnPlace: aria-owns moves nothing on the screen.
func TestWhatAHiddenOwnerClaimedStandsInItsOwnPlace(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div role="group" aria-label="One" id="o1" aria-owns="x1"></div><button id="x1">First</button>
		<dialog open aria-label="Two" id="o2" aria-owns="x2">Words</dialog><button id="x2">Second</button>
		<table><tr title="Line" id="r"><td><button id="b"><span id="sum">28</span> Edit</button></td></tr></table>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Whole()
	one, two := e2etest.RefOf(t, first, `"First"`), e2etest.RefOf(t, first, `"Second"`)
	p.JS(`o1.hidden = true; o2.open = false; sum.textContent = '29'`)
	after := a.Look()
	e2etest.Lacks(t, after, "Removed: ["+one, "Removed: ["+two)
	e2etest.Holds(t, a.Snapshot(map[string]any{"full_snapshot": true}), `button "First" [`+one+`]`, `button "Second" [`+two+`]`)
	e2etest.Holds(t, a.Everything(), "29 Edit")
	p.JS(`o1.hidden = false; b.inert = true; sum.textContent = '30'`)
	e2etest.Holds(t, a.Everything(), `group "One"`, "30 Edit")
}

// TestWhateverShowsAndHidesIsTold: by the very next look where the page gave any sign of it, else by the one
// after, since all elements are asked between two looks.
func TestWhateverShowsAndHidesIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style id="s" media="all">
			#hint { display: none } #name:focus ~ #hint, #box:checked ~ #hint, #name:placeholder-shown ~ #hint { display: block }
			#menu:hover button { visibility: hidden } @media (max-width: 500px) { #wide { display: none } }
			not-yet:not(:defined) { visibility: hidden } @keyframes away { to { visibility: hidden } } #gone.away { animation: away .05s forwards }
			#faded { transition: visibility .05s } #faded.away { visibility: hidden } #plain { color: red }</style>
		<style id="off" disabled>#spare { display: none }</style>
		<input id="name" value="x" placeholder="Name" aria-label="Name"><input type="checkbox" id="box" aria-label="Box"><p id="hint"><a href="/hint">Hint</a></p>
		<div id="menu"><button>Menu</button></div><button id="wide">Wide</button><button id="spare">Spare</button><not-yet><button>Yet</button></not-yet>
		<button id="gone">Gone</button><button id="faded">Faded</button><button id="plain">Plain</button><button id="act">Act</button>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.JS(`document.getElementById('off').disabled = true`)
	e2etest.Lacks(t, a.Look(), "Hint", "Yet")
	for _, step := range []struct{ name, script, back, want string }{
		{"a focus", `document.getElementById('name').focus()`, `document.activeElement.blur()`, "Hint"},
		{"a box that a script ticks", `document.getElementById('box').checked = true`, `document.getElementById('box').checked = false`, "Hint"},
		{"a field that a script empties", `document.getElementById('name').value = ''`, `document.getElementById('name').value = 'x'`, "Hint"},
		{"a rule", `document.getElementById('s').sheet.insertRule('#plain { display: none }', 0)`, `document.getElementById('s').sheet.deleteRule(0)`, "Plain"},
		{"a style sheet that is turned on", `document.getElementById('off').sheet.disabled = false`, `document.getElementById('off').sheet.disabled = true`, "Spare"},
		{"an adopted style sheet", `const sheet = new CSSStyleSheet(); sheet.replaceSync('#plain { visibility: hidden }'); document.adoptedStyleSheets = [sheet]`, `document.adoptedStyleSheets = []`, "Plain"},
		{"media", `document.getElementById('s').sheet.media.mediaText = 'print'`, `document.getElementById('s').sheet.media.mediaText = 'all'`, "Yet"},
		{"an animation", `await Promise.all((document.getElementById('gone').className = 'away', document.getAnimations()).map((a) => a.finished))`, `document.getElementById('gone').className = ''`, "Gone"},
		{"an animation by script", `await document.getElementById('plain').animate([{visibility: 'hidden'}, {visibility: 'hidden'}], {duration: 20, fill: 'forwards'}).finished`, `document.getAnimations().forEach((a) => a.cancel())`, "Plain"},
		{"a transition", `const faded = document.getElementById('faded'); await new Promise((done) => { faded.ontransitionend = done; faded.className = 'away' })`, `const faded = document.getElementById('faded'); await new Promise((done) => { faded.ontransitionend = done; faded.className = '' })`, "Faded"},
		{"an element that is defined", `customElements.define('not-yet', class extends HTMLElement {})`, ``, "Yet"},
	} {
		p.JS(step.script)
		if d := a.Look(); !strings.Contains(d, step.want) && !strings.Contains(d, "Removed:") {
			t.Errorf("%s: %s is not told in\n%s", step.name, step.want, d)
		}
		if step.back == "" {
			continue
		}
		p.JS(step.back)
		if d := a.Look(); !strings.Contains(d, step.want) && !strings.Contains(d, "Removed:") {
			t.Errorf("%s, taken back: %s is not told in\n%s", step.name, step.want, d)
		}
	}
	// A rule that is written anew gives no sign whatever, however long ago the last look was.
	p.JS(`await new Promise((done) => setTimeout(done, 700))
		;[...document.getElementById('s').sheet.cssRules].find((rule) => rule.selectorText === '#plain').style.display = 'none'
		await new Promise((done) => setTimeout(done, 1100))`)
	e2etest.Holds(t, a.Look(), "Removed:")
}

// TestWhateverShowsAndHidesInShadowRootsIsTold: of most of what happens in one the document does not hear.
func TestWhateverShowsAndHidesInShadowRootsIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div id="host"></div><style id="s">#light { display: block }</style><button id="light">Light</button><script>
		window.root = document.getElementById('host').attachShadow({mode: 'closed'})
		root.innerHTML = '<style>.pop { color: red } .anim { color: red } #one:hover ~ .hov { visibility: hidden } wait-for:not(:defined) ~ .soon { display: block } .soon, .kept { display: none }</style>' +
			'<div id="one">One</div><div id="two">Two</div><button class="hov">Hov</button><div popover class="pop"><button>Pop</button></div><button class="anim">Anim</button><wait-for></wait-for><button class="soon">Soon</button><button class="kept">Kept</button>'
		window.of = (selector) => root.querySelector(selector)
		window.adopted = (rule) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(rule); return [sheet] }
		root.adoptedStyleSheets = adopted('.anim { color: blue }')</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Look()
	moveTo := func(id string) {
		t.Helper()
		var at struct{ X, Y float64 }
		if err := json.Unmarshal([]byte(p.Text(`JSON.stringify(of('`+id+`').getBoundingClientRect())`)), &at); err != nil {
			t.Fatal(err)
		}
		p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+2, at.Y+2))
	}
	moveTo("#two")
	a.Look()
	for _, step := range []struct{ name, script, want string }{
		{"the pointer moves in it", "#one", "Removed:"},
		{"the pointer moves back", "#two", "Hov"},
		{"a popover opens", `of('.pop').showPopover()`, "Pop"},
		{"a popover closes", `of('.pop').hidePopover()`, "Removed:"},
		{"a rule", `of('style').sheet.insertRule('.anim { display: none }', 0)`, "Removed:"},
		{"a rule goes", `of('style').sheet.deleteRule(0)`, "Anim"},
		{"an adopted style sheet for another one", `root.adoptedStyleSheets = adopted('.anim { display: none }')`, "Removed:"},
		{"and back", `root.adoptedStyleSheets = adopted('.anim { color: red }')`, "Anim"},
		{"an animation", `await of('.anim').animate([{visibility: 'hidden'}, {visibility: 'hidden'}], {duration: 20, fill: 'forwards'}).finished`, "Removed:"},
		{"it goes", `root.getAnimations().forEach((one) => one.cancel())`, "Anim"},
		{"an animation that shows", `await of('.kept').animate([{display: 'block'}, {display: 'block'}], {duration: 20, fill: 'forwards'}).finished`, "Kept"},
		{"it goes too", `root.getAnimations().forEach((one) => one.cancel())`, "Removed:"},
		{"an element that is defined", `customElements.define('wait-for', class extends HTMLElement { constructor() { super(); this.attachShadow({mode: 'open'}) } })`, "Removed:"},
		{"a style sheet that is written anew", `of('style').textContent = of('style').textContent.replace('.anim { color: red }', '.anim { display: none }')`, "Removed:"},
		{"one of the document", `document.getElementById('s').textContent = '#light { display: none }'`, "Removed:"},
	} {
		if strings.HasPrefix(step.script, "#") {
			moveTo(step.script)
		} else {
			p.JS(step.script)
		}
		if d := a.Look(); !strings.Contains(d, step.want) {
			t.Errorf("%s: %s is not told in\n%s", step.name, step.want, d)
		}
	}
}

// TestWhatStyleSheetsChangeInTextIsTold: in what they write, and in names made of it; the whole page is asked.
func TestWhatStyleSheetsChangeInTextIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style id="s">#c:checked ~ p::after { content: " (needed)" } #c:checked ~ #by::after { content: "!" } #c:checked ~ aside { visibility: hidden } #c:checked ~ h2 { cursor: pointer } .gone { display: none }</style>
		<input type="checkbox" id="c" aria-label="Firm"><p>Tax number</p><button aria-labelledby="by">x</button><span id="by">Go</span><aside><a href="/a" style="visibility: visible">Shown</a></aside><h2>Title</h2>
		<select aria-label="Size"><option>S<option class="gone">M</select>
		<select id="unseen" aria-label="Colour" size="2"><option>Red<option>Blue</select>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	everything := func() string {
		return a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true})
	}
	first := everything()
	e2etest.Holds(t, first, "Tax number", `button "Go"`, "complementary", `heading "Title"`, `options: ["S", "M"]`)
	e2etest.Lacks(t, first, "needed", "clickable")
	e2etest.Holds(t, first, `option "Red"`)
	p.JS(`document.getElementById('c').checked = true; document.getElementById('unseen').style.visibility = 'hidden'`)
	on := everything()
	e2etest.Holds(t, on, "Tax number (needed)", `button "Go!"`, "[clickable]", `link "Shown"`)
	e2etest.Lacks(t, on, "complementary", "Red")
	p.JS(`document.getElementById('c').checked = false`)
	off := everything()
	e2etest.Holds(t, off, `button "Go"`, "complementary")
	e2etest.Lacks(t, off, "needed", "clickable")
}
