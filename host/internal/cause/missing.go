package cause

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// removed returns the change that took a file away that a page then asked for, nil where that is not certain. The address is that of
// the file below the workspace or its folder of assets, or it was answered before, and no other file in the workspace ends so.
func removed(before []made, s *Symptom, h *History) *Cause {
	addresses := h.missing(s)
	if len(addresses) == 0 {
		return nil
	}
	var only *made
	back := map[string]bool{} // the files that later changes made
	for _, e := range slices.Backward(before) {
		was := e.From
		if e.Change == event.FileRemoved {
			was = e.Path
		}
		if was != "" && !back[e.Place+"\x00"+was] && !e.Built && !isInstalled(was) && slices.ContainsFunc(addresses, func(url string) bool { return h.isAddress(url, was, e) }) {
			if only != nil {
				return nil
			}
			only = &e
		}
		if e.Change != event.FileRemoved {
			back[e.Place+"\x00"+e.Path] = true
		}
		back[e.Place+"\x00"+was] = true
	}
	if only == nil || slices.ContainsFunc(s.Earlier, func(at int64) bool { return at < cmp.Or(min(only.Since, only.at), only.at)-slack }) {
		return nil
	}
	return &Cause{FileChange: only.FileChange, Evidence: []Evidence{Stack}}
}

// missing returns the addresses of what a symptom says is not there. A module cannot be imported either, where one that it imports
// is missing.
func (h *History) missing(s *Symptom) (addresses []string) {
	if s.Missing != "" {
		return []string{s.Missing}
	}
	if s.Imported == "" {
		return nil
	}
	addresses = []string{s.Imported}
	for _, m := range h.Missing {
		if m.At > s.At-imports && m.At <= s.At+slack {
			addresses = append(addresses, m.File)
		}
	}
	return addresses
}

// isMissing reports whether an answer says that the page's server has no such file.
func isMissing(e *event.Network) bool {
	return (e.Status == 404 || e.Status == 410) && e.Method == "GET" && strings.HasPrefix(e.URL, e.Origin()+"/")
}

// isAddress reports whether an address is that of a file which a change took away.
func (h *History) isAddress(url, was string, e made) bool {
	tail, whole := Tail(url, e.Place)
	switch {
	case tail == "":
		return false
	case tail == was:
		return true
	case whole:
		return false
	}
	if folder, rest, _ := strings.Cut(was, "/"); isAsset(was) && rest == tail && folder != "" {
		return true
	}
	return was == e.Path && names(url, e.Edit) && slices.ContainsFunc(h.Scripts, func(m Module) bool {
		if m.At >= e.at || !strings.Contains(m.File, path.Base(was)) {
			return false
		}
		answered, _ := Tail(m.File, e.Place)
		return answered == tail
	})
}
