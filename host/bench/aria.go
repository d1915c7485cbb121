package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What snapshots promise.
const (
	budgetUnchanged = 41  // tokens
	budgetRow       = 125 // tokens, four of them for the number of elements that were never shown
	budgetStub      = 10 * time.Millisecond
	budgetLarge     = 2500 * time.Millisecond
	budgetLater     = 15 * time.Millisecond
	budgetSlice     = 50 * time.Millisecond // of a page's time at once
	budgetDiffer    = 5 * time.Millisecond
)

// aria measures browser_snapshot: tokens and time, on pages of 2,000 and 20,000 elements and a table.
func (r *run) aria() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	files := http.FileServer(http.Dir(peersDir + "/node_modules/startbootstrap-sb-admin-2"))
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		if page := ariaPages[req.URL.Path]; page != nil {
			out.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(out, page())
			return
		}
		files.ServeHTTP(out, req)
	}))
	defer site.Close()
	stub, err := startStub(filepath.Join(w.Home, "stub.sock"))
	if err != nil {
		return err
	}
	defer stub.stop()
	peers, stopPeers, err := startPeers()
	if err != nil {
		return err
	}
	defer stopPeers()
	b := &ariaBench{peers: peers, run: r, world: w, site: site.URL, stub: stub, count: newCounter(), sheet: r.sheet("Snapshots of pages")}
	for i, part := range []func() error{b.first, b.unchanged, b.changedRow, b.large, b.steps, b.scenarios} {
		progress("aria: part %d …", i)
		if err := part(); err != nil {
			return errors.Join(fmt.Errorf("part %d: %w", i, err), b.print())
		}
	}
	b.differ()
	return errors.Join(b.print(), platformCases(r))
}

type ariaBench struct {
	*run
	*sheet
	world *testbed.World
	site  string
	stub  *stubServer
	count counter
	peers []*peer
}

// with opens a page for an agent of its own.
func (b *ariaBench) with(path string, do func(*testbed.Agent, *testbed.Tab) error) (err error) {
	agent, err := b.world.Agent("--origin", b.site)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := b.world.Open(b.site + path)
	if err != nil {
		return err
	}
	if err := do(agent, tab); err != nil {
		tab.Close()
		return err
	}
	tab.Close()
	return testbed.Eventually(context.Background(), func() (bool, error) {
		list, err := agent.Text("browser_tabs", nil)
		return list == `{"tabs":[]}`, err
	})
}

func look(a *testbed.Agent, args map[string]any) (text string, took time.Duration, err error) {
	took, err = timed(func() error {
		text, err = a.Text("browser_snapshot", args)
		return err
	})
	return text, took, err
}

var everything = map[string]any{"interactive_only": false}

// unchanged: a page of 2,000 elements, looked at again and again.
func (b *ariaBench) unchanged() error {
	return b.with("/mixed", func(a *testbed.Agent, _ *testbed.Tab) error {
		first, took, err := look(a, nil)
		if err != nil {
			return err
		}
		b.figure("2,000 elements, first look", fmt.Sprintf("%d tokens, %s", b.count.tokens(first), ms(took)))
		var looks, stubs []time.Duration
		var text string
		for range b.third(90) {
			var took time.Duration
			if text, took, err = look(a, nil); err != nil {
				return err
			}
			if err := b.stub.set(fmt.Sprintf(`{"snapshot":%q}`, text)); err != nil {
				return err
			}
			tookStub, err := timed(func() error {
				_, err := b.stub.agent.Text("stub", nil)
				return err
			})
			if err != nil {
				return err
			}
			looks, stubs = append(looks, took), append(stubs, tookStub)
		}
		n := b.count.tokens(text)
		b.row("2,000 elements unchanged, tokens", fmt.Sprint(n), fmt.Sprintf("at most %d", budgetUnchanged), n <= budgetUnchanged)
		above := quantile(looks, .5) - quantile(stubs, .5)
		b.within("2,000 elements unchanged, above a stub tool, p50", above, budgetStub, b.byLoop(), "")
		return nil
	})
}

// row: one cell of a table of 500 rows.
func (b *ariaBench) changedRow() error {
	return b.with("/rows", func(a *testbed.Agent, tab *testbed.Tab) error {
		if _, _, err := look(a, everything); err != nil {
			return err
		}
		for _, step := range []struct{ what, script string }{
			{"the whole table made anew", `rows[100].left = 77; render()`},
			{"a button's state", `document.querySelectorAll('tr')[300].querySelector('button').disabled = true`},
			{"four of its cells", `const cells = document.querySelectorAll('tr')[250].cells; for (let i = 1; i < 5; i++) cells[i].textContent = 'changed ' + i`},
		} {
			if err := tab.JS(step.script); err != nil {
				return err
			}
			text, _, err := look(a, everything)
			if err != nil {
				return err
			}
			n := b.count.tokens(text)
			b.row("a table of 500 rows, one changed: "+step.what, fmt.Sprintf("%d tokens", n), fmt.Sprintf("at most %d", budgetRow), n <= budgetRow)
			if n > budgetRow {
				b.note(fmt.Sprintf("%.600s", text))
			}
		}
		return nil
	})
}

// first compares the first look with the peers' on the same pages, and looks for what is missing.
func (b *ariaBench) first() error {
	for _, path := range []string{"/tables.html", "/mixed", "/rows"} {
		var ours string
		err := b.with(path, func(a *testbed.Agent, _ *testbed.Tab) (err error) {
			if _, err := a.Text("get_changes_since", map[string]any{"wait": "settled"}); err != nil {
				return err
			}
			ours, _, err = look(a, nil)
			return err
		})
		if err != nil {
			return err
		}
		n, leanest := b.count.tokens(ours), 0
		var said []string
		var lost []string
		for _, p := range b.peers {
			if err := p.open(b.site + path); err != nil {
				return err
			}
			theirs, err := p.snapshot()
			if err != nil {
				return err
			}
			tokens := b.count.tokens(theirs)
			said = append(said, fmt.Sprintf("%s %d", p.name, tokens))
			if leanest == 0 || tokens < leanest {
				leanest = tokens
			}
			if p.name == "@playwright/mcp" {
				lost = missing(theirs, ours)
			}
		}
		share := float64(n) / float64(leanest)
		b.row(path+", first look", fmt.Sprintf("%d tokens (%s): %.2f", n, strings.Join(said, ", "), share), "at most 0.7 of the leaner", share <= .7)
		b.row(path+", operable elements that are missing", fmt.Sprint(len(lost)), "0", len(lost) == 0)
		if len(lost) > 0 {
			b.note(path + " misses " + strings.Join(lost[:min(8, len(lost))], "; "))
		}
	}
	return nil
}

// firstLarge is a first look at the large page: how long it took, and the longest time that the page was held meanwhile.
func (b *ariaBench) firstLarge(a *testbed.Agent, tab *testbed.Tab) (text string, took, held time.Duration, err error) {
	if err := tab.JS(`window.longest = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration) }).observe({entryTypes: ['longtask']})`); err != nil {
		return "", 0, 0, err
	}
	if text, took, err = look(a, everything); err != nil {
		return "", 0, 0, fmt.Errorf("first look: %w", err)
	}
	longest, err := tab.Number("window.longest")
	return text, took, time.Duration(longest * float64(time.Millisecond)), err
}

func (b *ariaBench) large() error {
	// One garbage collection is enough to hold a page: the middle of some looks is told, and the worst beside it.
	var held []time.Duration
	for range b.third(4) {
		if err := b.with("/large", func(a *testbed.Agent, tab *testbed.Tab) error {
			_, _, longest, err := b.firstLarge(a, tab)
			held = append(held, longest)
			return err
		}); err != nil {
			return err
		}
	}
	return b.with("/large", func(a *testbed.Agent, tab *testbed.Tab) error {
		text, took, longest, err := b.firstLarge(a, tab)
		if err != nil {
			return err
		}
		held = append(held, longest)
		b.within("20,000 elements, first look", took, budgetLarge, b.byLoop(), fmt.Sprintf("%s (%d tokens)", ms(took), b.count.tokens(text)))
		middle := quantile(held, .5)
		b.within(fmt.Sprintf("20,000 elements, longest time the page was held, middle of %d looks (worst)", len(held)), middle, budgetSlice, b.byLoop(), fmt.Sprintf("%s (%s)", ms(middle), ms(quantile(held, 1))))
		for _, kind := range tenChanges {
			var looks []time.Duration
			for i := range b.third(30) {
				// The page draws what changed before the look: that is its own work.
				if err := tab.JS(fmt.Sprintf("const i = %d; %s\n%s", i, kind.script, kind.wait)); err != nil {
					return err
				}
				text, took, err = look(a, everything)
				if err != nil {
					return fmt.Errorf("look %d: %w", i, err)
				}
				if n := strings.Count(text, "# was"); n < kind.told || !strings.Contains(text, fmt.Sprintf("%s %d", kind.last, i)) {
					return fmt.Errorf("%d of %d changes were told: %.2000s", n, kind.told, text)
				}
				looks = append(looks, took)
			}
			p50 := quantile(looks, .5)
			said := ms(p50) + " (" + ms(quantile(looks, .95)) + ")"
			if kind.budget == 0 {
				b.figure("20,000 elements, "+kind.what+", p50 (p95)", said)
				continue
			}
			b.within("20,000 elements, "+kind.what+", p50 (p95)", p50, kind.budget, b.byLoop(), said)
		}
		return nil
	})
}

const (
	drawn = `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`
	// Ten changes of which style sheets may mind most: any element may be shown or hidden by them.
	allKinds = `const sections = document.querySelectorAll('section'), of = (selector, at) => sections[7 * at].querySelector(selector);
		of('[type=checkbox]', 1).checked = i % 2 === 0; of('[type=checkbox]', 2).disabled = i % 2 === 0; of('[name]', 3).value = 'by ' + i; of('button', 4).className = 'busy' + i;
		for (const at of [4, 5, 6]) of('button', at).textContent = 'Now ' + i; of('h2', 7).setAttribute('aria-label', 'Order of ' + i); of('h2', 8).firstChild.data = 'Now ' + i;
		const link = document.createElement('a'); link.href = '/'; link.textContent = 'Swapped ' + i; of('li', 9).replaceChildren(link)
		`
)

// tenChanges are what happens between two looks at a large page.
var tenChanges = []struct {
	what, script, wait string
	// How many are told with what was before, at least, and a text that one of them wrote.
	told   int
	last   string
	budget time.Duration
}{
	{"ten texts changed", `for (let n = 0; n < 10; n++) document.querySelectorAll('.text')[n * 97].textContent = 'changed ' + i + ' ' + n`, drawn, 10, "changed", budgetLater},
	{"ten changes of all kinds, a tenth of a second ago", allKinds, drawn + `; await new Promise((done) => setTimeout(done, 100))`, 8, "Swapped", budgetLater},
	{"ten changes of all kinds, drawn just now", allKinds, drawn, 8, "Swapped", 0},
}

// A step is something that happens on the page of orders.
var orderSteps = []string{
	`document.querySelector('[name=note%d]').value = 'please ring'`,
	`document.querySelectorAll('[type=checkbox]')[%d].checked = true`,
	`document.querySelectorAll('button')[%d].disabled = true`,
	`document.querySelectorAll('li')[%d].insertAdjacentHTML('afterend', '<li><a href="/new">A new link</a></li>')`,
	`document.querySelectorAll('h2')[%d].textContent += ' (paid)'`,
	`document.querySelectorAll('section')[%d].remove()`,
	`document.querySelector('main').insertAdjacentHTML('afterbegin', '<div role="alert">Order %d saved</div>')`,
}

// steps: twenty steps on one page, and what looking after each costs.
func (b *ariaBench) steps() error {
	return b.with("/mixed", func(a *testbed.Agent, tab *testbed.Tab) error {
		text, _, err := look(a, nil)
		if err != nil {
			return err
		}
		ours := b.count.tokens(text)
		full := ours
		for i := range 20 {
			if err := tab.JS(fmt.Sprintf(orderSteps[i%len(orderSteps)], 3+i)); err != nil {
				return err
			}
			d, _, err := look(a, nil)
			if err != nil {
				return err
			}
			ours += b.count.tokens(d)
			if text, _, err = look(a, map[string]any{"full_snapshot": true}); err != nil {
				return err
			}
			full += b.count.tokens(text)
		}
		saved := 1 - float64(ours)/float64(full)
		b.row("20 steps on one page, tokens saved", fmt.Sprintf("%.1f %% (%d for %d)", 100*saved, ours, full), "at least 90 %", saved >= .9)
		return nil
	})
}

// scenarios are the three of the specification's estimate: what an agent pays for looking at each step, and
// what it pays for the peers' snapshots, which are full ones each time. The first look at each page is within,
// so that Tidemark's own full snapshots, of five of which it is one, cannot be undercut by as much: that figure
// stands beside.
func (b *ariaBench) scenarios() error {
	for _, s := range []struct{ looks, pages int }{{5, 1}, {10, 1}, {10, 3}} {
		theirs := make([]int, len(b.peers))
		for i, p := range b.peers {
			for page := range s.pages {
				if err := p.open(fmt.Sprintf("%s/mixed?%d", b.site, page)); err != nil {
					return err
				}
				text, err := p.snapshot()
				if err != nil {
					return err
				}
				theirs[i] += b.count.tokens(text) * (s.looks*(page+1)/s.pages - s.looks*page/s.pages)
			}
		}
		err := b.with("/mixed?0", func(a *testbed.Agent, tab *testbed.Tab) error {
			ours, full := 0, 0
			for i := range s.looks {
				if page := i * s.pages / s.looks; i > 0 && page != (i-1)*s.pages/s.looks {
					if err := tab.Do(chromedp.Navigate(fmt.Sprintf("%s/mixed?%d", b.site, page))); err != nil {
						return err
					}
				} else if i > 0 {
					if err := tab.JS(fmt.Sprintf(orderSteps[i%len(orderSteps)], 3+i)); err != nil {
						return err
					}
				}
				text, _, err := look(a, nil)
				if err != nil {
					return err
				}
				ours += b.count.tokens(text)
				if text, _, err = look(a, map[string]any{"full_snapshot": true}); err != nil {
					return err
				}
				full += b.count.tokens(text)
			}
			what := fmt.Sprintf("%d snapshots of %d page(s), tokens saved against ", s.looks, s.pages)
			saved := func(by int) (float64, string) {
				share := 1 - float64(ours)/float64(by)
				return share, fmt.Sprintf("%.1f %% (%d for %d)", 100*share, ours, by)
			}
			for i, p := range b.peers {
				share, text := saved(theirs[i])
				if p.name == "@playwright/mcp" {
					b.row(what+p.name, text, "at least 90 %", share >= .9)
				} else {
					b.figure(what+p.name, text)
				}
			}
			share, text := saved(full)
			b.row(what+"its own full ones", text, "at least 60 %", share >= .6)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *ariaBench) differ() {
	var figures, walks []time.Duration
	for _, n := range []int{5000, 20_000, 80_000} {
		old := syntheticTree(n, nil)
		changed := map[int]bool{}
		for i := range 100 {
			changed[2+i*(n/101)] = true
		}
		now := syntheticTree(n, changed)
		took := best(30, func() { aria.Compare(old, now) })
		figures = append(figures, took)
		walks = append(walks, best(30, func() {
			old.Walk(func(*aria.Node) {})
			now.Walk(func(*aria.Node) {})
		}))
		if what := fmt.Sprintf("the differ, %d nodes, 100 changes", n); n == 20_000 {
			b.within(what, took, budgetDiffer, b.byWalk(), "")
		} else {
			b.figure(what, ms(took))
		}
	}
	// Large trees are in no cache, for whatever reads them: a mere walk shows what that costs.
	growth, walk := float64(figures[2])/float64(figures[1]), float64(walks[2])/float64(walks[1])
	b.row("the differ, 80,000 nodes / 20,000, beside a walk through the same trees", fmt.Sprintf("%.1f times, %.1f times", growth, walk), "at most 1.75 times a walk's", growth <= 1.75*walk)
}

// best is the shortest of several times: what the computation takes when nobody else is at work.
func best(n int, do func()) time.Duration {
	shortest := time.Hour
	for range n {
		began := time.Now()
		do()
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}

// syntheticTree is a tree of n elements, 20 in each list, some of them changed.
func syntheticTree(n int, changed map[int]bool) *aria.Node {
	root := &aria.Node{Ref: 1, Role: "document"}
	ref := 1
	for ref < n {
		ref++
		list := &aria.Node{Ref: ref, Role: "list", Name: fmt.Sprint("list ", ref)}
		for i := 0; i < 20 && ref < n; i++ {
			ref++
			item := &aria.Node{Ref: ref, Role: "button", Name: fmt.Sprint("button ", ref)}
			if changed[ref] {
				item.States = []string{"disabled"}
			}
			list.Children = append(list.Children, item)
		}
		root.Children = append(root.Children, list)
	}
	return root
}

// ariaPages are the pages that are looked at.
var ariaPages = map[string]func() string{
	"/mixed":       func() string { return mixedPage(2000) },
	"/large":       func() string { return mixedPage(20_000) },
	"/rows":        func() string { return rowsPage(500) },
	"/favicon.ico": func() string { return "" },
}

// rowsPage is a table that a script renders.
func rowsPage(n int) string {
	return fmt.Sprintf(`<!doctype html><title>Stock</title><h1>Stock</h1><table><thead><tr><th>Number</th><th>Name</th><th>Place</th><th>Price</th><th>Left</th><th>Action</th></tr></thead><tbody></tbody></table><script>
const rows = Array.from({length: %d}, (_, i) => ({id: i, name: 'Article ' + i, place: 'Shelf ' + i %% 17, price: (i * 7 %% 100) + '.90 €', left: i %% 31}));
function render() { document.querySelector('tbody').innerHTML = rows.map((r) => '<tr><td>' + r.id + '</td><td>' + r.name + '</td><td>' + r.place + '</td><td>' + r.price + '</td><td>' + r.left + '</td><td><button>Order</button></td></tr>').join('') }
render()</script>`, n)
}

// mixedPage has about n elements: sections of headings, text, links, fields and buttons.
func mixedPage(n int) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><title>Orders of the Northern Region, all of them - Example</title><header><nav><a href="/">Home</a></nav></header><main>`)
	for i := 0; i*20 < n; i++ {
		fmt.Fprintf(&b, `<section><h2>Order %d</h2><div class="card"><div><p class="text">Placed on day %d by a customer of long standing</p><span class="text">%d.50 €</span></div>
<ul><li><a href="/orders/%d">Details of order %d</a></li><li><a href="/orders/%d/invoice">Invoice %d</a></li></ul>
<div><label>Note for order %d <input name="note%d"></label><label><input type="checkbox"> Paid %d</label></div>
<div><button>Ship %d</button><button>Cancel %d</button></div><div><span>in stock</span><em>express</em></div></div></section>`, i, i%365, i, i, i, i, i, i, i, i, i, i)
	}
	b.WriteString("</main>")
	return b.String()
}
