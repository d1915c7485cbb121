package diff

import (
	"slices"
)

// A message without an alert role that came and went while one field was filled in, or in the moment in which a page was
// left, is a flash: the page took it back itself.

// Times of a flash, in milliseconds: what an input causes appears at most afterInput later, and is gone at most
// afterFilling after the last one. A message of a page that is left lasts at most lastMoment, and goes with the page.
const (
	afterInput   = 100
	afterFilling = 1000
	lastMoment   = 1000
	withPage     = 250
)

// filling is the time from the first to the last input in one field, in milliseconds since the Unix epoch.
type filling struct{ from, to int64 }

// field is where text was typed, or something selected.
type field struct {
	frame            int
	target, selector string
}

// flash reports whether an element's life is a flash. left is when its tab went to other pages.
func (c *computation) flash(tab int, l life, left moments) bool {
	if l.alert || l.from == 0 || l.to == 0 {
		return false
	}
	if l.to-l.from <= lastMoment && slices.ContainsFunc(left, func(at int64) bool { return at >= l.from && at-withPage <= l.to && l.to <= at+withPage }) {
		return true
	}
	return slices.ContainsFunc(c.filled(tab), func(f filling) bool {
		return f.from <= l.from && l.from <= f.to+afterInput && l.to <= f.to+afterFilling
	})
}

// filled returns when fields of a tab were filled in, those before the window included. Inputs in one field are one
// filling until there is an action elsewhere.
func (c *computation) filled(tab int) []filling {
	if c.fillings == nil {
		c.fillings = map[int][]filling{}
		last, open := map[int]field{}, map[int]bool{} // open: the newest filling is in the field of the newest action
		for _, a := range c.v.Actions().InRing().From(0) {
			tab, of := a.Tab(), field{a.Frame, a.Target, a.Selector}
			open[tab] = open[tab] && last[tab] == of
			last[tab] = of
			if a.Type != "type" && a.Type != "select" {
				continue
			}
			list := c.fillings[tab]
			if !open[tab] {
				began := a.At
				if a.Began > 0 {
					began = min(began, a.Began)
				}
				list = append(list, filling{from: began})
			}
			list[len(list)-1].to = a.At
			c.fillings[tab], open[tab] = list, true
		}
	}
	return c.fillings[tab]
}
