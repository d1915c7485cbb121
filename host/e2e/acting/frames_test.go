package acting

import (
	"bytes"
	"context"
	"image/jpeg"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// framed is a page with a frame of another site, which is another process, and one of its own with another in it.
func framed(t *testing.T, inner string) *e2etest.Site {
	t.Helper()
	other := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><meta charset="utf-8"><div style="height:900px"></div>` + inner + `<button>Elsewhere</button>`})
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	return e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Shop", `<button id="b" data-n="7">Here</button><div style="height:1200px"></div><iframe title="Payment" src="`+elsewhere+`" style="border:7px solid;padding:5px;height:160px;width:300px;transform:scale(.8)"></iframe><iframe title="Help" src="/help"></iframe>
			<closed-box></closed-box><script>window.secret = 'of the top'; customElements.define('closed-box', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'closed'}).innerHTML = '<button>Closed in</button>' } })</script>`),
		"/help": `<!doctype html><iframe title="Deeper" src="/deep"></iframe>`,
		"/deep": `<!doctype html><meta charset="utf-8">` + inner + `<button>Deep down</button><script>window.secret = 'of the deep'</script>`,
	})
}

func TestCodeIsEvaluatedOnElements(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.ConfiguredWorld(t, "[debugger]\nevaluate = true\n")
	s := framed(t, "")
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	evaluate := func(name, expression string) map[string]any {
		return map[string]any{"ref": e2etest.RefOf(t, first, name), "expression": expression}
	}
	value := func(d *e2etest.Acted, want string) {
		t.Helper()
		if d.Value != want {
			t.Errorf("it came to %s, want %s", d.Value, want)
		}
	}
	value(a.Act("browser_evaluate", map[string]any{"expression": "document.title"}), `"Shop"`)
	value(a.Act("browser_evaluate", evaluate(`"Here"`, "element.dataset.n + (this === element)")), `"7true"`)
	value(a.Act("browser_evaluate", evaluate(`"Here"`, "(e) => [e.id, window.secret]")), `["b","of the top"]`)
	value(a.Act("browser_evaluate", evaluate(`"Here"`, "fetch('/').then((r) => r.status)")), `200`)
	e2etest.Holds(t, a.Act("browser_evaluate", evaluate(`"Here"`, "element.textContent = 'There'")).Page, `button "There"`, `# was "Here"`)
	value(a.Act("browser_evaluate", evaluate(`"Deep down"`, "[element.textContent, window.secret]")), `["Deep down","of the deep"]`)
	value(a.Act("browser_evaluate", evaluate(`"Elsewhere"`, "[this.textContent, location.hostname]")), `["Elsewhere","localhost"]`)
	value(a.Act("browser_evaluate", map[string]any{"expression": "() => document.title"}), `"Shop"`)
	e2etest.Holds(t, a.Refusal("browser_evaluate", evaluate(`"Deep down"`, "nothing.at.all"), protocol.RefusedCode, 0).Refused.Detail, "threw ReferenceError: nothing is not defined")
	for _, expression := range []string{"1 +", "let 1"} { // which is not run at all
		e2etest.Holds(t, a.Refusal("browser_evaluate", evaluate(`"Deep down"`, expression), protocol.RefusedFailed, 0).Refused.Detail, "SyntaxError")
		e2etest.Holds(t, a.Refusal("browser_evaluate", map[string]any{"expression": expression}, protocol.RefusedFailed, 0).Refused.Detail, "SyntaxError")
	}
	e2etest.Holds(t, a.Refusal("browser_evaluate", evaluate(`"Closed in"`, "1"), protocol.RefusedKind, 0).Refused.Detail, "closed shadow root")
}

// TestCodeThatThrowsOrDoesNotEnd: what it threw is told, and what it had done by then.
func TestCodeThatThrowsOrDoesNotEnd(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.ConfiguredWorld(t, "[debugger]\nevaluate = true\n")
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Count", `<p role="status" id="count">0</p><script>const add = () => { count.textContent = Number(count.textContent) + 1 }</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	ref := e2etest.RefOf(t, a.Everything(), "status")
	fails := func(args map[string]any, why string) *e2etest.Acted {
		t.Helper()
		d := a.Refusal("browser_evaluate", args, protocol.RefusedCode, 0)
		e2etest.Holds(t, d.Refused.Detail, why)
		e2etest.Holds(t, d.Page, "status ["+ref, "# was")
		return d
	}
	e2etest.Holds(t, fails(map[string]any{"expression": "add(); throw new TypeError('no such thing')"}, "threw TypeError: no such thing").Page, `"1"  # was "0"`)
	fails(map[string]any{"expression": "add(); throw 'a text'"}, `threw "a text"`)
	fails(map[string]any{"expression": "add(); throw {code: 7}"}, `threw {"code":7}`)
	fails(map[string]any{"expression": "add(); JSON.parse('{')"}, "threw SyntaxError: ")
	fails(map[string]any{"expression": "(async () => { add(); await 0; throw new Error('later') })()"}, "threw Error: later")
	fails(map[string]any{"expression": "() => { add(); throw new Error('inside') }", "ref": ref}, "threw Error: inside")
	fails(map[string]any{"expression": "add(); window"}, "returned no value: Object reference chain is too long")
	fails(map[string]any{"expression": "add(); new Promise(() => {})"}, "returned no value: it timed out")
	fails(map[string]any{"expression": "add(); for (;;);"}, "returned no value: it timed out")
	if d := a.Act("browser_evaluate", map[string]any{"expression": "add(); alert('Stop'); 5"}).Dialog; d == nil || *d != (protocol.ActDialog{Kind: "alert", Message: "Stop"}) {
		t.Errorf("%+v is open", d)
	}
	e2etest.Holds(t, a.Act("browser_handle_dialog", map[string]any{"accept": true}).Page, "status [")
}

// TestPicturesOfElementsInFrames: an element is found wherever it is drawn, and nothing else is in its picture.
func TestPicturesOfElementsInFrames(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := framed(t, `<style>.box { background: rgb(200, 30, 60); width: 120px; height: 40px; border: 0; color: transparent }</style><button class="box">Red</button>`)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	at := 0
	for range 2 {
		part := first[at:]
		ref := e2etest.RefOf(t, part, `"Red"`)
		at += strings.Index(part, `"Red"`) + 1
		ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
		defer cancel()
		result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: "browser_screenshot", Arguments: map[string]any{"ref": ref}})
		if err != nil || result.IsError {
			t.Fatalf("%v %+v", err, result)
		}
		data := result.Content[len(result.Content)-1].(*mcp.ImageContent).Data
		picture, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := picture.Bounds().Size()
		if size.X < 90 || size.X > 130 || size.Y < 30 || size.Y > 45 {
			t.Errorf("the picture of %s is %s", ref, size)
		}
		for x := 2; x < size.X-2; x += 8 {
			for y := 2; y < size.Y-2; y += 8 {
				if r, g, b, _ := picture.At(x, y).RGBA(); r>>8 < 170 || g>>8 > 70 || b>>8 > 100 {
					t.Fatalf("at %d, %d of %s's picture there is %d %d %d", x, y, ref, r>>8, g>>8, b>>8)
				}
			}
		}
	}
}

// TestAFrameFarBelowGetsTheFirstClick, although it is of another process, which hears later that it was scrolled to.
func TestAFrameFarBelowGetsTheFirstClick(t *testing.T) {
	w := e2etest.SharedWorld(t)
	other := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><div style="height:700px"></div><button onclick="this.textContent = 'Got it'">Pay</button>`})
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div style="height:2000px"></div><iframe title="Payment" src="`+strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+`"></iframe><div style="height:900px"></div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for range 5 {
		p.JS(`scrollTo(0, 0)`)
		e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Do("browser_navigate", map[string]any{"url": "reload"}), `"Pay"`)}).Page, `"Got it"`)
	}
}

// TestWhatWasDoneBeforeAStepWasRefusedIsTold, by that answer and not by the next one.
func TestWhatWasDoneBeforeAStepWasRefusedIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<input aria-label="Name"><div role="slider" aria-label="Volume" tabindex="0">5</div>
		<label><input type="radio" name="r" checked>Small</label><label><input type="radio" name="r">Large</label>
		<form onsubmit="said.textContent = 'sent'; return false"><button>Send</button></form><p role="status" id="said">-</p>
		<button role="combobox" aria-label="Fruit" aria-expanded="false" aria-controls="l" onclick="l.hidden = !l.hidden">-</button><div role="listbox" id="l" hidden><div role="option">Apple</div><div role="option" aria-disabled="true">Cherry</div></div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	field := func(name string, value any) map[string]any {
		return map[string]any{"ref": e2etest.RefOf(t, first, name), "value": value}
	}
	d := a.Refusal("browser_fill_form", map[string]any{"fields": []any{field(`"Name"`, "Ada"), field(`"Volume"`, "7")}}, protocol.RefusedKind, 1)
	e2etest.Holds(t, d.Refused.Element, "Volume")
	e2etest.Holds(t, d.Page, `textbox "Name"`, `"Ada"`)
	if d.Refused.Steps != 2 {
		t.Errorf("%+v", d.Refused)
	}
	d = a.Refusal("browser_fill_form", map[string]any{"fields": []any{field(`radio "Small"`, false)}}, protocol.RefusedOption, 0)
	e2etest.Holds(t, d.Refused.Element, "Small")
	e2etest.Holds(t, d.Refused.Detail, "choose another one")
	e2etest.Lacks(t, d.String(), "Ada")
	d = a.Refusal("browser_select_option", map[string]any{"ref": e2etest.RefOf(t, first, `"Fruit"`), "values": []string{"Cherry"}}, protocol.RefusedDisabled, 0)
	e2etest.Holds(t, d.Refused.Element, `option "Cherry"`)
	e2etest.Holds(t, d.Page, `option "Apple"`)
}

// TestAFormWhosePageGoesAwayInTheMiddle is answered with what became of it.
func TestAFormWhosePageGoesAwayInTheMiddle(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":  e2etest.StorePage("Shop", `<select aria-label="Country" onchange="location = '/next'"><option>Austria<option>Belgium</select><input aria-label="City">`),
		"/next": e2etest.StorePage("Next", `<button>On</button>`), "/text": `<!doctype html><title>Text</title><p>Nothing to press here</p>`,
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	field := func(name, value string) map[string]any {
		return map[string]any{"ref": e2etest.RefOf(t, first, name), "value": value}
	}
	d := a.Refusal("browser_fill_form", map[string]any{"fields": []any{field(`"Country"`, "Belgium"), field(`"City"`, "Ghent")}}, protocol.RefusedGone, 1)
	e2etest.Holds(t, d.Page, "[Page: Next]", `button "On"`)
	if d.Refused.Steps != 2 {
		t.Errorf("%+v", d.Refused)
	}
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": s.URL + "/text"}).Page, "interactive_only: false")
}
