package compare

import (
	"cmp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/redact"
)

// shown turns lines of a text into what may leave the package.
type shown struct {
	c     *Comparer
	text  text
	exact bool
	// limit bounds a line in bytes; 0 is no limit.
	limit int
	// secrets are the parts of the text to mask, in order and apart. They are looked for when the first line is shown.
	secrets [][2]int
	looked  bool

	masked, escaped, cut int
}

// line returns a line without its line feed.
func (s *shown) line(i int) string {
	line := strings.TrimSuffix(s.text.line(i), "\n")
	if !s.exact {
		line = s.safe(i, line)
	}
	if s.limit > 0 && len(line) > s.limit {
		s.cut++
		at := s.limit
		for at > 0 && line[at]&0xc0 == 0x80 { // within a character
			at--
		}
		line = line[:at] + "…"
	}
	return line
}

// safe masks and escapes a line. A secret that spans lines is known only from the whole text; the line alone is masked
// too, because a text of one form can have lines of another one.
func (s *shown) safe(i int, line string) string {
	if !s.looked {
		s.looked = true
		s.secrets = s.c.secrets(s.text.s)
	}
	start := s.text.start(i)
	end := start + len(line)
	first, _ := slices.BinarySearchFunc(s.secrets, start, func(secret [2]int, at int) int { return cmp.Compare(secret[1], at+1) })
	var b strings.Builder
	at := start
	for _, secret := range s.secrets[first:] {
		if secret[0] >= end {
			break
		}
		b.WriteString(s.text.s[at:max(at, secret[0])])
		b.WriteString(s.c.redactor.Mask())
		s.masked++
		at = min(end, secret[1])
	}
	if at > start {
		b.WriteString(s.text.s[at:end])
		line = b.String()
	}
	line, masked := s.c.redactor.Text(line)
	line, escaped := Escape(line)
	s.masked += masked
	s.escaped += escaped
	return line
}

// secrets returns the parts of a text to mask, in order and apart.
func (c *Comparer) secrets(s string) [][2]int {
	_, found := c.redactor.Explain(s, redact.FormText)
	all := make([][2]int, 0, len(found))
	for _, f := range found {
		if f.From < f.To {
			all = append(all, [2]int{f.From, f.To})
		}
	}
	slices.SortFunc(all, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	apart := all[:0]
	for _, secret := range all {
		if i := len(apart) - 1; i >= 0 && secret[0] < apart[i][1] {
			apart[i][1] = max(apart[i][1], secret[1])
			continue
		}
		apart = append(apart, secret)
	}
	return apart
}
