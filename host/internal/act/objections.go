package act

import (
	"strings"

	"tidemark.dev/tidemark/protocol"
)

// objections returns the fields that blocked the submission of a form, and the fields that ignored input.
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

// value returns the value of a field when the page was last read; nil if it is secret or unknown.
func (o *outcome) value(field protocol.ActNode) *string {
	_, node := o.refs.page.At(field.Document, field.ID)
	if node == nil || strings.Contains(node.Value, masked) {
		return nil
	}
	return &node.Value
}
