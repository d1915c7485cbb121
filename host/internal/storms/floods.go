package storms

import (
	"maps"
	"math/rand/v2"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
)

// A flood is one line that logs floodRate times a second for floodSpan milliseconds, at least. Only what goes on at the end
// of the window is found: entries that are neither warnings nor errors are not looked at otherwise.
const (
	floodRate  = 20
	floodSpan  = 3000
	floodSlots = 6
)

// floodSamples are how many entries of a span are looked at. More are needed where a line is a small part of them.
var floodSamples = []uint64{64, 256}

// floods finds floods of entries that are neither warnings nor errors.
func (f *Finder) floods() {
	near := f.w.View.Console().InRing()
	next := near.Next()
	if next-near.First() < floodRate*floodSpan/1000 || next <= f.w.From.Pos[capture.Console] {
		return
	}
	newest := near.At(next - 1).At
	first := near.First()
	for from, to := first, next; from < to; { // the first entry of the span
		if middle := (from + to) / 2; near.At(middle).At > newest-floodSpan {
			to, first = middle, middle
		} else {
			from, first = middle+1, middle+1
		}
	}
	n := next - first
	if n < floodRate*floodSpan/1000 || first == near.First() && near.Evicted() == 0 {
		return
	}
	for _, most := range floodSamples {
		flooding, sure := f.floodsIn(near, first, min(n, most))
		if sure || n <= most {
			if len(flooding) > 0 {
				f.countFloods(flooding)
			}
			return
		}
	}
}

// floodsIn returns the labels of the lines that flood the entries from a position on, of which it looks at some. It is not
// sure where others were met more than once.
func (f *Finder) floodsIn(v ring.View[event.Console], first, some uint64) (flooding map[uint64]bool, sure bool) {
	type lineCount struct {
		met   uint64
		slots uint
	}
	loaded, since := loads(f.w.View), v.At(first).At // what a page logs each time it is loaded is no flood
	maps.DeleteFunc(loaded, func(_ int, at int64) bool { return at < since })
	lines := byLabel[*lineCount]{}
	n := v.Next() - first
	chance := rand.New(rand.NewPCG(first, v.Next())) // lines that take turns are all met
	for i := range some {
		from, to := n*i/some, n*(i+1)/some
		at := from + chance.Uint64N(to-from)
		label := v.Label(first + at)
		if label == 0 {
			continue
		}
		if len(loaded) > 0 { // else no entry need be looked at
			if e := v.At(first + at); e.At <= loaded[e.Tab()] {
				continue
			}
		}
		l := lines.of(label, func() *lineCount { return &lineCount{} })
		l.met++
		l.slots |= 1 << (at * floodSlots / n)
	}
	flooding, sure = map[uint64]bool{}, true
	for label, l := range lines.all {
		if l.met*n >= floodRate*floodSpan/1000*some && l.slots == 1<<floodSlots-1 {
			flooding[label] = true
		} else if l.met > 1 {
			sure = false
		}
	}
	return flooding, sure || some == n
}

// countFloods adds the floods of lines of code to the storms. What the line logged before its page was loaded or updated does
// not count. Of the other entries, it reads the first and the newest.
func (f *Finder) countFloods(flooding map[uint64]bool) {
	type flood struct {
		since         int64 // earlier ones do not count
		first, newest uint64
		total         int
		ref           *report.Ref
	}
	near := f.w.View.Console().InRing()
	loaded := loads(f.w.View)
	found := byLabel[*flood]{}
	for pos, label := range near.Labels(f.w.From.Pos[capture.Console]) {
		l := found.of(label, func() *flood {
			e := near.At(pos)
			if !flooding[label] || !f.w.Options.InScope(e.Subject) || f.w.KeepsOut(e) {
				return nil
			}
			return &flood{since: max(loaded[e.Tab()], f.updated[e.Tab()])}
		})
		if l == nil || l.total == 0 && near.At(pos).At <= l.since {
			continue
		}
		if l.total++; l.total == 1 {
			l.first, l.ref = pos, f.w.Ref(pos, near.At(pos))
		} else {
			l.ref.Add(pos)
		}
		l.newest = pos
	}
	for _, l := range found.all {
		if l != nil && l.total > 0 {
			first, e := near.At(l.first).At, near.At(l.newest)
			p := pace{storm: true, hot: true, from: first, to: e.At, ended: e.At, total: l.total}
			s := f.storm(messageName(e), &messageTempo, &repetition{pace: p, newest: e, first: first, ref: l.ref})
			s.on = s.on && f.w.View.At.UnixMilli()-s.to <= 2*s.usual()+patience // its beats are not known
		}
	}
}
