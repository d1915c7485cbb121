package window

import (
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
)

// FirstLook is where sections begin that the reader has not read yet.
type FirstLook struct {
	Sections []capture.Section
	Loads    map[int]capture.Load
}

// before reports whether an entry of a tab that began at a time belongs to a page that the tab no longer shows.
func (f *FirstLook) before(s capture.Section, pos uint64, tab int, began int64) bool {
	load, loaded := f.Loads[tab]
	return loaded && pos < load.Pos[s.Track()] && began < load.At && slices.Contains(f.Sections, s)
}

// FirstLookOf returns where a client begins with sections that it never read: at the newest load of each tab in scope. A
// page may have loaded before Tidemark started. Then the client begins at the start of the buffers, and there is no
// [FirstLook].
func FirstLookOf(v *capture.View, o *Options, unread []capture.Section) (capture.Moment, *FirstLook) {
	from := v.Start()
	first := &FirstLook{Sections: unread, Loads: map[int]capture.Load{}}
	var earliest capture.Load
	for _, t := range v.Tabs {
		if !t.Watched || !o.InScope(t.Subject()) {
			continue
		}
		load := t.Loaded
		if load == (capture.Load{}) {
			load = newestLoad(v, t.ID)
		}
		if load == (capture.Load{}) {
			return from, nil
		}
		first.Loads[t.ID] = load
		earliest = earlier(earliest, load)
	}
	if len(first.Loads) == 0 {
		return from, nil
	}
	from.At = time.UnixMilli(earliest.At).UTC()
	from.Pos = v.MomentAt(from.At.Add(-time.Millisecond)).Pos
	for t := range from.Pos {
		from.Pos[t] = min(from.Pos[t], earliest.Pos[t])
	}
	from.Pos[capture.Gaps] = v.Now().Pos[capture.Gaps] // gaps that had ended say nothing of the page
	return from, first
}

// earlier returns the earlier of two loads, in each track. Zero is none.
func earlier(a, b capture.Load) capture.Load {
	if a == (capture.Load{}) {
		return b
	}
	a.At = min(a.At, b.At)
	for t := range a.Pos {
		a.Pos[t] = min(a.Pos[t], b.Pos[t])
	}
	return a
}

// newestLoad finds the newest load of a tab by the time of its entry, for a load of which an earlier daemon heard. It returns
// zero if the buffers have none.
func newestLoad(v *capture.View, tab int) (load capture.Load) {
	for _, c := range v.DOM().InRing().From(0) {
		if c.Op == "navigated" && c.Tab() == tab && (c.How == "load" || c.How == "reload") {
			load.At = c.At
		}
	}
	if load.At > 0 {
		load.Pos = v.MomentAt(time.UnixMilli(load.At - 1)).Pos
	}
	return load
}
