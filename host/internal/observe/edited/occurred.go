package edited

import (
	"cmp"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
)

// Bounds of what is read to know that an entry only occurs again.
const (
	maxEdits    = 300
	maxOccurred = 1000
)

// Occurred tells whether entries of one view occurred since the newest edit before them. The edits are read once.
type Occurred struct {
	edits []span
	read  bool
}

// span is when a file was changed, in milliseconds since the Unix epoch.
type span struct{ since, at int64 }

// SinceEdit reports whether the same as an entry occurred between the newest edit before it and the entry, also where no edit is in
// memory, or too much lies in between. No edit has brought such an entry back.
func (o *Occurred) SinceEdit(v *capture.View, covers func(event.Subject) bool, e event.Event) bool {
	if !o.read {
		o.read = true
		files := v.Files().InRing()
		for pos := files.Next(); pos > files.First() && len(o.edits) < maxEdits; pos-- {
			if f := files.At(pos - 1); covers(f.Subject) && cause.IsWritten(f) {
				o.edits = append(o.edits, span{cmp.Or(f.Edited, f.Since), cmp.Or(f.Edited, f.At)})
			}
		}
	}
	at, edit := e.Header().At, int64(0)
	for _, s := range o.edits {
		if s.at <= at {
			edit = max(edit, s.at)
		} else if s.since <= at {
			edit = max(edit, s.since)
		}
	}
	if edit == 0 {
		return true
	}
	switch e := e.(type) {
	case *event.Console:
		text := alike.Text(e)
		return occurred(v.Console().InRing(), edit, func(o *event.Console) bool {
			return o != e && o.At < e.At && o.Level == e.Level && o.Tab() == e.Tab() && alike.Text(o) == text
		})
	case *event.Network:
		key := capture.KeyOf(e)
		return occurred(v.Network().InRing(), edit, func(o *event.Network) bool {
			return o != e && o.At < e.At && o.Failed() && o.Tab() == e.Tab() && capture.KeyOf(o) == key && alike.FailAlike(o, e)
		})
	case *capture.Change:
		text := alike.Fingerprint(e.Element.Text)
		return occurred(v.DOM().InRing(), edit, func(o *capture.Change) bool {
			return o != e && o.At < e.At && o.Op == e.Op && o.Tab() == e.Tab() && o.Element.Selector == e.Element.Selector && alike.Fingerprint(o.Element.Text) == text
		})
	}
	return true
}

// occurred reports whether one of the newest entries since a time is of a kind, or whether there are too many.
func occurred[T any](list ring.View[T], since int64, is func(*T) bool) bool {
	left := maxOccurred
	for pos := list.Next(); pos > list.First(); pos-- {
		e := list.At(pos - 1)
		if any(e).(event.Event).Header().At < since {
			return false
		}
		if left--; left < 0 || is(e) {
			return true
		}
	}
	return false
}
