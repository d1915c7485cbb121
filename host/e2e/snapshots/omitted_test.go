package snapshots

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestNothingIsLeftOutSilently: what a script may operate is in the listing with its text, or counted and listed with a
// reference where all is.
func TestNothingIsLeftOutSilently(t *testing.T) {
	w := e2etest.SharedWorld(t)
	cards := func(card string) string { return `<button>z</button><div>` + card + card + card + `</div>` }
	two := func(one, other string) string { return `<button>z</button><div>` + one + other + `</div>` }
	const counted = "# 3 items not shown; interactive_only: false shows them"
	for _, c := range []struct {
		path, page string
		look       []string // in the interactive listing
		all        []string // in the one of everything
		lacks      []string // in the interactive listing
	}{
		{
			"items", `<ul><li style="cursor:pointer">Milk <button>x</button></li><li style="cursor:pointer">Bread <button>x</button></li></ul>`,
			[]string{`listitem "Milk" [`, `listitem "Bread" [`},
			nil, nil,
		},
		{
			"rows", `<table><tr style="cursor:pointer"><td>Ada</td><td>Paris</td><td><button>x</button></td></tr></table>`,
			[]string{`row "Ada Paris" [`},
			nil, nil,
		},
		{
			"focusable", `<div role="grid"><div role="row" tabindex="0"><div role="gridcell">Ada</div><div role="gridcell"><button>go</button></div></div></div>`,
			[]string{`row "Ada" [`},
			nil, nil,
		},
		{
			"cells", `<div role="grid"><div role="row"><div role="gridcell" tabindex="0">Ada <button>x</button></div><div role="gridcell" tabindex="0">Rome</div></div></div>`,
			[]string{`- row [`, `gridcell "Ada" [`, `[clickable]: "Rome"`},
			nil, nil,
		},
		{
			"card", `<div style="cursor:pointer"><b>Phone</b><p>10 EUR</p><button>Buy</button></div>`,
			[]string{`generic "Phone 10 EUR" [`},
			nil, nil,
		},
		{
			"titles", `<div role="grid"><div role="row"><div role="gridcell" title="1">1</div><div role="gridcell"><button>go</button></div></div></div>`,
			[]string{`row "1" [`},
			[]string{`]: "1"`},
			[]string{"(hint"},
		},
		{
			"days", `<div role="grid"><div role="row"><div role="gridcell" aria-label="May 5"><b>5</b><a href="#">10a Meet</a></div><div role="gridcell" aria-label="May 6">6</div></div></div>`,
			[]string{`gridcell "May 5" [`, `row "May 6" [`},
			nil, nil,
		},
		{"text", cards(`<div>one</div>`), []string{counted}, []string{`- item [e`, `]: "one"`}, []string{"one"}},
		{"words", cards(`<div><b>Name</b> <span>Price</span></div>`), []string{counted}, []string{`]: "Name Price"`}, nil},
		{"paragraphs", cards(`<div><p>one</p></div>`), []string{counted}, []string{`- item [e`}, nil},
		{"pictures", cards(`<div><img alt="One" width="9" height="9"></div>`), []string{counted}, []string{`- item [e`}, nil},
		{"bare", cards(`<img alt="One" width="9" height="9">`), []string{counted}, nil, nil},
		{"nameless", cards(`<img src="/thumbs/a.png" width="9" height="9">`), []string{counted}, []string{`- img [e`, `(hint "a.png")`}, nil},
		{"decorations", cards(`<img src="/thumbs/a.png" alt="" width="9" height="9">`), nil, nil, []string{"not shown"}},
		{"blocks", cards(`<div><div>Name</div><div>Price</div></div>`), []string{counted}, []string{`- item [e`}, nil},
		{"items in columns", cards(`<div><div>Todo</div><div><div>one</div><div>two</div><div>three</div></div></div>`), []string{"# 9 items not shown"}, []string{`]: "two"`}, nil},
		{"items in a section", two(`<section><div>one</div><div>two</div><div>three</div></section>`, `<div>other</div>`), []string{counted}, []string{`]: "two"`}, nil},
		{"rows of cells", cards(`<div class="row"><div>Ada</div><div>Paris</div><div>36</div></div>`), []string{counted}, []string{`- item [e`}, nil},
		{"terms", `<button>z</button><dl><dt>one</dt><dd>1</dd><dt>two</dt><dd>2</dd><dt>three</dt><dd>3</dd></dl>`, []string{counted}, []string{`- term [e`}, nil},
		{"columns", cards(`<div><button>y</button></div>`), nil, nil, []string{"not shown", "item"}},
		{"two", two(`<div><b>Phone</b> <i>10 EUR</i></div>`, `<div><b>Laptop</b> <i>20 EUR</i></div>`), []string{"# 2 items not shown; interactive_only: false shows them"}, []string{`]: "Phone 10 EUR"`}, nil},
		{"two of a class", two(`<div class="card on"><b>Phone</b> <i>10 EUR</i></div>`, `<div class="card"><b>Laptop</b> <i>20 EUR</i></div>`), []string{"# 2 items not shown"}, nil, nil},
		{"two columns", two(`<div class="col"><p>`+strings.Repeat("This is prose. ", 9)+`</p><p>More</p></div>`, `<div class="col"><p>`+strings.Repeat("This is prose. ", 9)+`</p><p>More</p></div>`), nil, nil, []string{"not shown"}},
		{"a name and a value", two(`<div class="name">Earnings</div>`, `<div class="value">$40,000</div>`), nil, nil, []string{"not shown"}},
		{"two lines", two(`<div>one</div>`, `<div>two</div>`), nil, nil, []string{"not shown"}},
		{"two unlike", two(`<div><b>Ada</b> <i>10:42</i></div>`, `<div><span>Hello</span> <i>1</i></div>`), nil, nil, []string{"not shown"}},
		{"two of two classes", two(`<div class="name"><b>Ada</b> <i>10:42</i></div>`, `<div class="text"><b>Hello</b> <i>1</i></div>`), nil, nil, []string{"not shown"}},
		{"one with a button", two(`<div><b>Phone</b> <i>10 EUR</i></div>`, `<div><b>Laptop</b> <i>20 EUR</i> <button>Buy</button></div>`), nil, nil, []string{"not shown"}},
		{"scroller", `<button>z</button><div tabindex="0" style="height:50px;overflow-y:auto"><div><div>one</div><div>two</div><div>three</div></div></div>`, []string{`- generic [e`, "3 items"}, []string{`- item [e`, `]: "two"`}, nil},
		{"list that opens", `<button>z</button><div style="cursor:pointer">Choose<div style="overflow:auto"><div>one</div><div>two</div><div>three</div></div></div>`, []string{`- generic [e`, "3 items"}, []string{`- item [e`, `]: "two"`}, nil},
		{"expander", `<div role="tree"><div role="treeitem" aria-expanded="false"><span style="cursor:pointer"><i class="bi bi-caret-right"></i></span><span style="cursor:pointer">Leaf</span></div></div>`, []string{`treeitem "Leaf" [`, `- generic [e`, `(hint "caret-right")`}, nil, nil},
		{"card", `<button>z</button><div tabindex="0"><div>Phone</div><div>10 EUR</div><div>in stock</div></div>`, []string{"Phone", "in stock"}, nil, []string{"item"}},
		{"prose", `<button>z</button><p>one</p><p>two</p><p>three</p>`, nil, nil, []string{"not shown"}},
		{"link", `<button>z</button><a>Hover me</a> <a name="here"></a><a aria-current="page">Here</a>`, []string{`- generic [e`, `]: "Hover me"`}, nil, []string{"Here"}},
		{
			"drawing", `<button>z</button><svg><g><title>Bar 1</title><rect width="9" height="9"/></g><g><title>Bar 2</title><rect width="9" height="9"/></g><g><title>Bar 3</title><rect width="9" height="9"/></g></svg>`,
			[]string{counted},
			[]string{`group "Bar 1" [e`},
			nil,
		},
		{"bars", `<svg><g style="cursor:pointer"><title>Bar 1</title><rect width="9" height="9"/></g></svg>`, []string{`generic "Bar 1" [e`}, nil, nil},
		{
			"marks", `<p>Was <del>the <a href="/a">old</a> one</del> and <mark><a href="/b">new</a></mark> <span role="deletion">gone</span></p>`,
			[]string{`[deleted]`, `[highlighted]`},
			[]string{`"Was ~the~"`, `"~one~ and"`, `"~gone~"`},
			nil,
		},
		{"message", `<div aria-live="polite"><ul><li>One</li><li>Two</li></ul></div>`, []string{`- listitem [e`, `]: "One"`}, nil, []string{"not shown"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			s := e2etest.NewSite(t, map[string]string{"/": `<!doctype html><title>Items</title><h1>Start</h1>` + c.page})
			a := w.AgentOf(t, s)
			w.Open(t, s.URL)
			look := a.Look()
			e2etest.Holds(t, look, c.look...)
			e2etest.Lacks(t, look, c.lacks...)
			e2etest.Holds(t, a.Everything(), c.all...)
		})
	}
}

// TestItemsComeAndGo: as there are enough of them, and as long as nothing in them can be operated.
func TestItemsComeAndGo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Items</title><h1>Start</h1><button>z</button><div id="l"><div>one</div><div>two</div></div>
		<ul><li style="cursor:pointer"><span id="n">Milk</span> <button>x</button></li></ul>
		<script>l.onclick = (event) => { event.target.textContent = 'clicked' }</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Lacks(t, a.Look(), "not shown")
	p.JS(`l.insertAdjacentHTML('beforeend', '<div>three</div>')`)
	e2etest.Holds(t, a.Snapshot(map[string]any{"full_snapshot": true}), "# 3 items not shown")
	all := a.Everything()
	e2etest.Holds(t, all, "- item [e")
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, all, `"two"`)}).Page, `"clicked"`)
	p.JS(`n.textContent = 'Oat milk'`)
	e2etest.Holds(t, a.Look(), `listitem "Oat milk"`, `# was "Milk"`)
	p.JS(`l.firstChild.append(document.createElement('button'))`)
	now := a.Snapshot(map[string]any{"full_snapshot": true})
	e2etest.Holds(t, now, "# 2 items not shown")
	p.JS(`l.firstChild.remove()`)
	e2etest.Lacks(t, a.Snapshot(map[string]any{"full_snapshot": true}), "not shown")
	p.JS(`l.innerHTML = '<div><b>Phone</b> <i>10 EUR</i></div><div><b>Laptop</b></div>'`)
	e2etest.Lacks(t, a.Snapshot(map[string]any{"full_snapshot": true}), "not shown")
	p.JS(`l.lastChild.insertAdjacentHTML('beforeend', ' <i>20 EUR</i>')`)
	e2etest.Holds(t, a.Snapshot(map[string]any{"full_snapshot": true}), "# 2 items not shown")
	p.JS(`l.firstChild.lastChild.remove()`)
	e2etest.Lacks(t, a.Snapshot(map[string]any{"full_snapshot": true}), "not shown")
}
