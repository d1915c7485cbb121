package snapshots

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// targets are ways in which pages make the items of a list that differ only in what their controls lead to. Item i leads to /i.
var targets = map[string]string{
	"link":          `<a href="/${i}">View</a> `,
	"nameless link": `<a href="/${i}"><svg width="9" height="9"></svg></a> `,
	"row":           `<table><tr><td><a href="/${i}/edit">Edit</a></td><td><a href="/${i}">Delete</a></td></tr></table>`,
	"item":          `<li><a href="/${i}">Delete</a><button>More</button></li>`,
	"field":         `<input name="n${i}" aria-label="Name">`,
	"picture":       `<li><img alt="" src="/${i}" width="9" height="9"><button>Delete</button></li>`,
	"block":         `<div><img alt="" src="/${i}" width="9" height="9"><button>Delete</button></div>`,
	"flat":          `<img alt="" src="/${i}" width="9" height="9"><button>Delete</button>`,
	"spaces":        `<div data-id="item ${i}"><button>Delete</button></div>`,
}

var listed = regexp.MustCompile(`(?:link|button|textbox|row|listitem)(?: "[^"]*")? \[(e\d+)\]`)

// TestNoReferencePassesToWhatLeadsElsewhere: a list is made anew, with the next items or in the other order.
func TestNoReferencePassesToWhatLeadsElsewhere(t *testing.T) {
	w := e2etest.SharedWorld(t)
	pages := map[string]string{}
	for name, shape := range targets {
		pages["/"+strings.ReplaceAll(name, " ", "-")] = e2etest.StorePage("Items", `<div id="d"></div><script>
			window.show = (list) => { d.innerHTML = list.map((i) => `+"`"+shape+"`"+`).join('') }; show([1, 2])</script>`)
	}
	s := e2etest.NewSite(t, pages)
	for name := range targets {
		t.Run(name, func(t *testing.T) {
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL+"/"+strings.ReplaceAll(name, " ", "-"))
			halves := func(text string) (first, second []string) {
				t.Helper()
				_, text, _ = strings.Cut(text, "Section 29 of")
				refs := listed.FindAllStringSubmatch(text, -1)
				for i, m := range refs {
					if i < len(refs)/2 {
						first = append(first, m[1])
					} else {
						second = append(second, m[1])
					}
				}
				if len(first) == 0 || len(first) != len(second) {
					t.Fatalf("not two items:\n%s", text)
				}
				return first, second
			}
			one, two := halves(a.Everything())
			p.JS(`show([2, 1])`)
			e2etest.Lacks(t, a.Look(), "[Unchanged: e2-")
			turned, stayed := halves(a.Whole())
			if fmt.Sprint(turned, stayed) == fmt.Sprint(one, two) {
				t.Errorf("the order is other, and the references are not: %s, %s", one, two)
			}
			p.JS(`show([3, 4])`)
			e2etest.Holds(t, a.Look(), "Removed: [")
			three, four := halves(a.Whole())
			for _, ref := range append(three, four...) {
				if strings.Contains(fmt.Sprint(one, two, turned, stayed, "]"), ref+" ") || strings.Contains(fmt.Sprint(one, two, turned, stayed), ref+"]") {
					t.Errorf("%s is another item's now", ref)
				}
			}
			p.JS(`show([3, 4])`)
			if again, too := halves(a.Whole()); fmt.Sprint(again, too) != fmt.Sprint(three, four) {
				t.Errorf("the same items were made anew: %s, %s are %s, %s now", three, four, again, too)
			}
			if same := a.Look(); tokens.Estimate(same) > 41 {
				t.Errorf("%d tokens for what is unchanged:\n%s", tokens.Estimate(same), same)
			}
		})
	}
}

// TestAnAddressThatDistinguishesALinkIsToldWhenItChanges: in place, where a listing shows it.
func TestAnAddressThatDistinguishesALinkIsToldWhenItChanges(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Links", `<a id="a" href="/1">View</a><a href="/2">View</a><a id="n" href="/5">Next</a><a id="i" href="/7"><svg width="9" height="9"></svg></a>
		<button onclick="a.href = '/8'">Turn</button>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `[href="/1"]`)
	p.JS(`a.href = '/9'; i.href = '/77'; n.href = '/6'`)
	d := a.Look()
	e2etest.Holds(t, d, `link "View" [`+e2etest.RefOf(t, first, `[href="/1"]`)+`] [href="/9"]  # was [href="/1"]`, `(hint "/77")  # was (hint "/7")`)
	e2etest.Lacks(t, d, `"Next"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Turn"`)}).Page, `[href="/8"]  # was [href="/9"]`)
	p.JS(`a.href = '/10'`)
	e2etest.Holds(t, a.Snapshot(map[string]any{"format": "yaml"}), `href: "/10"  # previously: "/8"`)
}

// TestAnActionThatShowsTheNextItemsTellsThem: they look like those before, and their references are others.
func TestAnActionThatShowsTheNextItemsTellsThem(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Pages", `<button id="go">Next</button><nav id="d"></nav><script>
		let n = 1; const r = () => d.innerHTML = [0, 1].map((k) => '<a href="#item=' + (n + k) + '">View</a> ').join(''); r(); go.onclick = () => { n += 2; r() }</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	old := e2etest.RefOf(t, first, `[href="#item=1"]`)
	page := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Next"`)}).Page
	e2etest.Holds(t, page, "Added:", `[href="#item=3"]`, "Removed: [")
	if said := a.Refused("browser_click", map[string]any{"ref": old}); !strings.Contains(said, "no longer exists") {
		t.Error(said)
	}
}
