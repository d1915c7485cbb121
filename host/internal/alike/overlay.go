package alike

import (
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// OverlayPlace is where a development server says that the cause of an error is.
type OverlayPlace struct {
	File string
	// Line counts from 1; 0 where only the file is named.
	Line int
	// Generated is true for a line of what the server made of the file.
	Generated bool
}

// placed is what the extension puts behind the message of an overlay that names a place.
var placed = lazyregexp.New(`(?s)^(.+) – (\S+?\.\w+)(?::(\d+)(?::\d+)?)?( \(generated\))?$`)

// unresolved is how webpack reports an import of a module that is missing.
var unresolved = lazyregexp.New(`Module not found: Error: Can't resolve '([^']+)' in '`)

// MissingImport returns the name of the module that the message of an overlay says is missing, "" where it says nothing like it.
// A message that has several is about none of them.
func MissingImport(message string) string {
	if found := unresolved().FindAllStringSubmatch(message, 2); len(found) == 1 {
		return found[0][1]
	}
	return ""
}

// CutOverlay divides the text of a development server's error overlay into its message and the place that it names. The place
// is empty where it names none.
func CutOverlay(text string) (message string, at OverlayPlace) {
	m := placed().FindStringSubmatch(text)
	if m == nil {
		return text, at
	}
	line, _ := strconv.Atoi(m[3])
	return m[1], OverlayPlace{File: strings.TrimPrefix(m[2], "./"), Line: line, Generated: m[4] != ""}
}
