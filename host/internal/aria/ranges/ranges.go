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

// Names returns references as text: "e2, e4". Of more than most, it names the first: "e2, e4, …".
func Names(refs []int, most int, name func(ref int) string) string {
	parts := make([]string, 0, len(refs))
	for i, ref := range refs {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, name(ref))
	}
	return strings.Join(parts, ", ")
}

// Map maps references to values. References are dense, so lists suffice: one for elements and one for text, whose
// references are below 0.
type Map[T any] struct{ Elements, texts []T }

// At returns the place of a reference's value, which is the zero value at first.
func (m *Map[T]) At(ref int) *T {
	list, i := &m.Elements, ref
	if ref < 0 {
		list, i = &m.texts, -ref
	}
	if n := i + 1 - len(*list); n > 0 {
		*list = append(*list, make([]T, n)...)
	}
	return &(*list)[i]
}

// Clear removes all values and keeps the capacity of the lists.
func (m *Map[T]) Clear() {
	clear(m.Elements)
	clear(m.texts)
	m.Elements, m.texts = m.Elements[:0], m.texts[:0]
}
