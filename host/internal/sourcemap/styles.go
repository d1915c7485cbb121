package sourcemap

import (
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// maxStyles limits the text of style blocks that a map keeps, in bytes.
const maxStyles = 256 << 10

// maxBlocks limits the number of these blocks, and maxComponent the file in which they are looked for, in bytes.
const (
	maxBlocks    = 4096
	maxComponent = 4 << 20
)

// block is a style block of a component's file, such as one of Vue or Svelte.
type block struct {
	source string
	// line is the line on which the block's text begins, from 1.
	line int
	text string
}

// The beginning and the end of a style block.
var (
	styleStart = lazyregexp.New(`(?i)<style\b`)
	styleEnd   = lazyregexp.New(`(?i)</style\s*>`)
)

// nextStyle returns the text of the first style block of a component's file, and what follows the block. Each part of the
// content is read once, however many blocks begin or do not end.
func nextStyle(content string) (from, to, after int, ok bool) {
	start := styleStart().FindStringIndex(content)
	if start == nil {
		return 0, 0, 0, false
	}
	tag := strings.IndexByte(content[start[1]:], '>')
	if tag < 0 {
		return 0, 0, 0, false
	}
	from = start[1] + tag + 1
	end := styleEnd().FindStringIndex(content[from:])
	if end == nil {
		return 0, 0, 0, false
	}
	return from, from + end[0], from + end[1], true
}

// keepStyles keeps the style blocks in the contents of components' files.
func (m *Map) keepStyles(sources []source, contents gjson.Result) {
	left := maxStyles
	i := -1
	contents.ForEach(func(_, content gjson.Result) bool {
		i++
		if i >= len(sources) {
			return false
		}
		name := sources[i].name
		if content.Type != gjson.String || len(content.Str) > maxComponent || !strings.HasSuffix(name, ".vue") && !strings.HasSuffix(name, ".svelte") && !strings.HasSuffix(name, ".astro") {
			return true
		}
		line := 1
		for rest := content.Str; ; {
			from, to, after, ok := nextStyle(rest)
			if !ok {
				return true
			}
			if left -= to - from; left < 0 || len(m.styles) == maxBlocks {
				return false
			}
			line += strings.Count(rest[:from], "\n")
			m.styles = append(m.styles, block{name, line, strings.Clone(rest[from:to])})
			line += strings.Count(rest[from:after], "\n")
			rest = rest[after:]
		}
	})
}

// StyleLine returns the line of a component's file that declares a property, by the line in the component's style block of a
// number. Both count from 1. It returns false if that line does not declare the property, as after a preprocessor.
func (m *Map) StyleLine(file string, number, line int, property string) (int, bool) {
	if m == nil || property == "" || line < 1 {
		return 0, false
	}
	for _, b := range m.styles {
		if base(b.source) != base(file) {
			continue
		}
		if number--; number > 0 {
			continue
		}
		lines := strings.Split(b.text, "\n")
		if line > len(lines) || !strings.Contains(lines[line-1], property) {
			return 0, false
		}
		return b.line + line - 1, true
	}
	return 0, false
}
