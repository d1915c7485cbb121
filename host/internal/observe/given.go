package observe

import (
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
)

// Give records the entries that an answer shows to a client, and what it reports as over. The caller has the client's
// turn.
func Give(o *Observer, client *checkpoint.Client, shown []alike.Entry, over []uint64) {
	client.Lock()
	client.GiveLocked(shown, over)
	client.Unlock()
	if o.disk != nil {
		o.disk.ReadersChanged()
	}
}

// firstLook returns where a client begins with sections that it never read: at the newest load of each tab in scope. A
// page may have loaded before Tidemark started. Then the client begins at the start of the buffers, and there is no
// [diff.FirstLook].
func firstLook(v *capture.View, options *diff.Options, unread []capture.Section) (capture.Moment, *diff.FirstLook) {
	from := v.Start()
	first := &diff.FirstLook{Sections: unread, Loads: map[int]capture.Load{}}
	var earliest capture.Load
	for _, t := range v.Tabs {
		if !t.Watched || !options.InScope(t.Subject()) {
			continue
		}
		load := t.Loaded
		if load == (capture.Load{}) {
			load = loadOf(v, t.ID)
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

// loadOf finds the newest load of a tab by the time of its entry, for a load of which an earlier daemon heard. It returns
// zero if the buffers have none.
func loadOf(v *capture.View, tab int) (load capture.Load) {
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
