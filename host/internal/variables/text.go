package variables

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of shown values, in bytes.
const (
	// MaxText bounds values that are shown in full.
	MaxText = 120
	// around is the context on each side of the differing part of two texts.
	around = 16
)

// MaskedText replaces a secret.
const MaskedText = "[masked]"

// Literal returns a value as in code, on one line: `3`, `"a"`, `10n`, `Order {…3}`, `Array(2)`. It is cut to
// most bytes; 0 is [MaxText].
func (v *Value) Literal(most int) string {
	if most == 0 {
		most = MaxText
	}
	switch {
	case v.Masked && v.Text == "":
		return MaskedText
	case v.Reference != "":
		return "→ " + v.Reference
	case v.Open && v.Text == "":
		return v.summary()
	case v.Type == "string":
		return v.quoted(most)
	case len(v.Text) > most && v.Hash == "":
		return begun(v.Text, most)
	}
	return v.sized(shorten(v.Text, most))
}

// begun returns the first fields of an object on one line, or the beginning of a function, that need at most most bytes.
func begun(s string, most int) string {
	end := s[len(s)-1:]
	if end != "}" && end != "]" {
		return shorten(s, most)
	}
	var quoted, escaped bool
	last := 0
	for i := 0; i < most-len("…}"); i++ {
		switch c := s[i]; {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = quoted
		case c == '"':
			quoted = !quoted
		case !quoted && c == ' ' && i > 0 && (s[i-1] == ',' || s[i-1] == '{'), !quoted && c == '{' && s[i+1] != ' ', c == '[' && i == 0:
			last = i + 1
		}
	}
	if last == 0 {
		return shorten(s, most)
	}
	return s[:last] + "…" + end
}

// Inline returns a value like [Value.Literal], but a captured object with as many fields as fit.
func (v *Value) Inline(most int) string {
	if most == 0 {
		most = MaxText
	}
	if !v.Open || v.Text != "" || v.Reference != "" || len(v.Children) == 0 {
		return v.Literal(most)
	}
	list := strings.HasSuffix(v.Type, "Array")
	open, end := "{", "}"
	switch {
	case list:
		open, end = "[", "]"
	case v.Type != "Object":
		open = v.Type + " {"
	}
	var b strings.Builder
	b.WriteString(open)
	for i := range v.Children {
		child := &v.Children[i]
		text := child.Literal(most / 3)
		if !list || child.Key.Kind != KeyIndex {
			text = child.Key.field() + ": " + text
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len()+len(text) > most {
			b.WriteString("…")
			fmt.Fprintf(&b, "%d more", max(v.Size, len(v.Children))-i)
			break
		}
		b.WriteString(text)
	}
	b.WriteString(end)
	return b.String()
}

// field returns a key as shown before a field's value, in quotes if it could look like more fields.
func (k Key) field() string {
	switch {
	case k.Kind == KeyField && (k.Name == "" || !identifier(k.Name) && strings.Trim(k.Name, "0123456789") != ""):
		return Quote(k.Name)
	case k.Kind == KeySymbol && strings.ContainsAny(k.Name, ",{}[]\"'\n\r"):
		return "[" + Quote(k.Name) + "]"
	}
	return Path{k}.String()
}

// summary returns an object without its fields.
func (v *Value) summary() string {
	if len(v.Children) > 0 && v.Children[0].Key.Kind != KeyField || strings.HasSuffix(v.Type, "Array") {
		return v.Type + "(" + strconv.Itoa(max(v.Size, len(v.Children))) + ")"
	}
	if n := max(v.Size, len(v.Children)); n > 0 {
		return v.Type + " {…" + strconv.Itoa(n) + "}"
	}
	return v.Type + " {}"
}

// quoted returns a string in quotes, with its length if it was cut.
func (v *Value) quoted(most int) string {
	if v.Hash == "" && len(v.Text) <= most {
		return Quote(v.Text)
	}
	n := v.Length
	if n == 0 {
		n = utf16Length(v.Text)
	}
	return Quote(shorten(v.Text, most)) + " (" + strconv.Itoa(n) + " characters)"
}

func (v *Value) sized(text string) string {
	if v.Hash == "" {
		return text
	}
	return text + " (" + strconv.Itoa(v.Length) + " characters)"
}

// Change returns a modified value before and after. Long texts show only the differing part.
func (e *Entry) Change() (before, after string) {
	a, b := e.Old, e.New
	if e.Order != nil {
		return e.order()
	}
	plain := !a.Masked && !b.Masked && !a.Open && !b.Open && a.Reference == "" && b.Reference == ""
	switch {
	case !plain || len(a.Text) <= MaxText && len(b.Text) <= MaxText && a.Text != b.Text:
		return a.Literal(0), b.Literal(0)
	case a.Text != b.Text:
		head, tail := shared(a.Text, b.Text)
		return part(a, head, tail), part(b, head, tail)
	case a.Type == "symbol":
		return a.Literal(0), b.Literal(0) + " (another symbol)"
	case a.Size != b.Size:
		return a.count(), b.count()
	}
	return a.Literal(40), b.Literal(40) + " (differs in the middle, which was not kept)"
}

// count returns a value with its size.
func (v *Value) count() string {
	return shorten(v.Text, 40) + " (size " + strconv.Itoa(v.Size) + ")"
}

// order shows the moved elements by their old indexes, without the unmoved ones at both ends.
func (e *Entry) order() (before, after string) {
	from, to := 0, len(e.Order)
	for e.Order[from] == from {
		from++
	}
	for e.Order[to-1] == to-1 {
		to--
	}
	const most = 12
	var x, y strings.Builder
	for i := from; i < min(to, from+most); i++ {
		fmt.Fprintf(&x, " %d", i)
		fmt.Fprintf(&y, " %d", e.Order[i])
	}
	if to-from > most {
		x.WriteString(" …")
		y.WriteString(" …")
	}
	return "order" + x.String(), "order" + y.String()
}

// shared returns how many bytes two texts share at the beginning and at the end, in whole characters.
func shared(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for head > 0 && (head < len(a) && !utf8.RuneStart(a[head]) || head < len(b) && !utf8.RuneStart(b[head])) {
		head--
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
		tail--
	}
	return head, tail
}

// part returns the differing part of a text with some context.
func part(v *Value, head, tail int) string {
	text := v.Text
	from, to := max(0, head-around), min(len(text), len(text)-tail+around)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	out := shorten(text[from:to], MaxText)
	if v.Type == "string" {
		out = Quote(out)
	}
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	n := v.Length
	if n == 0 {
		n = utf16Length(text)
	}
	return fmt.Sprintf("%s (at %d of %d characters)", out, utf16Length(text[:from]), n)
}

// shorten removes the middle of a text that is longer than most bytes.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := most*2/3, most/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[:head] + "…" + s[from:]
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
