package aria

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/protocol"
)

// refOf is the reference of the only element of a role and name, 0 when there is none.
func refOf(t *testing.T, tree *Tree, role, name string) int {
	t.Helper()
	ref := 0
	tree.Root.Walk(func(n *Node) {
		if n.Role == role && n.Name == name {
			if ref != 0 {
				t.Fatalf("there are several of %s %q", role, name)
			}
			ref = n.Ref
		}
	})
	return ref
}

// rerender replaces every element below the root by another one with the same properties, as a framework
// does that makes everything anew; change may alter them.
func (s *site) rerender(change func(*protocol.AriaNode)) *Tree {
	s.t.Helper()
	doc := s.page.docs["one"]
	const other = 10_000
	var nodes []protocol.AriaNode
	for _, e := range doc.entries {
		n := e.AriaNode
		kids := make([]int, len(n.Children))
		for i, c := range n.Children {
			kids[i] = c + other
		}
		n.Children = kids
		if n.ID != 1 {
			n.ID += other
		}
		change(&n)
		nodes = append(nodes, n)
	}
	s.frame.Nodes = nodes
	return s.apply()
}

func (s *site) apply() *Tree {
	s.t.Helper()
	s.frame.Version++
	tree, err := s.page.Apply(&protocol.AriaResult{Frames: []protocol.AriaFrame{s.frame}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.frame.Since, s.frame.Nodes = s.frame.Version, nil
	return tree
}

func TestAReferenceSurvivesARenderingAnew(t *testing.T) {
	s := newSite(t)
	before := s.apply()
	after := s.rerender(func(*protocol.AriaNode) {})
	if a, b := dump(before.Root), dump(after.Root); a != b {
		t.Errorf("from\n%sto\n%s", a, b)
	}
	if len(s.page.Unsure(0)) > 0 {
		t.Errorf("not certain of %v", s.page.Unsure(0))
	}
}

func TestACountInALabelKeepsTheReferenceAndIsSaidToBeUnsure(t *testing.T) {
	s := newSite(t)
	s.set(4, "button", "Save (1)")
	before := refOf(t, s.apply(), "button", "Save (1)")
	after := s.rerender(func(n *protocol.AriaNode) { n.Name = strings.Replace(n.Name, "(1)", "(2)", 1) })
	if got := refOf(t, after, "button", "Save (2)"); got != before {
		t.Errorf("e%d became e%d", before, got)
	}
	if fmt.Sprint(s.page.Unsure(0)) != fmt.Sprint([]int{before}) {
		t.Errorf("unsure of %v", s.page.Unsure(0))
	}
}

func TestAnotherThingInTheSamePlaceGetsAnotherReference(t *testing.T) {
	s := newSite(t)
	s.set(4, "button", "Save")
	before := refOf(t, s.apply(), "button", "Save")
	after := s.rerender(func(n *protocol.AriaNode) {
		if n.Name == "Save" {
			n.Name = "Delete everything"
		}
	})
	if got := refOf(t, after, "button", "Delete everything"); got == before || got == 0 {
		t.Errorf("e%d became another thing", before)
	}
	var gone *GoneError
	if _, err := s.page.Find(before); !errors.As(err, &gone) || gone.Was.Name != "Save" {
		t.Errorf("%v", err)
	}
}

func TestWhatThePageItselfTellsApartIsNotTakenForTheSame(t *testing.T) {
	s := newSite(t)
	s.set(4, "button", "Order 17").Keys = "data-testid=order-17"
	before := refOf(t, s.apply(), "button", "Order 17")
	after := s.rerender(func(n *protocol.AriaNode) {
		if n.Name == "Order 17" {
			n.Name, n.Keys = "Order 18", "data-testid=order-18"
		}
	})
	if got := refOf(t, after, "button", "Order 18"); got == before {
		t.Error("another order has the reference")
	}
}

// TestNoReferencePassesToWhatLeadsElsewhere: where nothing else differs.
func TestNoReferencePassesToWhatLeadsElsewhere(t *testing.T) {
	for what, now := range map[string]func(n *protocol.AriaNode){
		"address": func(n *protocol.AriaNode) { n.Keys = "href=/items/2" },
		"hint":    func(n *protocol.AriaNode) { n.Name, n.Description = "", "hint: trash" },
		"name":    func(n *protocol.AriaNode) { n.Keys = "name=second" },
	} {
		s := newSite(t)
		n := s.set(4, "link", "View")
		n.Keys = "href=/items/1 name=first"
		if what == "hint" {
			*n = protocol.AriaNode{ID: 4, Role: "link", Description: "hint: cart"}
		}
		before := s.apply().Root.Children[0].Children[1].Ref
		same := s.rerender(func(*protocol.AriaNode) {}).Root.Children[0].Children[1].Ref
		other := s.rerender(func(n *protocol.AriaNode) {
			if n.Role == "link" && n.ID > 10_000 && n.ID%10_000 == 4 {
				now(n)
			}
		}).Root.Children[0].Children[1].Ref
		if same != before || other == before {
			t.Errorf("%s: the reference was %d, is %d when made anew, and %d when it is another", what, before, same, other)
		}
	}
}

func TestOfSeveralThatAreAlikeNoneIsGuessed(t *testing.T) {
	s := newSite(t)
	s.set(2, "form", "Payment", 3, 4, 5, 6)
	for _, id := range []int{4, 5, 6} {
		s.set(id, "button", "Delete")
	}
	before := map[int]bool{}
	s.apply().Root.Walk(func(n *Node) { before[n.Ref] = n.Name == "Delete" })
	after := s.rerender(func(n *protocol.AriaNode) {
		if n.Name == "Payment" {
			n.Children = n.Children[:3] // which one has gone cannot be told
		}
	})
	after.Root.Walk(func(n *Node) {
		if n.Name == "Delete" && before[n.Ref] {
			t.Errorf("e%d was given to one of several that are alike", n.Ref)
		}
	})
}

func TestReferencesAreKeptOverWhatHappensAroundThem(t *testing.T) {
	s := newSite(t)
	before := s.apply()
	pay := refOf(t, before, "button", "Pay Now")
	s.set(200, "alert", "Wrong")
	s.set(2, "form", "Payment", 200, 3, 4)
	if got := refOf(t, s.apply(), "button", "Pay Now"); got != pay {
		t.Errorf("insertion: e%d became e%d", pay, got)
	}
	s.set(2, "form", "Payment", 4)
	tree := s.apply()
	if got := refOf(t, tree, "button", "Pay Now"); got != pay {
		t.Errorf("removal: e%d became e%d", pay, got)
	}
	s.set(2, "form", "Payment")
	s.set(1, roleDocument, "", 4, 2, 50)
	s.set(4, "button", "Pay Now")
	if got := refOf(t, s.apply(), "button", "Pay Now"); got != pay {
		t.Errorf("move: e%d became e%d", pay, got)
	}
}

func TestAReferenceIsNeverRecycled(t *testing.T) {
	s := newSite(t)
	before := s.apply()
	alert := refOf(t, before, "button", "Pay Now")
	s.set(2, "form", "Payment", 3)
	s.apply()
	s.set(300, "button", "Quite another")
	s.set(2, "form", "Payment", 3, 300)
	if got := refOf(t, s.apply(), "button", "Quite another"); got <= alert {
		t.Errorf("e%d was given again", got)
	}
	s.set(4, "button", "Pay Now")
	s.set(2, "form", "Payment", 3, 300, 4) // the very same element comes back
	if got := refOf(t, s.apply(), "button", "Pay Now"); got != alert {
		t.Errorf("e%d came back as e%d", alert, got)
	}
}

func TestFramesStandInTheirIframes(t *testing.T) {
	s := newSite(t)
	s.set(4, "iframe", "Payment")
	s.set(3, "iframe", "Chat")
	inner := func(frame, owner int, doc, url, button string) protocol.AriaFrame {
		return protocol.AriaFrame{Frame: frame, Owner: owner, Document: doc, URL: url, Root: 1, Version: 1, Nodes: []protocol.AriaNode{
			{ID: 1, Role: roleDocument, Children: []int{2}}, {ID: 2, Role: "button", Name: button},
		}}
	}
	s.frame.Version++
	tree, err := s.page.Apply(&protocol.AriaResult{Frames: []protocol.AriaFrame{
		s.frame, inner(7, 4, "pay", "https://pay.example.com/", "Pay by card"), inner(8, 3, "chat", "https://chat.example.com/", "Talk"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ frame, button string }{{"Payment", "Pay by card"}, {"Chat", "Talk"}} {
		path := find(tree.Root, refOf(t, tree, "button", want.button))
		if len(path) < 2 || path[len(path)-2].Name != want.frame {
			t.Errorf("%s is not in %s", want.button, want.frame)
		}
	}
	if e, err := s.page.Find(refOf(t, tree, "button", "Talk")); err != nil || e.Frame != 8 || e.ID != 2 || e.Document != "chat" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestChangesThatDoNotFollowAreRefused(t *testing.T) {
	s := newSite(t)
	s.apply()
	f := s.frame
	f.Since, f.Version = 7, 9
	if _, err := s.page.Apply(&protocol.AriaResult{Frames: []protocol.AriaFrame{f}}); !errors.Is(err, ErrOutOfStep) {
		t.Errorf("%v", err)
	}
}

func TestATreeThatWasHandedOutNeverChanges(t *testing.T) {
	s := newSite(t)
	first := s.apply()
	was := dump(first.Root)
	s.set(4, "button", "Changed")
	s.set(2, "form", "Payment", 4)
	s.apply()
	s.rerender(func(n *protocol.AriaNode) { n.Name += "!" })
	if dump(first.Root) != was {
		t.Error(dump(first.Root))
	}
}

// TestADocumentWithoutAnyElementIsEmpty: document.open takes all of them away, and others may come.
func TestADocumentWithoutAnyElementIsEmpty(t *testing.T) {
	s := newSite(t)
	s.show(Request{})
	full := s.frame
	s.frame.Root, s.frame.Since, s.frame.Nodes = 0, 0, nil
	if a := s.show(Request{}); strings.Contains(a.Text, "Pay Now") || len(s.page.Tree().Root.Children) > 0 {
		t.Error(a.Text)
	}
	s.show(Request{})
	s.frame.Root, s.frame.Since, s.frame.Nodes = full.Root, 0, newSite(t).frame.Nodes
	if a := s.show(Request{Full: true}); !strings.Contains(a.Text, `button "Pay Now" [`) {
		t.Error(a.Text)
	}
}
