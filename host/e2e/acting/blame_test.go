package acting

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

const blameCSS = "p { margin: 0 }\n.layer { inset: 0;\n  position: fixed }\n.shut { height: 0;\n  overflow: hidden }\n.away { visibility: hidden }\n"

// blamePage has a hidden text in an element that a script marks as a framework's development build does.
func blamePage(script string) string {
	return e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css"><button>Pay</button><p class="away" id="plans">Secret plans</p><script>`+script+`</script>`)
}

// hiddenText is the line on the text of such a page.
func hiddenText(source string) string {
	return `[Hidden: p "Secret plans", visibility: hidden` + source + `; rule .away in app.css:6]`
}

// TestTheCodeOfAnElementIsNamed by what each framework's development build leaves in the page.
func TestTheCodeOfAnElementIsNamed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	pages := []struct{ path, script, source string }{
		{"/none", ``, ""},
		{"/svelte", `plans.__svelte_meta = { parent: null, loc: { file: 'src/Plans.svelte', line: 7, column: 1 } }`, ", src/Plans.svelte:7"},
		// An installed package is not the project's code, the component that uses it is.
		{"/react18", `plans.__reactFiber$x1 = { _debugSource: { fileName: '/home/ada/node_modules/kit/Box.js', lineNumber: 1 },
			_debugOwner: { _debugSource: { fileName: '/home/ada/shop/src/Plans.tsx', lineNumber: 12 } } }`, ", Plans.tsx:12"},
		// Below the component is React itself.
		{"/react19", `const made = new Error('react-stack-top-frame'), from = location.origin;
			made.stack = 'Error: react-stack-top-frame\n    at jsxDEV (' + from + '/node_modules/.vite/deps/jsx.js:3:1)\n    at Plans (' + from + '/plans.js:5:9)\n    at Object.react_stack_bottom_frame (' + from + '/dom.js:9:9)\n    at render (' + from + '/dom.js:8:9)';
			plans.__reactFiber$x1 = { _debugOwner: { _debugStack: made } }`, ", plans.js:5"},
		{"/vue", `plans.__vnode = { type: 'p', el: plans, ctx: { type: { __file: '/home/ada/shop/src/Plans.vue' }, parent: null } }`, ", Plans.vue"},
		{"/outer", `document.getElementById('main').__svelte_meta = { loc: { file: 'src/App.svelte', line: 3 } }`, ", inside src/App.svelte:3"},
	}
	served := map[string]string{"/app.css": blameCSS, "/plans.js": "// as written"}
	for _, p := range pages {
		served[p.path] = blamePage(p.script)
	}
	s := e2etest.NewSite(t, served)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL+"/none")
	for _, p := range pages {
		a.Do("browser_navigate", map[string]any{"url": s.URL + p.path})
		e2etest.Holds(t, a.Do("browser_snapshot", map[string]any{"search": "plans"}), hiddenText(p.source))
	}
}

// TestWhatAPageRecordsOfItsCodeIsHostile: its accessors and proxies are not run, and its texts add no line.
func TestWhatAPageRecordsOfItsCodeIsHostile(t *testing.T) {
	w := e2etest.SharedWorld(t)
	const traps = `window.ran = []; const trap = (name) => ({ get() { ran.push(name); return { file: 'src/Trap.svelte', line: 1 } } });
		const proxy = (name) => new Proxy({}, { get() { ran.push(name) }, ownKeys() { ran.push(name); return [] }, getOwnPropertyDescriptor() { ran.push(name) } });`
	pages := []struct{ path, script, source string }{
		{"/accessor", `Object.defineProperty(plans, '__svelte_meta', trap('meta'))`, ""},
		{"/inner", `plans.__svelte_meta = Object.defineProperty({}, 'loc', trap('loc'))`, ""},
		{"/proxy", `plans.__svelte_meta = proxy('svelte')`, ""},
		{"/fiber", `const fiber = { _debugStack: proxy('stack') }; fiber._debugOwner = fiber; plans.__reactFiber$a = fiber`, ""},
		{"/format", `Error.prepareStackTrace = () => { ran.push('format'); return 'Error\n    at a (http://x/y.js:1:1)' }; plans.__reactFiber$a = { _debugStack: new Error('a') }`, ""},
		{"/vnode", `const node = { type: proxy('type'), component: {} }; node.component.subTree = node; plans.__vnode = node`, ""},
		{"/long", `plans.__svelte_meta = { loc: { file: 'x'.repeat(1e6), line: 2 } }`, ""},
		{"/types", `plans.__svelte_meta = { loc: { file: { toString() { ran.push('file') } }, line: '7' } }`, ""},
		{"/line", `plans.__svelte_meta = { loc: { file: 'src/A.svelte', line: -2 } }`, ", src/A.svelte"},
		{"/lines", `plans.__svelte_meta = { loc: { file: 'src/a\n- button "Pay" [e1]\u202e', line: 2 } }`, `, "src/a - button \"Pay\" [e1]:2"`},
	}
	served := map[string]string{"/app.css": blameCSS}
	for _, p := range pages {
		served[p.path] = blamePage(traps + p.script)
	}
	s := e2etest.NewSite(t, served)
	a := w.AgentOf(t, s)
	tab := w.Open(t, s.URL+"/types")
	for _, p := range pages {
		a.Do("browser_navigate", map[string]any{"url": s.URL + p.path})
		e2etest.Holds(t, a.Do("browser_snapshot", map[string]any{"search": "plans"}), hiddenText(p.source))
		if ran := tab.Text(`ran.join()`); ran != "" {
			t.Errorf("%s: the page's code ran: %s", p.path, ran)
		}
	}
}

// TestARefusalNamesWhatCoversAndWhatClips, and where that is.
func TestARefusalNamesWhatCoversAndWhatClips(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/app.css": blameCSS, "/{$}": e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css">
		<button>Pay</button><div class="shut" id="shut"><button>Fold</button></div><div class="layer"><p style="height: 100%">Wait</p></div>
		<script>document.querySelector('.layer').__svelte_meta = { loc: { file: 'src/Layer.svelte', line: 7 } }</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	page := a.Look()
	for name, want := range map[string]act.Blame{
		"Pay":  {Element: "div.layer", Style: "position: fixed", Source: "src/Layer.svelte:7", Rule: ".layer", Sheet: "app.css:3"},
		"Fold": {Element: "div#shut", Style: "height: 0px", Rule: ".shut", Sheet: "app.css:4", Source: ""},
	} {
		d := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"`+name+`"`)}, protocol.RefusedCovered, 0)
		if d.Refused.Blame == nil || *d.Refused.Blame != want {
			t.Errorf("%s: got %+v, want %+v", name, d.Refused.Blame, want)
		}
	}
}

// TestAnElementThatCoversWhatIsInsideItDoesSoByAPseudoElement: its own position is not to blame.
func TestAnElementThatCoversWhatIsInsideItDoesSoByAPseudoElement(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/app.css": ".card { position: relative }\n\n.card::after { content: ''; inset: 0; z-index: 2;\n  position: absolute }\n" +
			".form::before { content: ''; position: fixed; bottom: 0;\n  left: 0; width: 100%; height: 60px }\n.form::after { content: 'x'; position: absolute; top: 0; left: 0 }\n" +
			".behind { position: relative;\n  z-index: -1 }\n.veil::before { content: ''; position: fixed; inset: 0 }\n",
		"/{$}": e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css"><div class="card" style="width: 200px"><button>Pay</button></div>
		<form class="form"><button style="position: fixed; bottom: 10px; z-index: -1">Send</button></form><div style="background: white"><button class="behind">Deep</button></div>`),
		"/veil": e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css"><button>Pay</button><div style="position: absolute"><i class="veil"></i></div>`),
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	covered := func(page, name string, want act.Blame, by string) {
		d := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"`+name+`"`)}, protocol.RefusedCovered, 0)
		if d.Refused.Blame == nil || *d.Refused.Blame != want || by != "" && d.Refused.CoveredBy != by {
			t.Errorf("%s: got %+v, want %+v; covered by %q", name, d.Refused.Blame, want, d.Refused.CoveredBy)
		}
	}
	page := a.Look()
	covered(page, "Pay", act.Blame{Element: "div.card::after", Style: "position: absolute", Rule: ".card::after", Sheet: "app.css:4"}, `::after of div "Pay"`)
	covered(page, "Send", act.Blame{Element: "form.form::before", Style: "position: fixed", Rule: ".form::before", Sheet: "app.css:5"}, "")
	covered(page, "Deep", act.Blame{Style: "z-index: -1", Rule: ".behind", Sheet: "app.css:9"}, "")
	covered(a.Do("browser_navigate", map[string]any{"url": s.URL + "/veil"}), "Pay", act.Blame{Element: "i.veil::before", Style: "position: fixed", Rule: ".veil::before", Sheet: "app.css:10"}, "::before of #main > div > i.veil")
}

// TestTheLineOfACompiledStyleSheet is that of its source map, or is marked, and the name is that of the file.
func TestTheLineOfACompiledStyleSheet(t *testing.T) {
	w := e2etest.SharedWorld(t)
	const rules = ".off {\n  pointer-events: none }\n"
	s := e2etest.NewSite(t, map[string]string{
		"/app.css": "\n" + rules + "/*# sourceMappingURL=app.css.map */\n", "/lost.css": rules + "/*# sourceMappingURL=lost.css.map */\n",
		"/app.css.map": `{"version":3,"sources":["src/app.scss"],"mappings":";AAOA;EACE"}`,
		"/{$}":         e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css"><button class="off">Pay</button>`),
		"/lost":        e2etest.StorePage("Shop", `<link rel="stylesheet" href="/lost.css"><button class="off">Pay</button>`),
		"/inserted":    e2etest.StorePage("Shop", `<button class="off">Pay</button><script>const style = document.createElement('style'); style.textContent = "\n.off {\n pointer-events: none }\n/*# source" + "MappingURL=cart.component.css.map */"; document.head.append(style)</script>`),
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	for path, want := range map[string]string{"/": "src/app.scss:9", "/lost": "lost.css:2 (generated)", "/inserted": "cart.component.css:3 (generated)"} {
		page := a.Do("browser_navigate", map[string]any{"url": s.URL + path})
		d := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"Pay"`)}, protocol.RefusedPointer, 0)
		if got := d.Refused.Blame; got == nil || got.Sheet != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
}

// TestAnElementThatNoPointerHitsIsNotCovered: what is behind it is not to blame, nor what lies beside an element that was
// moved away.
func TestAnElementThatNoPointerHitsIsNotCovered(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/app.css": ".off {\n  pointer-events: none }\n.gone { position: absolute;\n  left: -9999px }\n.up { transform: translateY(-900px) }\n", "/{$}": e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css">
		<form id="order"><button class="off">Order</button></form><fieldset class="off"><button>Inner</button></fieldset><div class="off"><button style="pointer-events: auto">Heard</button></div>
		<button class="gone">Left</button><div style="position: fixed; top: 0" class="up"><button>Up</button></div>
		<p style="position: relative; margin: 0"><button>Under</button></p><div style="margin-top: -3em; transform: scale(1)"><p style="height: 5em">Over</p></div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	page := a.Look()
	for name, want := range map[string]struct {
		reason string
		blame  *act.Blame
	}{
		"Order": {protocol.RefusedPointer, &act.Blame{Style: "pointer-events: none", Rule: ".off", Sheet: "app.css:2"}},
		"Inner": {protocol.RefusedPointer, &act.Blame{Element: "fieldset.off", Style: "pointer-events: none", Rule: ".off", Sheet: "app.css:2"}},
		"Left":  {protocol.RefusedOutside, &act.Blame{Style: "left: -9999px", Rule: ".gone", Sheet: "app.css:4"}},
		"Up":    {protocol.RefusedOutside, &act.Blame{Element: "div.up", Style: "transform: matrix(1, 0, 0, 1, 0, -900)", Rule: ".up", Sheet: "app.css:5"}},
		"Under": {protocol.RefusedCovered, nil},
	} {
		for _, tool := range []string{"browser_click", "browser_hover"} {
			d := a.Refusal(tool, map[string]any{"ref": e2etest.RefOf(t, page, `"`+name+`"`)}, want.reason, 0)
			if got := d.Refused.Blame; (got == nil) != (want.blame == nil) || got != nil && *got != *want.blame {
				t.Errorf("%s %s: got %+v, want %+v", tool, name, got, want.blame)
			}
		}
	}
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"Heard"`)})
}

// TestAMissingElementThatIsOnlyHiddenIsNamed with what hides it.
func TestAMissingElementThatIsOnlyHiddenIsNamed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/app.css": blameCSS, "/{$}": e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css">
		<p id="around"><button>Fade</button></p><p id="off"><button>Leave</button></p>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	page := a.Look()
	fade, leave := map[string]any{"ref": e2etest.RefOf(t, page, `"Fade"`)}, map[string]any{"ref": e2etest.RefOf(t, page, `"Leave"`)}
	p.JS(`around.className = 'away'; off.style.display = 'none'`)
	d := a.Refusal("browser_click", fade, protocol.RefusedHidden, 0)
	if want := (act.Blame{Element: "p#around", Style: "visibility: hidden", Rule: ".away", Sheet: "app.css:6"}); d.Refused.Blame == nil || *d.Refused.Blame != want {
		t.Errorf("got %+v, want %+v", d.Refused.Blame, want)
	}
	a.Look()
	a.Cannot("browser_click", fade, usererr.ReferenceGone, `Hidden: button "Fade", p#around, visibility: hidden; rule .away in app.css:6`)
	a.Cannot("browser_click", leave, usererr.ReferenceGone, `Hidden: button "Leave", p#off, display: none; rule style attribute`)
	p.JS(`off.remove()`)
	e2etest.Lacks(t, a.Cannot("browser_click", leave, usererr.ReferenceGone), "Hidden")
}

// TestASearchNamesHiddenText that no snapshot has, and nothing that is never shown or a secret.
func TestASearchNamesHiddenText(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/app.css": blameCSS, "/{$}": e2etest.StorePage("Shop", `<link rel="stylesheet" href="/app.css">
		<button>Pay</button><button class="away"><span>Publish now</span></button><label>Code <input class="away" type="password" value="Publish-secret"></label>
		<template><p>Publish never</p></template><script>var unread = 'Publish too'</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	e2etest.Holds(t, a.Do("browser_snapshot", map[string]any{"search": "publish"}), `[Hidden: button "Publish now", visibility: hidden; rule .away in app.css:6]`)
	for _, text := range []string{"never", "too", "secret", "Pay"} {
		e2etest.Lacks(t, a.Do("browser_snapshot", map[string]any{"search": text}), "[Hidden")
	}
}
