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
