package storms

import (
	"maps"
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/rhythm"
	"tidemark.dev/tidemark/host/internal/window"
)

// repetition is what repeats: all that is the same of one tab.
type repetition struct {
	pace   pace
	newest event.Event // of a storm: its newest one
	loop   rhythm.Loop // of requests that differ
	began  uint64      // where its first one is
	first  int64       // when the first one of the window began
	ref    *report.Ref
}

func (r *repetition) add(t *tempo, w *window.Window, pos uint64, ev event.Event, began, ended int64, counts bool) {
	r.pace.add(t, began, ended, counts)
	if stack := event.StackOf(ev); r.newest == nil || (!r.pace.storm || r.pace.hot) && (len(stack) > 0 || len(event.StackOf(r.newest)) == 0) {
		r.newest = ev
	}
	if !counts {
		return
	}
	if r.first == 0 {
		r.first = began
	}
	if r.ref == nil {
		r.ref = w.Ref(pos, ev)
	} else {
		r.ref.Add(pos)
	}
}

// repetitions are what may be storms of a kind, by what makes them the same. One that has stalled and was no storm is
// forgotten, and is another one when it begins anew: what is read from disk would stay in memory for it, a block for an
// entry.
type repetitions[K comparable] struct {
	w     *window.Window
	tempo *tempo
	found map[K]*repetition
	pages map[int]alike.Moments // when tabs loaded pages
	most  int                   // until the next look for those that have stalled
}

// leastRepetitions are how many are never looked through.
const leastRepetitions = 256

// add takes an entry, as [pace.add] does, and returns what it repeats.
func (rs *repetitions[K]) add(k K, pos uint64, ev event.Event, began, ended int64, counts bool) *repetition {
	r := rs.found[k]
	if r == nil {
		if len(rs.found) >= rs.most {
			rs.forget(began)
		}
		r = &repetition{began: pos}
		rs.found[k] = r
	}
	if rs.pages == nil {
		rs.pages = rs.w.PagesLeft()
	}
	if n, isRequest := ev.(*event.Network); r.pace.n > 0 && (!isRequest || n.Resource != "document") &&
		rs.pages[ev.Header().Tab()].Between(r.pace.recent[(r.pace.n-1)%maxBeats].at, began) {
		r.pace.stop() // code of another page makes it
	}
	r.add(rs.tempo, rs.w, pos, ev, began, ended, counts)
	return r
}

// forget forgets what has stalled at a time.
func (rs *repetitions[K]) forget(now int64) {
	if rs.found == nil {
		rs.found = map[K]*repetition{}
	}
	maps.DeleteFunc(rs.found, func(_ K, r *repetition) bool { return !r.pace.storm && r.pace.stalled(rs.tempo, now) })
	rs.most = max(leastRepetitions, 2*len(rs.found))
}

// storms yields those that are storms in the window, in the order in which they began.
func (rs *repetitions[K]) storms(yield func(K, *repetition) bool) {
	var list []K
	for k, r := range rs.found {
		if r.pace.storm && r.pace.total > 0 {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b K) int { return int(int64(rs.found[a].began) - int64(rs.found[b].began)) })
	for _, k := range list {
		if !yield(k, rs.found[k]) {
			return
		}
	}
}
