package compare

import (
	"cmp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/redact"
)

// slack is how many bytes of a line beyond its limit are looked at, so that a secret at the limit is recognized.
const slack = 1024

// margin is how many lines on each side of the shown ones are looked at, so that a secret is recognized whose key is there, and
// marginBytes how long a line of these is at most.
const margin, marginBytes = 8, 512

// severalLines is where a list or a text of several lines begins: [, | or > at the end of a line, or three quotes. A text of at most
// maxWhole bytes that has one is searched as a whole for secrets of more lines than that.
var severalLines = lazyregexp.New(`(?m)[\[|>][-+0-9]*[ \t]*\r?$|"""|'''`)

const maxWhole = 256 << 10

// shown turns lines of a text into what may leave the package.
type shown struct {
	c     *Comparer
	text  text
	exact bool
	// limit bounds a line in bytes.
	limit int
	// strict masks the value of every secret key, as in structured data.
	strict bool
	// keys are the private keys, the parts of forms, the cells of tables and other secrets of several lines in the text, found when the
	// first line is shown. They have more lines than are shown around a change, so that some of these say nothing about them.
	keys   [][2]int
	looked bool
}

// privateKey is a secret that spans lines, as package redact has it.
var privateKey = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`)

// partHead is the line that names a part of a form, whose value is in the lines after it.
var partHead = lazyregexp.New(`(?im)^content-disposition:`)

// shownLine is a line that may leave the package, with what was done to it.
type shownLine struct {
	text            string
	masked, escaped int
	cut             bool
}

// lines returns n lines without their line feeds, or fewer if they have more bytes than most. Lines that follow each
// other are masked together.
func (s *shown) lines(from, n, most int) []shownLine {
	if !s.looked {
		s.looked = true
		if !s.exact && strings.Contains(s.text.s, "PRIVATE KEY") {
			s.keys = pieces(privateKey().FindAllStringIndex(s.text.s, -1))
		}
		if form := partHead().MatchString(s.text.s); !s.exact && (form || len(s.text.s) <= maxWhole && severalLines().MatchString(s.text.s)) {
			for _, f := range s.find(s.text.s) {
				if form || strings.Contains(s.text.s[f.From:f.To], "\n") {
					s.keys = append(s.keys, [2]int{f.From, f.To})
				}
			}
		}
		if !s.exact {
			for _, f := range redact.Cells(s.c.redactor, s.text.s) {
				s.keys = append(s.keys, [2]int{f.From, f.To})
			}
			s.keys = apart(s.keys)
		}
	}
	var all []shownLine
	var secrets [][2]int // offsets in the lines, joined with line feeds
	size := 0
	if !s.exact {
		for i := max(0, from-margin); i < from; i++ {
			line := strings.TrimSuffix(s.text.line(i), "\n")
			line = line[max(0, len(line)-marginBytes):]
			all = append(all, shownLine{text: line})
			size += len(line) + 1
		}
	}
	before, begin := len(all), size
	for i := from; i < from+n && size-begin <= most; i++ {
		line := strings.TrimSuffix(s.text.line(i), "\n")
		start := s.text.start(i)
		if s.limit < len(line)-slack {
			line = line[:s.limit+slack]
		}
		first, _ := slices.BinarySearchFunc(s.keys, start+1, func(key [2]int, at int) int { return cmp.Compare(key[1], at) })
		for _, key := range s.keys[first:] {
			if key[0] >= start+len(line) {
				break
			}
			secrets = append(secrets, [2]int{size + max(0, key[0]-start), size + min(len(line), key[1]-start)})
		}
		all = append(all, shownLine{text: line})
		size += len(line) + 1
	}
	if !s.exact {
		last := len(all)
		end := from + last - before
		for i := end; i < min(end+margin, s.text.len()); i++ {
			line := strings.TrimSuffix(s.text.line(i), "\n")
			all = append(all, shownLine{text: line[:min(len(line), marginBytes)]})
		}
		s.mask(all, secrets)
		all = all[before:last]
	}
	for i := range all {
		l := &all[i]
		if !s.exact {
			l.text, l.escaped = Escape(l.text)
		}
		if l.cut = len(l.text) > s.limit; l.cut {
			at := s.limit
			for at > 0 && l.text[at]&0xc0 == 0x80 { // within a character
				at--
			}
			l.text = l.text[:at] + "…"
		}
	}
	return all
}

// find returns the secrets in a text.
func (s *shown) find(text string) []redact.Finding {
	if s.strict {
		_, found := s.c.redactor.Explain(text, redact.FormJSON)
		return found
	}
	return redact.Find(s.c.redactor, text)
}

// mask masks what is known to be secret, and what the redactor finds, in lines that follow each other.
func (s *shown) mask(all []shownLine, secrets [][2]int) {
	var joined strings.Builder
	for _, l := range all {
		joined.WriteString(l.text)
		joined.WriteByte('\n')
	}
	for _, f := range s.find(joined.String()) {
		secrets = append(secrets, [2]int{f.From, f.To})
	}
	secrets = apart(secrets)
	start := 0
	for i := range all {
		line := all[i].text
		end := start + len(line)
		var b strings.Builder
		at := start
		for len(secrets) > 0 && secrets[0][0] < end {
			from, to := max(at, secrets[0][0]), min(end, secrets[0][1])
			b.WriteString(line[at-start : from-start])
			b.WriteString(s.c.redactor.Mask())
			all[i].masked++
			if at = to; secrets[0][1] > end {
				break // the rest of it is in the next line
			}
			secrets = secrets[1:]
		}
		if at > start {
			all[i].text = b.String() + line[at-start:]
		}
		start = end + 1
		for len(secrets) > 0 && secrets[0][1] <= start {
			secrets = secrets[1:]
		}
	}
}

// MaskPath masks the secrets in the name of a file, and counts them.
func (c *Comparer) MaskPath(path string) (string, int) { return c.redactor.Text(path) }

func pieces(indexes [][]int) [][2]int {
	all := make([][2]int, len(indexes))
	for i, index := range indexes {
		all[i] = [2]int{index[0], index[1]}
	}
	return all
}

// apart sorts parts of a text, and joins those that overlap.
func apart(parts [][2]int) [][2]int {
	slices.SortFunc(parts, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	joined := parts[:0]
	for _, p := range parts {
		if i := len(joined) - 1; i >= 0 && p[0] < joined[i][1] {
			joined[i][1] = max(joined[i][1], p[1])
		} else if p[0] < p[1] {
			joined = append(joined, p)
		}
	}
	return joined
}

// structured reports whether a text looks like JSON.
func structured(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n\ufeff")
	if s == "" || s[0] != '{' && s[0] != '[' {
		return false
	}
	next := strings.TrimLeft(s[1:], " \t\r\n")
	return next != "" && strings.IndexByte(`"{[`, next[0]) >= 0
}
