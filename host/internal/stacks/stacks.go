// Package stacks reads the stacks of code that browsers record.
//
// Guarantees:
//   - Any text may be a line of a stack. What is no frame is left out.
//   - Memory is bounded, however many stacks are read.
package stacks

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Frame is one line of a stack.
type Frame struct {
	Function, URL string
	Line, Column  int
	// Evaluated is true where code was evaluated under the address: the frame may be of that code, not of the script.
	Evaluated bool
}

// Parse reads a line of a stack: "function (url:line:column)".
func Parse(s string) (f Frame, ok bool) {
	function, place, ok := event.CutFrame(s)
	if !ok || !strings.HasSuffix(place, ")") {
		return Frame{}, false
	}
	rest, column, ok1 := cutLast(place[:len(place)-1])
	url, line, ok2 := cutLast(rest)
	return Frame{Function: function, URL: url, Line: line, Column: column, Evaluated: function == evaluated}, ok1 && ok2
}

// evaluated is the function that V8 names for the outermost frame of evaluated code.
const evaluated = "eval"

// In returns a frame as one of a stack, which may have evaluated code of its address.
func (f Frame) In(stack []string) Frame {
	f.Evaluated = f.Evaluated || slices.ContainsFunc(stack, func(line string) bool {
		at, ok := strings.CutPrefix(line, evaluated+" (")
		at, under := strings.CutPrefix(at, f.URL)
		return ok && under && strings.HasPrefix(at, ":")
	})
	return f
}

// Top returns the frame of an entry's source.
func Top(c *event.Console) Frame {
	return Frame{URL: c.URL, Line: c.Line, Column: c.Column}.In(c.Stack)
}

// ParseAll reads the lines of a stack that are frames.
func ParseAll(stack []string) (frames []Frame) {
	for _, line := range stack {
		if f, ok := Parse(line); ok {
			frames = append(frames, f.In(stack))
		}
	}
	return frames
}

// Callers returns the frames of a stack that follow one: its caller, the caller of that, and so on.
func Callers(stack []string, of Frame) []Frame {
	frames := ParseAll(stack)
	if i := slices.Index(frames, of); i >= 0 {
		return frames[i+1:]
	}
	return nil
}

// cutLast splits off the number after the last colon.
func cutLast(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// IsWeb says whether a frame is a line of a script that can be fetched.
func (f Frame) IsWeb() bool {
	return f.Line > 0 && (strings.HasPrefix(f.URL, "http://") || strings.HasPrefix(f.URL, "https://"))
}

// libraryParts are parts of the names and addresses of installed packages, of bundlers' and servers' own code, and of hosts
// that serve packages alone.
var libraryParts = []string{
	"node_modules/", "bower_components/", "/.vite/", "/vite/deps/", "/@vite/", "/@react-refresh", "webpack/runtime/", "webpack/bootstrap",
	"/vite/preload-helper", "/vite/modulepreload-polyfill", "/commonjsHelpers.js", "/socket.io/socket.io.",
	"://unpkg.com/", "://esm.sh/", "://esm.run/", "://cdn.skypack.dev/", "://ga.jspm.io/", "://cdn.jsdelivr.net/npm/", "://cdn.jsdelivr.net/combine/",
	"://cdnjs.cloudflare.com/ajax/libs/", "://ajax.googleapis.com/ajax/libs/", "://ajax.aspnetcdn.com/", "://code.jquery.com/", "://cdn.socket.io/",
	"://code.angularjs.org/", "://stackpath.bootstrapcdn.com/", "://maxcdn.bootstrapcdn.com/", "://js.stripe.com/", "://maps.googleapis.com/",
	"://www.googletagmanager.com/",
	"/_next/static/chunks/node_modules_", "/_next/static/chunks/turbopack-", "/_next/static/chunks/[turbopack]_", "/_next/static/chunks/%5Bturbopack%5D_", "turbopack:///[turbopack]/",
}

// packagesChunk is a chunk of Turbopack with a long name, of which the beginning was replaced by a hash.
var packagesChunk = lazyregexp.New(`/_next/static/chunks/[0-9a-z]{4}_(?:[a-z]*_)?(?:modules|next_dist)_`)

// IsLibrary reports whether a file is not the project's own: an installed package, or the client of a development server.
func IsLibrary(file string) bool {
	return slices.ContainsFunc(libraryParts, func(part string) bool {
		return strings.Contains(file, part) || part[0] == '/' && strings.HasPrefix(file, part[1:]) // an original name may lack the slash
	}) || strings.Contains(file, "/_next/static/chunks/") && packagesChunk().MatchString(file) ||
		strings.HasPrefix(file, "webpack:/") && !strings.HasPrefix(file, "webpack://") // named by a library's own build
}

// Module returns the path of the module that Turbopack evaluated, by the address of the code, and "" for other code. Turbopack
// names the code after a loaded chunk and appends the module's id, encoded twice: `[project]/src/Item.jsx [app-client] (ecmascript)`.
func Module(address string) string {
	_, id, ok := strings.Cut(address, "?id=")
	if !ok {
		return ""
	}
	for range 2 {
		if plain, err := url.QueryUnescape(id); err == nil {
			id = plain
		}
	}
	if !strings.HasPrefix(id, "[") {
		return ""
	}
	id, _, _ = strings.Cut(id, " [")
	return strings.TrimPrefix(id, "[project]/")
}

// vendored are the names of files in which projects keep well-known libraries. Most need a version or a kind of build, because
// a project's own file may have the bare name.
var vendored = lazyregexp.New(`(?i)(^|/)((jquery|lodash|underscore|angular|ember|knockout|socket\.io|zone|htmx|handlebars|moment|d3|modernizr)` + build + `*|` +
	`(react|react-dom|react-router|redux|vue|vue-router|vuex|pinia|preact|backbone|bootstrap|popper|mithril|alpine|stimulus|turbo|turbolinks|axios|superagent|` +
	`rxjs|chart|highcharts|echarts|plotly|three|leaflet|dayjs|luxon|mustache|require|polyfills?|core-js|vendors?|sockjs|stomp|signalr|select2|datatables|swiper|gsap)` + build + `+)\.m?js$`)

// build is a part of a file's name that says which build of a library it has.
const build = `(?:[.-](?:min|slim|core|esm|umd|cjs|iife|global|prod|production|dev|development|bundle|browser|full|compat|legacy|v?[0-9]+(\.[0-9]+)*))`

// IsVendored reports whether a file without a directory of packages is a well-known library all the same: it is where
// projects copy such files, or has the name of one. A file below src is the project's.
func IsVendored(file string) bool {
	if i := strings.IndexAny(file, "?#"); i >= 0 {
		file = file[:i]
	}
	if strings.Contains("/"+file, "/src/") {
		return false
	}
	return strings.Contains("/"+file, "/vendor/") || strings.Contains("/"+file, "/third_party/") || vendored().MatchString(file)
}

// IsMinified reports whether a script is named as one that a tool made small. With no source map it is hardly the project's.
func IsMinified(url string) bool {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	return strings.HasSuffix(url, ".min.js") || strings.HasSuffix(url, ".min.mjs")
}

// OfLibrary reports whether code is not the project's own, by its address and its original file, which is "" if it is not known.
func OfLibrary(url, original string) bool {
	if original != "" {
		return IsLibrary(url) || IsLibrary(original) || IsVendored(original)
	}
	return IsLibrary(url) || IsVendored(url) || IsMinified(url)
}
