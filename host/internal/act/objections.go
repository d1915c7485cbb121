package act

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/protocol"
)

// object adds to an answer the fields that blocked the submission of a form, that ignored input, that kept
// former text, or whose text another element got.
func (o *outcome) object(a *Answer) {
	for _, f := range o.result.Objections {
		name := o.refs.named([]protocol.ActNode{f.Field})
		switch {
		case f.Invalid != nil:
			a.Invalid = append(a.Invalid, InvalidField{Element: name, Message: *f.Invalid})
		case f.Strayed != nil:
			a.Strayed = append(a.Strayed, StrayedText{Element: name, Reached: o.refs.named([]protocol.ActNode{*f.Strayed})})
		case f.Kept > 0:
			a.Uncleared = append(a.Uncleared, UnclearedField{Element: name, Value: o.value(f.Field), Kept: f.Kept, Former: f.Former, Typed: f.Typed})
		default:
			a.Ignored = append(a.Ignored, IgnoredField{Element: name, Value: o.value(f.Field), Typed: f.Typed})
		}
	}
}

// value returns the value of a field when the page was last read; nil if it is secret or unknown.
func (o *outcome) value(field protocol.ActNode) *string {
	_, node := o.refs.page.At(field.Document, field.ID)
	if node == nil || strings.Contains(node.Value, masked) {
		return nil
	}
	return &node.Value
}

// maxEmptied limits the fields that an answer names as emptied.
const maxEmptied = 20

// fills returns the fields that steps fill, and with false those that they clear, by reference.
func (r *references) fills(steps []protocol.ActStep) map[int]bool {
	fills := map[int]bool{}
	for _, s := range steps {
		if len(s.Path) == 0 || s.Op != protocol.StepFill && s.Op != protocol.StepType {
			continue
		}
		last := s.Path[len(s.Path)-1]
		if ref, _ := r.page.At(last.Document, last.ID); ref > 0 {
			fills[ref] = strings.Join(s.Texts, "") != ""
		}
	}
	return fills
}

// submits reports whether forms are submitted by the last of the steps.
func submits(steps []protocol.ActStep) bool {
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1]
	return last.Op == protocol.StepClick || last.Submit || last.Op == protocol.StepPress && last.Key == "Enter"
}

// isTextField reports whether users type into an element.
func isTextField(n *aria.Node) bool {
	switch n.Role {
	case "textbox", "searchbox", "spinbutton", "combobox":
		return true
	}
	return false
}
