package rawtext

import "fmt"

// Traits are what decides whether an entry is folded with others.
type Traits struct {
	// Same is what equal entries have in common; "" if the entry equals no other. Written, what entries have in common of which
	// the same is written, is called only where no other entry has Same.
	Same    string
	Written func() string
	// Ordered is true if only entries that follow each other are folded.
	Ordered bool
	// Topic is what the entry is about, and Outcome what became of that. An entry is not folded with one before another outcome of
	// its topic in the same load of the page. Of two loads those are folded that follow as many other outcomes.
	Topic, Outcome string
	// Load numbers the load of the page.
	Load int
	// Duration is how long it took, in milliseconds.
	Duration float64
}

// Entries are not folded whose durations differ by more than the factor, and by more than so many milliseconds.
const (
	foldedFactor = 3
	foldedMs     = 100
	// loadedMs is foldedMs for entries of several loads: what comes first is often slow.
	loadedMs = 1000
)

// Folder groups entries. The zero value has none.
type Folder struct {
	groups []group
	index  map[string]int // the newest group of what equal entries have in common
	topics map[topic]turns
}

// topic is what entries of one load of a page are about.
type topic struct {
	load  int
	about string
}

// group is what is known of the entries of a group: their durations, and the load, and the turns of their topic, at the newest.
type group struct {
	least, most float64
	load, turn  int
}

// turns counts how often the outcome of a topic changed. The outcome is the newest.
type turns struct {
	outcome string
	n       int
}

// turn returns the turns of an entry's topic with the entry.
func (f *Folder) turn(e *Traits) turns {
	now, known := f.topics[topic{e.Load, e.Topic}]
	if known && now.outcome != e.Outcome {
		now.n++
	}
	now.outcome = e.Outcome
	return now
}

// Has reports whether an entry belongs to a group that is there.
func (f *Folder) Has(e Traits) bool { return f.find(&e) >= 0 }

func (f *Folder) find(e *Traits) int {
	if e.Same == "" {
		return -1
	}
	at, known := f.index[e.Same]
	if !known {
		if lines := e.Written(); lines != "" {
			at, known = f.index[lines]
		}
	}
	if !known || e.Ordered && at != len(f.groups)-1 {
		return -1
	}
	g := f.groups[at]
	least, most := min(g.least, e.Duration), max(g.most, e.Duration)
	differs := float64(foldedMs)
	if g.load != e.Load {
		differs = loadedMs
	}
	if g.turn != f.turn(e).n || most > foldedFactor*least && most-least > differs {
		return -1
	}
	return at
}

// Add adds an entry, and returns the number of its group. New groups are numbered from 0 on.
func (f *Folder) Add(e Traits) int {
	at, now := f.find(&e), f.turn(&e)
	if f.index == nil {
		f.index, f.topics = map[string]int{}, map[topic]turns{}
	}
	f.topics[topic{e.Load, e.Topic}] = now
	if at >= 0 {
		g := &f.groups[at]
		g.least, g.most, g.load = min(g.least, e.Duration), max(g.most, e.Duration), e.Load
		return at
	}
	at = len(f.groups)
	f.groups = append(f.groups, group{e.Duration, e.Duration, e.Load, now.n})
	if e.Same != "" {
		f.index[e.Same] = at
		if lines := e.Written(); lines != "" {
			f.index[lines] = at
		}
	}
	return at
}

// Durations returns the least and the most duration of the entries of a group, in milliseconds.
func (f *Folder) Durations(group int) (least, most float64) {
	return f.groups[group].least, f.groups[group].most
}

// Range returns a range of durations, in milliseconds: "9…14".
func Range(least, most float64) string {
	text := fmt.Sprintf("%.0f", least)
	if longest := fmt.Sprintf("%.0f", most); longest != text {
		text += "…" + longest
	}
	return text
}
