package effects

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// comboboxes are lists that open and show their options in the ways of components made by others.
const comboboxes = `<style>.pop { border: 1px solid } [hidden] { display: none !important } #window { height: 60px; overflow: auto; position: relative }</style>
<label>Keyed <input id="keyed" role="combobox" aria-expanded="false"></label><label>Filtered <input id="filtered" role="combobox" aria-expanded="false"></label>
<div role="combobox" aria-expanded="false" id="outer"><input id="nested" role="combobox" aria-expanded="false" aria-label="Nested"><div id="inner"></div></div>
<div role="combobox" tabindex="0" aria-expanded="false" aria-label="Late" id="late">Choose</div><main id="page"><div role="combobox" tabindex="0" aria-expanded="false" aria-label="Modal" id="modal">Choose</div></main>
<input id="drawn" role="combobox" aria-expanded="false" aria-label="Drawn" readonly><div role="combobox" tabindex="0" aria-expanded="false" aria-label="Long" id="long">Choose</div>
<div role="combobox" tabindex="0" aria-expanded="false" aria-label="Redrawn" id="redrawn">Choose</div>
<button aria-haspopup="listbox" aria-expanded="false" id="many">Many</button><div role="combobox" tabindex="0" aria-expanded="false" aria-label="Empty" id="empty">Choose</div>
<div role="combobox" tabindex="0" aria-expanded="false" aria-label="Several" id="several">Choose</div><div role="combobox" tabindex="0" aria-expanded="false" aria-label="Tags" id="tags">Choose</div>
<div role="listbox" aria-label="Others"><div role="option">Oslo</div><div role="option">Rome</div></div><div id="portal"></div><script>
const cities = ['Aachen', 'Bonn', 'Celle', 'Oslo', 'Rome']
const open = (of, items, into = portal) => {
  into.innerHTML = '<div role="listbox" class="pop">' + items.map((i) => '<div role="option">' + i + '</div>').join('') + '</div>'
  of.setAttribute('aria-expanded', 'true')
  into.onclick = (e) => { if (e.target.role !== 'option') return; of.value === undefined ? of.textContent = e.target.textContent : of.value = e.target.textContent; close(of, into) }
}
const close = (of, into = portal) => { into.innerHTML = ''; of.setAttribute('aria-expanded', 'false'); page.removeAttribute('aria-hidden') }
const matching = (field) => cities.filter((c) => c.toLowerCase().includes(field.value.toLowerCase()))
keyed.onkeydown = (e) => { if (e.key === 'ArrowDown') open(keyed, cities) }
keyed.oninput = () => open(keyed, matching(keyed))
filtered.oninput = () => { setTimeout(() => filtered.value === '' || matching(filtered).length === 0 ? close(filtered) : open(filtered, matching(filtered)), 300) }
outer.onclick = (e) => { if (e.target.role !== 'option') { outer.setAttribute('aria-expanded', 'true'); open(nested, cities, inner) } }
late.onclick = () => { late.setAttribute('aria-expanded', 'true'); setTimeout(() => open(late, cities), 700) }
redrawn.onclick = () => { // as each answer of a server comes
  let left = 40; open(redrawn, cities)
  const again = setInterval(() => { if (left-- === 0 || portal.innerHTML === '') clearInterval(again); else open(redrawn, cities) }, 20)
}
modal.onclick = () => { open(modal, cities); page.setAttribute('aria-hidden', 'true') }
drawn.onclick = () => {
  drawn.setAttribute('aria-expanded', 'true')
  portal.innerHTML = '<div role="listbox" style="height: 0; overflow: hidden"><div role="option">Aachen</div><div role="option">Bonn</div></div>' + cities.map((c) => '<div style="cursor: pointer"><div>' + c + '</div></div>').join('')
  portal.onclick = (e) => { drawn.value = e.target.textContent; close(drawn) }
}
long.onclick = () => {
  open(long, []); const list = portal.firstChild; list.id = 'window'
  const draw = () => { const from = Math.floor(list.scrollTop / 20); list.innerHTML = '<div style="height: 4000px"></div>' + Array.from({ length: 5 }, (_, i) => '<div role="option" style="position: absolute; height: 20px; top: ' + (from + i) * 20 + 'px">Row ' + (from + i) + '</div>').join('') }
  list.onscroll = draw; draw()
}
many.onclick = () => {
  many.setAttribute('aria-expanded', String(portal.innerHTML === ''))
  portal.innerHTML = portal.innerHTML === '' ? '<div role="listbox" aria-multiselectable="true">' + cities.map((c) => '<div role="option" aria-selected="' + (c === 'Bonn') + '">' + c + '</div>').join('') + '</div>' : ''
  portal.onclick = (e) => e.target.setAttribute('aria-selected', String(e.target.getAttribute('aria-selected') !== 'true'))
}
// Several can be chosen, which nothing says. A component draws the options of the first, and those that it has are for screen readers.
const taken = new Set(['Bonn'])
const takes = (of, draw) => {
  of.setAttribute('aria-expanded', 'true'); portal.innerHTML = draw
  const mark = () => { for (const o of portal.querySelectorAll('[aria-selected]')) o.setAttribute('aria-selected', String(taken.has(o.textContent))) }
  mark(); portal.onclick = (e) => { const c = e.target.textContent; if (!taken.delete(c)) taken.add(c); mark() }
}
several.onclick = () => takes(several, '<div role="listbox" style="height: 0; overflow: hidden"><div role="option" aria-selected>Aachen</div><div role="option" aria-selected>Bonn</div></div>' + cities.map((c) => '<div style="cursor: pointer" aria-selected><div>' + c + '</div></div>').join(''))
tags.onclick = () => takes(tags, '<div role="listbox">' + cities.map((c) => '<div role="option" aria-selected>' + c + '</div>').join('') + '</div>')
empty.onclick = () => empty.setAttribute('aria-expanded', 'true')
</script>`

// TestListsOpenInManyWays: an option is chosen however a list comes to show it, and never one of another list.
func TestListsOpenInManyWays(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", comboboxes)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	listing := a.Look()
	choose := func(name string, values ...string) map[string]any {
		return map[string]any{"ref": e2etest.RefOf(t, listing, `"`+name+`"`), "values": values}
	}
	for name, chosen := range map[string]string{"Keyed": "keyed.value", "Filtered": "filtered.value", "Nested": "nested.value", "Late": "late.textContent", "Redrawn": "redrawn.textContent", "Modal": "modal.textContent", "Drawn": "drawn.value"} {
		a.Do("browser_select_option", choose(name, "Oslo"))
		if got := p.Text(chosen); got != "Oslo" {
			t.Errorf("%s: chosen is %q\n%s", name, got, a.Everything())
		}
	}
	a.Do("browser_select_option", choose("Long", "Row 60"))
	if got := p.Text(`long.textContent`); got != "Row 60" {
		t.Errorf("chosen in the long list is %q", got)
	}
	a.Do("browser_select_option", choose("Many", "Bonn", "Oslo"))
	if got := p.Text(`[...portal.querySelectorAll('[aria-selected=true]')].map((o) => o.textContent).join()`); got != "Bonn,Oslo" {
		t.Errorf("chosen of many are %s", got)
	}
	p.JS(`many.onclick()`)
	for _, name := range []string{"Several", "Tags"} {
		for _, c := range []struct{ taken, values, want string }{
			{"Bonn", "Bonn,Oslo", "Bonn,Oslo"}, {"Bonn,Oslo", "Oslo", "Bonn,Oslo"}, {"Bonn,Oslo", "Oslo,Celle,Bonn", "Bonn,Celle,Oslo"}, {"Celle", "Celle", "Celle"}, {"Rome", "Rome", "Rome"},
		} {
			p.JS(`portal.innerHTML = ''; for (const of of [several, tags]) of.setAttribute('aria-expanded', 'false')
				taken.clear(); for (const c of '` + c.taken + `'.split(',')) taken.add(c)`)
			a.Do("browser_select_option", choose(name, strings.Split(c.values, ",")...))
			if got := p.Text(`[...taken].sort().join()`); got != c.want {
				t.Errorf("%s: %s chosen where %s was: %s\n%s", name, c.values, c.taken, got, a.Everything())
			}
		}
	}
	p.JS(`portal.innerHTML = ''`)
	a.Look()
	// What is not there is not found by a filter either, and the field gets its text back.
	e2etest.Holds(t, a.Refusal("browser_select_option", choose("Keyed", "Paris"), protocol.RefusedOption, 1).Refused.Detail, `"Aachen", "Bonn", "Celle", "Oslo", "Rome"`)
	if got := p.Text(`keyed.value`); got != "Oslo" {
		t.Errorf("the field has %q", got)
	}
	e2etest.Holds(t, a.Refusal("browser_select_option", choose("Empty", "Oslo"), protocol.RefusedKind, 1).Refused.Detail, "a click on it showed no options, and neither did ArrowDown")
	if got := p.Text(`empty.textContent`); !strings.Contains(got, "Choose") {
		t.Errorf("the list without options has %q", got)
	}
}
