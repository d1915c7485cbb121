package event

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

// reader reads the fields of one message or event in one pass; the first error wins. messages.go calls its methods by
// the table of messages.
type reader struct {
	redact *redact.Redactor
	known  addresses
	head   Head
	masked int
	// uncut is the length of a text that was cut, in UTF-16 units.
	uncut int
	err   *protocol.Error
}

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = Errorf(protocol.CodeMalformed, "%s must be %s", name, want)
	}
}

// need is a required field and what it must be.
type need struct{ name, want string }

// require checks that each of the required fields, which have a bit each, was seen.
func (r *reader) require(seen uint64, needs []need) {
	if seen == 1<<len(needs)-1 {
		return
	}
	for i, n := range needs {
		if seen&(1<<i) == 0 {
			r.fail(n.name, n.want)
		}
	}
}

// fields walks the fields of an object.
func (r *reader) fields(obj gjson.Result, field func(name string, v gjson.Result)) {
	obj.ForEach(func(k, v gjson.Result) bool {
		field(k.Str, v)
		return r.err == nil
	})
}

// object reads an object inside of a message.
func object[T any](r *reader, name string, v gjson.Result, read func(*reader, gjson.Result) *T) *T {
	if !v.IsObject() {
		r.fail(name, "an object")
		return nil
	}
	return read(r, v)
}

func objects[T any](r *reader, name string, v gjson.Result, read func(*reader, gjson.Result) *T) []T {
	var all []T
	for _, item := range r.list(name, v) {
		if o := object(r, name, item, read); o != nil {
			all = append(all, *o)
		}
	}
	return all
}

func (r *reader) list(name string, v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		r.fail(name, "a list")
		return nil
	}
	list := make([]gjson.Result, 0, len(v.Raw)/usualEvent)
	v.ForEach(func(_, value gjson.Result) bool {
		list = append(list, value)
		return true
	})
	return list
}

// usualEvent is about the least that an event takes, in bytes.
const usualEvent = 128

// largest is the largest number that both sides represent exactly.
const largest = 1<<53 - 1

func (r *reader) whole(name string, v gjson.Result, least, most int64) int64 {
	if v.Type == gjson.Number && v.Num == math.Trunc(v.Num) && v.Num >= float64(least) && v.Num <= float64(most) {
		return int64(v.Num)
	}
	if most < largest {
		r.fail(name, fmt.Sprintf("a whole number from %d to %d", least, most))
	} else {
		r.fail(name, fmt.Sprintf("a whole number from %d", least))
	}
	return 0
}

func (r *reader) count(name string, v gjson.Result) int64 { return r.whole(name, v, 0, largest) }

func (r *reader) flag(name string, v gjson.Result) bool {
	if !v.IsBool() {
		r.fail(name, "true or false")
	}
	return v.Type == gjson.True
}

func (r *reader) number(name string, v gjson.Result) float64 {
	if v.Type != gjson.Number || math.IsNaN(v.Num) || math.IsInf(v.Num, 0) || v.Num < 0 {
		r.fail(name, "a number from 0")
	}
	return v.Num
}

// raw is a string as it came, for texts that are cleaned later or stay between host and extension.
func (r *reader) raw(name string, v gjson.Result) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
	}
	return v.Str
}

func (r *reader) filled(name, s string) string {
	if s == "" {
		r.fail(name, "a string that is not empty")
	}
	return s
}

// oneOf is a string of a list. The result is the list's own.
func (r *reader) oneOf(name string, v gjson.Result, allowed []string) string {
	if v.Type == gjson.String {
		for _, a := range allowed {
			if v.Str == a {
				return a
			}
		}
	}
	r.fail(name, fmt.Sprintf("one of %q", allowed))
	return ""
}

// usual is a word that is usually one of a list.
func (r *reader) usual(name string, v gjson.Result, usual []string, limit int) string {
	if v.Type == gjson.String {
		if i := slices.Index(usual, v.Str); i >= 0 {
			return usual[i]
		}
	}
	return r.word(name, v, limit)
}

// rank reads a string of a list that is in order as its place there.
func rank[T ~uint8](r *reader, name string, v gjson.Result, order []string, into *T) {
	if i := slices.Index(order, r.oneOf(name, v, order)); i >= 0 {
		*into = T(i)
	}
}

// word is a string that is no page text: ids, methods, types.
func (r *reader) word(name string, v gjson.Result, limit int) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	return own(v, cut(OneLine(v.Str), limit))
}

// common are words that many events hold.
var common = func() map[string]string {
	words := map[string]string{}
	for _, w := range []string{
		"network", "security", "javascript", "deprecation", "intervention", "worker", "other",
		"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "document", "stylesheet", "script", "image", "font", "media", "fetch", "xhr", "ping", "preflight", "eventsource", "manifest",
		"application/json", "text/html", "text/css", "text/javascript", "text/plain", "image/png", "image/svg+xml",
		"content-type", "content-length", "cache-control", "date", "etag", "vary", "connection", "keep-alive", "accept", "user-agent", "referer", "Content-Type", "Content-Length", "Cache-Control", "Date", "Accept", "User-Agent", "Referer",
	} {
		words[w] = w
	}
	return words
}()

// own is a string of an event that holds on to nothing else: as a part of the whole message it would keep
// that in memory for as long as the longest-lived of its events. (gjson makes a string anew only where it
// has to take escapes out.)
func own(v gjson.Result, s string) string {
	if len(s) <= 20 {
		if w, ok := common[s]; ok {
			return w
		}
	}
	if len(s) == len(v.Str) && strings.IndexByte(v.Raw, '\\') >= 0 {
		return s
	}
	return strings.Clone(s)
}

// text is page text, which may have several lines.
func (r *reader) text(name string, v gjson.Result, limit int) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	if len(v.Str) > limit {
		r.uncut = units(v.Str)
	}
	return r.mask(v, limit)
}

func (r *reader) mask(v gjson.Result, limit int) string {
	s, n := r.redact.Text(cut(Clean(v.Str), 2*limit)) // masked before it is cut: half a secret is not recognized
	r.masked += n
	return own(v, cut(s, limit))
}

// units is the length of a text in UTF-16 units.
func units(s string) int {
	n := 0
	for _, c := range s {
		n += utf16.RuneLen(c)
	}
	return n
}

// line is text of one line, whatever a page sends.
func (r *reader) line(name string, v gjson.Result, limit int) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	return OneLine(r.mask(v, limit))
}

// stack are the lines of a stack. Those behind the limit are not kept.
func (r *reader) stack(name string, v gjson.Result) []string {
	if !v.IsArray() {
		r.fail(name, "a list")
		return nil
	}
	var lines []string
	v.ForEach(func(_, line gjson.Result) bool {
		if len(lines) < protocol.MaxStack {
			line.Str = endFunction(line.Str)
			lines = append(lines, FrameLine(r.line(name, line, protocol.MaxShort)))
		} else if line.Type != gjson.String {
			r.fail(name, "a list of strings")
		}
		return r.err == nil
	})
	return lines
}

func (r *reader) url(name string, v gjson.Result, limit int) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	a, ok := r.known[v.Str]
	if !ok {
		s, n := r.redact.URL(cut(OneLine(v.Str), 2*limit)) // masked before it is cut: half a secret is not recognized
		a = address{own(v, cut(s, limit)), n}
		r.known[v.Str] = a
	}
	r.masked += a.masked
	return a.url
}

func (r *reader) body(name string, v gjson.Result, limit int) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	s, n := r.redact.Body(cut(Clean(v.Str), 2*limit)) // masked before it is cut: half a secret is not recognized
	r.masked += n
	return own(v, cut(s, limit))
}

func (r *reader) headers(name string, v gjson.Result, limit int) map[string]string {
	if !v.IsObject() {
		r.fail(name, "an object")
		return nil
	}
	h := make(map[string]string)
	size := 0
	v.ForEach(func(k, hv gjson.Result) bool {
		s := cut(Clean(hv.String()), limit)
		if size += len(k.Str) + len(s); size <= 4*limit {
			h[own(k, cut(OneLine(k.Str), protocol.MaxShort))] = own(hv, s)
		}
		return true
	})
	r.masked += r.redact.Headers(h)
	return h
}
