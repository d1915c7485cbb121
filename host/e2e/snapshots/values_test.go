package snapshots

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestTextInSlotsIsToldAsItIs: what stands in a host names what is around the slot that shows it.
func TestTextInSlotsIsToldAsItIs(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Slots", `<script>
		const define = (name, html) => customElements.define(name, class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = html } });
		define('x-b', '<button><slot>Empty</slot></button>');
		define('x-h', '<h2><slot></slot></h2>');
		define('x-o', '<x-b><slot></slot></x-b>');
		define('x-c', '<label><input type="checkbox"><span><slot></slot></span></label>');
		</script><x-b id="set">Set</x-b><x-b id="data">Data</x-b><x-b id="added">Added</x-b><x-b id="away">Away</x-b><x-b id="deep"><b>Deep</b></x-b>
		<x-h id="head">Head</x-h><x-o id="outer">Outer</x-o><x-c id="box">Box</x-c><div id="plain"><button>Plain</button></div><div id="later" role="button" tabindex="0">Later</div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Holds(t, a.Look(), `button "Set"`, `button "Data"`, `button "Added"`, `button "Away"`, `button "Deep"`, `heading "Head"`, `button "Outer"`, `checkbox "Box"`, `button "Plain"`, `button "Later"`)
	p.JS(`set.textContent = 'Set 2'; data.firstChild.data = 'Data 2'; added.append(' more'); away.firstChild.remove(); deep.firstChild.textContent = 'Deep 2';
		head.textContent = 'Head 2'; outer.textContent = 'Outer 2'; box.textContent = 'Box 2';
		plain.attachShadow({ mode: 'open' }).innerHTML = '<p>Shadow</p><slot></slot>'; later.attachShadow({ mode: 'open' }).innerHTML = 'Much <slot></slot>'`)
	told := a.Look()
	full := a.Snapshot(map[string]any{"full_snapshot": true, "interactive_only": false})
	for _, text := range []string{told, full} {
		e2etest.Holds(t, text, `button "Set 2"`, `button "Data 2"`, `button "Added more"`, `button "Empty"`, `button "Deep 2"`, `heading "Head 2"`, `button "Outer 2"`, `checkbox "Box 2"`, `button "Much Later"`)
	}
	e2etest.Holds(t, full, `"Shadow"`, `button "Plain"`)
	p.JS(`outer.textContent = ''; head.append('!'); set.replaceChildren()`)
	full = a.Snapshot(map[string]any{"full_snapshot": true, "interactive_only": false})
	e2etest.Holds(t, full, `heading "Head 2!"`, `button [e`)
	e2etest.Lacks(t, full, "Outer 2", "Set 2")
}

// TestTextInASlotThatIsHiddenHasNoLine: the slot inherits that from the host, or from what is around it, and the text has it from there.
func TestTextInASlotThatIsHiddenHasNoLine(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Hidden", `<script>
		const define = (name, html) => customElements.define(name, class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = html } });
		define('x-own', '<style>:host([closed]) { visibility: hidden }</style><slot></slot>');
		define('x-in', '<section style="visibility: hidden"><slot></slot></section>');
		</script><p>Before</p><x-own id="own" closed>One<b style="visibility: visible">Shown</b></x-own><x-own style="visibility: hidden">Two</x-own><x-in>Three</x-in>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	whole := func() string { return a.Snapshot(map[string]any{"full_snapshot": true, "interactive_only": false}) }
	all := whole()
	e2etest.Holds(t, all, "Before", "Shown")
	e2etest.Lacks(t, all, "One", "Two", "Three")
	p.JS(`own.removeAttribute('closed')`)
	e2etest.Holds(t, whole(), "One")
	p.JS(`own.setAttribute('closed', '')`)
	e2etest.Lacks(t, whole(), "One")
}

// TestTheTextOfAFieldIsItsValue: where ARIA makes an element a field that is none of the browser's.
func TestTheTextOfAFieldIsItsValue(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Values", `<button id="f" role="combobox" aria-label="Fruit" aria-expanded="false"><span>Apple</span><span aria-hidden="true">▾</span></button>
		<div id="x" role="textbox" tabindex="0" aria-label="Note">Buy milk</div><div id="e" role="combobox" tabindex="0" aria-label="Size" aria-expanded="false"></div>
		<div role="combobox" tabindex="0" aria-label="Color" aria-expanded="false">Red<button>Clear</button></div><div role="textbox" aria-label="Tags">One<button>Remove</button></div>
		<div role="combobox" aria-label="City" aria-expanded="true"><input value="Oslo"><ul role="listbox"><li role="option">Oslo</li></ul></div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `combobox "Fruit" [`, `[collapsed]: "Apple"`, `textbox "Note" [`, `: "Buy milk"`, `option "Oslo"`, `[collapsed] [value="Red"]`, `button "Clear"`, `button "Remove"`)
	p.JS(`f.firstChild.textContent = 'Pear'; x.firstChild.data = 'Buy bread'; e.textContent = 'Large'`)
	e2etest.Holds(t, a.Look(), `: "Pear"  # was "Apple"`, `: "Buy bread"  # was "Buy milk"`, `: "Large"  # was ""`)
}

// TestHeadingsHaveTheirLevels: as ARIA says, else by their tag, else the second.
func TestHeadingsHaveTheirLevels(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Levels</title><h2 aria-level="5">Five</h2><div role="heading">Two</div><h3>Three</h3><h4 aria-level="x">Four</h4>`})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	for name, level := range map[string]string{"Five": "5", "Two": "2", "Three": "3", "Four": "4"} {
		e2etest.Holds(t, first, `heading "`+name+`" [`+e2etest.RefOf(t, first, `"`+name+`"`)+`] [level=`+level+`]`)
	}
}

// TestWhatDescribesAControlIsKept: its hint beside its description, the lines of its value, and how a figure is called.
func TestWhatDescribesAControlIsKept(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Described", `<button id="b" data-testid="a" aria-describedby="why"></button><p id="why">It removes all</p>
		<figure><figcaption id="cap">One</figcaption><button>Zoom</button></figure><textarea aria-label="Long"></textarea><div id="ed" contenteditable aria-label="Code">&nbsp;&nbsp;indented</div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.JS(`document.querySelector('textarea').value = ('x'.repeat(99) + '\n').repeat(5)`)
	first := a.Everything()
	e2etest.Holds(t, first, `("It removes all") (hint "a")`, `figure "One"`, `[lines=6]`, `: "  indented"`)
	p.JS(`b.dataset.testid = 'c'; cap.textContent = 'Two'`)
	e2etest.Holds(t, a.Everything(), `("It removes all") (hint "c")  # was ("It removes all") (hint "a")`, `figure "Two"`)
}

// TestDetailsWithoutASummaryHaveAControl: the browser draws it.
func TestDetailsWithoutASummaryHaveAControl(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Details", `<details id="d"><p>Hidden words</p></details>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `group "Details" [`, `[collapsed]`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Details"`)}).Page, "Hidden words", "[expanded]")
	p.JS(`d.insertAdjacentHTML('afterbegin', '<summary>More</summary>')`)
	told := a.Whole()
	e2etest.Holds(t, told, `button "More"`)
	e2etest.Lacks(t, told, `"Details" [`)
}
