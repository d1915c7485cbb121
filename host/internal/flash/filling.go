package flash

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
)

// A message without an alert role that came and went while one field was filled in, or in the moment in which a page was
// left, is a flash.

// Times of a flash, in milliseconds: what an input causes appears at most afterInput later, and is gone at most
// afterFilling after the last one. A message of a page that is left lasts at most lastMoment, and goes with the page.
const (
	afterInput   = 100
	afterFilling = 1000
	lastMoment   = 1000
	withPage     = 250
)

// Finder finds flashes by the actions in a view, those before a report's window included.
type Finder struct {
	View *capture.View

	fillings map[int][]filling // of fields, by tab; nil until needed
}

// filling is the time from the first to the last input in one field, in milliseconds since the Unix epoch. What appears
// after a form was submitted comes of that; submitted is 0 without one.
type filling struct{ from, to, submitted int64 }

// field is where text was typed, or something selected.
type field struct {
	frame            int
	target, selector string
}

// Is reports whether a life in a tab is a flash. left is when the tab went to other pages, in milliseconds.
func (f *Finder) Is(tab int, l Life, left []int64) bool {
	if l.Alert || l.From == 0 || l.To == 0 {
		return false
	}
	goes := func(at int64) bool { return at >= l.From && at-withPage <= l.To && l.To <= at+withPage }
	if l.To-l.From <= lastMoment && slices.ContainsFunc(left, goes) {
		return true
	}
	return slices.ContainsFunc(f.filled(tab), func(f filling) bool {
		return f.from <= l.From && l.From <= f.to+afterInput && l.To <= f.to+afterFilling && (f.submitted == 0 || l.From < f.submitted)
	})
}

// filled returns when fields of a tab were filled in. Inputs in one field are one filling until there is an action
// elsewhere.
func (f *Finder) filled(tab int) []filling {
	if f.fillings == nil {
		f.fillings = map[int][]filling{}
		last, open := map[int]field{}, map[int]bool{} // open: the newest filling is in the field of the newest action
		for _, a := range f.View.Actions().InRing().From(0) {
			tab, of := a.Tab(), field{a.Frame, a.Target, a.Selector}
			open[tab] = open[tab] && last[tab] == of
			last[tab] = of
			list := f.fillings[tab]
			if n := len(list); a.Type == "submit" && n > 0 && list[n-1].submitted == 0 {
				list[n-1].submitted = a.At
			}
			if a.Type != "type" && a.Type != "select" {
				continue
			}
			if !open[tab] {
				began := a.At
				if a.Began > 0 {
					began = min(began, a.Began)
				}
				list = append(list, filling{from: began})
			}
			list[len(list)-1].to = a.At
			f.fillings[tab], open[tab] = list, true
		}
	}
	return f.fillings[tab]
}
