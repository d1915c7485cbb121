package act

import (
	"cmp"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/capture"
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

// emptied returns the fields that were filled before a form was submitted, and that the page emptied after one of its
// requests failed. Users have to fill them in again.
func (o *outcome) emptied(v *capture.View) (names []string) {
	tree := o.refs.page.Tree()
	if !submits(o.steps) || tree == nil || !o.requestFailed(v) {
		return nil
	}
	filled := map[int]bool{}
	if o.before != nil && o.before.Document == tree.Document {
		o.before.Root.Walk(func(n *aria.Node) { filled[n.Ref] = isTextField(n) && n.Value != "" })
	}
	for ref, fills := range o.fills {
		filled[ref] = fills
	}
	tree.Root.Walk(func(n *aria.Node) {
		if filled[n.Ref] && isTextField(n) && n.Value == "" && len(names) < maxEmptied {
			names = append(names, aria.Brief(n)+" ["+aria.Reference(n.Ref)+"]")
		}
	})
	return names
}

// isTextField reports whether users type into an element.
func isTextField(n *aria.Node) bool {
	switch n.Role {
	case "textbox", "searchbox", "spinbutton", "combobox":
		return true
	}
	return false
}

// requestFailed reports whether a request of the action failed or was blocked: one that sends data, or any if none that
// sends data succeeded.
func (o *outcome) requestFailed(v *capture.View) bool {
	var failed, sent bool
	for _, n := range v.Network().From(o.from.Pos[capture.Network]) {
		if n.Tab() != o.id || cmp.Or(n.Started, n.At) < o.began || n.Resource == "ping" {
			continue
		}
		sends := n.Method != "GET" && n.Method != "HEAD" && n.Method != "OPTIONS"
		switch {
		case n.Failed() && sends:
			return true
		case n.Failed():
			failed = true
		case sends:
			sent = true
		}
	}
	return failed && !sent
}
