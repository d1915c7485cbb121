package sourcemap

import (
	"cmp"
	"slices"
	"strings"
)

// Range is a range of generated code. Lines and columns count from 1, columns in UTF-16 units. The end is exclusive.
// EndLine is 0 for a range that extends to the end of the code.
type Range struct {
	Line, Column, EndLine, EndColumn int
}

// Holds reports whether the map has a file with a path, or with a path that ends with it.
func (m *Map) Holds(path string) bool {
	return slices.ContainsFunc(m.sources, func(s source) bool { return meant(s.name, path) })
}

func meant(name, path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "./"), "/")
	rest, ends := strings.CutSuffix(name, path)
	return ends && path != "" && (rest == "" || strings.HasSuffix(rest, "/"))
}

// Generated returns the generated code of a line in an original file, from a column on (1 for the whole line). The
// ranges begin with the first mapped place on the line; copied code has several. A line without generated code stands for
// the next line that has some. at is the line used, 0 if there is none. The call takes as long as parsing the map.
func (m *Map) Generated(path string, line, column int) (ranges []Range, at int) {
	want, first := int32(-1), int32(-1)
	m.each(path, func(s segment, _ bool) {
		if s.sourceLine < int32(line-1) || s.sourceLine == int32(line-1) && s.sourceColumn < int32(column-1) {
			return
		}
		if want < 0 || cmp.Or(cmp.Compare(s.sourceLine, want), cmp.Compare(s.sourceColumn, first)) < 0 {
			want, first = s.sourceLine, s.sourceColumn
		}
	}, nil)
	if want < 0 {
		return nil, 0
	}
	open := false // whether the last range has no end yet
	m.each(path, func(s segment, fresh bool) {
		if fresh || s.sourceLine != want {
			end(ranges, &open, s)
		}
		if s.sourceLine == want && s.sourceColumn == first && !open {
			ranges = append(ranges, Range{Line: int(s.line) + 1, Column: int(s.column) + 1})
			open = true
		}
	}, func(s segment) { end(ranges, &open, s) })
	return ranges, int(want) + 1
}

// end closes the last range at the start of a segment.
func end(ranges []Range, open *bool, s segment) {
	if *open {
		last := &ranges[len(ranges)-1]
		last.EndLine, last.EndColumn = int(s.line)+1, int(s.column)+1
		*open = false
	}
}

// each calls of for every segment of a file, in the order of the generated code, with its place in the whole. fresh is
// true for the first segment of a part. Segments of other files go to other.
func (m *Map) each(path string, of func(s segment, fresh bool), other func(segment)) {
	for i := range m.parts {
		p := &m.parts[i]
		mine := make([]bool, p.count)
		for j := range mine {
			mine[j] = meant(m.sources[p.first+int32(j)].name, path)
		}
		if !slices.Contains(mine, true) && other == nil {
			continue
		}
		d := decoder{text: p.mappings}
		last := segment{line: -1}
		fresh := true
		for d.next() {
			s := d.segment
			if s.line == last.line && s.column == last.column {
				continue // repeated by the decoder
			}
			last = s
			if s.line == 0 {
				s.column += p.column
			}
			s.line += p.line
			if s.mapped && s.source >= 0 && s.source < p.count && mine[s.source] {
				of(s, fresh)
			} else if other != nil {
				other(s)
			}
			fresh = false
		}
	}
}
