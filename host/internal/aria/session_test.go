package aria

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// site is a page whose tree a test makes.
type site struct {
	t     *testing.T
	page  *Page
	seen  Seen
	frame protocol.AriaFrame
	now   time.Time
}

// newSite has a form and so many links that a change in the form is a small one.
func newSite(t *testing.T) *site {
	s := &site{t: t, page: NewPage(), now: time.Unix(1_700_000_000, 0)}
	s.frame = protocol.AriaFrame{Parent: -1, Document: "one", URL: "https://app.example.com/checkout", Title: "Checkout - Example Store", Root: 1}
	s.set(1, roleDocument, "", 2, 50)
	s.set(2, "form", "Payment", 3, 4)
	s.set(3, "textbox", "Card Number")
	s.set(4, "button", "Pay Now")
	var kids []int
	for i := range 30 {
		s.set(100+i, "link", fmt.Sprintf("Section %c", 'A'+i))
		kids = append(kids, 100+i)
	}
	s.set(50, "navigation", "", kids...)
	return s
}

func (s *site) set(id int, role, name string, children ...int) *protocol.AriaNode {
	n := protocol.AriaNode{ID: id, Role: role, Name: name, Children: children}
	for i := range s.frame.Nodes {
		if s.frame.Nodes[i].ID == id {
			s.frame.Nodes[i] = n
			return &s.frame.Nodes[i]
		}
	}
	s.frame.Nodes = append(s.frame.Nodes, n)
	return &s.frame.Nodes[len(s.frame.Nodes)-1]
}

// read sends what was set since the last time.
func (s *site) read() *Tree {
	s.t.Helper()
	s.frame.Version++
	tree, err := s.page.Apply(&protocol.AriaResult{Frames: []protocol.AriaFrame{s.frame}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.frame.Since, s.frame.Nodes = s.frame.Version, nil
	return tree
}

// caused sends what was set since the last time, and is told of it as the effect of an action.
func (s *site) caused() string {
	s.t.Helper()
	return s.seen.Caused(s.page, s.read(), s.now, 2000, false)
}

// show sends what was set since the last time, and asks.
func (s *site) show(r Request) *Answer {
	s.t.Helper()
	tree := s.read()
	r.Now, r.Format = s.now, cmp.Or(r.Format, FormatCompact)
	if r.FullAfter == 0 {
		r.FullAfter = 30 * time.Second
	}
	a, err := s.seen.Show(s.page, tree, r)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// is fails unless an answer is of a kind.
func (s *site) is(a *Answer, kind string) *Answer {
	s.t.Helper()
	if a.Kind != kind {
		s.t.Fatalf("%s (%s), want %s:\n%s", a.Kind, a.Why, kind, a.Text)
	}
	return a
}

func TestTheSamePageIsToldByItsChanges(t *testing.T) {
	s := newSite(t)
	s.is(s.show(Request{}), KindFull)
	s.is(s.show(Request{}), KindUnchanged)
	value := "4242"
	s.set(3, "textbox", "Card Number").Value = &value
	a := s.is(s.show(Request{}), KindDiff)
	for _, part := range []string{"[Same page: Checkout - Example Store]\n", "[URL: https://app.example.com/checkout]\n", "[Unchanged: e2, e4-e35]\n", "full_snapshot for all", `- textbox "Card Number" [e3]: "4242"`} {
		if !strings.Contains(a.Text, part) {
			t.Errorf("%q is missing in\n%s", part, a.Text)
		}
	}
	s.is(s.show(Request{}), KindUnchanged)
}

func TestAReloadIsToldInFull(t *testing.T) {
	s := newSite(t)
	s.show(Request{})
	all := newSite(s.t).frame
	s.frame.Document, s.frame.Since, s.frame.Nodes = "two", 0, all.Nodes
	s.is(s.show(Request{}), KindFull)
}

// TestAnotherViewOfAnApplicationIsToldByItsChanges: the address changes, the document and its shell stay.
func TestAnotherViewOfAnApplicationIsToldByItsChanges(t *testing.T) {
	for what, change := range map[string]func(*site){
		"path":  func(s *site) { s.frame.URL = "https://app.example.com/done" },
		"query": func(s *site) { s.frame.URL += "?step=2" },
		"title": func(s *site) { s.frame.Title = "Thank you" },
	} {
		s := newSite(t)
		s.show(Request{})
		change(s)
		head := fmt.Sprintf("[Page: %s]\n[URL: %s]\n", s.frame.Title, s.frame.URL)
		if a := s.is(s.show(Request{}), KindUnchanged); a.Text != head+"[Unchanged: e2-e35]\n" {
			t.Errorf("%s:\n%s", what, a.Text)
		}
		change(s)
		s.frame.URL += "&"
		s.set(4, "button", "Again")
		a := s.is(s.show(Request{}), KindDiff)
		if !strings.HasPrefix(a.Text, "[Page: ") || !strings.Contains(a.Text, `button "Again" [e4]`) || strings.Contains(a.Text, "Section") {
			t.Errorf("%s:\n%s", what, a.Text)
		}
	}
}

// TestADocumentThatIsWrittenAnewIsToldInFull: document.open empties it, and what is written then has another root.
func TestADocumentThatIsWrittenAnewIsToldInFull(t *testing.T) {
	s := newSite(t)
	s.show(Request{Interactive: true})
	s.frame.Root = 0
	if told := s.caused(); !strings.Contains(told, "# the page is empty") {
		t.Error(told)
	}
	s.is(s.show(Request{Interactive: true}), KindUnchanged)
	s.frame.Root = 90
	s.set(90, roleDocument, "", 91)
	s.set(91, "button", "New")
	if told := s.caused(); !strings.Contains(told, `button "New"`) {
		t.Error(told)
	}
	s.is(s.show(Request{Interactive: true}), KindUnchanged)
}

// article replaces the form of a site by another view: a heading, a link and text.
func (s *site) article(name string, paragraphs int) {
	s.frame.URL, s.frame.Title = "https://app.example.com/"+name, name
	s.set(1, roleDocument, "", 70, 50)
	kids := []int{71, 72}
	for i := range paragraphs {
		kids = append(kids, 200+2*i)
		s.set(200+2*i, "paragraph", "", 201+2*i)
		s.set(201+2*i, RoleText, fmt.Sprintf("Long text %d of %s.", i, name))
	}
	s.set(70, "main", "", kids...)
	s.set(71, "heading", name)
	s.set(72, "link", "Share "+name)
}

// TestAnActionThatLeadsToAnotherViewListsNoShell: nor the text of that view, if it is longer than a listing.
func TestAnActionThatLeadsToAnotherViewListsNoShell(t *testing.T) {
	s := newSite(t)
	s.show(Request{Interactive: true})
	s.article("Kettles", 50)
	told := s.caused()
	for _, part := range []string{"[Page: Kettles]\n[URL: https://app.example.com/Kettles]\n", "interactive_only: false shows the text", `link "Share Kettles"`, "Removed: [e2-e4]"} {
		if !strings.Contains(told, part) {
			t.Errorf("%q is missing in\n%s", part, told)
		}
	}
	if strings.Contains(told, "Section") || strings.Contains(told, "Long text") {
		t.Error(told)
	}
	// What was left out is no change later, and not called unchanged, because it was never shown.
	if again := s.caused(); again != "" {
		t.Errorf("told again:\n%s", again)
	}
	if a := s.is(s.show(Request{Interactive: true}), KindUnchanged); strings.Contains(a.Text, "e37") {
		t.Errorf("the view's parts were shown without their text:\n%s", a.Text)
	}
	if a := s.is(s.show(Request{}), KindFull); !strings.Contains(a.Text, "Long text 7 of Kettles") {
		t.Error(a.Text)
	}
}

// TestAShortViewIsListedWithoutTheShell that is around it and was shown, and so is a long view after it.
func TestAShortViewIsListedWithoutTheShell(t *testing.T) {
	s := newSite(t)
	s.frame.Nodes = nil
	s.frame.URL = "https://app.example.com/"
	s.set(2, "navigation", "", 3, 4, 5, 6, 7)
	for i, name := range []string{"Conduit", "Home", "New Article", "Settings", "ada"} {
		s.set(3+i, "link", name)
	}
	s.set(30, "contentinfo", "", 31, 32)
	s.set(31, "link", "About us")
	s.set(32, "link", "RealWorld OSS Project")
	home := func(round int) {
		view := []int{2}
		for i := range 10 {
			id := 1000*round + 10*i
			s.set(id, "link", "").States = []string{"/profile/ada"}
			s.set(id+1, "link", "ada")
			s.set(id+2, RoleText, fmt.Sprintf("January %d", i+1))
			s.set(id+3, "button", fmt.Sprint(i))
			s.set(id+4, "link", fmt.Sprintf("Article %d About thing %d Read more...", i, i), id+5, id+6, id+8)
			s.set(id+5, "heading", fmt.Sprintf("Article %d", i))
			s.set(id+6, "paragraph", "", id+7)
			s.set(id+7, RoleText, fmt.Sprintf("About thing %d", i))
			s.set(id+8, "list", "", id+9)
			s.set(id+9, "listitem", "tag")
			view = append(view, id, id+1, id+2, id+3, id+4)
		}
		s.frame.URL = "https://app.example.com/"
		s.set(1, roleDocument, "", append(view, 30)...)
	}
	home(1)
	s.show(Request{Interactive: true})
	s.frame.URL = "https://app.example.com/settings"
	s.set(1, roleDocument, "", 2, 50, 52, 53, 54, 55, 56, 57, 30)
	s.set(50, "heading", "Your Settings", 51)
	s.set(51, RoleText, "Your Settings")
	for i, name := range []string{"URL of profile picture", "Username", "Short bio about you", "Email", "New Password"} {
		s.set(52+i, "textbox", name)
	}
	s.set(57, "button", "Update Settings")
	for _, view := range []string{`textbox "Username"`, `link "Article 9 About thing 9 Read more..."`} {
		told := s.caused()
		for _, part := range []string{view, "[Unchanged: "} {
			if !strings.Contains(told, part) {
				t.Errorf("%q is missing in\n%s", part, told)
			}
		}
		for _, shell := range []string{"Conduit", "RealWorld"} {
			if strings.Contains(told, shell) {
				t.Errorf("%q is shown again in\n%s", shell, told)
			}
		}
		s.is(s.show(Request{Interactive: true}), KindUnchanged)
		home(2)
	}
}

func TestAnActionThatLeadsToAShortViewTellsItsText(t *testing.T) {
	s := newSite(t)
	s.show(Request{Interactive: true})
	s.article("Order 4711", 1)
	told := s.caused()
	if !strings.Contains(told, "Long text 0 of Order 4711") || strings.Contains(told, "Section") {
		t.Error(told)
	}
	s.frame.Since, s.frame.Document = 0, "two" // the same after a reload
	all := newSite(t).frame
	s.frame.Nodes = all.Nodes
	if told := s.caused(); !strings.Contains(told, "Section") {
		t.Error(told)
	}
}

// TestWhatDidNotFitIsListedWhenMoreIsAllowed, and not again with the same limit.
func TestWhatDidNotFitIsListedWhenMoreIsAllowed(t *testing.T) {
	for _, interactive := range []bool{false, true} {
		s := newSite(t)
		s.article("Kettles", 50)
		short, whole := Request{Interactive: interactive, MaxTokens: 100}, Request{Interactive: interactive}
		if a := s.is(s.show(short), KindFull); !strings.Contains(a.Text, " elements left out ") {
			t.Fatalf("all of it fits:\n%s", a.Text)
		}
		if a := s.is(s.show(short), KindUnchanged); !strings.Contains(a.Text, " left out)]") {
			t.Error(a.Text)
		}
		if a := s.is(s.show(whole), KindFull); strings.Contains(a.Text, " left out") || !strings.Contains(a.Text, "Section J") {
			t.Errorf("something is still missing:\n%s", a.Text)
		}
		if a := s.is(s.show(short), KindUnchanged); strings.Contains(a.Text, " left out)]") {
			t.Error(a.Text)
		}
	}
}

func TestAFragmentOrACountInTheTitleIsTheSamePage(t *testing.T) {
	for _, change := range []func(*site){
		func(s *site) { s.frame.URL += "#step-2" },
		func(s *site) { s.frame.Title = "Checkout - Example Store (2)" },
	} {
		s := newSite(t)
		s.show(Request{})
		change(s)
		s.is(s.show(Request{}), KindUnchanged)
	}
}

func TestEverythingIsToldWhenItIsAskedFor(t *testing.T) {
	s := newSite(t)
	s.show(Request{})
	s.is(s.show(Request{Full: true}), KindFull)
	s.is(s.show(Request{}), KindUnchanged) // what was shown in full is what the next one is compared with
}

func TestALongPauseIsFollowedByEverythingUnlessNothingChanged(t *testing.T) {
	s := newSite(t)
	s.show(Request{})
	s.now = s.now.Add(31 * time.Second)
	s.is(s.show(Request{}), KindUnchanged)
	s.set(4, "button", "Pay")
	s.now = s.now.Add(29 * time.Second)
	s.is(s.show(Request{}), KindDiff)
	s.set(4, "button", "Pay Now")
	s.now = s.now.Add(31 * time.Second)
	s.is(s.show(Request{}), KindFull)
	s.set(4, "button", "Pay")
	s.now = s.now.Add(31 * time.Second)
	s.is(s.show(Request{FullAfter: time.Hour}), KindDiff)
}

func TestMoreThanSeventyPercentChangedIsToldInFull(t *testing.T) {
	s := newSite(t)
	s.show(Request{})
	for i := range 20 { // of 33
		s.set(100+i, "link", fmt.Sprintf("Other %c", 'A'+i))
	}
	s.is(s.show(Request{Diff: true}), KindDiff)
	for i := range 25 {
		s.set(100+i, "link", fmt.Sprintf("Another %c", 'A'+i))
	}
	a := s.show(Request{})
	if a.Kind != KindFull || !strings.Contains(a.Why, "%") {
		t.Errorf("%s: %s", a.Kind, a.Why)
	}
}

func TestTheShorterOfTheTwoIsGiven(t *testing.T) {
	s := newSite(t)
	s.set(1, roleDocument, "", 2)
	s.set(2, "form", "", 3, 4)
	s.show(Request{})
	s.set(3, "textbox", "A")
	s.set(4, "button", "B")
	s.frame.URL += "#"
	if a := s.show(Request{}); a.Kind != KindFull {
		t.Errorf("%s:\n%s", a.Kind, a.Text)
	}
}

func TestTheInteractivePartAndTheWholeAreComparedEachWithItself(t *testing.T) {
	s := newSite(t)
	s.set(2, "form", "Payment", 3, 4, 5)
	s.set(5, RoleText, "Total 12")
	s.is(s.show(Request{Interactive: true}), KindFull)
	s.is(s.show(Request{}), KindFull)
	s.set(5, RoleText, "Total 13")
	s.is(s.show(Request{Interactive: true}), KindUnchanged)
	a := s.is(s.show(Request{}), KindDiff)
	if !strings.Contains(a.Text, `"Total 13"  # was "Total 12"`) {
		t.Error(a.Text)
	}
}

// TestWhatALookAtTheInteractivePartLeavesOutIsToldLater: text that changed before it, and nothing that it showed.
func TestWhatALookAtTheInteractivePartLeavesOutIsToldLater(t *testing.T) {
	s := newSite(t)
	s.set(1, roleDocument, "", 2, 60, 63, 50)
	s.set(60, "paragraph", "", 61)
	s.set(61, RoleText, "Waiting")
	s.set(63, "paragraph", "", 64)
	s.set(64, RoleText, "Please be patient")
	s.show(Request{Interactive: true})
	s.set(61, RoleText, "Paid")
	s.set(4, "button", "Pay again")
	s.set(1, roleDocument, "", 2, 60, 65, 50)
	s.set(65, "paragraph", "", 66)
	s.set(66, RoleText, "Thank you")
	a := s.is(s.show(Request{Interactive: true}), KindDiff)
	if !strings.Contains(a.Text, "Pay again") || strings.Contains(a.Text, "Paid") {
		t.Errorf("\n%s", a.Text)
	}
	tree := s.page.Tree()
	if s.seen.Knows(tree.Number) {
		t.Error("the text was not shown")
	}
	told := s.seen.Caused(s.page, tree, s.now, 0, false)
	for _, part := range []string{`"Paid"  # was "Waiting"`, "Thank you", "Removed: [e6]"} {
		if !strings.Contains(told, part) {
			t.Errorf("%s is missing in\n%s", part, told)
		}
	}
	if strings.Contains(told, "Pay again") {
		t.Errorf("it is told again:\n%s", told)
	}
	if again := s.seen.Caused(s.page, tree, s.now, 0, false); again != "" || !s.seen.Knows(tree.Number) {
		t.Errorf("told twice:\n%s", again)
	}
}

// TestTheTextOfNewRowsIsNotPendingAfterALookAtThem: rows that arrive after the first look, as of a list that loads.
func TestTheTextOfNewRowsIsNotPendingAfterALookAtThem(t *testing.T) {
	s := newSite(t)
	s.show(Request{Interactive: true})
	children := []int{2, 60}
	for row := range 6 {
		at := 200 + 10*row
		s.set(at, "listitem", fmt.Sprintf("Payment %d", row), at+1, at+2, at+3)
		s.set(at+1, "link", fmt.Sprintf("Lunch %d", row))
		s.set(at+2, RoleText, fmt.Sprintf("Ada paid Grace $%d", row))
		s.set(at+3, RoleText, "0 likes")
		children = append(children, at)
	}
	s.set(60, "paragraph", "", 61)
	s.set(61, RoleText, "6 payments")
	s.set(1, roleDocument, "", append(children, 50)...)
	if a := s.is(s.show(Request{Interactive: true}), KindDiff); !strings.Contains(a.Text, "Lunch 5") {
		t.Fatalf("\n%s", a.Text)
	}
	told := s.seen.Caused(s.page, s.page.Tree(), s.now, 0, false)
	if !strings.Contains(told, "6 payments") || strings.Contains(told, "Lunch") || strings.Contains(told, "Ada paid") {
		t.Errorf("\n%s", told)
	}
	s.set(213, RoleText, "1 likes")
	if told := s.caused(); !strings.Contains(told, `"1 likes"  # was "0 likes"`) {
		t.Errorf("\n%s", told)
	}
}

func TestADifferenceThatDoesNotFitComesAgain(t *testing.T) {
	s := newSite(t)
	s.show(Request{})
	for i := range 15 {
		s.set(100+i, "link", fmt.Sprintf("Renamed to something longer %c", 'A'+i))
	}
	a := s.is(s.show(Request{MaxTokens: 150}), KindDiff)
	if len(a.Text) > 600 || !strings.Contains(a.Text, "did not fit max_tokens") {
		t.Errorf("%d bytes\n%s", len(a.Text), a.Text)
	}
	a = s.is(s.show(Request{}), KindDiff)
	if n := strings.Count(a.Text, "# was"); n != 15 {
		t.Errorf("%d of 15:\n%s", n, a.Text)
	}
}

func TestLongNamesAndValuesAreCutWithTheirLength(t *testing.T) {
	s := newSite(t)
	long, value := strings.Repeat("ä", 1000), strings.Repeat("v", 300)
	n := s.set(3, "textbox", long)
	n.Cut, n.Value = []int{5000, 7, 0, 0}, &value
	a := s.show(Request{})
	if !strings.Contains(a.Text, `ä…" (5000 characters) [e3]: "`) || !strings.Contains(a.Text, `v…"  # (300 characters)`) {
		t.Error(a.Text)
	}
	n = s.set(3, "textbox", long) // the same but for what is cut off
	n.Cut, n.Value = []int{5000, 8, 0, 0}, &value
	if a := s.show(Request{}); !strings.Contains(a.Text, "[e3]") || a.Kind != KindDiff {
		t.Errorf("a change behind the cut: %s\n%s", a.Kind, a.Text)
	}
}

// TestALongNameThatChangedAtItsEndShowsWhere: both would be cut to the same line.
func TestALongNameThatChangedAtItsEndShowsWhere(t *testing.T) {
	s := newSite(t)
	s.set(4, "button", strings.Repeat("N", 300)+"x")
	s.show(Request{})
	s.set(4, "button", strings.Repeat("N", 300)+"y")
	if a := s.is(s.show(Request{}), KindDiff); !strings.Contains(a.Text, `Nx" (301 characters), now "…`) || !strings.Contains(a.Text, `Ny"`) {
		t.Error(a.Text)
	}
}

// TestLinesStayYAML: of a place with a colon in its name, and of what YAML does not know.
func TestLinesStayYAML(t *testing.T) {
	s := newSite(t)
	s.set(2, "form", "Payment: card", 3, 4)
	s.set(100, "link", "end\ufffe\uffff")
	if a := s.show(Request{}); !strings.Contains(a.Text, `- link "end\ufffe\uffff" [`) {
		t.Error(a.Text)
	}
	s.set(2, "form", "Payment: card", 4, 3)
	if a := s.is(s.show(Request{}), KindDiff); !strings.Contains(a.Text, `: 'in form "Payment: card" [e2] first'`) && !strings.Contains(a.Text, `: 'in form "Payment: card" [e2] after [`) {
		t.Error(a.Text)
	}
}

func TestTheBlockLayoutIsTheSpecifications(t *testing.T) {
	s := newSite(t)
	n := s.set(4, "button", "Pay Now")
	n.States = []string{"disabled"}
	empty := ""
	s.set(3, "textbox", "Card Number").Value = &empty
	a := s.show(Request{Format: FormatYAML})
	want := `- Page URL: https://app.example.com/checkout
- Page Title: Checkout - Example Store

- ref: e2
  role: form
  name: "Payment"
  children:
    - ref: e3
      role: textbox
      name: "Card Number"
      value: ""
    - ref: e4
      role: button
      name: "Pay Now"
      disabled: true
- ref: e5
  role: navigation
`
	if !strings.HasPrefix(a.Text, want) {
		t.Errorf("%s\nwant\n%s", a.Text, want)
	}
	full := "4242424242424242"
	s.set(3, "textbox", "Card Number").Value = &full
	s.set(4, "button", "Pay Now")
	a = s.show(Request{Format: FormatYAML})
	want = `Changed:
- ref: e3
  role: textbox
  name: "Card Number"
  value: "4242424242424242"  # previously: ""

- ref: e4
  role: button
  name: "Pay Now"
  disabled: false  # previously: true
`
	if !strings.HasSuffix(a.Text, want) {
		t.Errorf("%s\nwant\n%s", a.Text, want)
	}
}

// TestAnActionTellsTheTextToAnAgentThatWasShownIt: when most of the page changes, the answer is a listing of the page
// with its text, or of the interactive part, which says so.
func TestAnActionTellsTheTextToAnAgentThatWasShownIt(t *testing.T) {
	for _, whole := range []bool{true, false} {
		s := newSite(t)
		s.frame.Nodes = nil
		s.set(1, roleDocument, "", 2, 3)
		s.set(2, "button", "Pay")
		pay := func(round int) {
			var items []int
			for i := range 9 {
				id := 100*round + 2*i
				s.set(id, "listitem", "", id+1)
				s.set(id+1, RoleText, fmt.Sprintf("Balance %d, and what was booked on the account in the last month", id))
				items = append(items, id)
			}
			s.set(3, "list", "", items...)
		}
		pay(1)
		s.show(Request{Interactive: !whole})
		pay(2)
		told := s.caused()
		if strings.Contains(told, "Balance 200") != whole || strings.Contains(told, partOnly) == whole {
			t.Errorf("whole %v:\n%s", whole, told)
		}
		if whole {
			s.is(s.show(Request{}), KindUnchanged)
		} else if a := s.is(s.show(Request{}), KindFull); !strings.Contains(a.Text, "Balance 216") {
			t.Error(a.Text)
		}
	}
}

// TestAnActionAfterANarrowedSnapshotDoesNotListThePage: it moved the focus alone.
func TestAnActionAfterANarrowedSnapshotDoesNotListThePage(t *testing.T) {
	s := newSite(t)
	s.show(Request{Interactive: true})
	focus := func(id int) {
		value := ""
		s.set(3, "textbox", "Card Number").Value = &value
		s.set(4, "button", "Pay Now")
		for i := range s.frame.Nodes {
			if s.frame.Nodes[i].ID == id {
				s.frame.Nodes[i].States = []string{focused}
			}
		}
	}
	focus(3)
	s.caused()
	if a := s.is(s.show(Request{Interactive: true, Search: "Card"}), KindPart); !strings.Contains(a.Text, "focused") {
		t.Fatalf("\n%s", a.Text)
	}
	focus(4)
	if told := s.caused(); told != "" {
		t.Errorf("\n%s", told)
	}
	if a := s.show(Request{Interactive: true}); !strings.Contains(a.Text, `button "Pay Now" [e4] [focused]`) || strings.Count(a.Text, "focused") != 1 {
		t.Errorf("the focus is not told: %s\n%s", a.Kind, a.Text)
	}
}
