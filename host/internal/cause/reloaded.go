package cause

import "slices"

// reloaded returns the one file that was changed between two loads of a page, if the second one shows a symptom that follows from
// the answer to a request of that file: what a hot update replaces may only run with a load. The first load was answered the same,
// and the page lasted without the symptom.
func (f *Finder) reloaded(before []made, s *Symptom, h *History) *Cause {
	load := latest(h.Loads, s.At)
	last := latest(h.Loads, load-1)
	if last == 0 || s.At-prompt > load || h.page(last) != h.page(load) || within(h.Inputs, last, s.At) || within(h.Lost, last+1, load-unload) {
		return nil
	}
	if f.Cut && before[0].at > last || slices.ContainsFunc(s.Earlier, func(at int64) bool { return last <= at }) {
		return nil
	}
	var changed []made // the changes that the first load may not have had
	for _, e := range byHand(before) {
		if e.at > last-quiet {
			changed = append(changed, e)
		}
	}
	if changed = lasting(changed); len(changed) == 0 || changed[len(changed)-1].at > load-slack {
		return nil
	}
	first, e := changed[0], changed[len(changed)-1]
	if slices.ContainsFunc(changed, func(o made) bool { return o.Place != e.Place || o.Path != e.Path }) || isSetup(e.Path) {
		return nil
	}
	asked := false // code of the file asked for an answer, and all answers were the same before
	for _, a := range h.Answers {
		if a.Began < load-slack || !a.caused(s.At) {
			continue
		}
		if !a.Content.known() || !h.had(a, func(b Answer) bool {
			return last-slack <= b.Began && b.Ended+quiet <= first.at && b.Content == a.Content
		}) {
			return nil
		}
		asked = asked || h.asked(a, e.Edit)
	}
	if !asked {
		return nil
	}
	return &Cause{FileChange: e.FileChange, Line: onlyLine(e.FileChange), Evidence: []Evidence{Order}}
}
