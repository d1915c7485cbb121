package act

import (
	"context"
	"fmt"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// ClickParams are the arguments of browser_click.
type ClickParams struct {
	Ref       string   `json:"ref"`
	Button    string   `json:"button,omitempty"`
	Double    bool     `json:"double,omitempty"`
	Modifiers []string `json:"modifiers,omitempty"`
	Tab       int      `json:"tab,omitempty"`
}

var browserClickTool = tool.New(tool.Definition{
	Name: "browser_click", Title: "Click", Effect: tool.Acts,
	Description: "Click an element.",
	Arguments: refArgument + `
		"button":{"type":"string","enum":["left","right","middle"]},
		"double":{"type":"boolean"},
		"modifiers":{"type":"array","items":{"type":"string","enum":["Alt","Control","Meta","Shift"]}},` + tabArgument,
	Required: []string{"ref"},
}, (*Actor).Click)

// Click answers browser_click.
func (a *Actor) Click(ctx context.Context, client *checkpoint.Client, p ClickParams) (*Answer, error) {
	switch p.Button {
	case "", "left", "right", "middle":
	default:
		return nil, usererr.Invalid("button is %q; it must be left, right or middle", p.Button)
	}
	for _, m := range p.Modifiers {
		switch m {
		case "Alt", "Control", "Meta", "Shift":
		default:
			return nil, usererr.Invalid("modifiers contains %q; valid are Alt, Control, Meta and Shift", m)
		}
	}
	return a.act(ctx, client, action{tab: p.Tab, what: "click %s", to: []string{p.Ref}, steps: func(r *references) ([]protocol.ActStep, error) {
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepClick, Path: path, Button: p.Button, Double: p.Double, Modifiers: p.Modifiers}}, err
	}})
}

// TypeParams are the arguments of browser_type.
type TypeParams struct {
	// Ref is "" for the focused field, in which text replaces the selection.
	Ref string `json:"ref,omitempty"`
	// Text is typed. Several texts are typed one after the other.
	Text   Texts `json:"text"`
	Clear  bool  `json:"clear,omitempty"`
	Submit bool  `json:"submit,omitempty"`
	Tab    int   `json:"tab,omitempty"`
}

// maxTyped limits the text typed in one call, in bytes.
const maxTyped = 256 << 10

var browserTypeTool = tool.New(tool.Definition{
	Name: "browser_type", Title: "Type", Effect: tool.Acts,
	Description: "Type text at the end of a field. Without ref: in place of the selection.",
	Arguments: refArgument + `
		"text":{"type":["string","array"],"items":{"type":"string"},"description":"a list is typed one after the other"},
		"clear":{"type":"boolean","description":"replace the current text"},
		"submit":{"type":"boolean","description":"press Enter after each"},` + tabArgument,
	Required: []string{"text"},
}, (*Actor).Type)

// Type answers browser_type.
func (a *Actor) Type(ctx context.Context, client *checkpoint.Client, p TypeParams) (*Answer, error) {
	if len(p.Text) == 0 {
		return nil, usererr.Invalid("text is missing; pass a text, or a list of texts to type one after the other")
	}
	size := 0
	for _, t := range p.Text {
		size += len(t)
	}
	if size > maxTyped {
		return nil, usererr.Invalid("text has %d bytes; at most %d can be typed at once", size, maxTyped)
	}
	do := action{tab: p.Tab, what: "type"}
	if p.Ref != "" {
		do.what, do.to = "type into %s", []string{p.Ref}
	}
	do.steps = func(r *references) ([]protocol.ActStep, error) {
		var path []protocol.ActNode
		var err error
		if p.Ref != "" {
			path, err = r.path(p.Ref)
		}
		var steps []protocol.ActStep
		for _, text := range p.Text {
			steps = append(steps, protocol.ActStep{Op: protocol.StepType, Path: path, Texts: []string{text}, Clear: p.Clear, Submit: p.Submit})
		}
		return steps, err
	}
	return a.act(ctx, client, do)
}

// FillParams are the arguments of browser_fill_form.
type FillParams struct {
	Fields []Field `json:"fields"`
	Submit string  `json:"submit,omitempty"`
	Tab    int     `json:"tab,omitempty"`
}

// Field is a field and its new value: text, the label of an option, a number, true or false.
type Field struct {
	Ref   string `json:"ref"`
	Value any    `json:"value"`
}

var browserFillFormTool = tool.New(tool.Definition{
	Name: "browser_fill_form", Title: "Fill in a form", Effect: tool.Acts,
	Description: "Set several fields in one call. Cheaper than typing into each.",
	Arguments: `
		"fields":{"type":"array","items":{"type":"object","properties":{` + refArgument + `
			"value":{"type":["string","number","boolean"],"description":"text, option label, date yyyy-mm-dd, true (checked)"}},"required":["ref","value"]}},
		"submit":{"type":"string","description":"ref to click afterwards"},` + tabArgument,
	Required: []string{"fields"},
}, (*Actor).Fill)

// Fill answers browser_fill_form.
func (a *Actor) Fill(ctx context.Context, client *checkpoint.Client, p FillParams) (*Answer, error) {
	if len(p.Fields) == 0 {
		return nil, usererr.Invalid("fields is empty; pass a list of {ref, value}")
	}
	return a.act(ctx, client, action{tab: p.Tab, what: fmt.Sprintf("fill in %d field(s)", len(p.Fields)), steps: func(r *references) ([]protocol.ActStep, error) {
		var steps []protocol.ActStep
		for _, f := range p.Fields {
			path, err := r.path(f.Ref)
			if err != nil {
				return nil, err
			}
			var text string
			switch v := f.Value.(type) {
			case string:
				text = v
			case bool, float64:
				text = fmt.Sprint(v)
			default:
				return nil, usererr.Invalid("the value of %s must be a text, a number, true or false", f.Ref)
			}
			steps = append(steps, protocol.ActStep{Op: protocol.StepFill, Path: path, Texts: []string{text}})
		}
		if p.Submit != "" {
			path, err := r.path(p.Submit)
			if err != nil {
				return nil, err
			}
			steps = append(steps, protocol.ActStep{Op: protocol.StepClick, Path: path})
		}
		return steps, nil
	}})
}

// PressParams are the arguments of browser_press_key.
type PressParams struct {
	Key string `json:"key"`
	Ref string `json:"ref,omitempty"`
	Tab int    `json:"tab,omitempty"`
}

var browserPressKeyTool = tool.New(tool.Definition{
	Name: "browser_press_key", Title: "Press a key", Effect: tool.Acts,
	Description: "Press a key in the focused element, or in ref.",
	Arguments: `
		"key":{"type":"string","description":"Enter, ArrowDown, Control+A"},` + refArgument + tabArgument,
	Required: []string{"key"},
}, (*Actor).Press)

// Press answers browser_press_key.
func (a *Actor) Press(ctx context.Context, client *checkpoint.Client, p PressParams) (*Answer, error) {
	if p.Key == "" {
		return nil, usererr.Invalid("key is missing; examples: Enter, Escape, ArrowDown, a, Control+A, Shift+Tab")
	}
	return a.act(ctx, client, action{tab: p.Tab, what: "press a key", focus: true, steps: func(r *references) ([]protocol.ActStep, error) {
		s := protocol.ActStep{Op: protocol.StepPress, Key: p.Key}
		var err error
		if p.Ref != "" {
			s.Path, err = r.path(p.Ref)
		}
		return []protocol.ActStep{s}, err
	}})
}

// RefParams name an element.
type RefParams struct {
	Ref string `json:"ref"`
	Tab int    `json:"tab,omitempty"`
}

var browserHoverTool = tool.New(tool.Definition{
	Name: "browser_hover", Title: "Hover", Effect: tool.Acts,
	Description: "Move the pointer over an element.",
	Arguments:   refArgument + tabArgument,
	Required:    []string{"ref"},
}, (*Actor).Hover)

// Hover answers browser_hover.
func (a *Actor) Hover(ctx context.Context, client *checkpoint.Client, p RefParams) (*Answer, error) {
	return a.act(ctx, client, action{tab: p.Tab, what: "hover over %s", to: []string{p.Ref}, steps: func(r *references) ([]protocol.ActStep, error) {
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepHover, Path: path}}, err
	}})
}

// DragParams are the arguments of browser_drag.
type DragParams struct {
	From string `json:"from"`
	To   string `json:"to"`
	Tab  int    `json:"tab,omitempty"`
}

var browserDragTool = tool.New(tool.Definition{
	Name: "browser_drag", Title: "Drag and drop", Effect: tool.Acts,
	Description: "Drag one element onto another.",
	Arguments: `
		"from":{"type":"string"},"to":{"type":"string"},` + tabArgument,
	Required: []string{"from", "to"},
}, (*Actor).Drag)

// Drag answers browser_drag.
func (a *Actor) Drag(ctx context.Context, client *checkpoint.Client, p DragParams) (*Answer, error) {
	return a.act(ctx, client, action{tab: p.Tab, what: "drag %s to %s", to: []string{p.From, p.To}, steps: func(r *references) ([]protocol.ActStep, error) {
		from, err := r.path(p.From)
		if err != nil {
			return nil, err
		}
		to, err := r.path(p.To)
		return []protocol.ActStep{{Op: protocol.StepDrag, Path: from, To: to}}, err
	}})
}

// ScrollParams are the arguments of browser_scroll.
type ScrollParams struct {
	Ref       string `json:"ref,omitempty"`
	Direction string `json:"direction,omitempty"`
	Amount    *int   `json:"amount,omitempty"`
	Tab       int    `json:"tab,omitempty"`
}

// Scroll amounts in CSS pixels: the default, a little less than a page, and the maximum.
const (
	scrollAmount = 600
	maxScroll    = 1_000_000
)

var browserScrollTool = tool.New(tool.Definition{
	Name: "browser_scroll", Title: "Scroll", Effect: tool.Acts,
	Description: "Scroll the page or inside an element. Without direction: scroll the element into view.",
	Arguments: refArgument + `
		"direction":{"type":"string","enum":["up","down","left","right"]},
		"amount":{"type":"integer","description":"pixels"},` + tabArgument,
}, (*Actor).Scroll)

// Scroll answers browser_scroll.
func (a *Actor) Scroll(ctx context.Context, client *checkpoint.Client, p ScrollParams) (*Answer, error) {
	amount := scrollAmount
	if p.Amount != nil {
		amount = *p.Amount
	}
	if amount < 1 || amount > maxScroll {
		return nil, usererr.Invalid("amount is %d; it must be from 1 to %d pixels", amount, maxScroll)
	}
	s := protocol.ActStep{Op: protocol.StepScroll}
	switch p.Direction {
	case "down":
		s.Y = amount
	case "up":
		s.Y = -amount
	case "right":
		s.X = amount
	case "left":
		s.X = -amount
	case "":
		if p.Ref == "" {
			return nil, usererr.Invalid("pass ref (scroll it into view), direction (up, down, left, right), or both (scroll inside it)")
		}
	default:
		return nil, usererr.Invalid("direction is %q; it must be up, down, left or right", p.Direction)
	}
	return a.act(ctx, client, action{tab: p.Tab, what: "scroll", steps: func(r *references) ([]protocol.ActStep, error) {
		var err error
		if p.Ref != "" {
			s.Path, err = r.path(p.Ref)
		}
		return []protocol.ActStep{s}, err
	}})
}

// DialogParams are the arguments of browser_handle_dialog.
type DialogParams struct {
	Accept *bool   `json:"accept"`
	Text   *string `json:"text,omitempty"`
	Tab    int     `json:"tab,omitempty"`
}

var browserHandleDialogTool = tool.New(tool.Definition{
	Name: "browser_handle_dialog", Title: "Answer a dialog", Effect: tool.Acts,
	Description: "Answer an open alert, confirm, prompt or beforeunload dialog.",
	Arguments: `
		"accept":{"type":"boolean"},
		"text":{"type":"string","description":"for a prompt"},` + tabArgument,
	Required: []string{"accept"},
}, (*Actor).HandleDialog)

// HandleDialog answers browser_handle_dialog.
func (a *Actor) HandleDialog(ctx context.Context, client *checkpoint.Client, p DialogParams) (*Answer, error) {
	if p.Accept == nil {
		return nil, usererr.Invalid("accept is missing; it must be true (OK) or false (Cancel)")
	}
	s := protocol.ActStep{Op: protocol.StepDialog, Accept: *p.Accept}
	if p.Text != nil {
		s.Texts = []string{*p.Text}
	}
	return a.act(ctx, client, action{tab: p.Tab, what: "answer a dialog", steps: func(*references) ([]protocol.ActStep, error) {
		return []protocol.ActStep{s}, nil
	}})
}
