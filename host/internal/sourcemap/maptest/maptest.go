// Package maptest writes source maps, for tests and benchmarks of package sourcemap.
//
// It guarantees: what it writes is by the letter of ECMA-426, from the same segments every time the same.
package maptest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Segment is one segment: all numbers count from 0. A Source below 0 says that the place has no original.
type Segment struct {
	Line, Column                     int
	Source, SourceLine, SourceColumn int
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func number(b *strings.Builder, n int) {
	v := n << 1
	if n < 0 {
		v = -n<<1 | 1
	}
	for ; v > 31; v >>= 5 {
		b.WriteByte(letters[v&31|32])
	}
	b.WriteByte(letters[v])
}

// Mappings encodes segments, which are in order of lines.
func Mappings(segments []Segment) string {
	var b strings.Builder
	var last Segment
	for i, s := range segments {
		if s.Line > last.Line {
			for ; last.Line < s.Line; last.Line++ {
				b.WriteByte(';')
			}
			last.Column = 0
		} else if i > 0 {
			b.WriteByte(',')
		}
		number(&b, s.Column-last.Column)
		last.Column = s.Column
		if s.Source < 0 {
			continue
		}
		number(&b, s.Source-last.Source)
		number(&b, s.SourceLine-last.SourceLine)
		number(&b, s.SourceColumn-last.SourceColumn)
		last = s
	}
	return b.String()
}

// Map is a source map as JSON has it.
type Map struct {
	Version        int       `json:"version"`
	File           string    `json:"file,omitempty"`
	SourceRoot     string    `json:"sourceRoot,omitempty"`
	Sources        []string  `json:"sources,omitempty"`
	SourcesContent []string  `json:"sourcesContent,omitempty"`
	Names          []string  `json:"names,omitempty"`
	Mappings       string    `json:"mappings"`
	IgnoreList     []int     `json:"ignoreList,omitempty"`
	Sections       []Section `json:"sections,omitempty"`
}

// Section is a part of an indexed map.
type Section struct {
	Offset struct {
		Line   int `json:"line"`
		Column int `json:"column"`
	} `json:"offset"`
	Map Map `json:"map"`
}

// JSON writes a map.
func (m Map) JSON() []byte {
	m.Version = 3
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // there is nothing in it that JSON cannot say
	}
	return data
}

// Bundle is a map as a bundler writes it for a minified bundle of one long line, of about so many bytes. Half of
// it are the sources themselves. The generated place of the nth segment is at line 1, column 1+10n; its
// original is line 1+n%5000 of the nth/5000th file.
func Bundle(bytes int) ([]byte, int) {
	n := bytes / 11 // a segment takes about 5.5 bytes
	segments := make([]Segment, n)
	for i := range segments {
		segments[i] = Segment{Column: 10 * i, Source: i / 5000, SourceLine: i % 5000, SourceColumn: i * 7 % 80}
	}
	m := Map{File: "app.js", Mappings: Mappings(segments)}
	files := (n + 4999) / 5000
	for i := range files {
		m.Sources = append(m.Sources, fmt.Sprintf("webpack://shop/./src/part%d/File%d.tsx", i%40, i))
		m.SourcesContent = append(m.SourcesContent, strings.Repeat("export const shown = \"a line of text\";\n", bytes/2/files/41))
	}
	return m.JSON(), n
}
