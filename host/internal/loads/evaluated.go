package loads

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/sourcemap"
)

// mostScripts bounds the scripts in which code that was evaluated is looked for.
const mostScripts = 16

// mostWanted is how many of them are read at a time. The last ones have the project's code, and those before are large.
const mostWanted = 2

// scriptsOf returns the scripts that a tab had begun to load by a time, the last one first.
func (l *Index) scriptsOf(v *capture.View, tab int, at int64) (scripts []sourcemap.Script) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked(v)
	for _, one := range slices.Backward(l.scripts[tab]) {
		s := sourcemap.Script{Tab: tab, URL: one.url}
		if one.at <= at && !slices.Contains(scripts, s) {
			scripts = append(scripts, s)
		}
		if len(scripts) == mostScripts {
			break
		}
	}
	return scripts
}

// Evaluating returns the map of code that a script had as text and evaluated, as it ran at a time. The last script that had the
// code counts, which may be a hot update. Without a map, coming is true if it may be on its way, and soon are the scripts that
// are worth waiting for.
func (l *Index) Evaluating(v *capture.View, maps *sourcemap.Cache, code sourcemap.Script, at int64) (m *sourcemap.Map, coming bool, soon []sourcemap.Script) {
	missing := 0
	for _, s := range l.scriptsOf(v, code.Tab, at) {
		s.Evaluated = true
		holds := l.Holds(v, s, at)
		all := maps.Get(s, holds)
		switch m := all.Evaluated(code.URL); {
		case m != nil && missing == 0:
			return m, false, nil
		case m != nil: // a script that has other code of that name may have been loaded since
			return nil, coming, soon
		case all != nil || maps.Plain(s): // it has other code
			continue
		}
		if missing++; missing > mostWanted {
			break
		}
		fetched, worth := maps.Want(s, holds)
		coming = coming || fetched
		if worth {
			soon = append(soon, s)
		}
	}
	return nil, coming, soon
}

// servedFor is how long the imports of served code count as those that the server has, in milliseconds.
const servedFor = 3000

// Importing returns the line of a file that imports a module which a tab's server reported as missing at a time, as the server has
// the file now. It is 0 if that is not known (yet); soon are the scripts that are worth waiting for. The tab runs other code.
func (l *Index) Importing(v *capture.View, maps *sourcemap.Cache, tab int, at int64, file, specifier string) (line int, soon []sourcemap.Script) {
	now := v.At.UnixMilli()
	holds := func(fetched int64) bool { return fetched >= at && fetched > now-servedFor }
	missing := 0
	for _, s := range l.scriptsOf(v, tab, at) {
		own := maps.Get(s, func(int64) bool { return true })
		if isHotUpdate(s.URL) || maps.Plain(s) || own != nil && !own.Holds(file) {
			continue
		}
		s.Served = true
		served := maps.Get(s, holds)
		if found := served.Import(file, specifier); found > 0 {
			if line > 0 && line != found {
				return 0, nil
			}
			line = found
		}
		if served == nil {
			if missing++; missing > mostWanted {
				break
			}
			if _, worth := maps.Want(s, holds); worth {
				soon = append(soon, s)
			}
		}
	}
	return line, soon
}

// Address returns the address from which a tab last loaded the code of a file, "" if none is known.
func Address(v *capture.View, tab int, file string) string {
	var found string
	longest := 0
	for _, n := range v.Network().InRing().From(0) {
		if n.Tab() != tab {
			continue
		}
		_, path := capture.SplitURL(n.URL)
		_, query, _ := strings.Cut(n.URL, "?")
		part := strings.Contains(query, "type=") // the style of a component, say
		if len(path) >= max(longest, 2) && strings.HasSuffix("/"+file, path) && !part {
			found, longest = n.URL, len(path)
		}
	}
	return found
}
