// Package keys says what of an element's keys and texts stays the same when a page renders the element again.
//
// It guarantees: the same text gives the same answer. It is pure.
package keys

import (
	"strings"
	"unicode"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Content returns the keys that tell an element from another that looks the same: what identifies it, and where it leads.
func Content(keys string) string {
	var own []string
	for _, k := range strings.Fields(keys) {
		if name, value, _ := strings.Cut(k, "="); name != "type" && !isGenerated(name, value) {
			own = append(own, k)
		}
	}
	return strings.Join(own, " ")
}

// Conflict reports whether the keys of two elements contradict each other. The type of a field counts only if the elements are
// not alike otherwise. Of elements with the same identity, only the address can contradict.
func Conflict(a, b string, alike bool) bool {
	if x, y := Address(a), Address(b); x != "" && y != "" && x != y {
		return true
	}
	if own := Identity(a); alike && own != "" && own == Identity(b) {
		return false
	}
	theirs := map[string]string{}
	for _, k := range strings.Fields(a) {
		name, value, _ := strings.Cut(k, "=")
		theirs[name] = value
	}
	for _, k := range strings.Fields(b) {
		name, value, _ := strings.Cut(k, "=")
		other, both := theirs[name]
		if both && other != value && name != "href" && !(alike && name == "type") && !isGenerated(name, value) {
			return true
		}
	}
	return false
}

// isGenerated reports whether a framework may have made a key for one rendering.
func isGenerated(name, value string) bool {
	return (name == "id" || name == "name") && IsCounted(value)
}

// Identity returns the keys that identify one element, without ids that a framework generates. Keys are name=value, with
// spaces between them.
func Identity(keys string) string {
	var own []string
	for _, k := range strings.Fields(keys) {
		name, value, _ := strings.Cut(k, "=")
		switch name {
		case "id", "data-testid", "data-test", "data-cy", "data-key", "data-id":
			if name != "id" || !IsCounted(value) {
				own = append(own, k)
			}
		}
	}
	return strings.Join(own, " ")
}

// IsCounted reports whether an id looks generated for one rendering: ":r1:", "mui-4242", "radix-:R1:".
func IsCounted(id string) bool {
	if strings.ContainsAny(id, ":«»") {
		return true
	}
	digits := 0
	for _, r := range id {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= 4
}

// FoldDigits replaces each run of digits by one #.
func FoldDigits(s string) string {
	var b strings.Builder
	in := false
	for _, r := range s {
		digit := unicode.IsDigit(r)
		if digit && !in {
			b.WriteByte('#')
		} else if !digit {
			b.WriteRune(r)
		}
		in = digit
	}
	return b.String()
}

// Address returns where a link with keys leads, as the page writes it; "" if that is the page itself or a script.
func Address(keys string) string {
	_, a, _ := strings.Cut(" "+keys, " href=")
	a, _, _ = strings.Cut(a, " ")
	if a == "#" || strings.HasPrefix(a, "javascript:") {
		return ""
	}
	return a
}

// Title returns a page's title without counts and other numbers.
func Title(title string) string { return FoldDigits(counts().ReplaceAllString(title, "")) }

// counts matches the counts that applications add to a title: "Inbox (3)", "[12] Inbox".
var counts = lazyregexp.New(`\s*[(\[]\d+\+?[)\]]\s*`)

// Route returns an address without its fragment.
func Route(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}
