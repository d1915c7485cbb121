package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"tidemark.dev/tidemark/installer/safefile"
)

// JSON is the JSON format. It accepts comments and trailing commas.
type JSON struct{}

// bom is the byte order mark that some Windows editors write at the beginning of a file.
const bom = "\ufeff"

// parseJSON parses a text whose outermost value is an object.
func parseJSON(text []byte) (*hujson.Value, error) {
	if err := safefile.CheckJSON(text); err != nil {
		return nil, err
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("it is not a JSON object")
	}
	return &v, nil
}

// member finds a member by name.
func member(v *hujson.Value, name string) (*hujson.ObjectMember, int, error) {
	object := v.Value.(*hujson.Object)
	at := -1
	for i := range object.Members {
		if object.Members[i].Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if at >= 0 {
			return nil, 0, fmt.Errorf("it has the key %q twice", name)
		}
		at = i
	}
	if at < 0 {
		return nil, -1, nil
	}
	return &object.Members[at], at, nil
}

// walk follows path, whose last name is the entry's own, as far as members exist. It returns the last object or list
// and the number of names that led to it.
func walk(v *hujson.Value, path []string) (*hujson.Value, int, error) {
	for i, name := range path[:len(path)-1] {
		m, _, err := member(v, name)
		if err != nil {
			return nil, 0, err
		}
		if m == nil {
			return v, i, nil
		}
		_, isObject := m.Value.Value.(*hujson.Object)
		_, isList := m.Value.Value.(*hujson.Array)
		switch list := path[i+1] == ListItem; {
		case list && !isList:
			return nil, 0, fmt.Errorf("its %q is not a list", name)
		case !list && !isObject:
			return nil, 0, fmt.Errorf("its %q is not an object", name)
		}
		v = &m.Value
	}
	return v, len(path) - 1, nil
}

// item is a member of an object or an element of a list.
type item struct {
	// start and end are its offsets, including a member's name.
	start, end int
	value      *hujson.Value
}

func items(v *hujson.Value) []item {
	var all []item
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			all = append(all, item{m.Name.StartOffset, m.Value.EndOffset, &m.Value})
		}
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			all = append(all, item{e.StartOffset, e.EndOffset, e})
		}
	}
	return all
}

func decodeJSON(text []byte) (any, error) {
	if err := safefile.CheckJSON(text); err != nil {
		return nil, err
	}
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(standard))
	d.UseNumber()
	var tree any
	err = d.Decode(&tree)
	return tree, err
}

// Read implements [Format].
func (JSON) Read(text []byte, path []string) ([]any, error) {
	text = bytes.TrimPrefix(text, []byte(bom))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	v, depth, err := walk(root, path)
	if err != nil || depth < len(path)-1 {
		return nil, err
	}
	found := items(v)
	if name := path[depth]; name != ListItem {
		_, i, err := member(v, name)
		if err != nil || i < 0 {
			return nil, err
		}
		found = found[i : i+1]
	}
	var entries []any
	for _, it := range found {
		entry, err := decodeJSON(text[it.value.StartOffset:it.value.EndOffset])
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// Insert implements [Format].
func (f JSON) Insert(text []byte, path []string, entry any) ([]byte, Edit, error) {
	if rest, ok := bytes.CutPrefix(text, []byte(bom)); ok {
		out, edit, err := f.Insert(rest, path, entry)
		return append([]byte(bom), out...), edit, err
	}
	newline := "\n"
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		newline = "\r\n"
	}
	if len(bytes.TrimSpace(text)) == 0 {
		body, err := object(path, entry, "", "  ", newline)
		edit := Edit{Path: path, Text: body + newline, Whole: true}
		return append(bytes.Clone(text), edit.Text...), edit, err
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, Edit{}, err
	}
	v, depth, err := walk(root, path)
	if err != nil {
		return nil, Edit{}, err
	}
	edit := Edit{Path: path, Depth: depth}
	members := items(v)
	inner := text[v.StartOffset : v.EndOffset-1]
	unit := indentUnit(text, root)
	own := lineIndent(text, v.StartOffset)

	// The position of the entry, and the separator from the one before it.
	at, comma, compact := v.StartOffset+1, -1, false
	indent, trailing := own+unit, ""
	if len(members) == 0 {
		at += len(trimSpace(inner[1:])) // after the comments
		compact = !bytes.ContainsRune(bytes.TrimSpace(text), '\n') && v != root
		if !bytes.ContainsRune(text[at:v.EndOffset-1], '\n') && !compact {
			edit.Tail = newline + own
		}
	} else {
		first, last := members[0].start, members[len(members)-1].end
		compact = !bytes.ContainsRune(text[v.StartOffset:first], '\n')
		if !compact {
			indent = lineIndent(text, first)
		}
		at = last
		if next := skipExtra(text, last); text[next] == ',' {
			at, trailing = next+1, ","
		} else {
			comma = last
		}
		// A comment after the last member belongs to it.
		rest := bytes.TrimRight(commentOnLine(text[at:v.EndOffset-1]), " \t")
		at += len(rest)
		if endsInComment(rest, false) {
			compact = false
		}
	}
	edit.Lead = newline + indent
	if compact {
		edit.Lead = ""
		if len(members) > 0 {
			edit.Lead = " "
		}
		unit, newline, indent = "", "", ""
	}
	value, err := object(path[depth+1:], entry, indent, unit, newline)
	if err != nil {
		return nil, Edit{}, err
	}
	edit.Text = value
	if path[depth] != ListItem {
		edit.Text = quote(path[depth]) + ": " + value
	}

	var out []byte
	if comma >= 0 {
		out = append(out, text[:comma]...)
		out = append(append(out, ','), text[comma:at]...)
	} else {
		out = append(out, text[:at]...)
	}
	out = append(out, edit.Lead+edit.Text+trailing+edit.Tail...)
	out = append(out, text[at:]...)

	before, err := decodeJSON(text)
	if err != nil {
		return nil, Edit{}, err
	}
	after, err := decodeJSON(out)
	if err != nil {
		return nil, Edit{}, errUnsafe
	}
	return out, edit, onlyAdded(before, after, edit)
}

// Remove implements [Format].
func (f JSON) Remove(text []byte, edit Edit) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(text, []byte(bom)); ok {
		out, err := f.Remove(rest, edit)
		return append([]byte(bom), out...), err
	}
	if edit.Whole && bytes.HasSuffix(text, []byte(edit.Text)) && len(bytes.TrimSpace(text)) == len(strings.TrimSpace(edit.Text)) {
		return text[:len(text)-len(edit.Text)], nil
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	written, err := decodeJSON([]byte(wrapped(edit)))
	if err != nil {
		return nil, err
	}
	// Remove the outermost written member that holds nothing else.
	changed := false
	for depth := edit.Depth; depth < len(edit.Path); depth++ {
		v, reached, err := walk(root, edit.Path[:depth+1])
		if err != nil {
			return nil, err
		}
		if reached < depth {
			break
		}
		was, _ := lookUp(written, edit.Path[edit.Depth:depth+1])
		same := func(it item) bool {
			now, err := decodeJSON(text[it.value.StartOffset:it.value.EndOffset])
			return err == nil && reflect.DeepEqual(now, was)
		}
		all := items(v)
		var at int
		if name := edit.Path[depth]; name == ListItem {
			at = slices.IndexFunc(all, same)
		} else if _, at, err = member(v, name); err != nil {
			return nil, err
		}
		if at < 0 {
			break
		}
		if !same(all[at]) {
			changed = depth == len(edit.Path)-1
			continue
		}
		return cut(text, v, at, edit), nil
	}
	if changed {
		return nil, ErrChanged
	}
	return nil, ErrGone
}

// wrapped returns what an edit wrote as a separate document.
func wrapped(edit Edit) string {
	if edit.Whole {
		return edit.Text
	}
	if edit.Path[edit.Depth] == ListItem {
		return "[" + edit.Text + "]"
	}
	return "{" + edit.Text + "}"
}

// cut removes item i from an object or a list, with the comma that is no longer needed.
func cut(text []byte, v *hujson.Value, i int, edit Edit) []byte {
	members := items(v)
	start, end := members[i].start, members[i].end
	before := text[:start]
	if edit.Lead != "" && bytes.HasSuffix(before, []byte(edit.Lead)) {
		start -= len(edit.Lead)
	} else if line := bytes.TrimRight(before, " \t"); bytes.HasSuffix(line, []byte("\n")) {
		start = len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
	}
	next, previous := skipExtra(text, end), v.StartOffset+1
	if i > 0 {
		previous = skipExtra(text, members[i-1].end)
	}
	var out []byte
	switch {
	case text[next] == ',':
		out = append(out, text[:start]...)
		end, next = next+1, end
		if endsInComment(text[previous:start], i > 0) && !bytes.HasPrefix(text[end:], []byte("\n")) && !bytes.HasPrefix(text[end:], []byte("\r\n")) {
			out = append(out, '\n')
		}
		out = append(out, text[next:end-1]...) // a comment that was added in between
	case i == 0:
		out = append(out, text[:start]...)
		text, end = bytes.TrimPrefix(text[end:], []byte(edit.Tail)), 0
	default:
		out = append(out, text[:previous]...) // up to the comma
		out = append(out, text[previous+1:start]...)
	}
	return append(out, text[end:]...)
}

// endsInComment reports whether the text between two tokens (from the comma on, if any) ends inside a comment that
// runs to the end of its line.
func endsInComment(between []byte, comma bool) bool {
	if comma {
		between = between[1:]
	}
	for len(between) > 0 {
		switch {
		case bytes.HasPrefix(between, []byte("//")):
			n := lineEnd(between)
			if n == len(between) {
				return true
			}
			between = between[n:]
		case bytes.HasPrefix(between, []byte("/*")):
			between = between[blockEnd(between):]
		default:
			between = between[1:]
		}
	}
	return false
}

// object writes the entry inside the objects and the list that path names.
func object(path []string, entry any, indent, unit, newline string) (string, error) {
	var compact bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	if err := e.Encode(entry); err != nil {
		return "", err
	}
	text := strings.TrimSpace(compact.String())
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == ListItem {
			text = "[" + text + "]"
		} else {
			text = "{" + quote(path[i]) + ":" + text + "}"
		}
	}
	if newline == "" {
		return text, nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(text), indent, unit); err != nil {
		return "", err
	}
	return strings.ReplaceAll(pretty.String(), "\n", newline), nil
}

// quote writes a string in JSON, which is also a basic string of TOML.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be written
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007f`)
}

// lineIndent returns the indentation of the line at an offset.
func lineIndent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentUnit returns the white space of one indentation level in a file.
func indentUnit(text []byte, root *hujson.Value) string {
	if members := root.Value.(*hujson.Object).Members; len(members) > 0 {
		first := members[0].Name.StartOffset
		own, its := lineIndent(text, root.StartOffset), lineIndent(text, first)
		if bytes.ContainsRune(text[root.StartOffset:first], '\n') && len(its) > len(own) && strings.HasPrefix(its, own) {
			return its[len(own):]
		}
	}
	return "  "
}

// trimSpace removes white space at the end.
func trimSpace(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n") }

// skipExtra returns the offset of the first byte from at on that is neither white space nor in a comment.
func skipExtra(text []byte, at int) int {
	for at < len(text) {
		switch rest := text[at:]; {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			at++
		case bytes.HasPrefix(rest, []byte("//")):
			at += lineEnd(rest)
		case bytes.HasPrefix(rest, []byte("/*")):
			at += blockEnd(rest)
		default:
			return at
		}
	}
	return at
}

// commentOnLine returns the white space and the comments that begin on the same line.
func commentOnLine(text []byte) []byte {
	at := 0
	for at < len(text) {
		switch rest := text[at:]; {
		case rest[0] == ' ' || rest[0] == '\t':
			at++
		case bytes.HasPrefix(rest, []byte("//")):
			return text[:at+lineEnd(rest)]
		case bytes.HasPrefix(rest, []byte("/*")):
			at += blockEnd(rest)
		default:
			return text[:at]
		}
	}
	return text[:at]
}

// lineEnd returns the length of the first line of text, without the line break.
func lineEnd(text []byte) int {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return len(text)
	}
	return len(bytes.TrimSuffix(text[:i], []byte("\r")))
}

// blockEnd returns the length of the block comment that text begins with.
func blockEnd(text []byte) int {
	if i := bytes.Index(text[2:], []byte("*/")); i >= 0 {
		return i + 4
	}
	return len(text)
}
