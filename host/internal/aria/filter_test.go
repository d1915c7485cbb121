package aria

import (
	"strings"
	"testing"
)

func clickable(n *Node) *Node {
	n.States = append(n.States, "clickable")
	return n
}

func page(children ...*Node) *Node { return el(1, roleDocument, "", children...) }

// TestItemsThatTakeClicksKeepTheirText: as those that do not, whatever control is in them.
func TestItemsThatTakeClicksKeepTheirText(t *testing.T) {
	for name, c := range map[string]struct {
		page *Node
		want string
	}{
		"an item": {page(clickable(el(2, "listitem", "", said(3, "Milk"), el(4, "button", "x")))), `- listitem "Milk" [e2] [clickable]:
  - button "x" [e4]
`},
		"a row": {page(clickable(el(2, "row", "", el(3, "cell", "", said(4, "Ada")), el(5, "cell", "", said(6, "Paris")), el(7, "cell", "", el(8, "button", "x"))))), `- row "Ada Paris" [e2] [clickable]:
  - button "x" [e8]
`},
		"a cell": {page(el(2, "row", "", clickable(el(3, "gridcell", "", said(4, "Ada"), el(5, "button", "x"))), clickable(el(6, "gridcell", "", said(7, "Rome"))))), `- row [e2]:
  - gridcell "Ada" [e3] [clickable]:
    - button "x" [e5]
  - gridcell [e6] [clickable]: "Rome"
`},
		"a card": {page(el(2, "generic", "", el(3, "heading", "Phone"), said(4, "10 EUR"), el(5, "button", "Buy"))), `- generic "10 EUR" [e2]:
  - heading "Phone" [e3]
  - button "Buy" [e5]
`},
		"what holds items": {page(el(2, "generic", "", el(3, "list", "", clickable(el(4, "listitem", "", said(5, "Milk"), el(6, "button", "x")))))), `- generic [e2]:
  - listitem "Milk" [e4] [clickable]:
    - button "x" [e6]
`},
		"only text": {page(clickable(el(2, "listitem", "", said(3, "Milk")))), "- listitem [e2] [clickable]: \"Milk\"\n"},
	} {
		if got := listing(Interactive(c.page).Children, Request{}, nil); got != c.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestTheLaterTextOfAnItemIsADifference: also where its label is cut before it.
func TestTheLaterTextOfAnItemIsADifference(t *testing.T) {
	long := strings.Repeat("word ", 20)
	item := func(text string) *Node {
		return Interactive(page(clickable(el(2, "listitem", "", said(3, text), el(4, "button", "x")))))
	}
	for _, c := range [][3]string{
		{"Milk", "Oat milk", "Changed:\n- listitem \"Oat milk\" [e2] [clickable]  # was \"Milk\"\n"},
		{long + "a", long + "b", "Changed:\n- listitem \"" + strings.TrimSpace(long[:60]) + "…\" [e2] [clickable]  # was other text behind it\n"},
	} {
		if got := compactDiff(Compare(item(c[0]), item(c[1]))); got != c[2] {
			t.Errorf("%s", got)
		}
	}
}

// TestRowsSayNothingTwice: neither a cell's name and text, nor the name of a cell that has its own line.
func TestRowsSayNothingTwice(t *testing.T) {
	root := page(el(2, "grid", "",
		el(3, "row", "", el(4, "gridcell", "1", said(5, "1")), el(6, "gridcell", "", el(7, "button", "go"))),
		el(8, "row", "", el(9, "gridcell", "May 5", said(10, "5"), el(11, "link", "10a Meet")), el(12, "gridcell", "May 6", said(13, "6"))),
		el(14, "row", "", el(15, "gridcell", "Choose row", el(16, "checkbox", "Choose row")), el(17, "gridcell", "", said(18, "Ada"))),
	))
	got := listing(Interactive(root).Children, Request{}, nil)
	if want := `- grid [e2]:
  - row "1" [e3]:
    - button "go" [e7]
  - row "May 6" [e8]:
    - gridcell "May 5" [e9]:
      - link "10a Meet" [e11]
  - row "Choose row Ada" [e14]:
    - checkbox "Choose row" [e16]
`; got != want {
		t.Errorf("%s", got)
	}
}

// TestItemsOfMessagesHaveReferences: all of a message is shown, so none of its items is counted as left out.
func TestItemsOfMessagesHaveReferences(t *testing.T) {
	live := el(2, "generic", "", el(3, "list", "", el(4, "listitem", "", said(5, "One")), el(6, "listitem", "", said(7, "Two"), el(8, "button", "x"))))
	live.States = []string{"live=polite"}
	root := page(live)
	if got, want := listing(Interactive(root).Children, Request{}, nil)+unlisted(root), `- generic [e2] [live=polite]:
  - list [e3]:
    - listitem [e4]: "One"
    - listitem [e6]:
      - text: "Two"
      - button "x" [e8]
`; got != want {
		t.Errorf("%s", got)
	}
}

// TestTheNoteOnItemsNamesTheirLists: as far as they are in lists.
func TestTheNoteOnItemsNamesTheirLists(t *testing.T) {
	list := func(ref int) *Node { return el(ref, "list", "", el(ref+1, "listitem", "", said(ref+2, "Card"))) }
	card := el(60, "item", "", said(61, "Card"))
	picture := func(ref int) *Node { return el(ref, "img", "Picture") }
	for want, root := range map[string]*Node{
		"# 1 item not shown; root: e10 with interactive_only: false shows them\n":              page(list(10)),
		"# 2 items not shown (in e10, e20); interactive_only: false shows them\n":              page(list(10), list(20)),
		"# 2 items not shown (in e10 and elsewhere); interactive_only: false shows them\n":     page(list(10), card),
		"# 1 item not shown; interactive_only: false shows them\n":                             page(card),
		"# 5 items not shown (in e10, e20, e30, e40, …); interactive_only: false shows them\n": page(list(10), list(20), list(30), list(40), list(50)),
		"# 3 items not shown; interactive_only: false shows them\n":                            page(picture(70), picture(71), picture(72)),
		"": page(picture(70), picture(71), el(72, "heading", "Said")),
	} {
		if got := unlisted(root); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
