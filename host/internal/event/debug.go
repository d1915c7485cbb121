package event

import (
	"bytes"
	"encoding/json"

	"tidemark.dev/tidemark/protocol"
)

// Debug reads an extension's answer to a debugging method into a struct of package protocol. Every text in it is
// cleaned, masked and cut like the texts of events.
func (d *Decoder) Debug(raw []byte, into any) *protocol.Error {
	switch into.(type) {
	case *protocol.DebugVariables, *protocol.DebugTraced:
		return d.Variables(raw, into)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	if err == nil {
		var clean []byte
		if clean, err = json.Marshal(d.cleanTexts("", v)); err == nil {
			err = json.Unmarshal(clean, into)
		}
	}
	if err != nil {
		return Errorf(protocol.CodeMalformed, "cannot read the debugger's answer: %v", err)
	}
	return nil
}

// cleanTexts cleans texts by the name of their field. Only values may have several lines.
func (d *Decoder) cleanTexts(name string, v any) any {
	switch v := v.(type) {
	case string:
		clean := OneLine
		if name == "value" {
			clean = Clean
		}
		s, _ := d.redact.Text(cut(clean(v), MaxDebugText))
		return s
	case []any:
		for i := range v {
			v[i] = d.cleanTexts(name, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = d.cleanTexts(k, v[k])
		}
	}
	return v
}

// MaxDebugText bounds each text of an answer of the debugger, in bytes.
const MaxDebugText = 32 << 10
