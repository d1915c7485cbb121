package cause

import "slices"

// Returned returns the change that brought a symptom back, nil where the symptom only occurs again: since it occurred last, another
// change was made with which the page ran without it. What no stack speaks for must be of the file that the other change was of.
func (p *Past) Returned(s Symptom) *Cause {
	last := s.Mended.Began
	if last == 0 && len(s.Earlier) > 0 {
		last = slices.Max(s.Earlier)
	}
	if last == 0 {
		return nil // it is not in memory
	}
	found, _ := p.Of(s)
	h := p.tabs[s.Tab]
	if found == nil || h == nil {
		return nil
	}
	i := slices.IndexFunc(p.Edits, func(e Edit) bool { return e.FileChange == found.FileChange })
	at, ok := p.Edits[i].madeBefore(&s, h)
	if !ok || at-slack <= last {
		return nil
	}
	gone := h.without(made{&p.Edits[i], at}, last, &s)
	weak := !slices.Contains(found.Evidence, Stack)
	for j := range p.Edits {
		o := &p.Edits[j]
		mended, ok := o.madeBefore(&s, h)
		if ok && j != i && !o.Built && last < mended && mended <= gone+slack && (!weak || o.Place == found.Place && o.Path == found.Path) {
			return found
		}
	}
	return nil
}

// without returns when a page last ran without a symptom, since a time and before a change: its request was answered, the same input
// made, or it was loaded or updated and lasted as long as with the symptom. It is 0 for never.
func (h *History) without(e made, since int64, s *Symptom) int64 {
	if s.Mended.Ended > 0 && s.Mended.Ended <= e.at+slack {
		return s.Mended.Ended
	}
	update, input := latest(h.Updates, s.At), latest(h.Inputs, s.At)
	if input > update && input >= s.At-prompt {
		for at := latest(h.Inputs, e.at); at > since; at = latest(h.Inputs, at-1) {
			if h.Did[at].like(h.Did[input]) && h.page(at) == h.page(input) && h.lasted(at, min(e.at, after(h.Loads, at)), s.At-input) {
				return at
			}
		}
		return 0
	}
	for at := latest(h.Updates, e.at-max(quiet, s.At-update)); at > since; at = latest(h.Updates, at-1) {
		if shows(at, e.Place, s, h) {
			return at
		}
	}
	return 0
}
