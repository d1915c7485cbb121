package cause

import (
	"cmp"
	"slices"
)

// elsewhere reports whether the page of a symptom may be that of another workspace than a cause's. A path from the system's root
// says whose it is, and so does a hot update of the page that followed a change of the workspace. Otherwise the files decide that
// the symptom names: the changed one, or if it does not, all of them.
func (f *Finder) elsewhere(found *Cause, s *Symptom, h *History) bool {
	if f.Elsewhere == nil {
		return false
	}
	i := slices.IndexFunc(f.Edits, func(e Edit) bool { return e.FileChange == found.FileChange })
	e := &f.Edits[i]
	var changed, all []string
	for _, frame := range slices.Concat(s.Frames, s.Named) {
		tail, whole := Tail(frame.File, e.Place)
		if whole {
			return false
		}
		if tail != "" {
			all = append(all, tail)
		}
		if names(frame.File, e) {
			changed = append(changed, tail)
		}
	}
	if slices.ContainsFunc(h.Modules, func(m Module) bool {
		_, whole := Tail(m.File, e.Place)
		return whole || slices.ContainsFunc(f.Edits, func(o Edit) bool {
			at := cmp.Or(o.Edited, o.At)
			return o.Place == e.Place && at-slack <= m.At && m.At <= at+late && names(m.File, &o)
		})
	}) {
		return false
	}
	if len(changed) > 0 {
		all = changed
	}
	return f.Elsewhere(e.FileChange, s.Origin, all)
}
