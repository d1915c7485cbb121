package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/testbed"
)

// What snapshots promise.
const (
	budgetUnchanged = 40  // tokens
	budgetRow       = 120 // tokens
	budgetStub      = 10 * time.Millisecond
	budgetLarge     = 2500 * time.Millisecond
	budgetLater     = 20 * time.Millisecond
	budgetSlice     = 50 // ms of a page's time at once
	budgetDiffer    = 5 * time.Millisecond
)

// aria measures browser_snapshot: tokens and time, on pages of 2,000 and 20,000 elements and a table.
func (r *run) aria() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(out, ariaPages[req.URL.Path]())
	}))
	defer site.Close()
	stub, err := startStub(filepath.Join(w.Home, "stub.sock"))
	if err != nil {
		return err
	}
	defer stub.stop()
	b := &ariaBench{run: r, world: w, site: site.URL, stub: stub, count: newCounter(), sheet: r.sheet("Snapshots of pages")}
	for i, part := range []func() error{b.unchanged, b.changedRow, b.large, b.steps} {
		progress("aria: part %d …", i)
		if err := part(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	b.differ()
	return b.print()
}

type ariaBench struct {
	*run
	*sheet
	world *testbed.World
	site  string
	stub  *stubServer
	count counter
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
	defer tab.Close()
	return do(agent, tab)
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
		b.sheet.row("2,000 elements unchanged, tokens", fmt.Sprint(n), fmt.Sprintf("at most %d", budgetUnchanged), n <= budgetUnchanged)
		above := quantile(looks, .5) - quantile(stubs, .5)
		b.sheet.row("2,000 elements unchanged, above a stub tool, p50", ms(above), "at most "+ms(budgetStub), above <= budgetStub)
		return nil
	})
}

// row: one cell of a table of 500 rows.
func (b *ariaBench) changedRow() error { return nil }

func (b *ariaBench) large() error {
	return b.with("/large", func(a *testbed.Agent, tab *testbed.Tab) error {
		if err := tab.JS(`window.longest = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration) }).observe({entryTypes: ['longtask']})`); err != nil {
			return err
		}
		text, took, err := look(a, everything)
		if err != nil {
			return fmt.Errorf("first look: %w", err)
		}
		b.sheet.row("20,000 elements, first look", fmt.Sprintf("%s (%d tokens)", ms(took), b.count.tokens(text)), "at most "+ms(budgetLarge), took <= budgetLarge)
		longest, err := tab.Number("window.longest")
		if err != nil {
			return err
		}
		b.sheet.row("20,000 elements, longest time the page was held", fmt.Sprintf("%.0f ms", longest), fmt.Sprintf("at most %d ms", budgetSlice), longest <= budgetSlice)
		var looks []time.Duration
		for i := range b.third(30) {
			if err := tab.JS(fmt.Sprintf(`for (let i = 0; i < 10; i++) document.querySelectorAll('.text')[i * 97].textContent = 'changed %d ' + i`, i)); err != nil {
				return err
			}
			text, took, err = look(a, everything)
			if err != nil {
				return fmt.Errorf("look %d: %w", i, err)
			}
			if n := strings.Count(text, "# was"); n != 10 {
				return fmt.Errorf("%d of 10 changes were told: %.2000s", n, text)
			}
			looks = append(looks, took)
		}
		p50 := quantile(looks, .5)
		b.sheet.row("20,000 elements, ten changes, p50 (p95)", ms(p50)+" ("+ms(quantile(looks, .95))+")", "at most "+ms(budgetLater), p50 <= budgetLater)
		return nil
	})
}

func (b *ariaBench) steps() error { return nil }

func (b *ariaBench) differ() {
	var figures []time.Duration
	for _, n := range []int{5000, 20_000, 80_000} {
		old := syntheticTree(n, nil)
		changed := map[int]bool{}
		for i := range 100 {
			changed[2+i*(n/101)] = true
		}
		now := syntheticTree(n, changed)
		took := median(30, func() { aria.Compare(old, now) })
		figures = append(figures, took)
		target := ""
		if n == 20_000 {
			target = "at most " + ms(budgetDiffer)
		}
		b.sheet.row(fmt.Sprintf("the differ, %d nodes, 100 changes", n), ms(took), target, target == "" || took <= budgetDiffer)
	}
	growth := float64(figures[2]) / float64(figures[1])
	b.sheet.row("the differ, 80,000 nodes / 20,000", fmt.Sprintf("%.1f times", growth), "about 4 times", growth < 7)
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
	"/favicon.ico": func() string { return "" },
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
