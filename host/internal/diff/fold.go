package diff

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
)

// foldable is an entry of an endpoint that can stand for those of others.
type foldable[T any] interface {
	*T
	// Went returns what must be the same besides, such as the status before and after.
	Went() (before, now int)
	// Fold sets what it shows of those that it stands for.
	Fold(url, detail string, count int)
}

// foldEndpoints has entries of endpoints that differ in numbers alone be one entry, unless they are few.
func foldEndpoints[T any, P foldable[T]](list []*tally[T]) []*tally[T] {
	if len(list) <= alike.Few {
		return list
	}
	type kind struct {
		alike.Outcome
		before, now int
	}
	paths, roughly := make([]uint64, len(list)), make(map[uint64]int, len(list)) // only what has one path can be of one kind
	for i, t := range list {
		paths[i] = alike.HashWithoutNumbers(capture.KeyOf(t.shown.(*event.Network)).Path)
		roughly[paths[i]]++
	}
	kinds, count := make([]kind, len(list)), map[kind]int{}
	for i, t := range list {
		if roughly[paths[i]] > alike.Few {
			before, now := P(&t.entry).Went()
			kinds[i] = kind{alike.OutcomeOf(t.shown.(*event.Network)), before, now}
			count[kinds[i]]++
		}
	}
	type folded struct {
		into         *tally[T]
		path, detail alike.Pattern
	}
	all := map[kind]*folded{}
	kept := list[:0]
	for i, t := range list {
		k := kinds[i]
		if count[k] <= alike.Few {
			kept = append(kept, t)
			continue
		}
		f := all[k]
		if f == nil {
			f = &folded{into: t}
			all[k] = f
			kept = append(kept, t)
		} else {
			f.into.join(t)
		}
		e := t.shown.(*event.Network)
		f.path.Add(capture.KeyOf(e).Path)
		f.detail.Add(e.Detail)
	}
	for k, f := range all {
		P(&f.into.entry).Fold(report.Address(k.Endpoint.Page, k.Endpoint.Origin, f.path.Path()), f.detail.String(), f.into.count)
		if shown := f.into.shown.(*event.Network); shown.Failed() {
			f.into.keys = []alike.Entry{alike.Failures(shown)} // one by one, they would be repeated one by one
		}
	}
	return kept
}

// foldStorms finds the storms among messages. A warning of one is in the list of storms instead, an error stays, once for
// all of its storm. Bursts are folded too. Of repeated ones, there are some.
func (c *computation) foldStorms(errors, warnings []*tally[*event.Console], repeated int) (_, _ []*tally[*event.Console]) {
	n := repeated
	for _, list := range [][]*tally[*event.Console]{errors, warnings} {
		for _, t := range list {
			n += t.count
		}
	}
	stormy := c.storms.Messages(n)
	for _, r := range c.repeated.order {
		r.storm = r.message != nil && len(r.others) == 0 && stormy[storms.MessageOf(r.message)]
	}
	warnings = slices.DeleteFunc(warnings, func(t *tally[*event.Console]) bool { return stormy[storms.MessageOf(t.entry)] })
	return foldMessages(errors, stormy), foldMessages(warnings, nil)
}

// foldMessages has messages that differ in numbers alone be one entry, if they are of a storm or more than a few.
func foldMessages(list []*tally[*event.Console], stormy map[storms.Message]bool) []*tally[*event.Console] {
	if len(list) <= alike.Few && len(stormy) == 0 {
		return list
	}
	texts, roughly := make([]uint64, len(list)), make(map[uint64]int, len(list)) // only those of one text can be the same
	for i, t := range list {
		texts[i] = alike.HashWithoutNumbers(t.entry.Text)
		roughly[texts[i]]++
	}
	count := map[storms.Message]int{}
	for i, t := range list {
		if roughly[texts[i]] > alike.Few {
			count[storms.Message{Line: storms.LineOf(t.entry), Text: texts[i]}]++
		}
	}
	first := map[storms.Message]*tally[*event.Console]{}
	kept := list[:0]
	for i, t := range list {
		if len(stormy) == 0 && roughly[texts[i]] <= alike.Few {
			kept = append(kept, t)
			continue
		}
		k := storms.Message{Line: storms.LineOf(t.entry), Text: texts[i]}
		if !stormy[k] && count[k] <= alike.Few {
			kept = append(kept, t)
			continue
		}
		into := first[k]
		if into == nil {
			first[k] = t
			into, t.keys = t, append(t.also, alike.Storm(t.entry)) // one by one, they would be repeated one by one
			kept = append(kept, t)
		} else {
			t.keys = t.also
			into.join(t)
		}
		into.text.Add(report.MessageText(t.entry))
	}
	return kept
}
