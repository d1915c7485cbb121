package cause

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// isScript reports whether an answer is one of a script as its server had it then. One from a cache may be older.
func isScript(e *event.Network) bool {
	return e.Resource == "script" && e.Answered() && (!e.Cached || isRevalidated(e))
}

// isRevalidated reports whether a browser asks the server before it uses what it has of an answer.
func isRevalidated(e *event.Network) bool {
	for name, value := range e.ResponseHeaders {
		if strings.EqualFold(name, "cache-control") {
			return strings.Contains(value, "no-cache") || strings.Contains(value, "max-age=0")
		}
	}
	return e.Status == 304
}

// fetched returns when a page requested a file that it had not loaded before, since a change of it and before a symptom. It is 0 for
// never. A document loads a module only once: one that it had before the change is not the changed one.
func (h *History) fetched(e made, s *Symptom) int64 {
	load, base := latest(h.Loads, s.At)-slack, path.Base(e.Path)
	i, _ := slices.BinarySearchFunc(h.Scripts, load, func(m Module, at int64) int { return cmp.Compare(m.At, at) })
	for _, m := range h.Scripts[i:] {
		if m.At > s.At {
			break
		}
		if strings.Contains(m.File, base) && names(m.File, e.Edit) {
			if m.At < e.at {
				return 0
			}
			return m.At
		}
	}
	return 0
}

// loadedChange reports whether a page was loaded or updated after a change and before a symptom, or loaded the changed file.
func (h *History) loadedChange(e made, s *Symptom) bool {
	return within(h.Updates, e.at-slack, s.At+slack) || h.fetched(e, s) > 0
}

// firstWith returns when a page was first loaded or updated after a change, or loaded the changed file before a symptom.
func (h *History) firstWith(e made, s *Symptom) int64 {
	update := after(h.Updates, e.at-slack)
	if at := h.fetched(e, s); at > 0 {
		return min(update, at)
	}
	return update
}

// replacedOthers reports whether the hot update with which a symptom came, long after some changes, names only other files: a change
// that is not recorded caused it.
func (h *History) replacedOthers(batch []made, s *Symptom) bool {
	last := batch[len(batch)-1].at
	update := after(h.Updates, last-slack)
	if update > s.At+late || update < last+prompt || slices.Contains(h.Loads, update) {
		return false
	}
	others := false
	for _, m := range h.Modules {
		if m.At < update-around || m.At > update+around {
			continue
		}
		for _, e := range batch {
			tail, _ := Tail(m.File, e.Place)
			if tail == "" || strings.HasSuffix("/"+e.Path, "/"+tail) || strings.HasSuffix("/"+e.From, "/"+tail) {
				return false
			}
		}
		others = true
	}
	return others
}
