package report

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// Place is a place in a file.
type Place struct {
	// File is an address or a path.
	File string
	Line int
	// Shared is true where the base name alone would not say which file it is.
	Shared bool
	// Generated is true for a place in generated code whose original is not known.
	Generated bool
}

// PlaceName returns a place as file:line, where no other place is beside it.
func PlaceName(p Place) string {
	names := Sources{}
	names.Add(p.File)
	return names.Name(p)
}

// Marked is a source as text, marked where it is no original place. A map can name a file as it likes, so its name is
// [event.Named]: it forges neither the mark nor what is beside it.
func Marked(source string, generated bool) string {
	named := source
	if plain := strings.Replace(source, evaluated, "", 1); event.Named(plain) != plain || plain == source {
		named = event.Named(source)
	}
	return named + Mark(generated)
}

// From names the code that made a request or opened a connection, as the end of a line: " from api.ts:5, called at Cart.tsx:12";
// "" if it is not known.
func From(initiator string, generated bool, calledAt string) string {
	switch {
	case initiator == "":
		return ""
	case calledAt == "":
		return " from " + Marked(initiator, generated)
	}
	return " from " + Marked(initiator, generated) + ", called at " + Marked(calledAt, false)
}

// Mark is what stands behind a place that is no original one.
func Mark(generated bool) string {
	if generated {
		return " (generated)"
	}
	return ""
}

// maxSource bounds the name of a source, in bytes; its end is kept.
const maxSource = 80

// Sources shortens addresses of scripts: to the base name, for installed packages to the path from their directory, to the path
// where base names clash or are numbers, and not at all where paths do (of two origins).
type Sources map[string]string // base name, or / and path → the address that has it, "" when several do

// Add adds the address of a script that is named beside others.
func (s Sources) Add(url string) {
	address, path, base := sourcePath(url)
	for _, name := range []string{base, "/" + path} {
		if other, known := s[name]; known && other != address {
			s[name] = ""
		} else {
			s[name] = address
		}
	}
}

// Name returns a place as file:line, "" for none. Its address was added.
func (s Sources) Name(p Place) string {
	if p.File == "" {
		return ""
	}
	address, path, name := sourcePath(p.File)
	if s[name] == "" || p.Shared {
		if name = path; s["/"+path] == "" {
			name = address
		}
	}
	// Here once more for what an older program kept.
	name = event.Tail(event.OneLine(name), maxSource)
	if p.Line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, p.Line)
}

// installed is the directory of installed packages in the path of a source.
const installed = "/node_modules/"

// evaluated stands behind the name of a module whose code Turbopack evaluated: its lines are not those of the file.
const evaluated = " [evaluated]"

// sourcePath is a script's address without query and fragment, the same without origin, and its last segment. For a file of an
// installed package that is the path from the directory of packages, so that it does not look like the project's own.
func sourcePath(url string) (address, path, base string) {
	address = url
	if module := stacks.Module(url); module != "" {
		address = module + evaluated
	} else if i := strings.IndexAny(address, "?#"); i >= 0 {
		address = address[:i]
	}
	path = address
	if i := strings.Index(path, "://"); i >= 0 {
		path = path[i+3:]
		if slash := strings.IndexByte(path, '/'); slash >= 0 {
			path = path[slash+1:]
		}
	}
	base = path
	if i := strings.LastIndex("/"+path, installed); i >= 0 {
		base = path[i:]
	} else if i := strings.LastIndexByte(strings.TrimRight(path, "/"), '/'); i >= 0 {
		base = path[i+1:]
	}
	if base == "" {
		base, path = "(page)", "(page)"
	} else if strings.Trim(base, "0123456789") == "" {
		base = path // "orders/42:7" is a place, "42:7" reads as a line and a column
	}
	return address, path, base
}
