// Package sourcemap finds original places of places in generated code, with source maps of version 3 (ECMA-426), indexed
// maps included.
//
// It guarantees: parsing takes time and memory proportional to the mappings, and to the styles of components up
// to a limit; a map is never expanded to a table, and a
// look-up decodes only the few dozen segments around the place; a damaged map is an error, never a panic or an
// invalid place; names are resolved but not cleaned, because only the caller knows how to treat page text. The package
// is pure: fetched data and the time are passed in.
package sourcemap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/jsondepth"
)

// Map is a source map. It is immutable.
type Map struct {
	sources []source
	names   []string
	parts   []part // in the order of the generated places where they begin
	styles  []block
	size    int
	// evaluated are the maps of evaluated code by its name. A map with them has nothing else.
	evaluated map[string]*Map
	// imports are those in the original files. A map that keeps them has nothing else.
	imports      []imported
	keepsImports bool
}

// source is one original file.
type source struct {
	name    string
	ignored bool // the map marks it as third-party code
	shared  bool // another file of the map has the same base name
}

// part is a plain map: the whole map, or a section of an indexed one.
type part struct {
	line, column int32 // its start, from 0
	first        int32 // index of its first source in the map
	count        int32
	names        int32 // index of its first name in the map
	nameCount    int32
	mappings     string
	marks        []mark
	unordered    bool // columns within a line can decrease, which is allowed
}

// every is the number of segments between two marks, and roughly the number decoded by a look-up. A mark takes 32 bytes.
const every = 64

// mark is the state of the decoder at offset, from which it can resume.
type mark struct {
	offset int32
	segment
}

// segment maps a place in the generated code to an original place, or, if mapped is false, to none. All fields count
// from 0.
type segment struct {
	line, column                     int32
	source, sourceLine, sourceColumn int32
	name                             int32
	mapped, named                    bool
}

// Position is an original place.
type Position struct {
	// Source is the file's path, without scheme, host, dots and bundlers' suffixes for copies.
	Source string
	// Line and Column count from 1.
	Line, Column int
	// Ignored is true if the map marks the file as third-party code (ignoreList).
	Ignored bool
	// Shared is true if another file of the map has the same base name.
	Shared bool
	// Name is the original name of the identifier that begins exactly at the generated place, "" if unknown.
	Name string
}

// Limits of a map, so that a hostile one costs no more than its bytes.
const (
	maxSources  = 1 << 18
	maxNames    = 1 << 20
	maxSections = 1 << 14
	// maxName bounds the name of a source with the address and the root that resolve it, in bytes. Of a longer one, the end of
	// the name alone is kept.
	maxName = 8 << 10
	// maxUnordered is the most segments of a line in an unordered map, because a look-up reads all of them.
	maxUnordered = 1 << 12
)

var errDamaged = errors.New("the source map is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, args...))
}

// Parse parses a map. address resolves the names of its files: the address of the map, or of the script for an inline
// map.
func Parse(address string, data []byte) (*Map, error) {
	m := &Map{}
	if err := m.parse(address, data); err != nil {
		return nil, err
	}
	m.share()
	m.size = m.measure()
	return m, nil
}

// parse reads a map with what it keeps of its files.
func (m *Map) parse(address string, data []byte) error {
	if bytes.HasPrefix(data, []byte(")]}")) { // a guard against execution as a script
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return damaged("it has only a guard line")
		}
		data = data[end+1:]
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if jsondepth.Exceeds(data, jsondepth.Most) {
		return damaged("its lists and objects are nested too deep")
	}
	if !gjson.ValidBytes(data) {
		return damaged("it is not JSON")
	}
	return m.read(address, gjson.ParseBytes(data))
}

// fields are the relevant fields of a map.
type fields struct {
	version, mappings, root, sources, contents, names, ignored, oldIgnored, sections gjson.Result
}

func fieldsOf(obj gjson.Result) (f fields) {
	obj.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "version":
			f.version = v
		case "mappings":
			f.mappings = v
		case "sourceRoot":
			f.root = v
		case "sources":
			f.sources = v
		case "sourcesContent":
			f.contents = v
		case "names":
			f.names = v
		case "ignoreList":
			f.ignored = v
		case "x_google_ignoreList":
			f.oldIgnored = v
		case "sections":
			f.sections = v
		}
		return true
	})
	return f
}

func (m *Map) read(address string, obj gjson.Result) error {
	f := fieldsOf(obj)
	if !obj.IsObject() || f.version.Num != 3 {
		return damaged("it is not a source map of version 3")
	}
	if !f.sections.Exists() {
		return m.add(address, f, 0, 0)
	}
	if !f.sections.IsArray() {
		return damaged("sections must be a list")
	}
	n := 0
	var err error
	f.sections.ForEach(func(_, s gjson.Result) bool {
		if n++; n > maxSections {
			err = damaged("it has more than %d sections", maxSections)
		} else {
			err = m.section(address, s)
		}
		return err == nil
	})
	return err
}

// section adds a section of an indexed map.
func (m *Map) section(address string, s gjson.Result) error {
	line, ok1 := index(s.Get("offset.line"))
	column, ok2 := index(s.Get("offset.column"))
	if !ok1 || !ok2 {
		return damaged("a section has no offset")
	}
	if n := len(m.parts); n > 0 && cmp.Or(cmp.Compare(m.parts[n-1].line, line), cmp.Compare(m.parts[n-1].column, column)) >= 0 {
		return damaged("sections are not in order")
	}
	inner := s.Get("map")
	f := fieldsOf(inner)
	if !inner.IsObject() || f.sections.Exists() { // nested sections are forbidden by the standard
		return damaged("a section has no map")
	}
	return m.add(address, f, line, column)
}

// index returns a non-negative whole number.
func index(v gjson.Result) (int32, bool) {
	n := int32(v.Num)
	return n, v.Type == gjson.Number && v.Num >= 0 && float64(n) == v.Num
}

// add adds a plain map that begins at a place.
func (m *Map) add(address string, f fields, line, column int32) error {
	if !f.sources.IsArray() || f.mappings.Type != gjson.String {
		return damaged("sources or mappings are missing")
	}
	p := part{line: line, column: column, first: int32(len(m.sources)), names: int32(len(m.names)), mappings: strings.Clone(f.mappings.Str)}
	root := f.root.String()
	if root != "" && !strings.HasSuffix(root, "/") {
		root += "/"
	}
	f.sources.ForEach(func(_, s gjson.Result) bool {
		name := ""
		switch {
		case s.Type != gjson.String: // null is a source without a name
		case len(address)+len(root)+len(s.Str) > maxName:
			name = resolve("", s.Str[max(0, len(s.Str)-maxName):])
		default:
			name = resolve(address, root+s.Str)
		}
		m.sources = append(m.sources, source{name: name})
		p.count++
		return len(m.sources) <= maxSources
	})
	if len(m.sources) > maxSources {
		return damaged("it has more than %d sources", maxSources)
	}
	switch {
	case !f.contents.IsArray():
	case m.keepsImports:
		m.keepImports(m.sources[p.first:], f.contents)
	default:
		m.keepStyles(m.sources[p.first:], f.contents)
	}
	if f.names.IsArray() {
		f.names.ForEach(func(_, n gjson.Result) bool {
			m.names = append(m.names, strings.Clone(n.Str))
			p.nameCount++
			return len(m.names) <= maxNames
		})
		if len(m.names) > maxNames {
			return damaged("it has more than %d names", maxNames)
		}
	}
	ignored := f.ignored
	if !ignored.IsArray() {
		ignored = f.oldIgnored
	}
	if ignored.IsArray() {
		left := p.count // each source once
		ignored.ForEach(func(_, v gjson.Result) bool {
			if n, ok := index(v); ok && n < p.count {
				m.sources[p.first+n].ignored = true
			}
			left--
			return left > 0
		})
	}
	if err := p.scan(); err != nil {
		return err
	}
	m.parts = append(m.parts, p)
	return nil
}

// share marks files that have the same base name as another.
func (m *Map) share() {
	bases := make(map[string]int, len(m.sources)) // → the first source of this base name
	for i := range m.sources {
		name := m.sources[i].name
		if name == "" {
			continue
		}
		first, known := bases[base(name)]
		switch {
		case !known:
			bases[base(name)] = i
		case m.sources[first].name != name: // the same file may be listed twice
			m.sources[i].shared, m.sources[first].shared = true, true
		default:
			m.sources[i].shared = m.sources[first].shared
		}
	}
}

// HasNames reports whether the map has names of identifiers.
func (m *Map) HasNames() bool { return m != nil && len(m.names) > 0 }

// Size returns the approximate memory of the map in bytes.
func (m *Map) Size() int { return m.size }

func (m *Map) measure() int {
	size := 200
	for _, s := range m.sources {
		size += 24 + len(s.name)
	}
	for _, name := range m.names {
		size += 16 + len(name)
	}
	for _, b := range m.styles {
		size += 48 + len(b.text)
	}
	for _, i := range m.imports {
		size += 56 + len(i.specifier)
	}
	for _, p := range m.parts {
		size += 80 + len(p.mappings) + 32*len(p.marks)
	}
	return size
}

// Find returns the original place of a place in the generated code. Line and column count from 1, the column in UTF-16
// units like a browser's. It returns false for a place without a mapping, and always for a nil map.
func (m *Map) Find(line, column int) (Position, bool) {
	if m == nil || line < 1 || column < 1 || line > 1<<30 || column > 1<<30 {
		return Position{}, false
	}
	l, c := int32(line-1), int32(column-1)
	i, exact := slices.BinarySearchFunc(m.parts, l, func(p part, l int32) int {
		return cmp.Or(cmp.Compare(p.line, l), cmp.Compare(p.column, c))
	})
	if !exact {
		i--
	}
	if i < 0 {
		return Position{}, false
	}
	p := &m.parts[i]
	if l == p.line {
		c -= p.column
	}
	s, ok := p.find(l-p.line, c)
	if !ok || !s.mapped || s.source < 0 || s.source >= p.count {
		return Position{}, false
	}
	src := m.sources[p.first+s.source]
	if src.name == "" {
		return Position{}, false
	}
	at := Position{Source: src.name, Line: int(s.sourceLine) + 1, Column: int(s.sourceColumn) + 1, Ignored: src.ignored, Shared: src.shared}
	if s.named && s.name >= 0 && s.name < p.nameCount && s.line == l-p.line && s.column == c {
		at.Name = m.names[p.names+s.name]
	}
	return at, true
}
