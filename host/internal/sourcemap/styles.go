package sourcemap

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// maxStyles limits the text of style blocks that a map keeps, in bytes.
const maxStyles = 256 << 10

// block is a style block of a component's file, such as one of Vue or Svelte.
type block struct {
	source string
	// line is the line on which the block's text begins, from 1.
	line int
	text string
}

var styleBlock = regexp.MustCompile(`(?is)<style\b[^>]*>(.*?)</style\s*>`)

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
		if content.Type != gjson.String || !strings.HasSuffix(name, ".vue") && !strings.HasSuffix(name, ".svelte") && !strings.HasSuffix(name, ".astro") {
			return true
		}
		for _, at := range styleBlock.FindAllStringSubmatchIndex(content.Str, -1) {
			if left -= at[3] - at[2]; left < 0 {
				return false
			}
			m.styles = append(m.styles, block{name, 1 + strings.Count(content.Str[:at[2]], "\n"), strings.Clone(content.Str[at[2]:at[3]])})
		}
		return true
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
