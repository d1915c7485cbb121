package report

import (
	"fmt"
	"reflect"

	"tidemark.dev/tidemark/host/internal/alike"
)

// Section is one section of a report.
type Section interface {
	// Empty reports whether nothing happened.
	Empty() bool

	// filter removes the entries below a warning, or below an error, and returns how many it removed.
	filter(errorsOnly bool) int
	// quotes reports whether the section has text of the page.
	quotes() bool
	// omitted returns how many entries had no room.
	omitted() int
}

// Lined is a section that is shown as a list of lines, where nothing else says how it reads.
type Lined interface {
	// Lines returns its title, the number of new entries, and a line for each entry that it lists.
	Lines() (title string, total int, lines []string)
}

// dropAll empties a list and returns how many entries it had.
func dropAll[T any](list *[]T) int {
	n := len(*list)
	*list = nil
	return n
}

// Sections yields the sections that the report has, in the order of its fields.
func (r *Report) Sections(yield func(section any) bool) {
	for _, section := range r.sections {
		if !yield(section) {
			return
		}
	}
}

// sections yields the sections that the report has, by name.
func (r *Report) sections(yield func(string, Section) bool) {
	fields := reflect.ValueOf(r).Elem()
	for i := range fields.NumField() {
		if f := fields.Type().Field(i); !f.IsExported() || fields.Field(i).Kind() != reflect.Pointer || fields.Field(i).IsNil() {
			continue
		} else if s, ok := fields.Field(i).Interface().(Section); ok && !yield(jsonName(f), s) {
			return
		}
	}
}

// Empty says whether nothing at all happened in the window.
func (r *Report) Empty() bool {
	for _, section := range r.sections {
		if !section.Empty() {
			return false
		}
	}
	return true
}

// Finish completes a report with its sections, in the order in which they were computed. It applies a filter, says whether
// pages are quoted, and notes how many entries had no room, of which omitted are in no section. What the sections show is
// given to a reader that folds.
func (r *Report) Finish(sections []Section, filter Filter, folds bool, omitted int) {
	if filter == ErrorsOnly {
		r.SeverityHidden += dropAll(&r.Storms)
	}
	quotes := len(r.Storms)+len(r.Repeated) > 0
	for _, s := range sections {
		if filter != "" && filter != All {
			r.SeverityHidden += s.filter(filter == ErrorsOnly)
		}
		quotes = quotes || s.quotes()
		if s, keeps := s.(interface {
			given() (shown []alike.Entry, over []uint64)
		}); keeps && folds {
			shown, over := s.given()
			r.shown, r.over = append(r.shown, shown...), append(r.over, over...)
		}
		omitted += s.omitted()
	}
	if quotes {
		r.PageText = Untrusted
	}
	if omitted > 0 {
		r.Note = fmt.Sprintf("%d more not shown. Read them with the raw tools or a narrower include.", omitted)
	}
}
