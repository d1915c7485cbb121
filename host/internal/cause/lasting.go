package cause

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/filechanges"
)

// lasting returns those of some changes whose files differ after all of them from what they were before the first one.
func lasting(list []made) []made {
	var c filechanges.Composer
	ordered := slices.Clone(list) // as they were recorded: what a time says of two changes of one file may be wrong
	slices.SortStableFunc(ordered, func(a, b made) int { return cmp.Compare(a.Snapshot, b.Snapshot) })
	for i, e := range ordered {
		c.Add(uint64(i), e.FileChange)
	}
	differ := map[[2]string]bool{}
	for _, d := range c.Changes() {
		differ[[2]string{d.Root, d.Path}] = true
		differ[[2]string{d.Root, d.From}] = d.From != "" || differ[[2]string{d.Root, d.From}]
	}
	return slices.DeleteFunc(slices.Clone(list), func(e made) bool { return !differ[[2]string{e.Place, e.Path}] })
}

// withoutUndone leaves out those of the changes before a symptom that a page was loaded with and that were undone by then: the page
// had run their files as they are.
func withoutUndone(before, batch []made) []made {
	kept := lasting(batch)
	if len(kept) == len(batch) {
		return before
	}
	return slices.DeleteFunc(slices.Clone(before), func(e made) bool {
		is := func(o made) bool { return o.FileChange == e.FileChange }
		return slices.ContainsFunc(batch, is) && !slices.ContainsFunc(kept, is)
	})
}

// undone reports whether a change, with those of its file since the last update before them, left the file as it was.
func undone(e made, before []made, h *History) bool {
	var own []made
	for _, o := range slices.Backward(before) {
		switch {
		case o.at > e.at || o.Place != e.Place || o.Path != e.Path:
		case len(own) > 0 && within(h.Updates, o.at-slack, own[0].at-slack):
			return len(lasting(own)) == 0
		default:
			own = append([]made{o}, own...)
		}
	}
	return len(lasting(own)) == 0
}

// reportedLate is how long after an edit its call may be reported, in milliseconds.
const reportedLate = 1000

// supported reports whether a cause may be named. It drops evidence by the order where another file may have changed too.
func (f *Finder) supported(found *Cause, before []made, s *Symptom, h *History) bool {
	if f.elsewhere(found, s, h) || f.Hidden != nil && f.Hidden(found.FileChange) {
		return false
	}
	if f.Reported != nil && slices.Contains(found.Evidence, Order) && f.unrecorded(found, before, s, h) {
		found.Evidence = slices.DeleteFunc(found.Evidence, func(e Evidence) bool { return e == Order })
	}
	return len(found.Evidence) > 0
}

// unrecorded reports whether a call edited a file since the page was without a symptom of which no change is recorded: it is
// excluded or in another workspace, say.
func (f *Finder) unrecorded(found *Cause, before []made, s *Symptom, h *History) bool {
	i := slices.IndexFunc(before, func(e made) bool { return e.FileChange == found.FileChange })
	if i < 0 {
		return false
	}
	at := before[i].at
	from := max(latest(h.Updates, at-slack), at-lookBack)
	return slices.ContainsFunc(f.Reported(found.Place, from, s.At+reportedLate), func(file string) bool {
		return !isProse(file) && !slices.ContainsFunc(f.Edits, func(e Edit) bool { return isReported(file, found.Place, e.FileChange) })
	})
}

// isReported reports whether a file that a call edited, as the workspace with a root names it, is the one of a change.
func isReported(file, root string, e *event.FileChange) bool {
	if tail, whole := Tail(file, e.Place); whole && (tail == e.Path || tail == e.From) {
		return true
	}
	return !path.IsAbs(file) && !strings.Contains(file, ":") && e.Place == root && (file == e.Path || file == e.From)
}
