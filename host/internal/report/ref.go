package report

import (
	"reflect"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// MaxRefs bounds how many positions a [Ref] has.
const MaxRefs = 100

// Ref says which entries of its section's buffer something in a report was made of. It is nil in a report that was made
// without references.
type Ref struct {
	// Positions are those of the newest entries, oldest first, at most [MaxRefs].
	Positions []uint64
	// Event is the first of them; of a failure the newest.
	Event event.Event
	// Endpoint is set for what speaks of one, Element for an error element.
	Endpoint capture.EndpointKey
	Element  capture.ElementKey
	// Tab is where it happened.
	Tab int
}

// Add has one more entry belong to it.
func (r *Ref) Add(pos uint64) {
	if r == nil {
		return
	}
	r.Positions = append(r.Positions, pos)
	if len(r.Positions) >= 2*MaxRefs {
		r.trim()
	}
}

// Join has the entries of another reference belong to it.
func (r *Ref) Join(other *Ref) {
	if r == nil || other == nil {
		return
	}
	r.Positions = append(r.Positions, other.Positions...)
	slices.Sort(r.Positions)
	r.trim()
}

// trim leaves the newest.
func (r *Ref) trim() {
	if n := len(r.Positions) - MaxRefs; n > 0 {
		r.Positions = append(r.Positions[:0], r.Positions[n:]...)
	}
}

// Lists yields each section of the report with its lists that are not empty, by their names, and the reference of every
// entry. The list of storms is in no section.
func (r *Report) Lists(yield func(section string, lists map[string][]*Ref) bool) {
	if storms := refsOf(reflect.ValueOf(r.Storms)); storms != nil && !yield("", map[string][]*Ref{"storms": storms}) {
		return
	}
	for name, section := range r.sections {
		lists, fields := map[string][]*Ref{}, reflect.ValueOf(section).Elem()
		for i := range fields.NumField() {
			if refs := refsOf(fields.Field(i)); refs != nil {
				lists[jsonName(fields.Type().Field(i))] = refs
			}
		}
		if len(lists) > 0 && !yield(name, lists) {
			return
		}
	}
}

// refsOf returns the references of a list of entries, or of one entry; nil where there are none.
func refsOf(list reflect.Value) (refs []*Ref) {
	of := func(entry reflect.Value) {
		if f := entry.FieldByName("Ref"); f.IsValid() {
			refs = append(refs, f.Interface().(*Ref))
		}
	}
	switch {
	case list.Kind() == reflect.Pointer && !list.IsNil() && list.Elem().Kind() == reflect.Struct:
		of(list.Elem())
	case list.Kind() == reflect.Slice && list.Type().Elem().Kind() == reflect.Struct:
		for i := range list.Len() {
			of(list.Index(i))
		}
	}
	return refs
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
