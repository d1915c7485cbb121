package acting

import (
	"bytes"
	"context"
	"image/jpeg"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

func TestClicksCarryTheirModifiersAndButton(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Clicks", `<button id="b">Here</button><script>
		const told = (e) => { e.preventDefault(); b.textContent = [e.type, e.button, e.altKey, e.ctrlKey, e.metaKey, e.shiftKey, e.detail, e.isTrusted].join(' ') };
		b.onclick = b.onauxclick = b.oncontextmenu = told</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	ref := e2etest.RefOf(t, a.Look(), `"Here"`)
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"modifiers": []string{"Shift", "Alt"}}, "click 0 true false false true 1 true"},
		{map[string]any{"modifiers": []string{"Control"}, "double": true}, "click 0 false true false false 2 true"},
		{map[string]any{"modifiers": []string{"Meta"}}, "click 0 false false true false 1 true"},
		{map[string]any{"button": "middle"}, "auxclick 1 false false false false 1 true"},
	} {
		c.args["ref"] = ref
		// The button is called another thing after each, and its reference is the same.
		e2etest.Holds(t, a.Act("browser_click", c.args).Page, c.want)
	}
	a.Cannot("browser_click", map[string]any{"ref": ref, "modifiers": []string{"Hyper"}}, usererr.InvalidArgument, "Alt, Control, Meta and Shift")
	a.Cannot("browser_click", map[string]any{"ref": ref, "button": "fourth"}, usererr.InvalidArgument, "left, right or middle")
}

// TestWhatBecameHiddenIsNotActedOn, however it was hidden since it was shown to the agent.
func TestWhatBecameHiddenIsNotActedOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Hidden", `<style>.gone { display: none } .away { visibility: hidden }</style><button id="one">One</button><button id="two">Two</button><input aria-label="Three" id="three"><script>
		window.heard = ''; document.onclick = document.oninput = (e) => { heard += e.target.id }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	p.JS(`one.className = 'gone'; two.className = 'away'; three.className = 'gone'`)
	one := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"One"`)}, protocol.RefusedHidden, 0)
	e2etest.Holds(t, one.Refused.Element, `button "One" [e`)
	a.Cannot("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Two"`)}, usererr.ReferenceGone)
	a.Cannot("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Three"`), "text": "x"}, usererr.ReferenceGone)
	if got := p.Text(`heard + three.value`); got != "" {
		t.Errorf("the page heard %s", got)
	}
}

// TestAClickOnAnItemHitsItsContent, in which alone a script may listen.
func TestAClickOnAnItemHitsItsContent(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Items", `<ul><li><span>Home</span></li><li><span>About</span></li></ul><output></output><script>
		for (const span of document.querySelectorAll('li span')) span.addEventListener('click', () => { document.querySelector('output').textContent = 'at ' + span.textContent })</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Everything(), `: "About"`)})
	e2etest.Holds(t, d.Page, "at About")
}

// TestAPictureIsSmallEnoughForAnAgent, of a page however long.
func TestAPictureIsSmallEnoughForAnAgent(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Long", `<div style="height:20000px;background:linear-gradient(red, blue)"></div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	for _, full := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
		defer cancel()
		result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: "browser_screenshot", Arguments: map[string]any{"full_page": full}})
		if err != nil || result.IsError {
			t.Fatalf("%v %+v", err, result)
		}
		data := result.Content[len(result.Content)-1].(*mcp.ImageContent).Data
		picture, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := picture.Bounds().Size()
		t.Logf("full %v: %d × %d, %d bytes", full, size.X, size.Y, len(data))
		if size.X > 1024 || size.Y > 1024 || size.X < 100 || len(data) > 200_000 {
			t.Errorf("the picture has %d × %d and %d bytes", size.X, size.Y, len(data))
		}
		if tall := size.Y > 4*size.X; tall != full {
			t.Errorf("full %v: %d × %d", full, size.X, size.Y)
		}
	}
}

func TestWaitingForWhatGoesAndForWhatComesToLife(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Wait", `<button onclick="busy.textContent = 'Loading'; setTimeout(() => busy.textContent = '', 2500); pay.disabled = true; setTimeout(() => pay.disabled = false, 3500)">Load</button>
		<p role="status" id="busy"></p><button id="pay" onclick="this.textContent = 'Paid'">Pay</button>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Load"`)}).Page, "Loading")
	a.Do("browser_wait_for", map[string]any{"text_gone": "loading"})
	if got := p.Text(`busy.textContent`); got != "" {
		t.Errorf("the page says %s", got)
	}
	a.Do("browser_wait_for", map[string]any{"ref": e2etest.RefOf(t, first, `"Pay"`)})
	if got := p.Text(`String(pay.disabled)`); got != "false" {
		t.Error("it was not waited for")
	}
}

// TestDetailsWithoutASummaryAreToggledByTheirMarker, which the browser draws in their first line.
func TestDetailsWithoutASummaryAreToggledByTheirMarker(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for name, details := range map[string]string{
		"small":  `<details open><p>Text</p></details>`,
		"plain":  `<details open>Text, <a href="#a">a link</a></details>`,
		"padded": `<details open style="padding:60px;border:9px solid;width:300px"><p>Text</p><button onclick="throw Error('clicked')">Inside</button></details>`,
		"tall":   `<p style="height:2000px">Start</p><details open><button style="width:100%;height:3000px" onclick="throw Error('clicked')">Inside</button></details><p style="height:2000px">End</p>`,
		"right":  `<details open dir="rtl" style="font-size:40px;line-height:1"><p>Text</p></details>`,
	} {
		t.Run(name, func(t *testing.T) {
			s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Details", `<h1>Start</h1>`+details)})
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			ref := e2etest.RefOf(t, a.Everything(), `"Details"`)
			for _, want := range []string{"closed", "open", "closed"} {
				d := a.Act("browser_click", map[string]any{"ref": ref})
				e2etest.Intact(t, d)
				if got := p.Text(`document.querySelector('details').open ? 'open' : 'closed'`); got != want {
					t.Errorf("they are %s, not %s\n%s", got, want, d)
				}
			}
		})
	}
}
