// Package keys says what of an element's keys and texts stays the same when a page renders the element again.
//
// It guarantees: the same text gives the same answer. It is pure.
package keys

import (
	"strings"
	"unicode"
)

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
	_, a, found := strings.Cut(" "+keys, " href=")
	if !found || a == "#" || strings.HasPrefix(a, "javascript:") {
		return ""
	}
	return a
}
