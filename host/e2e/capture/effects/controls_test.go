package effects

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

const controls = `<form aria-label="All">
<label>Fruit <select id="fruit"><option value="a">Apple</option><option value="b">Banana</option><option disabled>Cherry</option></select></label>
<label>Many <select id="many" multiple><option>One</option><option>Two</option><option>Three</option></select></label>
<label>Day <input type="date" id="day"></label><label>Hour <input type="time" id="hour"></label><label>Colour <input type="color" id="colour"></label>
<label>Volume <input type="range" id="volume" min="0" max="10"></label><label>Count <input type="number" id="count"></label>
<label>Mail <input type="email" id="mail"></label><label>Secret <input type="password" id="secret"></label>
<label><input type="checkbox" id="agree"> Agree</label><label><input type="radio" name="r" id="red"> Red</label>
<div role="switch" tabindex="0" aria-checked="false" aria-label="Dark" id="dark">◐</div>
<label>Note <textarea id="note">before</textarea></label>
<button id="go" type="button">Go</button></form>
<button onclick="window.deleted = true">Delete</button><div role="combobox" tabindex="0" aria-label="City" aria-expanded="false" aria-controls="cities" id="city">None</div><div id="cities" role="listbox" hidden><div role="option">Oslo</div><div role="option">Rome</div></div>
<output id="out"></output><script>
window.heard = [];
for (const e of document.querySelectorAll('input, select, textarea')) for (const t of ['input', 'change']) e.addEventListener(t, () => heard.push(e.id + ' ' + t));
dark.onclick = () => dark.setAttribute('aria-checked', String(dark.getAttribute('aria-checked') !== 'true'));
city.onclick = () => { cities.hidden = false; city.setAttribute('aria-expanded', 'true') };
cities.onclick = (e) => { city.textContent = e.target.textContent; cities.hidden = true; city.setAttribute('aria-expanded', 'false') };
go.onclick = () => out.textContent = 'gone';
</script>`

func TestAFormIsFilledInOneCall(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", controls)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	field := func(name string, value any) map[string]any {
		return map[string]any{"ref": ref(name), "value": value}
	}
	d := a.Act("browser_fill_form", map[string]any{"fields": []any{
		field("Fruit", "Banana"), field("Day", "2026-02-03"), field("Hour", "13:45"), field("Colour", "#ff8800"), field("Volume", 7), field("Count", 42),
		field("Mail", "ada@example.org"), field("Secret", "hunter2-hunter2"), field("Agree", true), field("Red", true), field("Dark", true), field("Note", "after"),
	}, "submit": ref("Go")})
	t.Logf("\n%s", d)
	e2etest.Intact(t, d)
	e2etest.Holds(t, d.Page, `"Banana"`, `checkbox "Agree" [e`, `[checked]`, `"after"  # was "before"`)
	e2etest.Lacks(t, d.String(), "hunter2")
	want := "b|2026-02-03|13:45|#ff8800|7|42|ada@example.org|hunter2-hunter2|true|true|true|after|gone"
	if got := p.Text(`[fruit.value, day.value, hour.value, colour.value, volume.value, count.value, mail.value, secret.value, agree.checked, red.checked, dark.getAttribute('aria-checked'), note.value, out.textContent].join('|')`); got != want {
		t.Errorf("the page has %s", got)
	}
	for _, e := range []string{"fruit change", "day input", "volume input", "mail input", "agree change"} {
		if !strings.Contains(p.Text(`heard.join()`), e) {
			t.Errorf("the page did not hear %q", e)
		}
	}
	e2etest.Holds(t, a.Refusal("browser_fill_form", map[string]any{"fields": []any{field("Day", "tomorrow")}}, protocol.RefusedOption, 0).Refused.Detail, "yyyy-mm-dd")
	e2etest.Holds(t, a.Refusal("browser_fill_form", map[string]any{"fields": []any{field("Volume", 70)}}, protocol.RefusedOption, 0).Refused.Detail, "from 0 to 10")
}

func TestOptionsAreChosen(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", controls)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, a.Act("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"Fruit"`), "values": []string{"b"}}).Page, `"Banana"`)
	a.Do("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"Many"`), "values": []string{"One", "three"}})
	if got := p.Text(`fruit.value + [...many.selectedOptions].map((o) => o.value)`); got != "bOne,Three" {
		t.Errorf("chosen are %s", got)
	}
	e2etest.Holds(t, a.Refusal("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"Fruit"`), "values": []string{"Durian"}}, protocol.RefusedOption, 0).Refused.Detail, `"Apple", "Banana"`)
	a.Refusal("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"Fruit"`), "values": []string{"Cherry"}}, protocol.RefusedDisabled, 0)
	d := a.Act("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"City"`), "values": []string{"Rome"}})
	t.Logf("\n%s", d)
	if got := p.Text(`city.textContent + cities.hidden`); got != "Rometrue" {
		t.Errorf("the city is %s\n%s", got, a.Everything())
	}
	if strings.Contains(a.Everything(), "Rome") {
		e2etest.Holds(t, d.Page, `"Rome"`)
	}
	e2etest.Holds(t, a.Refusal("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"City"`), "values": []string{"Paris"}}, protocol.RefusedOption, 1).Refused.Detail, `"Oslo", "Rome"`)
	// A plain button may do anything: it is not clicked to look for options.
	a.Refusal("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"Delete"`), "values": []string{"Paris"}}, protocol.RefusedKind, 0)
	if got := p.Text(`String(window.deleted)`); got != "undefined" {
		t.Errorf("the button was clicked: %s", got)
	}
}

func TestKeysHoverScrollAndMenus(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style>#sub { display: none } #menu:hover #sub { display: block }</style>
		<input aria-label="Search" id="q" value="abc"><div id="menu"><button id="m">Menu</button><div id="sub"><button id="i">Item</button></div></div>
		<div id="box" role="region" aria-label="Box" tabindex="0" style="height:100px;overflow:auto"><div style="height:3000px"></div><button>Deep</button></div>
		<script>window.keys = []; document.onkeydown = (e) => keys.push((e.ctrlKey ? 'C-' : '') + (e.shiftKey ? 'S-' : '') + e.key + (e.isTrusted ? '' : '!')); i.onclick = () => m.textContent = 'Chosen'; m.ondblclick = () => m.textContent = 'Twice'; m.oncontextmenu = (e) => { e.preventDefault(); m.textContent = 'Right' }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, a.Act("browser_press_key", map[string]any{"key": "Control+A", "ref": e2etest.RefOf(t, first, `"Search"`)}).Page, "[focused]")
	a.Do("browser_press_key", map[string]any{"key": "x"})
	a.Do("browser_press_key", map[string]any{"key": "Shift+Tab"})
	a.Do("browser_press_key", map[string]any{"key": "Escape"})
	if got := p.Text(`q.value + ' ' + keys`); got != "x Control,C-a,x,Shift,S-Tab,Escape" && got != "x C-Control,C-a,x,S-Shift,S-Tab,Escape" {
		t.Errorf("the page has %s", got)
	}
	e2etest.Holds(t, a.Refusal("browser_press_key", map[string]any{"key": "Hyper+Q"}, protocol.RefusedFailed, 0).Refused.Detail, "unknown key", "Control+A")
	d := a.Act("browser_hover", map[string]any{"ref": e2etest.RefOf(t, first, `"Menu"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, `button "Item"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, d.Page, `"Item"`)}).Page, `button "Chosen"`, `# was "Menu"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Menu"`), "double": true}).Page, `"Twice"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Menu"`), "button": "right"}).Page, `"Right"`)
	a.Do("browser_scroll", map[string]any{"ref": e2etest.RefOf(t, first, `"Box"`), "direction": "down", "amount": 500})
	if n := p.Text(`String(box.scrollTop)`); n != "500" {
		t.Errorf("scrolled to %s", n)
	}
	a.Do("browser_scroll", map[string]any{"ref": e2etest.RefOf(t, first, `"Deep"`)})
	if n := p.Text(`String(box.scrollTop > 1000)`); n != "true" {
		t.Error("not scrolled into view")
	}
	t.Log(a.Cannot("browser_scroll", nil, usererr.InvalidArgument, "pass ref"))
}

func TestDragging(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div id="from" draggable="true" role="button" tabindex="0">Card</div><div id="to" role="list" aria-label="Done" tabindex="0" style="height:80px;width:200px;border:1px solid"></div>
		<div id="knob" role="slider" aria-label="Knob" aria-valuenow="0" tabindex="0" style="position:absolute;left:20px;top:500px;width:20px;height:20px;background:red"></div><button id="goal" style="position:absolute;left:300px;top:500px">Goal</button><script>
		from.ondragstart = (e) => e.dataTransfer.setData('text', 'the card'); to.ondragover = (e) => e.preventDefault();
		to.ondrop = (e) => { e.preventDefault(); to.innerHTML = '<div role="listitem">' + e.dataTransfer.getData('text') + '</div>' };
		knob.onpointerdown = (e) => { knob.setPointerCapture(e.pointerId); knob.onpointermove = (e) => { knob.style.left = e.clientX - 10 + 'px'; knob.setAttribute('aria-valuenow', Math.round(e.clientX)) } };
		knob.onpointerup = () => knob.onpointermove = null</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	d := a.Act("browser_drag", map[string]any{"from": e2etest.RefOf(t, first, `"Card"`), "to": e2etest.RefOf(t, first, `list "Done"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, "the card")
	d = a.Act("browser_drag", map[string]any{"from": e2etest.RefOf(t, first, `"Knob"`), "to": e2etest.RefOf(t, first, `"Goal"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, `slider "Knob"`, "was \"0\"")
}

func TestFramesAndShadowRootsAreActedOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	other := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><div style="height:1500px"></div><button onclick="this.textContent = 'Paid ' + event.isTrusted">Pay</button><input aria-label="Card">`})
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":  e2etest.StorePage("Shop", `<div style="height:1200px"></div><iframe title="Payment" src="`+other.URL+`" style="border:7px solid;padding:5px;height:120px;transform:scale(.8)"></iframe><iframe title="Help" src="/help"></iframe><closed-box></closed-box><script>customElements.define('closed-box', class extends HTMLElement { connectedCallback() { const r = this.attachShadow({mode: 'closed'}); r.innerHTML = '<button>Inside</button><input aria-label="Within">'; const b = r.querySelector('button'); b.onclick = () => b.textContent = 'Clicked' } })</script>`),
		"/help": `<!doctype html><iframe title="Deeper" src="/deep"></iframe>`,
		"/deep": `<!doctype html><button onclick="this.textContent = 'Found'">Deep down</button>`,
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Pay"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, `button "Paid true"`, `# was "Pay"`)
	e2etest.Holds(t, a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Card"`), "text": "hello"}).Page, `: "hello"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Deep down"`)}).Page, `"Found"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Inside"`)}).Page, `"Clicked"`)
	e2etest.Holds(t, a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Within"`), "text": "in"}).Page, `: "in"`)
}

func TestDialogsAreToldAndAnswered(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":   e2etest.StorePage("Shop", `<button id="b">Ask</button><p role="status" id="s">-</p><script>b.onclick = () => { alert('Careful'); s.textContent = String(confirm('Sure?')) + ' ' + prompt('Name?', 'Bob') }</script>`),
		"/leave": e2etest.StorePage("Leave", `<button id="x" onclick="window.dirty = 1">Dirty</button><script>onbeforeunload = (e) => { if (window.dirty) e.preventDefault() }</script>`),
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	open := func(got *protocol.ActDialog, want protocol.ActDialog) {
		t.Helper()
		if got == nil || *got != want {
			t.Errorf("%+v is open, want %+v", got, want)
		}
	}
	asks := func(d *e2etest.Acted, want protocol.ActDialog) {
		t.Helper()
		t.Logf("\n%s", d)
		open(d.Dialog, want)
	}
	alert := protocol.ActDialog{Kind: "alert", Message: "Careful"}
	asks(a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Ask"`)}), alert)
	refused := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Ask"`)}, protocol.RefusedDialog, 0)
	asks(refused, alert)
	open(refused.Refused.Dialog, alert)
	asks(a.Act("browser_handle_dialog", map[string]any{"accept": true}), protocol.ActDialog{Kind: "confirm", Message: "Sure?"})
	asks(a.Act("browser_handle_dialog", map[string]any{"accept": false}), protocol.ActDialog{Kind: "prompt", Message: "Name?", Default: "Bob"})
	d := a.Act("browser_handle_dialog", map[string]any{"accept": true, "text": "Ada"})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, `"false Ada"`)
	// A prompt that is accepted without a text keeps the one that it came with.
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Ask"`)})
	a.Do("browser_handle_dialog", map[string]any{"accept": true})
	asks(a.Act("browser_handle_dialog", map[string]any{"accept": true}), protocol.ActDialog{Kind: "prompt", Message: "Name?", Default: "Bob"})
	e2etest.Holds(t, a.Act("browser_handle_dialog", map[string]any{"accept": true}).Page, `"true Bob"`)
	a.Refusal("browser_handle_dialog", map[string]any{"accept": true}, protocol.RefusedNoDialog, 0)
	d = a.Act("browser_navigate", map[string]any{"url": s.URL + "/leave"})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, "[Page: Leave]")
	a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, d.Page, `"Dirty"`)})
	d = a.Act("browser_navigate", map[string]any{"url": s.URL})
	t.Logf("\n%s", d)
	if d.Dialog == nil || d.Dialog.Kind != "beforeunload" {
		t.Errorf("%+v is open", d.Dialog)
	}
	a.Do("browser_handle_dialog", map[string]any{"accept": false})
	if got := p.Text(`location.pathname`); got != "/leave" {
		t.Errorf("the page was left for %s", got)
	}
	a.Do("browser_navigate", map[string]any{"url": s.URL})
	e2etest.Holds(t, a.Act("browser_handle_dialog", map[string]any{"accept": true}).Page, "[Page: Shop]")
}

func TestNavigating(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Home", `<a href="/next">Next</a><a href="/file" download>Load</a><a href="/next" target="_blank">Other tab</a>`), "/next": e2etest.StorePage("Next", `<h1>Here</h1>`)})
	s.Mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
		_, _ = w.Write([]byte("a,b"))
	})
	ended := e2etest.NewSite(t, nil)
	ended.Close()
	a := w.AgentOf(t, s, "http://127.0.0.1:1", ended.URL, "https://example.com")
	w.Open(t, s.URL)
	first := a.Look()
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Next"`)})
	t.Logf("\n%.300s", d)
	e2etest.Holds(t, d.Page, "[Page: Next]", `heading "Here"`)
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": "back"}).Page, "[Page: Home]")
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": "forward"}).Page, "[Page: Next]")
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": "reload"}).Page, "[Page: Next]")
	missing := a.Act("browser_navigate", map[string]any{"url": s.URL + "/missing"})
	e2etest.Holds(t, e2etest.Said(missing.Broke), "GET /missing 404")
	home := a.Act("browser_navigate", map[string]any{"url": s.URL})
	e2etest.Intact(t, home)
	e2etest.Holds(t, home.Page, "[Page: Home]")
	load := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, home.Page, `"Load"`)})
	t.Logf("\n%.300s", load)
	if !slices.Equal(load.Downloads, []string{"report.csv"}) {
		t.Errorf("downloads %v", load.Downloads)
	}
	opened := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, home.Page, `"Other tab"`)})
	t.Logf("\n%.300s", opened)
	if len(opened.Opened) != 1 {
		t.Errorf("opened %v", opened.Opened)
	}
	t.Log(a.Cannot("browser_navigate", map[string]any{"url": "file:///etc/passwd"}, usererr.InvalidArgument, "http or https"))
	e2etest.Holds(t, a.Refusal("browser_navigate", map[string]any{"url": "http://127.0.0.1:1/"}, protocol.RefusedLoad, 0).Refused.Detail, "ERR_")
	failed := a.Refusal("browser_navigate", map[string]any{"url": ended.URL}, protocol.RefusedLoad, 0)
	if len(failed.Broke) != 1 || failed.Broke[0].Count != 1 {
		t.Errorf("a failed navigation is counted more than once:\n%s", failed)
	}
	t.Log(a.Cannot("browser_navigate", map[string]any{"url": "https://example.com/"}, usererr.NotWatched, "not turned on"))
}

func TestFilesAreUploadedFromTheWorkspaceOnly(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<label>File <input type="file" id="f" multiple></label><button id="b">Choose</button><output id="o"></output><form onsubmit="o.textContent = 'sent'; return false"><button>Send</button></form><script>b.onclick = () => f.click(); f.onchange = async () => o.textContent = (await Promise.all([...f.files].map(async (x) => x.name + '=' + await x.text()))).join()</script>`)})
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(dir, "a.txt"): "one", filepath.Join(dir, "b.txt"): "two", filepath.Join(outside, "secret.txt"): "no"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	a := w.NewAgent(t, "--origin", s.URL, "--workspace", dir)
	w.Open(t, s.URL)
	first := a.Look()
	d := a.Act("browser_upload_file", map[string]any{"ref": e2etest.RefOf(t, first, `"File"`), "paths": []string{"a.txt", filepath.Join(dir, "b.txt")}})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.Page, "a.txt=one,b.txt=two")
	d = a.Act("browser_upload_file", map[string]any{"ref": e2etest.RefOf(t, first, `"Choose"`), "paths": "a.txt"})
	e2etest.Holds(t, d.Page, `"a.txt=one"`)
	// What the click did instead is told.
	e2etest.Holds(t, a.Refusal("browser_upload_file", map[string]any{"ref": e2etest.RefOf(t, first, `"Send"`), "paths": "a.txt"}, protocol.RefusedChooser, 0).Page, `"sent"`)
	for path, code := range map[string]usererr.Code{
		"link.txt": usererr.SwitchedOff, filepath.Join(outside, "secret.txt"): usererr.SwitchedOff, "/etc/passwd": usererr.SwitchedOff,
		"../x": usererr.InvalidArgument, // which is not there
	} {
		t.Log(a.Cannot("browser_upload_file", map[string]any{"ref": e2etest.RefOf(t, first, `"File"`), "paths": []string{path}}, code, "uploaded"))
	}
}

func TestWaitingAndPictures(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button id="b">Later</button><p id="p">-</p><input aria-label="Password" value="abc" type="text" name="password"><script>b.onclick = () => setTimeout(() => p.textContent = 'Ready at last', 900)</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Later"`)})
	d := a.Do("browser_wait_for", map[string]any{"text": "ready at last"})
	t.Logf("\n%s", d)
	e2etest.Holds(t, a.Refusal("browser_wait_for", map[string]any{"text": "never", "timeout_ms": 300}, protocol.RefusedFailed, 0).Refused.Detail, `"never" did not appear`)
	e2etest.Holds(t, a.Refusal("browser_wait_for", map[string]any{"text_gone": "ready", "timeout_ms": 300}, protocol.RefusedFailed, 0).Refused.Detail, `after 300 ms, "ready" is still on the page`)
	a.Do("browser_wait_for", map[string]any{"ref": e2etest.RefOf(t, first, `"Later"`)})
	a.Do("browser_wait_for", map[string]any{"settled": true})
	t.Log(a.Do("browser_screenshot", nil))
	t.Log(a.Do("browser_screenshot", map[string]any{"ref": e2etest.RefOf(t, first, `"Later"`)}))
	t.Log(a.Cannot("browser_evaluate", map[string]any{"expression": "1"}, usererr.SwitchedOff, "config.toml"))
}

// TestOptionsThatAreDrawnBesideTheirList: some components keep a list of invisible options for screen readers and draw what is
// clicked elsewhere.
func TestOptionsThatAreDrawnBesideTheirList(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<input id="city" role="combobox" aria-label="City" aria-expanded="false" aria-controls="options" readonly>
<div id="popup" hidden><div id="options" role="listbox" style="height: 0; width: 0; overflow: hidden"><div role="option" aria-label="Oslo" style="height: 0">1</div><div role="option" aria-label="Rome" style="height: 0">2</div></div>
<div id="drawn"><div class="item" title="Oslo" style="cursor: pointer"><div>Oslo</div></div><div class="item" title="Rome" style="cursor: pointer"><div>Rome</div></div></div></div><script>
city.onclick = () => { popup.hidden = false; city.setAttribute('aria-expanded', 'true') };
drawn.onclick = (e) => { city.value = e.target.textContent; popup.hidden = true; city.setAttribute('aria-expanded', 'false') };
</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	d := a.Act("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"City"`), "values": []string{"Rome"}})
	if got := p.Text(`city.value`); got != "Rome" {
		t.Errorf("the city is %q\n%s\n%s", got, d, a.Everything())
	}
	e2etest.Holds(t, d.Page, `"Rome"`)
}
