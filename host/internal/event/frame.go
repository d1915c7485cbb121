package event

import (
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Waits begins the line of a frame at the place where its function waits for the frame before. Quiet capture marks such frames
// in the stacks of requests and connections. In those of the debugger each frame is at its call.
const Waits = "async "

// FrameLine returns a line of a stack, "function (place)", with the function as [FunctionName] writes it. What names no place
// is the name of a function.
func FrameLine(s string) string {
	function, _, _ := CutFrame(strings.TrimSuffix(s, " (generated)"))
	if name := FunctionName(function); name != function {
		return name + s[len(function):]
	}
	return s
}

// endFunction cleans the function of a line of a stack: an escape sequence that is not ended in its name would take the place
// with it.
func endFunction(s string) string {
	function, _, ok := CutFrame(s)
	if name := Clean(function); ok && name != function {
		return name + s[len(function):]
	}
	return s
}

// CutFrame splits a line of a stack, "function (place)", at its place: the name of a function may contain anything.
func CutFrame(s string) (function, place string, ok bool) {
	i := strings.LastIndex(s, " (")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(" ("):], true
}

// FunctionName returns the name of a function: in quotes unless it reads as code does. A page may name a function as it
// likes, and the name begins a line.
func FunctionName(s string) string {
	if isFunction(s) {
		return s
	}
	if _, err := strconv.Unquote(s); err == nil && s[0] == '"' {
		return s
	}
	return strconv.Quote(s)
}

// functionPart is an identifier, what V8 calls code without one, or a symbol.
const functionPart = `(?:#?[\pL_$][\pL\p{Mn}\p{Nd}_$]*|<[a-z_]+>|\[Symbol\.\w+\])`

// functionPath is identifiers with dots between.
const functionPath = functionPart + `(?:\.` + functionPart + `)*`

// functionShape is the name of a function as a whole.
var functionShape = lazyregexp.New(`^(?:(?:async )?\((?:anonymous|document|module)\)|(?:(?:async|new|get|set|static) )*` + functionPath + `(?: \[as ` + functionPath + `\])?)$`)

// isFunction reports whether a text is the name of a function as code has it, such as new Shop, Object.<anonymous> and
// Proxy.render [as update].
func isFunction(s string) bool {
	for i := range len(s) { // nearly all are of these characters
		if c := s[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '$' {
			return functionShape().MatchString(s)
		}
	}
	return s != ""
}
