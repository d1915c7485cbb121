package event

import (
	"encoding/json"
	"strings"

	"tidemark.dev/tidemark/protocol"
)

// MaxDialog bounds the text of a dialog, in bytes.
const MaxDialog = 1 << 10

// nextPage is what an extension waits for while a page is on its way.
const nextPage = "the next page"

// unreadBody is what an extension adds to a request that was answered, and whose body the page does not read.
const unreadBody = " (answered, body not read)"

// Act reads an extension's answer to [protocol.MethodAct], cleans and masks it like an event.
func (d *Decoder) Act(raw []byte) (*protocol.ActResult, *protocol.Error) {
	var r protocol.ActResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, Errorf(protocol.CodeMalformed, "cannot read the outcome of the action: %v", err)
	}
	text := func(s *string, limit int) {
		clean, _ := d.redact.Text(cut(OneLine(*s), limit))
		*s = clean
	}
	text(&r.Text, protocol.MaxText)
	text(&r.Untrusted, protocol.MaxShort)
	r.Value = OneLine(r.Value) // JSON, in which text keeps its lines
	if r.Dialog != nil {
		r.Dialog.Kind = word(r.Dialog.Kind)
		text(&r.Dialog.Message, MaxDialog)
		text(&r.Dialog.Default, MaxDialog)
	}
	if b := r.Blame; b != nil {
		for _, s := range []*string{&b.Element, &b.Style, &b.File, &b.Rule, &b.Sheet} {
			text(s, protocol.MaxShort/2)
		}
		b.Stack = b.Stack[:min(len(b.Stack), protocol.MaxStack)]
		for i := range b.Stack {
			b.Stack[i] = endFunction(b.Stack[i])
			text(&b.Stack[i], protocol.MaxShort)
			b.Stack[i] = FrameLine(b.Stack[i])
		}
	}
	if u := r.Unclicked; u != nil {
		for _, s := range []*string{&u.Pressed, &u.Released, &u.Field} {
			text(s, protocol.MaxShort)
		}
	}
	for _, o := range r.Objections {
		if o.Invalid != nil {
			text(o.Invalid, protocol.MaxShort)
		}
	}
	made := r.Late
	if made == nil {
		made = &protocol.ActMade{}
	}
	for _, list := range [][]string{r.Waiting, r.Downloads, made.Downloads} {
		for i := range list {
			text(&list[i], protocol.MaxShort)
		}
	}
	for i, s := range r.Waiting { // a method and an address
		if s == nextPage {
			continue
		}
		method, address, _ := strings.Cut(s, " ")
		address, unread := strings.CutSuffix(address, unreadBody)
		r.Waiting[i] = strings.TrimSpace(Method(method) + " " + Unbroken(address))
		if unread {
			r.Waiting[i] += unreadBody
		}
	}
	for _, page := range []*protocol.AriaResult{r.Page, r.Before} {
		if page != nil {
			d.page(page)
		}
	}
	return &r, nil
}
