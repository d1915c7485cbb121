package storms

import "tidemark.dev/tidemark/host/internal/event"

// tempo defines when something that repeats is a storm: beats of it, at least apart from each other, with a mean gap of at
// most fast. A gap longer than stall ends the repetition. Beats that each follow the end of the one before, within loopGap,
// are a loop, for which slow is enough. All times are in milliseconds.
type tempo struct {
	beats             int
	apart, fast, slow int64
	stall             int64
	steady            bool // the newest gap must not be longer than usual: attempts that back off are no storm
}

// The tempos of storms.
//
// A timer that asks each second, or even four times a second, is polling. A request that a page makes again as soon as it
// has the answer is a loop, and an effect that fetches on each render makes five a second and more. Several parts of a page
// that ask for the same thing at once, or one after the other while the page starts, are over within a second.
//
// Clients that connect again after a pause that grows behave as they should. The rest try again after 200 ms to 1 s.
var (
	requestTempo = tempo{beats: 12, apart: 100, fast: 225, slow: 700, stall: 900}
	messageTempo = tempo{beats: 12, apart: 100, fast: 225, stall: 900}
	socketTempo  = tempo{beats: 6, apart: 50, fast: 1250, stall: 3000, steady: true}
)

// A request follows the answer to the one before when it begins within loopGap of it. Code that does not read the body
// begins a little earlier.
const (
	loopGap   = 100
	loopEarly = -30
)

// maxBeats is the most beats of a tempo.
const maxBeats = 12

// beat is a moment at which something happened, once or several times.
type beat struct {
	at      int64
	before  int  // what was counted before it
	follows bool // it follows the end of the one before
}

// pace recognizes storms in the times of what is the same. The zero value has seen nothing.
type pace struct {
	recent []beat // of the present repetition, as a ring of maxBeats; most have one beat, so it grows with them
	n      int    // beats of the present repetition
	ended  int64  // the latest end
	count  int    // what was counted so far
	hot    bool   // the newest beat is one of a storm

	storm    bool
	over     bool  // the storm is over: the next one is another
	from, to int64 // the beats of all storms
	base     int   // what was counted before them
	total    int   // what was counted in them
}

// add takes the next one, which began and ended at a time. Earlier ones than the newest belong to its beat. Only those that
// count are counted: others are before the window of a report.
func (p *pace) add(t *tempo, began, ended int64, counts bool) {
	next := p.n == 0 || began-p.recent[(p.n-1)%maxBeats].at >= t.apart
	if p.stalled(t, began) {
		p.over = p.storm && (p.over || began-p.ended > t.stall) // a slow answer is no pause
		p.n = 0
	}
	if next {
		gap := began - p.ended
		if b := (beat{began, p.count, gap >= loopEarly && gap <= loopGap}); p.n%maxBeats < len(p.recent) {
			p.recent[p.n%maxBeats] = b
		} else {
			p.recent = append(p.recent, b)
		}
		p.n++
	}
	p.ended = max(p.ended, ended)
	if counts {
		p.count++
	}
	if next {
		p.hot = p.isHot(t)
	}
	if p.hot {
		if first := &p.recent[p.oldest(t)]; !p.storm || p.over {
			p.storm, p.over, p.from, p.base = true, false, first.at, first.before
		}
		p.to, p.total = max(p.to, began), p.count-p.base
	}
}

// stop ends the present repetition.
func (p *pace) stop() { p.n, p.over, p.hot = 0, p.storm, false }

// stalled reports whether what begins at a time begins a repetition anew.
func (p *pace) stalled(t *tempo, now int64) bool {
	return p.n == 0 || now-p.recent[(p.n-1)%maxBeats].at > t.stall
}

// oldest is the first of the newest beats that make a storm.
func (p *pace) oldest(t *tempo) int { return (p.n + maxBeats - t.beats) % maxBeats }

func (p *pace) isHot(t *tempo) bool {
	if p.n < t.beats {
		return false
	}
	newest := p.recent[(p.n-1)%maxBeats].at
	gaps := int64(t.beats - 1)
	span := newest - p.recent[p.oldest(t)].at
	if t.steady {
		if gap := newest - p.recent[(p.n-2)%maxBeats].at; gap*5*gaps > span*9 {
			return false
		}
	}
	if span <= gaps*t.fast {
		return true
	}
	if span > gaps*t.slow {
		return false
	}
	for i := 1; i < t.beats; i++ {
		if !p.recent[(p.oldest(t)+i)%maxBeats].follows {
			return false
		}
	}
	return true
}

// patience is added to twice the usual gap of a storm until it counts as over, in milliseconds.
const patience = 200

// goesOn reports whether the storm goes on at a time: its newest beat is not much longer ago than usual.
func (p *pace) goesOn(t *tempo, now int64) bool {
	longest := t.stall
	if p.n >= t.beats { // of others, the beats are not known
		span := p.recent[(p.n-1)%maxBeats].at - p.recent[p.oldest(t)].at
		longest = min(longest, 2*span/int64(t.beats-1)+patience)
	}
	return p.hot && now-max(p.to, p.ended) <= longest
}

// Run is a cheap test that every storm passes: as many beats as its tempo needs, without a stall. The zero value has seen
// nothing.
type Run struct {
	last int64
	n    int
	long bool
	near bool // two beats without a stall between them
}

// Request takes a request of an endpoint.
func (r *Run) Request(e *event.Network) { r.add(&requestTempo, e.Began()) }

// End takes the end of a connection.
func (r *Run) End(e *event.WebSocket) { r.add(&socketTempo, e.At) }

func (r *Run) add(t *tempo, at int64) {
	switch gap := at - r.last; {
	case r.n == 0 || gap > t.stall:
		r.n, r.last = 1, at
	case gap >= t.apart:
		r.n, r.last, r.near = r.n+1, at, true
		r.long = r.long || r.n >= t.beats
	}
}

// May reports whether there may be a storm in a run. A window may have too little of one to recognize it alone.
func (f *Finder) May(r *Run) bool { return r.long || r.near && f.short() }
