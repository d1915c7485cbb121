package event

import (
	"encoding/json"

	"tidemark.dev/tidemark/protocol"
)

// MaxDialog bounds what a dialog says, in bytes.
const MaxDialog = 1 << 10

// Act reads an extension's answer to [protocol.MethodAct], cleans and masks it as it is done with events.
func (d *Decoder) Act(raw []byte) (*protocol.ActResult, *protocol.Error) {
	var r protocol.ActResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, Errorf(protocol.CodeMalformed, "what became of the action cannot be read: %v", err)
	}
	text := func(s *string, limit int) {
		clean, _ := d.redact.Text(cut(Clean(*s), limit))
		*s = clean
	}
	text(&r.Text, MaxText)
	text(&r.Untrusted, MaxShort)
	if r.Dialog != nil {
		text(&r.Dialog.Message, MaxDialog)
		text(&r.Dialog.Default, MaxDialog)
	}
	for _, o := range r.Objections {
		if o.Invalid != nil {
			text(o.Invalid, MaxShort)
		}
	}
	for i := range r.Waiting {
		text(&r.Waiting[i], MaxShort)
	}
	for _, page := range []*protocol.AriaResult{r.Page, r.Before} {
		if page != nil {
			d.page(page)
		}
	}
	return &r, nil
}
