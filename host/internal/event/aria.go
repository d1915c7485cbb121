package event

import (
	"encoding/json"

	"tidemark.dev/tidemark/protocol"
)

// MaxName bounds a name, text or value of a node of an accessibility tree, in bytes; the extension cuts
// them shorter.
const MaxName = 4 << 10

// Aria reads an extension's answer to [protocol.MethodAria], cleans and masks it as it is done with events.
func (d *Decoder) Aria(raw []byte) (*protocol.AriaResult, *protocol.Error) {
	var r protocol.AriaResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, Errorf(protocol.CodeMalformed, "the accessibility tree cannot be read: %v", err)
	}
	d.page(&r)
	return &r, nil
}

// page cleans and masks a tab's frames.
func (d *Decoder) page(r *protocol.AriaResult) {
	for i := range r.Frames {
		f := &r.Frames[i]
		url, n := d.redact.URL(cut(Clean(f.URL), 2*MaxURL))
		f.Masked += n
		f.URL = cut(url, MaxURL)
		text := func(s string) string {
			if s == "" {
				return s
			}
			s, n := d.redact.Text(cut(Clean(s), MaxName))
			f.Masked += n
			return s
		}
		f.Title = cut(text(f.Title), MaxShort)
		for j := range f.Nodes {
			node := &f.Nodes[j]
			node.Role = cut(Clean(node.Role), 40)
			node.Name, node.Description = text(node.Name), text(node.Description)
			if node.Value != nil {
				v := text(*node.Value)
				node.Value = &v
			}
			for k, s := range node.States {
				node.States[k] = cut(Clean(s), 60)
			}
			node.Keys = cut(Clean(node.Keys), MaxShort)
			for k, s := range node.ShapeKeys {
				node.ShapeKeys[k] = cut(Clean(s), MaxShort)
			}
		}
	}
}
