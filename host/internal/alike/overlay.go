package alike

import (
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
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

// IsMended reports whether an overlay that has gone again was about a build that works by then. webpack's client takes such an
// overlay back before it loads the update.
func IsMended(k capture.ElementKey) bool {
	return strings.HasSuffix(k.Selector, "-dev-server-client-overlay") && begins(k.Text, []string{"Compiled with problems"})
}

// clients are parts of the names of the code by which development servers log and show what happened elsewhere.
var clients = []string{
	"/@vite/", "vite/dist/client/", "webpack-dev-server", "rspack-dev-server", "@rspack/dev-server", "hot-dev-client", "react-error-overlay", "next-devtools",
}

// OfClient reports whether a file is such code: what it logs has its place elsewhere.
func OfClient(file string) bool {
	return slices.ContainsFunc(clients, func(part string) bool { return strings.Contains(file, part) })
}

// saidAt is how Next.js and Vite begin a message about a file of the project that they log.
var saidAt = lazyregexp.New(`^(?:\./(\S+?\.\w+):(\d+):\d+\n|\[(?:vite|hmr)\] Failed to reload /(\S+\.\w+)\.? )`)

// generatedCode is what Turbopack says where a place is not one of the file as it was written.
const generatedCode = "\nGenerated code of "

// PlaceSaid returns the place that a message of a development server names; it has no file if it names none.
func PlaceSaid(message string) (at OverlayPlace) {
	if !strings.HasPrefix(message, "./") && !strings.HasPrefix(message, "[vite]") && !strings.HasPrefix(message, "[hmr]") {
		return at // the expression takes far longer to see that
	}
	m := saidAt().FindStringSubmatch(message)
	if m == nil {
		return at
	}
	line, _ := strconv.Atoi(m[2])
	return OverlayPlace{File: m[1] + m[3], Line: line, Generated: strings.Contains(message, generatedCode)}
}
