package act

import (
	"strings"

	"tidemark.dev/tidemark/protocol"
)

// objections are the fields because of which the browser did not submit a form, and those that did not take their input.
func (o *outcome) objections() (invalid []InvalidField, ignored []IgnoredField) {
	for _, f := range o.result.Objections {
		name := o.refs.named([]protocol.ActNode{f.Field})
		if f.Invalid != nil {
			invalid = append(invalid, InvalidField{Element: name, Message: *f.Invalid})
			continue
		}
		ignored = append(ignored, IgnoredField{Element: name, Value: o.value(f.Field), Typed: f.Typed})
	}
	return invalid, ignored
}

// value is what a field contained when the page was read last; nil where that is secret or not known.
func (o *outcome) value(field protocol.ActNode) *string {
	_, node := o.refs.page.At(field.Document, field.ID)
	if node == nil || strings.Contains(node.Value, masked) {
		return nil
	}
	return &node.Value
}
