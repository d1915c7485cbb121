package event

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/redact"
)

// stackPaths are where JSON answers of development servers have the stack of what their code threw, GraphQL's first.
var stackPaths = []string{
	"extensions.stacktrace", "extensions.exception.stacktrace", "stack", "error.stack", "error.data.stack", "error.json.data.stack", "errors.0.stack",
}

// Bounds of what is read of a stack: lines, and bytes of each.
const (
	maxStackLines = 100
	maxStackLine  = 1000
)

var (
	// frameOfFile is a line of a stack of V8 that names a file of the server, not one that the server evaluated.
	frameOfFile = lazyregexp.New(`^\s*at (?:async )?(?:.* \()?(?:file://)?((?:/|[A-Za-z]:[\\/]).*):(\d+):\d+\)?$`)
	// foreignFile is a file of an installed package, or one that a framework built.
	foreignFile = lazyregexp.New(`[\\/](?:node_modules|\.next|\.nuxt|\.output|\.svelte-kit)[\\/]`)
	// plainFile is the name of a file of code.
	plainFile = lazyregexp.New(`^[\pL\pN_.$@+~\[\]-]{1,50}\.[a-z]{1,5}$`)
)

// thrownAt returns the first place in the server's own code that the stack in an answer names, as "resolvers.js:89"; "" for
// none. Of a list it is that of the first item with one.
func thrownAt(answer gjson.Result, r *redact.Redactor) (place string) {
	if answer.IsArray() {
		items := 0
		answer.ForEach(func(_, item gjson.Result) bool {
			if item.IsObject() {
				place = thrownAt(item, r)
			}
			items++
			return place == "" && items < maxItems
		})
		return place
	}
	for _, path := range stackPaths {
		if place = placeIn(answer.Get(path)); place != "" {
			if _, masked := r.Text(place); masked > 0 || strings.Contains(place, r.Mask()) {
				return ""
			}
			return place
		}
	}
	return ""
}

// placeIn returns the first place of a stack, a text or a list of lines, in the server's own code.
func placeIn(stack gjson.Result) string {
	var lines []string
	if stack.IsArray() {
		stack.ForEach(func(_, line gjson.Result) bool {
			lines = append(lines, line.Str)
			return len(lines) < maxStackLines
		})
	} else {
		lines = strings.SplitN(stack.Str, "\n", maxStackLines+1)
	}
	for _, line := range lines[:min(len(lines), maxStackLines)] {
		if len(line) > maxStackLine {
			continue
		}
		m := frameOfFile().FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil || foreignFile().MatchString(m[1]) {
			continue
		}
		file, _, _ := strings.Cut(m[1], "?")
		if file = file[strings.LastIndexAny(file, `/\`)+1:]; plainFile().MatchString(file) {
			return file + ":" + m[2]
		}
	}
	return ""
}

// withNotes ends a detail with what stands in brackets, so that all of it is at most [MaxDetail] characters.
func withNotes(detail string, notes ...string) string {
	notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" || strings.Contains(detail, s) })
	if len(notes) == 0 || detail == "" {
		return shorten(detail, MaxDetail)
	}
	end := " (" + strings.Join(notes, ", ") + ")"
	return shorten(detail, MaxDetail-len([]rune(end))) + end
}

// noted is what [withNotes] adds: the operation of a batch, a place, or both.
var noted = lazyregexp.New(` \((?:([_A-Za-z][_0-9A-Za-z]*)|(?:([_A-Za-z][_0-9A-Za-z]*), )?[\pL\pN_.$@+~\[\]-]{1,50}\.[a-z]{1,5}:\d+)\)$`)

// Said returns the detail in the words of the server, and what Tidemark added to it.
func (n *Network) Said() (text, added string) {
	if !strings.HasSuffix(n.Detail, ")") {
		return n.Detail, ""
	}
	m := noted().FindStringSubmatchIndex(n.Detail)
	if m == nil || m[2] >= 0 && !n.inBatch(n.Detail[m[2]:m[3]]) {
		return n.Detail, ""
	}
	return n.Detail[:m[0]], n.Detail[m[0]:]
}

// inBatch reports whether a request is a batch with an operation of that name.
func (n *Network) inBatch(name string) bool {
	return strings.Contains(n.Operation, batched) && slices.Contains(strings.Split(n.Operation, batched), name)
}
