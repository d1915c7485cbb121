package snapshots

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestItemsThatScriptsMayOperateAreCounted: a script that listens to clicks on items leaves no sign on them.
func TestItemsThatScriptsMayOperateAreCounted(t *testing.T) {
	w := e2etest.SharedWorld(t)
	items := strings.Repeat(`<li>Card</li>`, 10)
	s := e2etest.NewSite(t, map[string]string{
		"/one":  `<!doctype html><title>Cards</title><h1>Cards</h1><ul id="l">` + items + `</ul><ul><li><a href="/a">A</a></li></ul>`,
		"/two":  `<!doctype html><title>Cards</title><h1>Cards</h1><ul>` + items + `</ul><article>One card</article>`,
		"/none": `<!doctype html><title>Cards</title><h1>Cards</h1><ul><li><a href="/a">A</a></li></ul><div role="status"><ul><li>Said</li></ul></div><div><b>A</b><p>Word</p></div>`,
		"/table": `<!doctype html><title>Cards</title><h1>Cards</h1><table id="l"><thead><tr><th style="cursor: pointer">Name</th></tr></thead><tbody>` +
			strings.Repeat(`<tr><td>Card</td></tr>`, 10) + `<tr><td>Last</td><td><button>Delete</button></td></tr></tbody></table>`,
		"/grid": `<!doctype html><title>Cards</title><h1>Cards</h1><ul>` + items + `</ul><div role="grid"><div role="row"><span role="gridcell">Card</span></div></div>`,
		"/lone": `<!doctype html><title>Cards</title><h1>Cards</h1><div role="listbox" aria-label="Tags"><div>Add <b>new</b>…</div><div role="option">Old</div></div>`,
		"/divs": `<!doctype html><title>Cards</title><h1>Cards</h1><section>` + strings.Repeat(`<div class="card"><div>Name</div><div>Price</div></div>`, 4) + `</section>`,
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL+"/one")
	p.JS(`l.onclick = (event) => event.target.remove()`)
	first := a.Look()
	shows := regexp.MustCompile(`# 10 (?:items|rows) not shown; root: (e\d+) with interactive_only: false shows them`)
	shown := func(look string) {
		t.Helper()
		found := shows.FindStringSubmatch(look)
		if found == nil {
			t.Fatalf("they are not counted:\n%s", look)
		}
		e2etest.Lacks(t, look, `"Card"`)
		e2etest.Holds(t, a.Snapshot(map[string]any{"root": found[1], "interactive_only": false}), `"Card"`)
	}
	shown(first)
	p.Do(chromedp.Navigate(s.URL + "/table"))
	table := a.Look()
	shown(table)
	e2etest.Holds(t, table, `columnheader "Name"`, `row "Last"`)
	p.Do(chromedp.Navigate(s.URL + "/grid"))
	e2etest.Holds(t, a.Look(), "# 10 items and 1 row not shown (in e", "); interactive_only: false shows them")
	p.Do(chromedp.Navigate(s.URL + "/two"))
	e2etest.Holds(t, a.Look(), "# 11 items not shown (in e", " and elsewhere); interactive_only: false shows them")
	p.Do(chromedp.Navigate(s.URL + "/divs"))
	e2etest.Holds(t, a.Look(), "# 4 items not shown; interactive_only: false shows them")
	p.Do(chromedp.Navigate(s.URL + "/lone"))
	e2etest.Holds(t, a.Look(), "# 1 item not shown")
	e2etest.Holds(t, a.Everything(), `: "Add new…"`)
	p.Do(chromedp.Navigate(s.URL + "/none"))
	e2etest.Lacks(t, a.Look(), "not shown")
}

// TestControlsWithoutNamesHaveHints: from what their authors wrote for machines.
func TestControlsWithoutNamesHaveHints(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Hints</title><main>
		<button data-testid="remove-row"></button><button><svg width="9" height="9"><use href="#icon-cart"></use></svg></button>
		<button><i class="fas fa-fw fa-trash"></i></button><a href="/basket"><img src="/i/basket.svg?v=2"></a><a href="/plain"><span></span></a>
		<button><svg width="9" height="9" aria-hidden="true" data-testid="EditIcon"></svg></button><button><ion-icon name="trash-outline" style="display:inline-block;width:9px;height:9px"></ion-icon></button>
		<input name="surname"><button title="Close"></button><button>Named</button><div tabindex="0"><b>Said</b></div></main>`})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `(hint "remove-row")`, `(hint "icon-cart")`, `(hint "trash")`, `(hint "basket.svg /basket")`, `(hint "EditIcon")`, `(hint "trash-outline")`, `(hint "/plain")`, `textbox [e`, `(hint "surname")`, `button "Close"`)
	if n := strings.Count(first, "(hint"); n != 8 {
		t.Errorf("%d hints", n)
	}
}

// TestWhatAPointerCannotHitIsMarked: by a style or by the attribute that makes it inert. A frame of text has a line.
func TestWhatAPointerCannotHitIsMarked(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Marks</title><style>.off button { pointer-events: none }</style><main><div id="w" class="off"><button>Buy</button></div>
		<button disabled style="pointer-events:none">Never</button><section inert aria-label="Drawer"><button>Inside</button></section><label>Box<input type="checkbox" style="pointer-events:none"></label>
		<iframe src="/notes.txt"></iframe></main>`})
	s.Mux.HandleFunc("/notes.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Only words")
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `[no-pointer]`, `region "Drawer" [`, `[inert]`, "- iframe [e")
	e2etest.Lacks(t, first, "Inside", "Only words")
	if n := strings.Count(first, "no-pointer"); n != 1 {
		t.Errorf("%d are marked", n)
	}
	e2etest.Holds(t, a.Everything(), "Only words")
	p.JS(`w.className = ''`)
	e2etest.Holds(t, a.Look(), `button "Buy"`, `# was [no-pointer]`)
}

// TestWhatOpensPartsOfAPageSaysWhetherTheyAreOpen: also where it has no role, such as Mantine's links without an address.
func TestWhatOpensPartsOfAPageSaysWhetherTheyAreOpen(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Menu", `<a class="parent" aria-expanded="false">Parent</a><div onclick="0" aria-expanded="true">Other</div>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	e2etest.Holds(t, a.Look(), `] [collapsed]: "Parent"`, `] [expanded]: "Other"`)
	p.JS(`document.querySelector("a.parent").setAttribute('aria-expanded', 'true')`)
	e2etest.Holds(t, a.Look(), `[expanded]`, `# was [collapsed]`)
}

// TestTablesSayHowManyRowsTheyHave: a table may draw those in view alone.
func TestTablesSayHowManyRowsTheyHave(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Tables", `<div role="grid" id="grid" aria-label="Orders" aria-rowcount="200"><div role="row" aria-rowindex="1"><div role="gridcell"><button>Open</button></div></div></div>
		<table aria-rowcount="300"><tr><td><button>Edit</button></td></tr></table><table aria-label="Some" aria-rowcount="-1"><tr><td><button>Not known</button></td></tr></table>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `grid "Orders" [e`, `[rows=200]`, `[rows=300]`)
	e2etest.Lacks(t, first, `rows=-1`)
	p.JS(`grid.setAttribute('aria-rowcount', '150')`)
	e2etest.Holds(t, a.Look(), `[rows=150]  # was [rows=200]`)
}

// TestTablesThatShowAllTheirRowsDoNotSayHowMany: only rows that are left out are worth the tokens.
func TestTablesThatShowAllTheirRowsDoNotSayHowMany(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Tables", `<style>.some .more { display: none }</style>
		<div role="grid" aria-label="Orders" aria-rowcount="2" id="grid"><div role="row"><div role="gridcell"><button>First</button></div></div><div role="row" class="more"><div role="gridcell"><button>Second</button></div></div></div>
		<div role="grid" aria-label="Pinned" aria-rowcount="3"><div role="row" aria-rowindex="1"><div role="gridcell"><button>Name 1</button></div></div><div role="row" aria-rowindex="2"><div role="gridcell"><button>Name 2</button></div></div>
			<div role="row" aria-rowindex="1"><div role="gridcell"><button>Price 1</button></div></div><div role="row" aria-rowindex="2"><div role="gridcell"><button>Price 2</button></div></div></div>
		<table aria-rowcount="2" aria-label="Nested"><tr><td><table><tr><td><button>Inner</button></td></tr></table></td></tr></table>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `grid "Pinned" [e`, `[rows=3]`, `table "Nested" [e`, `[rows=2]`)
	if n := strings.Count(first, "[rows="); n != 2 {
		t.Errorf("%d tables say how many rows they have: %s", n, first)
	}
	p.JS(`grid.className = 'some'`)
	e2etest.Holds(t, a.Look(), `grid "Orders"`, `[rows=2]  # was not [rows=2]`)
	p.JS(`grid.className = ''`)
	e2etest.Holds(t, a.Look(), `# was [rows=2]`)
	p.JS(`grid.lastElementChild.remove()`)
	e2etest.Holds(t, a.Look(), `grid "Orders"`, `[rows=2]`)
}

// TestLinksCarryTheirAddress: where nothing else distinguishes two, and all fits.
func TestLinksCarryTheirAddress(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Links</title><main id="m"><a href="/one">More</a><a href="/two">More</a><a href="/same">Same</a><a href="/same">Same</a><a href="#">Top</a><a href="#">Top</a>
		<ul><li>Ada <a href="/ada">Edit</a></li><li>Bob <a href="/bob">Edit</a></li></ul></main>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `[href="/one"]`, `[href="/two"]`)
	if n := strings.Count(first, "href"); n != 2 {
		t.Errorf("%d addresses", n)
	}
	e2etest.Lacks(t, a.Snapshot(map[string]any{"full_snapshot": true, "max_tokens": 100}), "href")
	p.JS(`m.insertAdjacentHTML('beforeend', '<a href="/three">More</a>')`)
	e2etest.Holds(t, a.Look(), `link "More" [e`, `[href="/three"]`)
}

// TestWhatAPointerHitsIsAskedAgain: a page takes the pointer from all it shows while something is open, and gives it back.
func TestWhatAPointerHitsIsAskedAgain(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Rows</title><div id="list"></div><button style="pointer-events: auto">Always</button><script>
for (let i = 0; i < 200; i++) list.insertAdjacentHTML('beforeend', '<div><span><button>Open ' + i + '</button></span></div>')
</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Look()
	for _, of := range []string{"document.body", "list", "document.documentElement"} {
		for _, set := range []string{"none", "", "none", "auto"} {
			p.JS(of + `.style.pointerEvents = '` + set + `'`)
			said := a.Look()
			marked, ended, all := strings.Count(said, "] [no-pointer]"), strings.Count(said, "# was [no-pointer]"), strings.HasPrefix(said, "[Page: ")
			if set == "none" && marked != 200 || set != "none" && (marked > 0 || ended != 200 && !all) {
				t.Errorf("%s is %q: %d are marked, %d no longer: %.300s", of, set, marked, ended, said)
			}
		}
		p.JS(of + `.style.pointerEvents = ''`)
	}
	e2etest.Lacks(t, a.Whole(), "[no-pointer]")
}

// TestWhatAPointerHitsIsAskedWheneverThatChanges: also while the page is read ahead, because of something else.
func TestWhatAPointerHitsIsAskedWheneverThatChanges(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Rows</title><div id="list"></div><script>
for (let i = 0; i < 900; i++) list.insertAdjacentHTML('beforeend', '<div><span><button>Open ' + i + '</button></span></div>')
</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Look()
	for after := range 40 {
		for _, set := range []string{"none", ""} {
			p.JS(fmt.Sprintf(`list.title = 'after %d %[2]s'; await new Promise(done => setTimeout(done, %[1]d)); list.style.pointerEvents = '%[2]s'`, after, set))
			said := a.Snapshot(map[string]any{"max_tokens": 50_000})
			marked, ended, all := strings.Count(said, "] [no-pointer]"), strings.Count(said, "# was [no-pointer]"), strings.HasPrefix(said, "[Page: ")
			if set == "none" && marked != 900 || set != "none" && (marked > 0 || ended != 900 && !all) {
				t.Errorf("%q %d ms after another change: %d are marked, %d no longer: %.200s", set, after, marked, ended, said)
			}
		}
	}
}

// TestWhatIsDrawnOverAFieldIsSaid: components show what is chosen beside an empty field to type in, in a box of their own.
func TestWhatIsDrawnOverAFieldIsSaid(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Chosen</title><style>.box { border: 1px solid; position: relative; width: 200px } .box input { border: 0; width: 60px } .card { border: 1px solid }</style>
		<div>Above<div class="box"><div><span id="one">Green</span><div><input role="combobox" aria-label="Colour"></div></div><button aria-label="Open">v</button></div></div>
		<div class="box"><span>Red</span><div role="button" aria-label="Remove Red">x</div><span>Blue</span><div role="button" aria-label="Remove Blue">x</div><input role="combobox" aria-label="Many"></div>
		<div class="card"><div>A card of its own<div><div><div><div><input role="combobox" aria-label="Bare" style="border:0"></div></div></div></div></div></div>
		<div class="card"><p>Two fields</p><input role="combobox" aria-label="First" style="border:0"><input aria-label="Second"></div>
		<div class="card"><p>A field with a box</p><input role="combobox" aria-label="Boxed"></div>
		<div class="card"><p>No list</p><input aria-label="Plain" style="border:0"></div>
		<style>.line { position: relative; width: 200px } .line::before { content: ""; position: absolute; inset: 0; border-bottom: 1px solid }</style>
		<div class="line"><div>Size</div><span>Large</span><input role="combobox" aria-label="Size" style="border:0"></div>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	look := a.Look()
	e2etest.Holds(t, look, `combobox "Colour" [e`, `("Green"): ""`, `combobox "Many" [e`, `("Red Blue"): ""`, `combobox "Size" [e`, `("Large"): ""`)
	if n := strings.Count(look, `("`); n != 3 {
		t.Errorf("%d are said: %s", n, look)
	}
	p.JS(`one.textContent = 'Grey'`)
	e2etest.Holds(t, a.Look(), `combobox "Colour" [e2] ("Grey")  # was ("Green")`)
	p.JS(`document.querySelector('input').value = 'Grey'`)
	e2etest.Lacks(t, a.Whole(), `("Grey")`)
}
