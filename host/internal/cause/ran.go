package cause

import "slices"

// ran reports whether a page had run a change without a symptom: before the symptom came the answer of a request, and after
// the update with the change the same request had been answered before.
func ran(e made, s *Symptom, h *History) bool {
	updates := h.Updates
	if isSetup(e.Path) {
		updates = h.Loads
	}
	update := latest(updates, s.At)
	for update > 0 && !shows(update, e.Place, s, h) && !h.replaced(update, e.Edit) {
		update = latest(updates, update-1)
	}
	if update == 0 || update < e.at-slack {
		return false
	}
	first := s.At
	for _, at := range s.Earlier {
		if update <= at {
			first = min(first, at)
		}
	}
	return slices.ContainsFunc(h.Answers, func(a Answer) bool {
		return a.Began <= first && first-trigger <= a.Ended && a.Ended <= first+slack && slices.ContainsFunc(h.Answers, func(b Answer) bool {
			return b.Endpoint == a.Endpoint && update <= b.Began && b.Ended+quiet <= a.Began && !within(h.Inputs, max(b.Ended, first-prompt), first)
		})
	})
}

// replaced reports whether a hot update named a file.
func (h *History) replaced(update int64, e *Edit) bool {
	return slices.ContainsFunc(h.Modules, func(m Module) bool {
		return update-around <= m.At && m.At <= update+around && names(m.File, e)
	})
}

// drawn reports whether a hot update had drawn a component without a symptom that came with a later load and the answer of a
// request, which had been answered before the change. What the component itself is not in may be of that answer.
func drawn(e made, s *Symptom, h *History) bool {
	if !isComponent(e.Path) || len(s.Frames) == 0 || slices.ContainsFunc(s.Frames, func(f Frame) bool { return names(f.File, e.Edit) }) {
		return false
	}
	load := latest(h.Loads, s.At)
	update := latest(h.Updates, load-quiet)
	for update >= e.at-slack && !h.replaced(update, e.Edit) {
		update = latest(h.Updates, update-1)
	}
	return update > 0 && update >= e.at-slack && !within(h.Errors, update-slack, load-1) && slices.ContainsFunc(h.Answers, func(a Answer) bool {
		return load-slack <= a.Began && s.At-trigger <= a.Ended && a.Ended <= s.At+slack && slices.ContainsFunc(h.Answers, func(b Answer) bool {
			return b.Endpoint == a.Endpoint && b.Ended < e.at
		})
	})
}

// clean returns why the line of a change is not at fault although the code failed in it, "" if it may be: another change
// followed. Before that the page had run the line, by the same input or for as long, or it was not there for long enough.
func clean(e made, before []made, s *Symptom, h *History) string {
	update := after(h.Updates, e.at-slack)
	last, soon := int64(0), false
	for _, o := range before {
		if o.at <= update || o.Built || isStyle(o.Path) || isProse(o.Path) || !within(h.Updates, o.at-slack, s.At+slack) {
			continue
		}
		last = o.at
		soon = soon || o.at-prompt < update && (o.Place != e.Place || o.Path != e.Path)
	}
	if last == 0 || slices.ContainsFunc(s.Earlier, func(t int64) bool { return update <= t && t < last }) {
		return ""
	}
	if input := latest(h.Inputs, s.At); input >= s.At-prompt {
		for at := latest(h.Inputs, last); at > update; at = latest(h.Inputs, at-1) {
			if h.Did[at].like(h.Did[input]) {
				return Ran
			}
		}
	} else if last-update > s.At-latest(h.Updates, s.At) {
		return Ran
	}
	if soon {
		return NoEvidence
	}
	return ""
}

// like reports whether two inputs are the same: an edit may have changed one of their names.
func (i Input) like(o Input) bool {
	return i.Type == o.Type && (i.Selector == o.Selector || i.Target == o.Target)
}

// served returns the one change since a server answered a request, whose code failed with the same request.
func served(before []made, s *Symptom, h *History) *Cause {
	if !s.Thrown {
		return nil
	}
	answered := int64(0)
	for _, a := range h.Answers {
		if a.Endpoint == s.Endpoint && a.Ended <= s.At {
			answered = max(answered, a.Ended)
		}
	}
	var only *Edit
	for _, e := range before {
		switch {
		case e.at <= answered || e.Built || isStyle(e.Path) || isProse(e.Path):
		case only != nil && (only.Place != e.Place || only.Path != e.Path):
			return nil
		default:
			only = e.Edit
		}
	}
	if answered == 0 || only == nil || isInstalled(only.Path) || isAsset(only.Path) || slices.ContainsFunc(h.Modules, func(m Module) bool { return m.At > answered && names(m.File, only) }) {
		return nil // a page's own code is not what the server ran
	}
	return &Cause{FileChange: only.FileChange, Line: onlyLine(only.FileChange), Evidence: []Evidence{Order}}
}

// unfit reports whether a file is none that a symptom follows from, if nothing but the order speaks for it.
func unfit(path string, s *Symptom) bool {
	return isProse(path) || isStyle(path) && len(s.Named) == 0 && (s.Status >= 500 || len(s.Frames) > 0)
}
