package variables

import (
	"fmt"
	"strconv"
	"strings"
)

// KeyKind is the way in which a value is reached from its container.
type KeyKind uint8

// Kinds of keys.
const (
	// KeyField is a property, `.name` or `["first name"]`, or a variable.
	KeyField KeyKind = iota
	// KeyIndex is an element of an array: `[3]`.
	KeyIndex
	// KeyEntry is an entry of a Map, by its key as in code: `.get("k")`.
	KeyEntry
	// KeyMember is a value in a Set, by the value as in code: `.has("a")`.
	KeyMember
	// KeyPosition is an object in a Set, or an entry of a Map with an object as key, by its index: `.values()[2]`.
	KeyPosition
	// KeySymbol is a property whose name is a symbol: `[Symbol(id)]`.
	KeySymbol
	// KeyPrivate is a private field, including its #: `.#count`.
	KeyPrivate
)

// Key is one step of a path.
type Key struct {
	Kind KeyKind
	// Name is the key's name. Elements and positions have an Index instead.
	Name  string
	Index int
}

// ordered reports whether the key is only an index among siblings.
func (k Key) ordered() bool { return k.Kind == KeyIndex || k.Kind == KeyPosition }

// append appends the key to a path, as in code.
func (k Key) append(path []byte) []byte {
	switch k.Kind {
	case KeyIndex:
		return append(strconv.AppendInt(append(path, '['), int64(k.Index), 10), ']')
	case KeyPosition:
		return append(strconv.AppendInt(append(path, ".values()["...), int64(k.Index), 10), ']')
	case KeyEntry:
		return append(append(append(path, ".get("...), k.Name...), ')')
	case KeyMember:
		return append(append(append(path, ".has("...), k.Name...), ')')
	case KeySymbol:
		return append(append(append(path, '['), k.Name...), ']')
	}
	if len(path) == 0 {
		return append(path, k.Name...)
	}
	if k.Kind == KeyPrivate || identifier(k.Name) {
		return append(append(path, '.'), k.Name...)
	}
	return append(append(append(path, '['), Quote(k.Name)...), ']')
}

// Path is the way to a value, the variable first.
type Path []Key

// String returns the path as in code: `order.Customer.Name`, `items[3].sku`, `cache.get("k")`.
func (p Path) String() string {
	var b []byte
	for _, k := range p {
		b = k.append(b)
	}
	return string(b)
}

// identifier reports whether a name can follow a dot.
func identifier(s string) bool {
	for i, r := range s {
		switch {
		case r == '$' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f:
		case i > 0 && r >= '0' && r <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// Quote returns a string as in code, in double quotes.
func Quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\u2028' || r == '\u2029': // they end a line of code
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\x`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ParsePath parses a path in the form of [Path.String].
func ParsePath(s string) (Path, bool) {
	var p Path
	rest := s
	name := func() string {
		end := strings.IndexAny(rest, ".[](){}")
		if end < 0 {
			end = len(rest)
		}
		n := rest[:end]
		rest = rest[end:]
		return n
	}
	first := name()
	if !identifier(first) {
		return nil, false
	}
	p = append(p, Key{Name: first})
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, ".values()["):
			n, after, ok := index(rest[len(".values()["):])
			if !ok {
				return nil, false
			}
			p, rest = append(p, Key{Kind: KeyPosition, Index: n}), after
		case strings.HasPrefix(rest, ".get("), strings.HasPrefix(rest, ".has("):
			kind := KeyEntry
			if rest[1] == 'h' {
				kind = KeyMember
			}
			inner, after, ok := bracketed(rest[4:], ')')
			if !ok {
				return nil, false
			}
			p, rest = append(p, Key{Kind: kind, Name: inner}), after
		case rest[0] == '.':
			rest = strings.TrimPrefix(rest[1:], "?.")
			n := name()
			if n == "" {
				return nil, false
			}
			kind := KeyField
			if n[0] == '#' {
				kind = KeyPrivate
			}
			p = append(p, Key{Kind: kind, Name: n})
		case rest[0] == '[':
			if n, after, ok := index(rest[1:]); ok {
				p, rest = append(p, Key{Kind: KeyIndex, Index: n}), after
				continue
			}
			inner, after, ok := bracketed(rest, ']')
			if !ok {
				return nil, false
			}
			rest = after
			switch text, ok := unquote(inner); {
			case ok:
				p = append(p, Key{Name: text})
			case strings.HasPrefix(inner, "Symbol("):
				p = append(p, Key{Kind: KeySymbol, Name: inner})
			default:
				return nil, false // an index that needs evaluation
			}
		default:
			return nil, false
		}
	}
	return p, true
}

// index reads an index up to a closing bracket.
func index(s string) (n int, rest string, ok bool) {
	end := strings.IndexByte(s, ']')
	if end < 1 {
		return 0, s, false
	}
	n, err := strconv.Atoi(s[:end])
	return n, s[end+1:], err == nil && n >= 0
}

// bracketed reads from an opening bracket to its closing bracket, and skips strings.
func bracketed(s string, closing byte) (inner, rest string, ok bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:], c == closing
			}
		}
	}
	return "", s, false
}

// unquote parses a string literal.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' && s[0] != '\'' || s[len(s)-1] != s[0] {
		return "", false
	}
	if s[0] == '\'' {
		if strings.Contains(strings.ReplaceAll(s[1:len(s)-1], `\'`, ""), "'") {
			return "", false
		}
		s = `"` + strings.ReplaceAll(strings.ReplaceAll(s[1:len(s)-1], `\'`, `'`), `"`, `\"`) + `"`
	}
	out, err := strconv.Unquote(s)
	return out, err == nil
}
