package sourcemap

import (
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// maxImports limits the imports that a map keeps, and maxSpecifier the length of a module's name in them, in bytes.
const (
	maxImports   = 1 << 16
	maxSpecifier = 1 << 10
)

// imported is a line of an original file that names a module.
type imported struct {
	source, specifier string
	line              int
}

// imports finds the names of modules in code, also in a comment.
var imports = lazyregexp.New("\\b(?:from|import|require)\\s*(?:\\(\\s*)?(?:'([^'\\n]+)'|\"([^\"\\n]+)\"|`([^`\\n]+)`)")

// parseImports parses a map for the imports in its original files alone.
func parseImports(address string, data []byte) (*Map, error) {
	m := &Map{keepsImports: true}
	if err := m.parse(address, data); err != nil {
		return nil, err
	}
	m.sources, m.names, m.parts, m.styles = nil, nil, nil, nil
	m.size = m.measure()
	return m, nil
}

// keepImports keeps the imports in the contents of files that are no package's.
func (m *Map) keepImports(sources []source, contents gjson.Result) {
	i := -1
	contents.ForEach(func(_, content gjson.Result) bool {
		if i++; i >= len(sources) {
			return false
		}
		name := sources[i].name
		if name == "" || strings.Contains("/"+name, "/node_modules/") {
			return true
		}
		code, line, read := content.Str, 1, 0
		for _, at := range imports().FindAllStringSubmatchIndex(code, -1) {
			for group := 2; group < len(at); group += 2 {
				from, to := at[group], at[group+1]
				if from < 0 || to-from > maxSpecifier {
					continue
				}
				line += strings.Count(code[read:from], "\n")
				read = from
				m.imports = append(m.imports, imported{name, strings.Clone(code[from:to]), line})
			}
			if len(m.imports) >= maxImports {
				return false
			}
		}
		return true
	})
}

// Import returns the line of an original file that names a module, from 1. It is 0 if none does, or more than one, or if more
// than one file has that path.
func (m *Map) Import(file, specifier string) (line int) {
	if m == nil {
		return 0
	}
	var source string
	for _, i := range m.imports {
		if i.specifier != specifier || !meant(i.source, file) {
			continue
		}
		if line > 0 && (i.line != line || i.source != source) {
			return 0
		}
		source, line = i.source, i.line
	}
	return line
}
