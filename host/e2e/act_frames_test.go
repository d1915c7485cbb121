package e2e

import (
	"bytes"
	"context"
	"image/jpeg"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// framed is a page with a frame of another site, which is another process, and one of its own with another in it.
func framed(t *testing.T, inner string) *site {
	t.Helper()
	other := newSite(t, map[string]string{"/{$}": `<!doctype html><meta charset="utf-8"><div style="height:900px"></div>` + inner + `<button>Elsewhere</button>`})
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	return newSite(t, map[string]string{
		"/{$}": store("Shop", `<button id="b" data-n="7">Here</button><div style="height:1200px"></div><iframe title="Payment" src="`+elsewhere+`" style="border:7px solid;padding:5px;height:160px;width:300px;transform:scale(.8)"></iframe><iframe title="Help" src="/help"></iframe>
			<closed-box></closed-box><script>window.secret = 'of the top'; customElements.define('closed-box', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'closed'}).innerHTML = '<button>Closed in</button>' } })</script>`),
		"/help": `<!doctype html><iframe title="Deeper" src="/deep"></iframe>`,
		"/deep": `<!doctype html><meta charset="utf-8">` + inner + `<button>Deep down</button><script>window.secret = 'of the deep'</script>`,
	})
}

func TestCodeIsEvaluatedOnElements(t *testing.T) {
	needBrowser(t)
	w := startWith(t, "[debugger]\nevaluate = true\n")
	s := framed(t, "")
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	evaluate := func(name, expression string) map[string]any {
		return map[string]any{"ref": refOf(t, first, name), "expression": expression}
	}
	holds(t, a.do("browser_evaluate", map[string]any{"expression": "document.title"}), `Value: "Shop"`)
	holds(t, a.do("browser_evaluate", evaluate(`"Here"`, "element.dataset.n + (this === element)")), `Value: "7true"`)
	holds(t, a.do("browser_evaluate", evaluate(`"Here"`, "(e) => [e.id, window.secret]")), `["b","of the top"]`)
	holds(t, a.do("browser_evaluate", evaluate(`"Here"`, "fetch('/').then((r) => r.status)")), `Value: 200`)
	holds(t, a.do("browser_evaluate", evaluate(`"Here"`, "element.textContent = 'There'")), `button "There"`, `# was "Here"`)
	holds(t, a.do("browser_evaluate", evaluate(`"Deep down"`, "[element.textContent, window.secret]")), `["Deep down","of the deep"]`)
	holds(t, a.do("browser_evaluate", evaluate(`"Elsewhere"`, "[this.textContent, location.hostname]")), `["Elsewhere","localhost"]`)
	holds(t, a.do("browser_evaluate", map[string]any{"expression": "() => document.title"}), `Value: "Shop"`)
	lacks(t, a.cannot("browser_evaluate", evaluate(`"Deep down"`, "nothing.at.all"), "the code threw ReferenceError: nothing is not defined"), "nothing was done")
	for _, expression := range []string{"1 +", "let 1"} {
		a.cannot("browser_evaluate", evaluate(`"Deep down"`, expression), "SyntaxError", "nothing was done")
		a.cannot("browser_evaluate", map[string]any{"expression": expression}, "SyntaxError", "nothing was done")
	}
	a.cannot("browser_evaluate", evaluate(`"Closed in"`, "1"), "closed shadow root")
}

// TestCodeThatThrowsOrDoesNotEnd: what it threw is told, and what it had done by then.
func TestCodeThatThrowsOrDoesNotEnd(t *testing.T) {
	needBrowser(t)
	w := startWith(t, "[debugger]\nevaluate = true\n")
	s := newSite(t, map[string]string{"/{$}": store("Count", `<p role="status" id="count">0</p><script>const add = () => { count.textContent = Number(count.textContent) + 1 }</script>`)})
	a := w.of(t, s)
	w.open(t, s.URL)
	ref := refOf(t, a.everything(), "status")
	fails := func(args map[string]any, parts ...string) {
		t.Helper()
		said := a.cannot("browser_evaluate", args, append(parts, "what it did before that is not undone", "status ["+ref)...)
		lacks(t, said, "nothing was done")
		t.Log(said)
	}
	fails(map[string]any{"expression": "add(); throw new TypeError('no such thing')"}, "the code threw TypeError: no such thing", `"1"  # was "0"`)
	fails(map[string]any{"expression": "add(); throw 'a text'"}, `the code threw "a text"`)
	fails(map[string]any{"expression": "add(); throw {code: 7}"}, `the code threw {"code":7}`)
	fails(map[string]any{"expression": "add(); JSON.parse('{')"}, "the code threw SyntaxError: ")
	fails(map[string]any{"expression": "(async () => { add(); await 0; throw new Error('later') })()"}, "the code threw Error: later")
	fails(map[string]any{"expression": "() => { add(); throw new Error('inside') }", "ref": ref}, "the code threw Error: inside")
	fails(map[string]any{"expression": "add(); window"}, "the code came to no value: Object reference chain is too long")
	began := time.Now()
	fails(map[string]any{"expression": "add(); new Promise(() => {})"}, "the code came to no value: it did not end in time")
	fails(map[string]any{"expression": "add(); for (;;);"}, "the code came to no value: it did not end in time")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	holds(t, a.do("browser_evaluate", map[string]any{"expression": "add(); alert('Stop'); 5"}), `A dialog is open (alert): "Stop"`)
	holds(t, a.do("browser_handle_dialog", map[string]any{"accept": true}), "status [")
}

// TestPicturesOfElementsInFrames: an element is found wherever it is drawn, and nothing else is in its picture.
func TestPicturesOfElementsInFrames(t *testing.T) {
	w := shared.get(t)
	s := framed(t, `<style>.box { background: rgb(200, 30, 60); width: 120px; height: 40px; border: 0; color: transparent }</style><button class="box">Red</button>`)
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	at := 0
	for range 2 {
		part := first[at:]
		ref := refOf(t, part, `"Red"`)
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
	w := shared.get(t)
	other := newSite(t, map[string]string{"/{$}": `<!doctype html><div style="height:700px"></div><button onclick="this.textContent = 'Got it'">Pay</button>`})
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<div style="height:2000px"></div><iframe title="Payment" src="`+strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+`"></iframe><div style="height:900px"></div>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	for range 5 {
		p.js(`scrollTo(0, 0)`)
		holds(t, a.do("browser_click", map[string]any{"ref": refOf(t, a.do("browser_navigate", map[string]any{"url": "reload"}), `"Pay"`)}), `"Got it"`)
	}
}

// TestWhatWasDoneBeforeAStepWasRefusedIsTold, by that answer and not by the next one.
func TestWhatWasDoneBeforeAStepWasRefusedIsTold(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<input aria-label="Name"><div role="slider" aria-label="Volume" tabindex="0">5</div>
		<label><input type="radio" name="r" checked>Small</label><label><input type="radio" name="r">Large</label>
		<form onsubmit="said.textContent = 'sent'; return false"><button>Send</button></form><p role="status" id="said">-</p>
		<button role="combobox" aria-label="Fruit" aria-expanded="false" aria-controls="l" onclick="l.hidden = !l.hidden">-</button><div role="listbox" id="l" hidden><div role="option">Apple</div><div role="option" aria-disabled="true">Cherry</div></div>`)})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	field := func(name string, value any) map[string]any {
		return map[string]any{"ref": refOf(t, first, name), "value": value}
	}
	told := a.cannot("browser_fill_form", map[string]any{"fields": []any{field(`"Name"`, "Ada"), field(`"Volume"`, "7")}}, "Volume", "1 of 2 were done")
	holds(t, told, `textbox "Name"`, `"Ada"`)
	told = a.cannot("browser_fill_form", map[string]any{"fields": []any{field(`radio "Small"`, false)}}, "Small", "choose another one")
	lacks(t, told, "Ada")
	told = a.cannot("browser_select_option", map[string]any{"ref": refOf(t, first, `"Fruit"`), "values": []string{"Cherry"}}, `option "Cherry"`, "is disabled")
	holds(t, told, `option "Apple"`)
}

// TestAFormWhosePageGoesAwayInTheMiddle is answered with what became of it.
func TestAFormWhosePageGoesAwayInTheMiddle(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}":  store("Shop", `<select aria-label="Country" onchange="location = '/next'"><option>Austria<option>Belgium</select><input aria-label="City">`),
		"/next": store("Next", `<button>On</button>`), "/text": `<!doctype html><title>Text</title><p>Nothing to press here</p>`,
	})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	field := func(name, value string) map[string]any {
		return map[string]any{"ref": refOf(t, first, name), "value": value}
	}
	told := a.cannot("browser_fill_form", map[string]any{"fields": []any{field(`"Country"`, "Belgium"), field(`"City"`, "Ghent")}}, "is gone", "1 of 2 were done")
	holds(t, told, "[Page: Next]", `button "On"`)
	lacks(t, told, "nothing was done")
	holds(t, a.do("browser_navigate", map[string]any{"url": s.URL + "/text"}), "interactive_only: false")
}
