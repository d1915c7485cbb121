package cause

import (
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// ofGenerated stands for a line of the code that a server made of a file.
const ofGenerated = -1

// denied reports whether a symptom names places in files of the workspace, and a cause that no stack supports is in none of the
// files that it names. What takes effect with a load or a start of the server may fail in any file.
func denied(found *Cause, s *Symptom) bool {
	if s.Text == "" || slices.Contains(found.Evidence, Stack) || isSetup(found.Path) {
		return false
	}
	elsewhere := false
	for _, n := range s.Named {
		tail, _ := Tail(n.File, found.Place)
		if tail == "" || isInstalled(tail) {
			continue
		}
		if strings.HasSuffix("/"+found.Path, "/"+tail) {
			return false
		}
		elsewhere = elsewhere || n.Line != 0
	}
	return elsewhere && !strings.Contains(s.Text, module(found.Path)) && (found.From == "" || !strings.Contains(s.Text, module(found.From)))
}

// module returns how an import ends that means a file.
func module(file string) string {
	file = strings.TrimSuffix(file, path.Ext(file))
	if path.Base(file) == "index" && path.Dir(file) != "." {
		file = path.Dir(file)
	}
	return path.Base(file)
}

// unresolved is a module of the project that a bundler did not find.
var unresolved = lazyregexp.New(`(?:[Cc]an't resolve|[Cc]annot resolve|[Ff]ailed to resolve import|[Cc]ould not resolve|[Cc]annot find module) ["'](\.{1,2}/[^"'\s]+)["']`)

// gone returns the one change of a batch that took a file away which a symptom's module imports, nil where there is none.
func gone(batch []made, s *Symptom) *Cause {
	m := unresolved().FindStringSubmatch(s.Text)
	if m == nil {
		return nil
	}
	var only *Edit
	for _, e := range byHand(batch) {
		was := e.From
		if e.Change == event.FileRemoved {
			was = e.Path
		}
		if was == "" || !slices.ContainsFunc(s.Named, func(n Frame) bool {
			importer, _ := Tail(n.File, e.Place)
			imported := path.Join(path.Dir(importer), m[1])
			return n.Line > 0 && importer != "" && (was == imported || strings.TrimSuffix(was, path.Ext(was)) == imported || path.Dir(was) == imported && module(was) == path.Base(imported))
		}) {
			continue
		}
		if only != nil {
			return nil
		}
		only = e.Edit
	}
	if only == nil {
		return nil
	}
	return &Cause{FileChange: only.FileChange, Evidence: []Evidence{HotUpdate}}
}
