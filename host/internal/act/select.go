package act

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// SelectParams are the arguments of browser_select_option.
type SelectParams struct {
	Ref    string `json:"ref"`
	Values Texts  `json:"values"`
	Tab    int    `json:"tab,omitempty"`
}

var browserSelectOptionTool = tool.New(tool.Definition{
	Name: "browser_select_option", Title: "Choose", Effect: tool.Acts,
	Description: "Choose options in a list or combobox.",
	Arguments: refArgument + `
		"values":{"type":"array","items":{"type":"string"},"description":"labels"},` + tabArgument,
	Required: []string{"ref", "values"},
}, (*Actor).Select)

// Select answers browser_select_option. It sets native lists, and opens and clicks lists that the page implements.
func (a *Actor) Select(ctx context.Context, client *checkpoint.Client, p SelectParams) (*Answer, error) {
	if len(p.Values) == 0 {
		return nil, usererr.Invalid("values is empty; pass the labels or values of options")
	}
	act := action{tab: p.Tab, what: "choose in %s", to: []string{p.Ref}, steps: func(r *references) ([]protocol.ActStep, error) {
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepSelect, Path: path, Texts: p.Values}}, err
	}}
	act.followUp = func(ctx context.Context, t *actingTab, result *protocol.ActResult) (*protocol.ActResult, error) {
		if result.Refused != protocol.RefusedKind || result.Text != notNative {
			return result, nil
		}
		return a.selectMade(ctx, t, p)
	}
	return a.act(ctx, client, act)
}

// notNative is the detail with which the extension refuses an element that is not a native list.
const notNative = "a list of options"
