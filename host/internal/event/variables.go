package event

import (
	"encoding/json"

	"tidemark.dev/tidemark/protocol"
)

// Variables reads an extension's report of variables into a struct of package protocol. Every text is cleaned and cut.
// Secrets are masked again, by their format and by the name of the variable.
func (d *Decoder) Variables(raw []byte, into any) *protocol.Error {
	if err := json.Unmarshal(raw, into); err != nil {
		return Errorf(protocol.CodeMalformed, "cannot read the debugger's answer: %v", err)
	}
	text := func(s *string) { *s, _ = d.redact.Text(cut(OneLine(*s), MaxDebugText)) }
	of := func(all []protocol.DebugVariable) {
		for i := range all {
			d.field(&all[i].Value)
		}
	}
	switch v := into.(type) {
	case *protocol.DebugVariables:
		text(&v.At.Function)
		v.At.URL, _ = d.redact.URL(cut(OneLine(v.At.URL), MaxDebugText))
		for i := range v.Gaps {
			text(&v.Gaps[i])
		}
		of(v.Variables)
	case *protocol.DebugTraced:
		text(&v.Error)
		for i := range v.Hits {
			h := &v.Hits[i]
			text(&h.Function)
			for j := range h.Values {
				d.field(&h.Values[j])
			}
			of(h.Variables)
		}
	}
	return nil
}

// field cleans a value and its fields.
func (d *Decoder) field(f *protocol.DebugField) {
	f.Name = cut(OneLine(f.Name), MaxDebugText)
	f.Type = cut(OneLine(f.Type), MaxDebugText)
	clean := OneLine
	if f.Type == "string" { // which is shown in quotes
		clean = Clean
	}
	f.Text, _ = d.redact.Text(cut(clean(f.Text), MaxDebugText))
	switch f.Type {
	case "undefined", "null", "boolean", "function", "accessor", "unread":
	default:
		if !f.Masked && f.Name != "" && d.redact.SecretKey(f.Name) {
			f.Masked = true
		}
	}
	if f.Masked {
		f.Text, f.Hash, f.Length, f.Fields, f.Open = "", "", 0, nil, false
	}
	for i := range f.Fields {
		d.field(&f.Fields[i])
	}
}
