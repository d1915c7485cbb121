package act

import (
	"context"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// SelectParams are the arguments of browser_select_option.
type SelectParams struct {
	Ref    string `json:"ref"`
	Values Texts  `json:"values"`
	Tab    int    `json:"tab,omitempty"`
}

// Select answers browser_select_option: a native list is set, one that the page made is opened and clicked.
func (e *Actor) Select(ctx context.Context, client *checkpoint.Client, p SelectParams) (*Answer, error) {
	if len(p.Values) == 0 {
		return nil, usererr.Invalid("values is empty; pass the labels or values of options")
	}
	a := action{tab: p.Tab, what: "choose in %s", to: []string{p.Ref}, steps: func(r *references) ([]protocol.ActStep, error) {
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepSelect, Path: path, Texts: p.Values}}, err
	}}
	a.otherwise = func(ctx context.Context, t *actingTab, result *protocol.ActResult) (*protocol.ActResult, error) {
		if result.Refused != protocol.RefusedKind || result.Text != notNative {
			return result, nil
		}
		return e.selectMade(ctx, t, p)
	}
	return e.act(ctx, client, a)
}

// notNative is what the extension says of an element that is no native list.
const notNative = "a list of options"

// optionRoles are those of what a list that a page made itself is made of.
var optionRoles = map[string]bool{"option": true, "menuitemradio": true, "menuitemcheckbox": true, "menuitem": true, "treeitem": true}

// selectMade chooses in a list that is none of the browser's: it is opened where it is not open, and each
// option is clicked.
func (e *Actor) selectMade(ctx context.Context, t *actingTab, p SelectParams) (*protocol.ActResult, error) {
	number, _ := aria.ParseReference(p.Ref)
	var result *protocol.ActResult
	for _, value := range p.Values {
		tree, err := e.pages.Look(ctx, t.id, t.tab, false)
		if err != nil {
			return nil, err
		}
		option, names := findOption(tree.Root, number, value)
		if option == nil {
			path, err := t.refs.path(p.Ref)
			if err != nil {
				return nil, err
			}
			if result, err = t.do(ctx, []protocol.ActStep{{Op: protocol.StepClick, Path: path}}); err != nil || result.Refused != "" || result.Dialog != nil {
				return result, err
			}
			if tree, err = e.pages.Look(ctx, t.id, t.tab, false); err != nil {
				return nil, err
			}
			option, names = findOption(tree.Root, number, value)
		}
		if option == nil {
			if len(names) == 0 {
				return &protocol.ActResult{Refused: protocol.RefusedKind, Text: notNative + " (it was clicked, and no options came)"}, nil
			}
			return &protocol.ActResult{Refused: protocol.RefusedOption, Text: strings.Join(names, ", ")}, nil
		}
		path, err := t.refs.path(aria.Reference(option.Ref))
		if err != nil {
			return nil, err
		}
		if result, err = t.do(ctx, []protocol.ActStep{{Op: protocol.StepClick, Path: path}}); err != nil || result.Refused != "" || result.Dialog != nil {
			return result, err
		}
	}
	return result, nil
}

// findOption is the option of a name: one inside the element, else the only one on the page. The names are
// those of the options there are.
func findOption(root *aria.Node, list int, name string) (option *aria.Node, names []string) {
	native := map[int]bool{} // options of other lists
	root.Walk(func(n *aria.Node) {
		if n.Ref != list && (n.Role == "combobox" || n.Role == "listbox" && n.HasValue) {
			n.Walk(func(o *aria.Node) { native[o.Ref] = true })
		}
	})
	named := func(within *aria.Node) (found []*aria.Node) {
		names = nil
		within.Walk(func(n *aria.Node) {
			if !optionRoles[n.Role] || n.Ref <= 0 || native[n.Ref] {
				return
			}
			names = append(names, aria.Quote(n.Name))
			if strings.EqualFold(strings.Join(strings.Fields(n.Name), " "), strings.Join(strings.Fields(name), " ")) {
				found = append(found, n)
			}
		})
		return found
	}
	var inside *aria.Node
	root.Walk(func(n *aria.Node) {
		if n.Ref == list {
			inside = n
		}
	})
	if inside != nil {
		if found := named(inside); len(found) > 0 {
			return found[0], names
		}
	}
	if found := named(root); len(found) == 1 {
		return found[0], names
	}
	return nil, names
}
