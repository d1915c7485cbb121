package event

import (
	"encoding/json"
	"slices"

	"tidemark.dev/tidemark/protocol"
)

// MaxName bounds a name, text or value of a node of an accessibility tree, in bytes; the extension cuts
// them shorter.
const MaxName = 4 << 10

// Aria reads an extension's answer to [protocol.MethodAria], cleans and masks it like an event.
func (d *Decoder) Aria(raw []byte) (*protocol.AriaResult, *protocol.Error) {
	var r protocol.AriaResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, Errorf(protocol.CodeMalformed, "cannot read the accessibility tree: %v", err)
	}
	d.page(&r)
	return &r, nil
}

// page cleans and masks a tab's frames.
func (d *Decoder) page(r *protocol.AriaResult) {
	for i := range r.Unread {
		url, _ := d.redact.URL(cut(OneLine(r.Unread[i]), 2*protocol.MaxURL))
		r.Unread[i] = cut(url, protocol.MaxURL)
	}
	for i := range r.Frames {
		f := &r.Frames[i]
		url, n := d.redact.URL(cut(OneLine(f.URL), 2*protocol.MaxURL))
		f.Masked += n
		f.URL = cut(url, protocol.MaxURL)
		text := func(s string) string {
			if s == "" {
				return s
			}
			s, n := d.redact.Text(cut(Clean(s), MaxName))
			f.Masked += n
			return s
		}
		f.Title = cut(OneLine(text(f.Title)), protocol.MaxShort)
		for j := range f.Nodes {
			node := &f.Nodes[j]
			node.Role = role(node.Role)
			node.Name, node.Description = text(node.Name), text(node.Description)
			if node.Value != nil {
				v := text(*node.Value)
				node.Value = &v
			}
			node.States = slices.DeleteFunc(node.States, func(s string) bool { _, ok := state(s); return !ok })
			for k, s := range node.States {
				node.States[k], _ = state(s)
			}
			node.Keys = cut(text(node.Keys), protocol.MaxShort)
			for k, s := range node.ShapeKeys {
				node.ShapeKeys[k] = cut(text(s), protocol.MaxShort)
			}
		}
	}
}
