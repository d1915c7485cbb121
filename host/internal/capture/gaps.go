package capture

import (
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// Source is what observes: a recorder, or one of the browsers that it observes. The zero value is the host.
type Source struct {
	// Recorder is the name of the recorder.
	Recorder string
	// Instance names the browser's profile, for a browser.
	Instance string
}

// Names of recorders.
const (
	Browsers   = "browser"   // of browsers
	Workspaces = "workspace" // of the files of workspaces
)

// browserOf is the source of a browser's events, the host when there is none.
func browserOf(instance string) Source {
	if instance == "" {
		return Source{}
	}
	return Source{Browsers, instance}
}

// Gap is a span in which something was not observed.
type Gap struct {
	// Source is what did not observe it.
	Source Source
	// Subject is what was not observed. The zero value is everything that the source observes; the origin of a tab may be
	// unknown.
	event.Subject
	// From and To bound it; a zero To means that it continues.
	From, To time.Time
	Reason   string
	// Dropped counts events known to be missing; 0 when nobody knows how many.
	Dropped int
	// Pos grows with every gap that was heard of. One may be heard of long after it ended.
	Pos uint64
}

// maxGaps bounds the list; two are made one when it is full, so that no span is lost.
const maxGaps = 1000

// gapList is a list of which every slice that was handed out stays as it was.
type gapList struct {
	list    []Gap
	last    uint64 // the newest one's position
	shared  bool
	changed bool // since this was last kept
}

func (g *gapList) own() {
	g.changed = true
	if g.shared {
		g.list, g.shared = slices.Clone(g.list), false
	}
}

func (g *gapList) push(gap Gap) {
	g.own()
	g.last++
	gap.Pos = g.last
	if len(g.list) >= maxGaps {
		g.mergeOldest()
	}
	g.list = append(g.list, gap)
}

// mergeOldest makes one gap of the oldest two that have ended (of any, where hardly one has).
func (g *gapList) mergeOldest() {
	var oldest []int
	for i := 0; i < len(g.list) && len(oldest) < 2; i++ {
		if !g.list[i].To.IsZero() {
			oldest = append(oldest, i)
		}
	}
	if len(oldest) < 2 {
		oldest = []int{0, 1}
	}
	a, b := g.list[oldest[0]], &g.list[oldest[1]]
	if b.From.After(a.From) {
		b.From = a.From
	}
	if a.To.IsZero() || !b.To.IsZero() && a.To.After(b.To) {
		b.To = a.To
	}
	if a.Kind != b.Kind || a.Number != b.Number {
		b.Subject = event.Subject{}
	}
	b.Dropped += a.Dropped
	g.list = slices.Delete(g.list, oldest[0], oldest[0]+1)
}

// add takes a gap that the extension tells of. One with an end closes the open one of the same tab,
// reason and beginning; when the tab has been closed since, so has that gap, and nothing is to be said again.
func (g *gapList) add(from Source, e *event.Gap) {
	gap := Gap{Source: from, Subject: e.Subject, From: time.UnixMilli(e.From).UTC(), Reason: e.Reason, Dropped: e.Dropped}
	if e.To > 0 {
		gap.To = time.UnixMilli(e.To).UTC()
		for i, o := range g.list {
			if o.To.IsZero() && o.Kind == gap.Kind && o.Number == gap.Number && o.Reason == gap.Reason && o.From.Equal(gap.From) && o.Source == from {
				g.own()
				gap.Pos = o.Pos // a client that knows its beginning knows it
				g.list[i] = gap
				return
			}
			if e.Place == "" && !o.To.IsZero() && o.Reason == gap.Reason && o.From.Equal(gap.From) && o.Source == from {
				return
			}
		}
	}
	g.push(gap)
}

// miss records events that the host knows to be missing.
func (g *gapList) miss(source Source, reason string, from, to time.Time, n int) {
	g.missOf(event.Subject{}, source, reason, from, to, n)
}

// missOf is [gapList.miss] for one subject.
func (g *gapList) missOf(what event.Subject, source Source, reason string, from, to time.Time, n int) {
	if from.IsZero() || from.After(to) {
		from = to
	}
	from, to = from.UTC().Truncate(time.Millisecond), to.UTC().Truncate(time.Millisecond)
	g.push(Gap{Source: source, Subject: what, From: from, To: to, Reason: reason, Dropped: n})
}

// closeTab ends the open gaps of a tab that is closed.
func (g *gapList) closeTab(tab int, now time.Time) {
	for i, o := range g.list {
		if o.To.IsZero() && o.Kind == event.Tab && o.Number == tab {
			g.own()
			g.list[i].To = now.UTC()
		}
	}
}

func (g *gapList) view() []Gap {
	g.shared = true
	return g.list
}
