package snapshots

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// TestWhatIsEditedHasItsTextAndASign: an editor in an element that has a role of its own, such as a cell.
func TestWhatIsEditedHasItsTextAndASign(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Edited", `<table><tr><td contenteditable id="c">Alpha</td><td>Beta</td></tr></table>
		<ul><li contenteditable>Milk</li></ul><article contenteditable>News</article><h2 contenteditable>Title</h2><div contenteditable aria-label="Note">Plain</div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `cell [e`, `[editable]: "Alpha"`, `[editable]: "Milk"`, `[editable]: "News"`, `heading "Title" [`, `[editable] [level=2]`, `textbox "Note"`)
	e2etest.Lacks(t, first, "not shown", `textbox "Note" [editable]`)
	told := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `: "Alpha"`), "text": "!"})
	e2etest.Holds(t, told.Page, `: "Alpha!"`)
}

// TestBoxesAreClickedByTheirLabels: where a pointer goes through the box itself. Without one that takes clicks they are marked.
func TestBoxesAreClickedByTheirLabels(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Boxes", `<style>.check { position: absolute; clip: rect(0, 0, 0, 0); pointer-events: none }</style>
		<input type="radio" class="check" name="o" id="o1" checked><label for="o1">One</label><input type="radio" class="check" name="o" id="o2"><label for="o2">Two</label>
		<div style="pointer-events: none"><label><input type="checkbox">Never</label><input type="radio" aria-label="Neither"></div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	if n := strings.Count(first, "[no-pointer]"); n != 2 {
		t.Errorf("%d are marked in\n%s", n, first)
	}
	told := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `radio "Two"`)})
	e2etest.Holds(t, told.Page, `radio "Two" [`, `[checked]`)
}

// TestComboboxesAreClickedWhereTheyAreDrawn: over the field, around one that no pointer hits, or around one that is elsewhere.
func TestComboboxesAreClickedWhereTheyAreDrawn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Combos", `<style>
			.frame { position: relative; width: 200px; height: 30px; border: 1px solid } .frame span { position: absolute; inset: 0 }
		</style><script>function say(text) { document.querySelector('output').textContent += text; }</script><output></output>
		<div class="frame" onmousedown="say('one ')"><input role="combobox" aria-label="One" aria-expanded="false"><span>Red</span></div>
		<div class="frame" onmousedown="say('two ')"><input role="combobox" aria-label="Two" aria-expanded="false" style="pointer-events: none"></div>
		<div class="frame" onmousedown="say('three ')"><div>Blue</div><input role="combobox" aria-label="Three" aria-expanded="false" style="position: absolute; left: -10000px"></div>
		<div class="frame" onmousedown="say('five ')"><div style="position: relative; z-index: 1"><b>Red</b> <button onmousedown="say('removed')" style="position: absolute; right: 0">×</button></div>
			<div style="position: absolute; inset: 0; z-index: 0; opacity: 0"><input role="combobox" aria-label="Five" aria-expanded="false" style="width: 11px"></div></div>
		<div class="frame" onmousedown="say('six ')"><input type="hidden" value="x"><input tabindex="-1" aria-hidden="true" style="position: absolute; opacity: 0; width: 0">
			<input role="combobox" aria-label="Six" aria-expanded="false" style="pointer-events: none"></div>
		<div class="frame"><input role="combobox" aria-label="Four" aria-expanded="false"><button style="position: absolute; inset: 0">Over</button></div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Lacks(t, first, "[no-pointer]")
	for _, name := range []string{"One", "Two", "Three", "Five", "Six"} {
		told := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `combobox "`+name+`"`)})
		e2etest.Holds(t, told.Page, strings.ToLower(name))
		e2etest.Lacks(t, told.Page, "removed")
	}
	a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `combobox "Four"`)}, protocol.RefusedCovered, 0)
}

// TestAreasAreClickedInTheirPicture: they have no box of their own.
func TestAreasAreClickedInTheirPicture(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Areas", `<img usemap="#m" width="300" height="200" alt="Map" style="padding: 10px; border: 2px solid"
			src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='300' height='200'/%3E">
		<map name="m"><area shape="rect" coords="0,0,50,50" href="#north" alt="North"><area shape="circle" coords="200,150,20" href="#south" alt="South">
			<area shape="poly" coords="100,0,140,0,120,40" href="#east" alt="East"></map><div style="height: 3000px"></div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	p.JS(`scrollTo(0, 2500)`)
	for _, name := range []string{"North", "South", "East"} {
		a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `link "`+name+`"`)})
		p.JS(`if (location.hash !== '#` + strings.ToLower(name) + `') throw new Error(location.hash)`)
	}
}

// TestChoicesInAFieldAreItsValue: beside the field in which more is typed. What takes each away has a reference.
func TestChoicesInAFieldAreItsValue(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Choices", `<span role="combobox" aria-haspopup="true" aria-expanded="false" aria-label="Colors" tabindex="-1" style="cursor: text">
			<ul><li title="Red"><span role="presentation" style="cursor: pointer">×</span>Red</li><li title="Blue"><span role="presentation" style="cursor: pointer">×</span>Blue</li></ul>
			<textarea role="searchbox" aria-label="Search"></textarea></span>
		<div role="combobox" aria-label="Empty" aria-expanded="false"><label>Name</label><input aria-label="Name"></div>
		<input title="Amount" placeholder="In euros"><button><i class="material-icons" aria-hidden="true">delete</i></button>
		<div role="grid"><div role="row"><div role="columnheader" aria-sort="none">Age</div><div role="columnheader">Note</div></div></div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `combobox "Colors" [`, `[value="×Red ×Blue"]`, `generic [`, `: "×"`, `combobox "Empty" [`,
		`textbox "Amount" [`, `("In euros")`, `(hint "delete")`, `columnheader "Age" [`, `[clickable]`)
	e2etest.Lacks(t, first, `columnheader "Note"`, `value="Name"`)
}
