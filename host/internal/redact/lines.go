package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/redact/tables"
)

// Secrets over several lines: in data, in commands that continue on the next line, and in diffs, whose lines begin with a sign.

// Find returns the secrets in a text of several lines, with offsets in it. They may overlap.
func Find(r *Redactor, s string) []Finding {
	_, found := r.Explain(s, FormText)
	return append(found, inLines(r, s)...)
}

// Cells returns the secrets that the columns of a text's tables have, and no others. That is fast, whatever the size of a text.
func Cells(r *Redactor, s string) []Finding {
	tr := &trace{}
	_, _ = maskTable(r, s, tr)
	return tr.findings()
}

// Running is [tables.Running] of tables with a secret column.
func Running(r *Redactor, s string) string {
	return tables.Running(s, func(names []string) bool { return columnsOf(r, names) != nil })
}

// MayName reports whether a text may have a key by which what follows the text is secret. That is fast, and right where it is false.
func MayName(r *Redactor, s string) bool {
	if isUnusual(s) {
		s = plainKey(strings.Map(func(c rune) rune {
			if Hidden(c) {
				return -1
			}
			return c
		}, s))
		if isForeign(s, r.foreign) {
			return true
		}
	}
	for !r.stems.in(s) {
		if len(s) <= maxKey {
			return false
		}
		s = s[:len(s)-maxKey/2]
	}
	return true
}

// Whole masks what [Find] finds, and counts it.
func Whole(r *Redactor, s string) (string, int) {
	lines := []string{s}
	n := Apply(r, lines, inLines(r, s)) // first: what is masked no longer says what the next line is
	s, m := r.Text(lines[0])
	return s, n + m
}

// Lines masks the lines of one text, each in its place, and counts what it masks.
func Lines(r *Redactor, lines []string) int {
	text := strings.Join(lines, "\n")
	if len(lines) > 1 && !slices.ContainsFunc(lines, func(line string) bool { return line == "" || !strings.ContainsRune(`+- \`, rune(line[0])) }) {
		return Apply(r, lines, inDiffs(r, text)) // so that the signs stay
	}
	return Apply(r, lines, Find(r, text))
}

// Keys masks the values of secret keys in JSON, whose lists may have the lines of one text.
func Keys(r *Redactor, raw string) (string, int) {
	masked, n := r.Body(raw)
	if n == 0 || json.Valid([]byte(masked)) {
		return masked, n
	}
	// A key at the end of one text has no value in the next one: ["\"password\":","a"].
	_, found := r.Explain(raw, FormJSON)
	at, quoted := 0, false
	found = slices.DeleteFunc(found, func(f Finding) bool {
		for ; at < f.From; at++ {
			switch {
			case quoted && raw[at] == '\\':
				at++
			case raw[at] == '"':
				quoted = !quoted
			}
		}
		return !quoted && at == f.From && raw[at] == ','
	})
	lines := []string{raw}
	n = Apply(r, lines, found)
	return lines[0], n
}

// Apply masks findings in lines, whose offsets are in the text that the lines are joined to. It counts what it masks.
func Apply(r *Redactor, lines []string, found []Finding) (n int) {
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	start := 0
	for i, line := range lines {
		p := r.pass(line, nil)
		for _, f := range found {
			from, to := max(f.From-start, p.copied), min(f.To-start, len(line))
			if from < to && line[from:to] != r.mask {
				p.mask(from, to, f.Kind, f.Name)
			}
		}
		masked := 0
		lines[i], masked = p.done()
		n += masked
		start += len(line) + 1
	}
	return n
}

func inLines(r *Redactor, s string) []Finding {
	found := append(inData(r, s), inContinued(r, s)...)
	return append(found, inDiffs(r, s)...)
}

// inData returns the secrets in those lines of a text that look like data, such as JSON. They are found by their keys, which in
// prose do not suffice. A key and its value may be on several lines.
func inData(r *Redactor, s string) (found []Finding) {
	add := func(from, to int) {
		_, all := r.Explain(s[from:to], FormJSON)
		for _, f := range all {
			f.From, f.To = f.From+from, f.To+from
			found = append(found, f)
		}
	}
	at, block, n := 0, 0, 0
	for line := range strings.Lines(s) {
		switch data := strings.TrimLeft(line, " \t"); {
		case data != "" && strings.IndexByte(`{["`, data[0]) >= 0:
			add(at, at+len(line))
			n++
		case n > 0 && data != "" && strings.IndexByte(`]}`, data[0]) >= 0:
			n++
		default:
			if n > 1 {
				add(block, at)
			}
			block, n = at+len(line), 0
		}
		at += len(line)
	}
	if n > 1 {
		add(block, at)
	}
	return found
}

// inContinued returns the secrets in a text whose lines continue behind a backslash, as in a shell.
func inContinued(r *Redactor, s string) []Finding {
	if !strings.Contains(s, "\\\n") {
		return nil
	}
	var v view
	at := 0
	for part := range strings.SplitAfterSeq(s, "\\\n") {
		v.add(at, strings.TrimSuffix(part, "\\\n"))
		at += len(part)
	}
	_, found := r.Explain(v.text.String(), FormText)
	return v.back(found)
}

// inDiffs returns the secrets in the unified diffs of a text, in their lines before and after the change. Where a diff has no header,
// its lines are those that follow each other and begin with a sign.
func inDiffs(r *Redactor, s string) (found []Finding) {
	var before, after view
	added, removed := 0, 0
	end := func() {
		for _, side := range []struct {
			view    *view
			changed int
		}{{&before, removed}, {&after, added}} {
			if text := side.view.text.String(); side.changed > 0 && len(side.view.pieces) > 1 {
				_, all := r.Explain(text, FormText)
				all = append(all, inData(r, text)...)
				found = append(found, side.view.back(append(all, inContinued(r, text)...))...)
			}
		}
		before, after, added, removed = view{}, view{}, 0, 0
	}
	at := 0
	for line := range strings.Lines(s) {
		switch line[0] {
		case '+':
			after.add(at+1, line[1:])
			added++
		case '-':
			before.add(at+1, line[1:])
			removed++
		case ' ':
			before.add(at+1, line[1:])
			after.add(at+1, line[1:])
		case '\n', '\r': // a line of context whose blank was removed
			before.add(at, line)
			after.add(at, line)
		case '\\': // the file ends without a line feed
		default:
			end()
		}
		at += len(line)
	}
	end()
	return found
}

// view is a text without some of its bytes.
type view struct {
	text   strings.Builder
	pieces []piece
}

// piece is a part of a view: where it begins in the view, and where in the text.
type piece struct{ at, from int }

func (v *view) add(from int, s string) {
	v.pieces = append(v.pieces, piece{v.text.Len(), from})
	v.text.WriteString(s)
}

// back returns findings with their offsets in the text, one for each piece that they are in.
func (v *view) back(found []Finding) (all []Finding) {
	for _, f := range found {
		i, exact := slices.BinarySearchFunc(v.pieces, f.From, func(p piece, at int) int { return cmp.Compare(p.at, at) })
		if !exact {
			i--
		}
		for ; i < len(v.pieces) && v.pieces[i].at < f.To; i++ {
			end := v.text.Len()
			if i+1 < len(v.pieces) {
				end = v.pieces[i+1].at
			}
			shift := v.pieces[i].from - v.pieces[i].at
			from, to := max(f.From, v.pieces[i].at), min(f.To, end)
			for to > from && (v.text.String()[to-1] == '\n' || v.text.String()[to-1] == '\r') { // line ends are no secret
				to--
			}
			if from < to {
				g := f
				g.From, g.To = from+shift, to+shift
				all = append(all, g)
			}
		}
	}
	return all
}
