package fork

import (
	"bytes"
	"path/filepath"
	"strings"
)

// maxLooked bounds the directories of a conversation that are asked for links.
const maxLooked = 10_000

// linked finds by which links a conversation names the original: a user may have started the agent in a directory that a link leads to,
// and then the agent names its files by that.
type linked struct {
	place Place
	// looked are the directories that were asked. pairs are paths with links, and what they are in the branch.
	looked map[string]bool
	pairs  [][2]string
}

// withLinks returns the place with the links by which JSON names the original.
func (p Place) withLinks(all ...[]byte) Place {
	l := &linked{place: p, looked: map[string]bool{}}
	for _, raw := range all {
		l.look(raw)
	}
	p.links = l.pairs
	return p
}

// look finds paths that are whole strings of JSON.
func (l *linked) look(raw []byte) {
	for {
		i := bytes.Index(raw, []byte(`"/`))
		if i < 0 {
			return
		}
		raw = raw[i+1:]
		end := bytes.IndexAny(raw[:min(len(raw), maxPath)], "\"\\\n")
		if end > 0 && raw[end] == '"' {
			l.of(filepath.Clean(string(raw[:end])))
		}
	}
}

// maxPath bounds a path in bytes.
const maxPath = 4096

// of asks a path, and the directories above it.
func (l *linked) of(path string) {
	if l.looked[path] || path == "/" || len(l.looked) >= maxLooked {
		return
	}
	l.looked[path] = true
	l.of(filepath.Dir(path))
	for _, in := range []string{l.place.From, l.place.Seen, l.place.To, l.place.Dir} {
		if in != "" && (path == in || strings.HasPrefix(path, in+"/")) {
			return
		}
	}
	for _, known := range l.pairs {
		if path == known[0] || strings.HasPrefix(path, known[0]+"/") {
			return
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == path {
		return
	}
	if rel, err := filepath.Rel(l.place.From, real); err == nil && filepath.IsLocal(rel) {
		l.pairs = append(l.pairs, [2]string{path, filepath.Join(l.place.To, rel)})
	}
}
