package capture

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/event"
)

// TabOrigin is a tab while it showed pages of one origin.
type TabOrigin struct {
	Tab    int
	Origin string
	// After are the positions after its newest entry in each buffer, 0 where it has none. Gaps is unused.
	After Positions
}

// maxTabOrigins bounds what is remembered.
const maxTabOrigins = 256

// tabOrigins remember which tabs the entries of the buffers are from, so that a report need not look at each.
type tabOrigins struct {
	list []TabOrigin
	at   int  // the row of the newest entry
	full bool // some are not in the list, and never will be
}

// note has an entry be its tab's newest. first are the positions of the oldest entries that the buffers hold.
func (p *tabOrigins) note(t Track, pos uint64, h *event.Head, first func() Positions) {
	if p.at >= len(p.list) || p.list[p.at].Tab != h.Tab || p.list[p.at].Origin != h.Origin {
		p.at = slices.IndexFunc(p.list, func(t TabOrigin) bool { return t.Tab == h.Tab && t.Origin == h.Origin })
		if p.at < 0 {
			if len(p.list) == maxTabOrigins {
				oldest := first()
				p.list = slices.DeleteFunc(p.list, func(t TabOrigin) bool { return !t.since(&oldest) })
			}
			if p.at = len(p.list); p.at == maxTabOrigins {
				p.full = true
				return
			}
			p.list = append(p.list, TabOrigin{Tab: h.Tab, Origin: h.Origin})
		}
	}
	p.list[p.at].After[t] = pos + 1
}

// since says whether any of its entries has the position in its buffer, or a later one.
func (t *TabOrigin) since(pos *Positions) bool {
	for track := range Gaps {
		if t.After[track] > pos[track] {
			return true
		}
	}
	return false
}

// PagesSince yields the tabs that entries from the positions on are from, as far as the buffers hold them. It is
// false, and has yielded none, where only reading the buffers can tell.
func (v *View) PagesSince(pos Positions, yield func(tab int, origin string)) bool {
	if v.pages == nil {
		return false
	}
	for t, s := range v.tracks {
		pos[t] = max(pos[t], s.FirstInRing())
	}
	for i := range v.pages {
		if p := &v.pages[i]; p.since(&pos) {
			yield(p.Tab, p.Origin)
		}
	}
	return true
}
