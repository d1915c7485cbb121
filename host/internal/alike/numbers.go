package alike

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Few is how many entries that differ in numbers alone are listed one by one. More are one entry.
const Few = 3

// maxCompared bounds how much of a text is compared, in bytes.
const maxCompared = 200

// WithoutNumbers returns the beginning of a text with 0 in place of each number.
func WithoutNumbers(s string) string {
	var b [maxCompared]byte
	return string(b[:withoutNumbers(&b, s)])
}

// HashWithoutNumbers returns a hash of [WithoutNumbers], which differs from process to process.
func HashWithoutNumbers(s string) uint64 {
	var b [maxCompared]byte
	return maphash.Bytes(seed, b[:withoutNumbers(&b, s)])
}

var seed = maphash.MakeSeed()

// withoutNumbers writes [WithoutNumbers] to b, and returns its length.
func withoutNumbers(b *[maxCompared]byte, s string) int {
	n, number := 0, false
	for i := range min(len(s), maxCompared) {
		c := s[i]
		if !isDigit(c) {
			number = false
		} else if number {
			continue
		} else {
			c, number = '0', true
		}
		b[n] = c
		n++
	}
	return n
}

// Pattern is what texts have in common that differ in numbers alone. The zero value has no text.
type Pattern struct {
	first  string
	differ []bool // by the numbers of the first text
}

// Add adds a text. One that differs in more than numbers from the first changes nothing.
func (p *Pattern) Add(text string) {
	if p.first == "" {
		p.first = text
		return
	}
	if text == p.first {
		return
	}
	var differ []bool
	a, b := p.first, text
	for {
		i, j := strings.IndexAny(a, digits), strings.IndexAny(b, digits)
		if i < 0 || j < 0 {
			if a == b {
				break
			}
			return
		}
		if a[:i] != b[:j] {
			return
		}
		n, m := digitsLen(a[i:]), digitsLen(b[j:])
		differ = append(differ, a[i:i+n] != b[j:j+m])
		a, b = a[i+n:], b[j+m:]
	}
	if p.differ == nil {
		p.differ = differ
		return
	}
	for i, d := range differ {
		p.differ[i] = p.differ[i] || d
	}
}

const digits = "0123456789"

// Differs reports whether there are texts that differ.
func (p *Pattern) Differs() bool { return slices.Contains(p.differ, true) }

// String returns the first text with {n} in place of each number that is another one in other texts.
func (p *Pattern) String() string {
	var b strings.Builder
	rest := p.first
	for _, differs := range p.differ {
		i := strings.IndexAny(rest, digits)
		n := digitsLen(rest[i:])
		b.WriteString(rest[:i])
		if differs {
			b.WriteString(number)
		} else {
			b.WriteString(rest[i : i+n])
		}
		rest = rest[i+n:]
	}
	return b.String() + rest
}

const number = "{n}"

// Path is String for paths and names of requests: {id} stands in place of each segment that has such a number.
func (p *Pattern) Path() string {
	var b strings.Builder
	rest := p.String()
	for {
		end := strings.IndexAny(rest, "/ ")
		segment := rest
		if end >= 0 {
			segment = rest[:end]
		}
		if strings.Contains(segment, number) {
			segment = "{id}"
		}
		b.WriteString(segment)
		if end < 0 {
			return b.String()
		}
		b.WriteByte(rest[end])
		rest = rest[end+1:]
	}
}
