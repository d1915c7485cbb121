package act

import (
	"context"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria"
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

// optionRoles are the roles of options in lists that a page implements.
var optionRoles = map[string]bool{"option": true, "menuitemradio": true, "menuitemcheckbox": true, "menuitem": true, "treeitem": true}

// selectMade chooses options in a list that the page implements. It opens the list if needed and clicks each option.
func (a *Actor) selectMade(ctx context.Context, t *actingTab, p SelectParams) (*protocol.ActResult, error) {
	number, _ := aria.ParseReference(p.Ref)
	var result *protocol.ActResult
	clicks := 0
	for _, value := range p.Values {
		tree, err := a.pages.Look(ctx, t.id, t.tab, false)
		if err != nil {
			return nil, err
		}
		option, names := findOption(tree.Root, number, value)
		if option == nil {
			if !announcesOptions(tree.Root, number) {
				return &protocol.ActResult{Refused: protocol.RefusedKind, Text: notNative, Done: clicks}, nil
			}
			path, err := t.refs.path(p.Ref)
			if err != nil {
				return nil, err
			}
			clicks++
			if result, err = t.do(ctx, []protocol.ActStep{{Op: protocol.StepClick, Path: path}}); err != nil || result.Refused != "" || result.Dialog != nil {
				return result, err
			}
			if tree, err = a.pages.Look(ctx, t.id, t.tab, false); err != nil {
				return nil, err
			}
			option, names = findOption(tree.Root, number, value)
		}
		if option == nil {
			if len(names) == 0 {
				return &protocol.ActResult{Refused: protocol.RefusedKind, Text: notNative + " (a click on it showed no options)", Done: clicks}, nil
			}
			return &protocol.ActResult{Refused: protocol.RefusedOption, Text: strings.Join(names, ", "), Done: clicks}, nil
		}
		clicks++
		if result, err = t.clickOn(ctx, option); err == nil && result.Refused == protocol.RefusedHidden {
			if drawn := drawnOption(tree.Root, option); drawn != nil {
				result, err = t.clickOn(ctx, drawn)
			}
		}
		if err != nil || result.Refused != "" || result.Dialog != nil {
			return result, err
		}
	}
	return result, nil
}

// clickOn clicks an element.
func (t *actingTab) clickOn(ctx context.Context, n *aria.Node) (*protocol.ActResult, error) {
	path, err := t.refs.path(aria.Reference(n.Ref))
	if err != nil {
		return nil, err
	}
	return t.do(ctx, []protocol.ActStep{{Op: protocol.StepClick, Path: path}})
}

// drawnOption returns the only element of no role that has the name of an option, nil if there is none or several. Components such
// as Ant Design's keep invisible options for screen readers and draw others beside them, which take the click.
func drawnOption(root *aria.Node, option *aria.Node) *aria.Node {
	var found []*aria.Node
	var within func(n *aria.Node)
	within = func(n *aria.Node) {
		if n.Ref > 0 && n.Role == "generic" && (n.Name == option.Name || len(n.Children) == 1 && n.Children[0].Role == aria.RoleText && n.Children[0].Name == option.Name) {
			found = append(found, n)
			return
		}
		for _, child := range n.Children {
			within(child)
		}
	}
	if within(root); len(found) != 1 {
		return nil
	}
	return found[0]
}

// announcesOptions reports whether an element says that it opens a list. Nothing else is clicked to look for options: a
// plain button may do anything.
func announcesOptions(root *aria.Node, number int) (announced bool) {
	root.Walk(func(n *aria.Node) {
		if n.Ref != number {
			return
		}
		announced = n.Role == "combobox" || n.Role == "listbox" || slices.ContainsFunc(n.States, func(state string) bool {
			return state == "expanded" || state == "collapsed" || strings.HasPrefix(state, "haspopup")
		})
	})
	return announced
}

// findOption returns the option with a name: one inside the list, else the only one on the page. It also returns the
// names of all options.
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
