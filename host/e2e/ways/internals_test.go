package ways

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestCustomElementsSayWhatTheyAreThroughTheirInternals: both ways of capture know what only the page's own world may read of
// custom elements.
func TestCustomElementsSayWhatTheyAreThroughTheirInternals(t *testing.T) {
	for _, way := range []string{"quiet", "debugger"} {
		t.Run(way, func(t *testing.T) { customElementsSayWhatTheyAre(t, e2etest.WorldIn(t, way)) })
	}
}

func customElementsSayWhatTheyAre(t *testing.T, w *e2etest.World) {
	t.Helper()
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><link rel="icon" href="data:,"><title>Internals</title><x-tabs><x-tab>Photos</x-tab><x-tab>Videos</x-tab></x-tabs><x-box></x-box><x-plain>Text</x-plain><x-tab role="button">Written</x-tab>
		<x-late>Late</x-late><script>
		class Tabs extends HTMLElement { constructor() { super(); Object.assign(this.attachInternals(), { role: 'tablist', ariaLabel: 'Views' }) } }
		class Tab extends HTMLElement {
			constructor() { super(); this.in = this.attachInternals(); Object.assign(this.in, { role: 'tab', ariaSelected: 'false' }); this.onclick = () => { this.in.ariaSelected = 'true' } }
			connectedCallback() { this.tabIndex = 0 }
		}
		class Box extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'closed' }).append(new Tab()) } }
		customElements.define('x-tab', Tab); customElements.define('x-tabs', Tabs); customElements.define('x-box', Box); customElements.define('x-plain', class extends HTMLElement {})
		</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	first := a.Everything()
	e2etest.Holds(t, first, `tablist "Views" [e`, `tab "Photos" [e`, `tab "Videos" [e`, `button "Written" [e`, "text: \"Text\"")
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `tab "Videos"`)})
	e2etest.Holds(t, d.Page, `tab "Videos"`, "[selected]")
	a.Look()
	p.JS(`document.querySelector('x-tab').in.ariaLabel = 'Pictures'`) // which is no mutation
	e2etest.Holds(t, a.Look(), `tab "Pictures"`)
	p.JS(`customElements.define('x-late', class extends HTMLElement { constructor() { super(); Object.assign(this.attachInternals(), { role: 'switch', ariaChecked: 'true' }) } })`)
	e2etest.Holds(t, a.Look(), `switch "Late" [e`, "[checked]")
}
