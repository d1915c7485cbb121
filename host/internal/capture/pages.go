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
func (p *tabOrigins) note(s Section, pos uint64, h *event.Head, first func() Positions) {
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
	*p.list[p.at].After.of(s) = pos + 1
}

// since says whether any of its entries has the position in its buffer, or a later one.
func (t *TabOrigin) since(pos *Positions) bool {
	return t.After.Console > pos.Console || t.After.Network > pos.Network || t.After.WebSocket > pos.WebSocket || t.After.Actions > pos.Actions || t.After.DOM > pos.DOM
}

// PagesSince yields the tabs that entries from the positions on are from, as far as the buffers hold them. It is
// false, and has yielded none, where only reading the buffers can tell.
func (v *View) PagesSince(pos Positions, yield func(tab int, origin string)) bool {
	if v.pages == nil {
		return false
	}
	for _, s := range Sections {
		p := pos.of(s)
		*p = max(*p, v.inRing(s))
	}
	for i := range v.pages {
		if p := &v.pages[i]; p.since(&pos) {
			yield(p.Tab, p.Origin)
		}
	}
	return true
}

// inRing is the position of the oldest entry of a section that its buffer holds.
func (v *View) inRing(s Section) uint64 {
	switch s {
	case ConsoleSection:
		return v.Console.InRing().First()
	case NetworkSection:
		return v.Network.InRing().First()
	case WebSocketSection:
		return v.WebSocket.InRing().First()
	case DOMSection:
		return v.DOM.InRing().First()
	}
	return v.Actions.InRing().First()
}

// of is the position in a section.
func (p *Positions) of(s Section) *uint64 {
	switch s {
	case ConsoleSection:
		return &p.Console
	case NetworkSection:
		return &p.Network
	case WebSocketSection:
		return &p.WebSocket
	case DOMSection:
		return &p.DOM
	}
	return &p.Actions
}
