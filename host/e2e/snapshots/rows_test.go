package snapshots

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// rowShapes are ways in which pages make the rows of a list, each with a button that must never be mistaken
// for that of another row.
var rowShapes = map[string]string{
	"data-id":        "<div data-id=\"${i}\"><button>Edit</button><button>Delete</button></div>",
	"section":        "<section><h3>${i}</h3><button>Edit</button><button>Delete</button></section>",
	"text":           "<div>${i} <button>Edit</button><button>Delete</button></div>",
	"span":           "<div><span>${i}</span><div><button>Edit</button><button>Delete</button></div></div>",
	"link":           "<div><a href=\"/${i}\">${i}</a><button>Delete</button></div>",
	"text after":     "<div><button>Edit</button><button>Delete</button> ${i}</div>",
	"no block":       "<h3>${i}</h3><button>Edit</button><button>Delete</button>",
	"price":          "<div><b>${i}</b><span>10 €</span><button>-</button><button>+</button><button>Delete</button></div>",
	"list":           "<li>${i} <button>Delete</button></li>",
	"table":          "<table><tr><td>${i}</td><td><button>Delete</button></td></tr></table>",
	"article":        "<article><p>${i}</p><button>Delete</button></article>",
	"custom element": "<to-do>${i} <button>Delete</button></to-do>",
}

var deleteButton = regexp.MustCompile(`button "Delete" \[(e\d+)\]`)

// TestRowsThatAreRenderedAnewKeepTheirOwnReferences: a list is made anew as a whole, in another order, longer and
// shorter; no button gets the reference that another row's had.
func TestRowsThatAreRenderedAnewKeepTheirOwnReferences(t *testing.T) {
	w := e2etest.SharedWorld(t)
	pages := map[string]string{}
	for name, shape := range rowShapes {
		pages["/"+strings.ReplaceAll(name, " ", "-")] = e2etest.StorePage("Rows", `<button>Before</button><div id="rows"></div><button>After</button><script>
			customElements.define('to-do', class extends HTMLElement {});
			window.show = (list) => { document.getElementById('rows').innerHTML = list.map((i) => `+"`"+shape+"`"+`).join('') }; show([])</script>`)
	}
	s := e2etest.NewSite(t, pages)
	for name := range rowShapes {
		t.Run(name, func(t *testing.T) {
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL+"/"+strings.ReplaceAll(name, " ", "-"))
			random := rand.New(rand.NewPCG(1, 2))
			of := map[string]string{} // reference → row
			rows := []string{"apple", "banana", "cherry", "dates"}
			before := map[string]string{} // row → reference
			kept, stayed, next := 0, 0, 0
			for step := range 12 {
				p.JS(fmt.Sprintf(`show(%s)`, strings.ReplaceAll(fmt.Sprintf("%q", rows), " ", ",")))
				full := a.Snapshot(map[string]any{"full_snapshot": true})
				found := deleteButton.FindAllStringSubmatch(full, -1)
				if len(found) != len(rows) {
					t.Fatalf("%d buttons for %q:\n%s", len(found), rows, full)
				}
				for i, m := range found {
					if was := of[m[1]]; was != "" && was != rows[i] {
						t.Errorf("step %d: %s was the button of %s, and is that of %s now", step, m[1], was, rows[i])
					}
					if ref, stays := before[rows[i]]; stays {
						stayed++
						if ref == m[1] {
							kept++
						}
					}
					of[m[1]] = rows[i]
				}
				clear(before)
				for i, m := range found {
					before[rows[i]] = m[1]
				}
				switch random.IntN(4) {
				case 0:
					rows = slices.Insert(rows, random.IntN(len(rows)+1), fmt.Sprint("new", string(rune('a'+next))))
					next++
				case 1:
					if len(rows) > 2 {
						at := random.IntN(len(rows))
						rows = slices.Delete(rows, at, at+1)
					}
				case 2:
					random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				}
			}
			t.Logf("%d of %d references were kept", kept, stayed)
			// Without a block around each row only what stands between the same neighbours is certain.
			hasBlocks := name != "no block" && name != "custom element"
			if hasBlocks && 10*kept < 9*stayed {
				t.Errorf("only %d of %d references were kept", kept, stayed)
			}
		})
	}
}
