// Package ranges makes ranges and sets of element references, and writes ranges as text.
//
// It is pure.
package ranges

import (
	"slices"
	"strings"
)

// Range is a range of references, both ends included.
type Range struct{ From, To int }

// Set returns references as a set.
func Set(refs []int) map[int]bool {
	set := make(map[int]bool, len(refs))
	for _, ref := range refs {
		set[ref] = true
	}
	return set
}

// Of joins references that are consecutive, or have only others between them that may be included.
func Of(refs []int, may func(ref int) bool) (list []Range) {
	for _, ref := range slices.Sorted(slices.Values(refs)) {
		n := len(list)
		if n > 0 && joins(list[n-1].To+1, ref, may) {
			list[n-1].To = ref
			continue
		}
		list = append(list, Range{ref, ref})
	}
	return list
}

// joins reports whether all references from one up to another may be included.
func joins(from, to int, may func(ref int) bool) bool {
	for ; from < to; from++ {
		if may == nil || !may(from) {
			return false
		}
	}
	return true
}

// String returns ranges as text: "e2, e4-e9". Each reference has the name that is given for it.
func String(list []Range, name func(ref int) string) string {
	parts := make([]string, 0, len(list))
	for _, r := range list {
		if r.From == r.To {
			parts = append(parts, name(r.From))
		} else {
			parts = append(parts, name(r.From)+"-"+name(r.To))
		}
	}
	return strings.Join(parts, ", ")
}
