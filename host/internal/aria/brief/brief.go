// Package brief writes texts of pages for the lines of snapshots: on one line, in quotes, and no longer than a limit.
//
// The package is pure.
package brief

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Quote returns text as JSON, cut to limit characters.
func Quote(s string, limit int) string {
	s, _ = Shorten(s, limit)
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // a string can always be encoded
	}
	// JSON does not escape some characters that end a line of YAML or are invalid in it.
	return strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`, "\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(strings.TrimSuffix(b.String(), "\n"))
}

// Shorten cuts text to limit characters, the last of which is an ellipsis.
func Shorten(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	n := 0
	for i := range s {
		if n++; n > limit {
			cut := s[:i]
			for j := i - 1; j >= 0; j-- { // room for the ellipsis
				if cut[j]&0xC0 != 0x80 {
					cut = cut[:j]
					break
				}
			}
			return cut + "…", true
		}
	}
	return s, false
}

// Length returns a note on the length of a text that is cut, else "".
func Length(s string, whole, limit int) string {
	if whole == 0 {
		if _, cut := Shorten(s, limit); !cut {
			return ""
		}
		whole = len([]rune(s))
	}
	return fmt.Sprintf(" (%d characters)", whole)
}

// Note returns a comment with the length of a text that is cut, else "".
func Note(s string, whole, limit int) string {
	if l := Length(s, whole, limit); l != "" {
		return "  #" + l
	}
	return ""
}

// Key returns a label as a YAML key, in quotes if YAML would misread it.
func Key(label string) string {
	if strings.Contains(label, ": ") || strings.Contains(label, " #") || strings.HasSuffix(label, ":") {
		return "'" + strings.ReplaceAll(label, "'", "''") + "'"
	}
	return label
}

// Contrast returns a text and its old version so that the difference is visible: of long texts, the part that differs and
// their lengths. The note on the new text belongs in front of "was".
func Contrast(old, now string, oldCut, nowCut, limit int) (is, note, was string) {
	a, b := []rune(old), []rune(now)
	if max(len(a), len(b)) <= limit && oldCut == 0 && nowCut == 0 {
		return Quote(now, limit), "", Quote(old, limit)
	}
	begin, end := 0, 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	for oldCut == 0 && nowCut == 0 && end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	const around = 20 // characters that are shown beside the difference
	part := func(text []rune) string {
		from, to := max(0, begin-around), min(len(text), len(text)-end+around)
		s := string(text[from:to])
		if from > 0 {
			s = "…" + s
		}
		if to < len(text) {
			s += "…"
		}
		return Quote(s, limit)
	}
	note = fmt.Sprintf("(%d characters), ", max(len(b), nowCut))
	if begin == len(a) && begin == len(b) {
		note += fmt.Sprintf("changed beyond the first %d, ", begin)
	}
	return part(b), note, fmt.Sprintf("%s (%d characters)", part(a), max(len(a), oldCut))
}

// Plain returns text on one line, in quotes if YAML would misread it.
func Plain(s string) string {
	folded := strings.Join(strings.Fields(s), " ")
	if folded == "" || folded != s || strings.ContainsAny(s[:1], "!&*-?:,[]{}#|>@`\"'%") || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.ContainsAny(s, "\ufffe\uffff") ||
		strings.HasSuffix(s, ":") {
		return Quote(folded, 500)
	}
	return s
}

// Title returns the title of a page for a mark such as [Page: Shop]: on one line, cut to limit characters, and in quotes if it
// could end the mark or be taken for one.
func Title(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if strings.ContainsAny(s, `[]"`) {
		return Quote(s, limit)
	}
	s, _ = Shorten(s, limit)
	return s
}

// ofIPv6 matches the beginning of an address whose host is in brackets.
var ofIPv6 = regexp.MustCompile(`^[a-z]+://\[[0-9a-f:.]+\]`)

// Address is [Title] for an address, which has no blanks. The brackets of an IPv6 host are its own.
func Address(s string, limit int) string {
	if folded := strings.Join(strings.Fields(s), " "); strings.ContainsAny(s[len(ofIPv6.FindString(s)):], `[]" `) || folded != s {
		return Quote(folded, limit)
	}
	s, _ = Shorten(s, limit)
	return s
}

// Clip cuts text to limit bytes, between characters.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit]
}

// Middle cuts the middle of a text out, to limit characters.
func Middle(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit/2]) + "…" + string(r[len(r)-limit/2+1:])
}

// Count returns a number of things: "1 element", "3 elements".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// NotShown returns the note on items that a listing leaves out: how many there are of each kind, and the lists that they are
// in, if there are any. Elsewhere means that some are in none.
func NotShown(count map[string]int, in string, lists int, elsewhere bool) string {
	counted := make([]string, 0, len(count))
	for _, what := range slices.Sorted(maps.Keys(count)) {
		counted = append(counted, Count(count[what], what))
	}
	if len(counted) == 0 {
		return ""
	}
	where, how := "", ""
	switch {
	case lists == 1 && !elsewhere:
		how = "root: " + in + " with "
	case lists > 0 && elsewhere:
		where = " (in " + in + " and elsewhere)"
	case lists > 0:
		where = " (in " + in + ")"
	}
	return fmt.Sprintf("# %s not shown%s; %sinteractive_only: false shows them\n", strings.Join(counted, " and "), where, how)
}

// StateChanges returns the states that only one of two nodes has. If a state changed its value, only the old value is
// listed, because the line shows the new one.
func StateChanges(old, now []string) (gone, came []string) {
	names := map[string]bool{}
	for _, s := range old {
		if !slices.Contains(now, s) {
			gone = append(gone, s)
			name, _, _ := strings.Cut(s, "=")
			names[name] = true
		}
	}
	for _, s := range now {
		name, _, _ := strings.Cut(s, "=")
		opposite := s == "expanded" && names["collapsed"] || s == "collapsed" && names["expanded"]
		if !slices.Contains(old, s) && !names[name] && !opposite {
			came = append(came, s)
		}
	}
	return gone, came
}

// maxUnread is how many frames are named.
const maxUnread = 3

// NotRead returns notes on what is missing in a tree: a number of elements, and frames, whose addresses are cut to limit
// characters.
func NotRead(elements int, frames []string, limit int) string {
	var b strings.Builder
	if elements > 0 {
		fmt.Fprintf(&b, "[Not read: %s; the page is too large or keeps changing]\n", Count(elements, "element"))
	}
	if n := len(frames); n > 0 {
		named := make([]string, 0, maxUnread+1)
		for _, address := range frames[:min(n, maxUnread)] {
			named = append(named, Address(address, limit))
		}
		if n > maxUnread {
			named = append(named, fmt.Sprintf("and %d more", n-maxUnread))
		}
		fmt.Fprintf(&b, "[Not read: %d frame(s): %s]\n", n, strings.Join(named, ", "))
	}
	return b.String()
}
