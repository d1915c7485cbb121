package compare

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// text is a text in lines. Only the last line may have no line feed.
type text struct {
	s string
	// ends are the offsets at which the lines end.
	ends []int
}

func newText(s string) text {
	t := text{s: s, ends: make([]int, 0, strings.Count(s, "\n")+1)}
	for at := 0; at < len(s); {
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			at += i + 1
		} else {
			at = len(s)
		}
		t.ends = append(t.ends, at)
	}
	return t
}

func (t text) len() int { return len(t.ends) }

// start is the offset at which a line begins; that of the line after the last one is the length.
func (t text) start(i int) int {
	if i == 0 {
		return 0
	}
	return t.ends[i-1]
}

// line returns a line with its line feed.
func (t text) line(i int) string { return t.s[t.start(i):t.ends[i]] }

func (t text) part(from, to int) text { return newText(t.s[t.start(from):t.start(to)]) }

// block is a run of lines that two texts have in common: n lines from x of the one and from y of the other.
type block struct{ x, y, n int }

// Texts whose different parts have more lines than manyLines are compared by their unique lines first, so that two large
// texts with nothing in common cost milliseconds instead of seconds. What lies between is compared in full up to fewLines.
const (
	manyLines = 10_000
	fewLines  = 2_000
)

// match returns what two texts have in common, in order.
func match(a, b text) []block {
	same := 0
	for same < min(a.len(), b.len()) && a.line(same) == b.line(same) {
		same++
	}
	end := 0
	for end < min(a.len(), b.len())-same && a.line(a.len()-1-end) == b.line(b.len()-1-end) {
		end++
	}
	if a.len()+b.len()-2*(same+end) <= manyLines {
		return blocks(nil, a, b, 0, 0, textdiff.IndentHeuristic())
	}
	var all []block
	x, y := 0, 0
	for _, m := range append(blocks(nil, a, b, 0, 0, diff.Fast()), block{a.len(), b.len(), 0}) {
		if m.x > x && m.y > y && m.x-x+m.y-y <= fewLines {
			all = blocks(all, a.part(x, m.x), b.part(y, m.y), x, y)
		}
		all = add(all, m)
		x, y = m.x+m.n, m.y+m.n
	}
	return all
}

// blocks adds what two texts have in common, which are parts that begin at the lines x and y.
func blocks(to []block, a, b text, x, y int, options ...textdiff.Option) []block {
	for _, e := range textdiff.Edits(a.s, b.s, options...) {
		if e.Op == diff.Match {
			to = add(to, block{x + e.LineNoX, y + e.LineNoY, 1})
		}
	}
	return to
}

func add(to []block, b block) []block {
	if b.n == 0 {
		return to
	}
	if i := len(to) - 1; i >= 0 && to[i].x+to[i].n == b.x && to[i].y+to[i].n == b.y {
		to[i].n += b.n
		return to
	}
	return append(to, b)
}

// counted returns the lines of the second text that the first one has not, and the reverse.
func counted(a, b text, same []block) (added, removed int) {
	added, removed = b.len(), a.len()
	for _, m := range same {
		added -= m.n
		removed -= m.n
	}
	return added, removed
}

// runs returns the runs of lines between what two texts have in common.
func runs(a, b text, same []block) (list []Run) {
	x, y := 0, 0
	for _, m := range append(same[:len(same):len(same)], block{a.len(), b.len(), 0}) {
		if m.x > x || m.y > y {
			r := Run{At: y + 1, Old: m.x - x, New: m.y - y}
			if r.Old == 1 && r.New == 1 {
				r.From, r.To = columns(a.line(x), b.line(y))
			}
			list = append(list, r)
		}
		x, y = m.x+m.n, m.y+m.n
	}
	return list
}

// columns returns from where to where a line differs from the one that it replaced, in whole words, in UTF-16 units counted from 1.
func columns(was, is string) (from, to int) {
	same := func(of func(string) (rune, int), left func(string, int) string, was, is string) string {
		for was != "" && is != "" {
			r, n := of(was)
			o, m := of(is)
			if r != o || n != m || r == utf8.RuneError && n == 1 {
				break
			}
			was, is = left(was, n), left(is, m)
		}
		return is
	}
	rest := same(utf8.DecodeRuneInString, func(s string, n int) string { return s[n:] }, was, is)
	start := len(is) - len(rest)
	rest = same(utf8.DecodeLastRuneInString, func(s string, n int) string { return s[:len(s)-n] }, was[start:], rest)
	end := start + len(rest)
	start = len(strings.TrimRightFunc(is[:start], isWord))
	end = len(is) - len(strings.TrimLeftFunc(is[end:], isWord))
	from = 1 + units(is[:start])
	return from, from + units(is[start:end])
}

// isWord reports whether a rune is one of names in code.
func isWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// units counts the UTF-16 units of a text.
func units(s string) (n int) {
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// edit is what a line of a difference is: the line x of the first text, or y of the second one, or both.
type edit struct {
	op   byte // ' ', '-', '+'
	x, y int
}

// span is a run of lines around changes: xs lines from x of the first text, ys lines from y of the second one.
type span struct {
	x, xs, y, ys int
	edits        []edit
}

// spans returns the differences of two texts with the lines around them.
func spans(a, b text, same []block, context int) []span {
	var all []span
	x, y := 0, 0 // up to where both were compared
	for _, m := range append(same, block{a.len(), b.len(), 0}) {
		if m.x > x || m.y > y {
			before := min(context, x, y)
			var s *span
			if len(all) > 0 {
				last := &all[len(all)-1]
				if x-(last.x+last.xs) <= before { // the lines around meet
					s = last
					before = x - (last.x + last.xs)
				}
			}
			if s == nil {
				all = append(all, span{x: x - before, y: y - before})
				s = &all[len(all)-1]
			}
			s.common(x-before, y-before, before)
			for ; x < m.x; x++ {
				s.edits = append(s.edits, edit{'-', x, y})
				s.xs++
			}
			for ; y < m.y; y++ {
				s.edits = append(s.edits, edit{'+', x, y})
				s.ys++
			}
			s.common(x, y, min(context, m.n))
		}
		x, y = m.x+m.n, m.y+m.n
	}
	return all
}

func (s *span) common(x, y, n int) {
	for i := range n {
		s.edits = append(s.edits, edit{' ', x + i, y + i})
	}
	s.xs += n
	s.ys += n
}
