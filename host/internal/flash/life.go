// Package flash records how long error elements were visible, and finds the times that are flashes: messages that the page
// took back itself.
//
// It guarantees: the same changes and actions give the same answer. It is pure: no clock, no files, no network.
package flash

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
)

// Life is a time during which an element was visible.
type Life struct {
	// From and To are in milliseconds since the Unix epoch; 0 where it is not known, or not over.
	From, To int64
	// Alert is true for an element that calls for attention.
	Alert bool
	// Flash is true for a flash.
	Flash bool

	parts []Life // those between which the element was gone for less than flicker; nil for one
}

// maxLives bounds how many lives of one element are kept, the newest.
const maxLives = 5

// flicker is how soon an element is back that was redrawn, in milliseconds. One that is back within redrawn was not gone to a
// user; one that took longer may be another message.
const (
	flicker = 250
	redrawn = 50
)

// Lives are those of the elements that are one to a reader, in a window of time. A life counts while more of them are
// visible than before the window.
type Lives struct {
	// Before is how many were visible before the window, Now how many are.
	Before, Now int
	list        []Life
}

// Take takes a change of one of the elements.
func (l *Lives) Take(e *capture.Change) {
	switch e.Op {
	case "appeared":
		if l.Now++; l.Now > l.Before && !l.last() {
			l.begins(Life{From: e.At, Alert: e.Alert})
		}
	case "gone":
		if l.Now = max(0, l.Now-1); l.Now <= l.Before && l.last() {
			l.list[len(l.list)-1].ends(e.At)
		}
	}
}

// Unseen takes how many are visible now, where the changes are not known.
func (l *Lives) Unseen(now int) {
	if l.Now = now; now > l.Before && !l.last() {
		l.begins(Life{Alert: true})
	}
}

// Any reports whether there was a life.
func (l *Lives) Any() bool { return len(l.list) > 0 }

// last reports whether the newest life is not over.
func (l *Lives) last() bool { return l.Any() && l.list[len(l.list)-1].To == 0 }

// begins begins a life, or goes on with the one before.
func (l *Lives) begins(life Life) {
	if n := len(l.list); n > 0 && life.From-l.list[n-1].To <= flicker {
		l.list[n-1].resumes(life)
		return
	}
	l.list = addLife(l.list, life)
}

// addLife adds a life to the newest ones.
func addLife(list []Life, life Life) []Life {
	if list = append(list, life); len(list) > maxLives {
		list = append(list[:0], list[1:]...)
	}
	return list
}

// resumes goes on with a life that was over.
func (l *Life) resumes(life Life) {
	if gap := life.From - l.To; gap > redrawn || l.parts != nil {
		if l.parts == nil {
			l.parts = []Life{{From: l.From, To: l.To, Alert: l.Alert}}
		}
		if gap > redrawn {
			l.parts = addLife(l.parts, life)
		} else {
			l.parts[len(l.parts)-1].resumes(life)
		}
	}
	l.To, l.Alert = 0, l.Alert || life.Alert
}

// ends ends a life.
func (l *Life) ends(at int64) {
	if l.To = at; l.parts != nil {
		l.parts[len(l.parts)-1].To = at
	}
}

// Shown returns the lives to list. One that is not over stands for those before it, but for flashes. One that was interrupted
// is several if each of them is a flash.
func (l *Lives) Shown(isFlash func(Life) bool) (list []Life) {
	for i, life := range l.list {
		if len(life.parts) > 0 && !slices.ContainsFunc(life.parts, func(part Life) bool { return !isFlash(part) }) {
			for _, part := range life.parts {
				part.Flash = true
				list = append(list, part)
			}
			continue
		}
		life.Flash = isFlash(life)
		if life.Flash || !l.last() || i == len(l.list)-1 {
			list = append(list, life)
		}
	}
	return list
}
