package act

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
)

// submitted is a form that a client submitted, and whose page may empty its fields later: when the action was answered, requests
// had not ended, or the page could not be read.
type submitted struct {
	tab      int
	document string
	// filled are the filled fields by reference. Those are left out that an answer had as emptied, or that the client filled again.
	filled map[int]bool
	// began is when it was submitted, in milliseconds since the Unix epoch. Its requests are from a position on.
	began int64
	from  uint64
	// answered is the position up to which answers had its requests, looked that up to which a report looked at the page.
	answered, looked uint64
}

// forms are the submitted forms of all clients, by tab.
type forms struct {
	mu sync.Mutex
	of map[*checkpoint.Client]map[int]*submitted
}

// in returns the form that a client submitted in a tab, or nil.
func (f *forms) in(client *checkpoint.Client, tab int) *submitted {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[client][tab]
}

// set replaces the form of a client in a tab. Nil removes it.
func (f *forms) set(client *checkpoint.Client, tab int, s *submitted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s == nil {
		delete(f.of[client], tab)
		return
	}
	if f.of == nil {
		f.of = map[*checkpoint.Client]map[int]*submitted{}
	}
	if f.of[client] == nil {
		f.of[client] = map[int]*submitted{}
	}
	f.of[client][tab] = s
}

// tabs returns the tabs in which a client submitted a form.
func (f *forms) tabs(client *checkpoint.Client) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.of[client]))
}

// forget removes the forms of a client.
func (f *forms) forget(client *checkpoint.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, client)
}

// isOpen reports whether requests that began since it was submitted have not ended.
func (s *submitted) isOpen(v *capture.View) bool {
	for i := range v.Flights {
		if v.Flights[i].Tab == s.tab && v.Flights[i].At >= s.began {
			return true
		}
	}
	return false
}

// failed reports whether a request failed or was blocked, of those that ended at a position or later: one that sends data, or any if
// none that sends data succeeded since the form was submitted.
func (s *submitted) failed(v *capture.View, since uint64) bool {
	var failed, sent bool
	for pos, n := range v.Network().From(s.from) {
		if n.Tab() != s.tab || n.Began() < s.began || n.Resource == "ping" {
			continue
		}
		sends := n.Method != "GET" && n.Method != "HEAD" && n.Method != "OPTIONS"
		switch {
		case n.Failed() && pos < since:
		case n.Failed() && sends:
			return true
		case n.Failed():
			failed = true
		case sends:
			sent = true
		}
	}
	return failed && !sent
}

// emptied returns the fields that are empty in a tree after a request failed. Users have to fill them in again. It returns each
// field once.
func (s *submitted) emptied(v *capture.View, tree *aria.Tree) (names []string) {
	if s == nil || tree == nil || tree.Document != s.document || !s.failed(v, s.answered) {
		return nil
	}
	tree.Root.Walk(func(n *aria.Node) {
		if s.filled[n.Ref] && isTextField(n) && n.Value == "" && len(names) < maxEmptied {
			names = append(names, aria.Brief(n)+" ["+aria.Reference(n.Ref)+"]")
			delete(s.filled, n.Ref)
		}
	})
	return names
}

// fill takes what an action filled in. If it submits, all fields count that are filled in the page before it, else those only that
// it did not touch.
func (s *submitted) fill(o *outcome) {
	if !submits(o.steps) {
		maps.DeleteFunc(s.filled, func(ref int, _ bool) bool { _, touched := o.fills[ref]; return touched })
		return
	}
	if o.before != nil && o.before.Document == s.document {
		o.before.Root.Walk(func(n *aria.Node) {
			if isTextField(n) && n.Value != "" {
				s.filled[n.Ref] = true
			}
		})
	}
	maps.Copy(s.filled, o.fills)
}

// keepFilled leaves out the fields that are empty in a tree: what emptied them was no failed request.
func (s *submitted) keepFilled(tree *aria.Tree) {
	filled := map[int]bool{}
	tree.Root.Walk(func(n *aria.Node) {
		if s.filled[n.Ref] && n.Value != "" {
			filled[n.Ref] = true
		}
	})
	s.filled = filled
}

// emptied returns the fields that were filled before a form was submitted, and that the page emptied after one of its requests
// failed: late those before the action, and now those since. The page after the action is nil if it was not read. The tab is locked.
func (o *outcome) emptied(a *Actor, client *checkpoint.Client, v *capture.View, after *aria.Tree) (late, now []string) {
	s := a.forms.in(client, o.id)
	if o.action.waits == "" { // for a wait, the page is not read before
		late = s.emptied(v, o.before)
	}
	page := cmp.Or(after, o.before)
	if page == nil || s == nil && !submits(o.steps) {
		return late, nil
	}
	if s == nil || s.document != page.Document {
		s = &submitted{tab: o.id, document: page.Document, filled: map[int]bool{}, began: o.began, from: o.from.Pos[capture.Network]}
	}
	s.fill(o)
	if after != nil {
		now = s.emptied(v, after)
		s.keepFilled(after)
		s.answered = v.Network().Next()
		if len(s.filled) == 0 || !s.isOpen(v) {
			s = nil
		}
	}
	a.forms.set(client, o.id, s)
	return late, now
}

// EmptiedSince returns the fields of submitted forms that pages emptied after the answers of a client's actions, in one tab or in all
// with 0. It reads a page only if a request failed since.
func EmptiedSince(ctx context.Context, a *Actor, client *checkpoint.Client, tab int) (list []report.EmptiedField) {
	for _, in := range a.forms.tabs(client) {
		if tab != 0 && tab != in {
			continue
		}
		for _, element := range emptiedIn(ctx, a, client, in) {
			list = append(list, report.EmptiedField{Element: element, Tab: in})
		}
	}
	return list
}

// emptiedIn is [EmptiedSince] for one tab.
func emptiedIn(ctx context.Context, a *Actor, client *checkpoint.Client, tab int) []string {
	t := a.pages.Tab(tab)
	t.Lock()
	defer t.Unlock()
	s, v := a.forms.in(client, tab), a.store.View(a.clock())
	if s == nil || !s.failed(v, max(s.answered, s.looked)) {
		return nil
	}
	s.looked = v.Network().Next()
	tree, err := a.pages.Look(ctx, tab, t, false)
	if err != nil || a.pages.Outside(client, tab, tree) != nil {
		return nil
	}
	return s.emptied(v, tree)
}
