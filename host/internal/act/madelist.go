package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/protocol"
)

// Times and limits for lists that a page implements.
const (
	// lateOptions is how long an open list may take to show its options, and for how long it may draw them again.
	lateOptions = 1500 * time.Millisecond
	// mostScrolls is how often a list that draws only what is in view is scrolled, by scrolledBy pixels.
	mostScrolls = 30
	scrolledBy  = 200
	// mostNamed is how many options a refusal names.
	mostNamed = 30
)

// optionRoles are the roles of options in lists that a page implements.
var optionRoles = map[string]bool{"option": true, "menuitemradio": true, "menuitemcheckbox": true, "menuitem": true, "treeitem": true}

// errUnfit says that a way to have a list show its options does not fit the list.
var errUnfit = errors.New("the list cannot show its options this way")

// selectMade chooses options in a list that the page implements.
func (a *Actor) selectMade(ctx context.Context, t *actingTab, p SelectParams) (result *protocol.ActResult, err error) {
	number, _ := aria.ParseReference(p.Ref)
	l := &madeList{actor: a, tab: t, ref: p.Ref, number: number}
	for _, value := range p.Values {
		if result, err = l.choose(ctx, value); stops(result, err) {
			break
		}
	}
	return result, err
}

// stops reports whether an action cannot continue after a result.
func stops(result *protocol.ActResult, err error) bool {
	return err != nil || result.Refused != "" || result.Dialog != nil
}

// madeList is a list that a page implements, while options are chosen in it.
type madeList struct {
	actor  *Actor
	tab    *actingTab
	ref    string
	number int
	// root is the page at the last look, document that page's document.
	root     *aria.Node
	document string
	// before has the references on the page before the list was opened; nil if it was not.
	before map[int]bool
	clicks int
}

// choose clicks an option. It has the list show the option by a click, by ArrowDown, by its name as a filter, or by scrolling.
func (l *madeList) choose(ctx context.Context, value string) (*protocol.ActResult, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	if l.is("collapsed") {
		l.before = nil // it closes at each choice
	}
	if option, _ := l.find(value); option != nil {
		return l.pick(ctx, option, value)
	}
	if !l.announcesOptions() {
		return &protocol.ActResult{Refused: protocol.RefusedKind, Text: notNative, Done: l.clicks}, nil
	}
	l.before = map[int]bool{}
	l.root.Walk(func(n *aria.Node) {
		if !n.Has("no-pointer") { // what closes at this moment may open again with the same references
			l.before[n.Ref] = true
		}
	})
	var options []string
	for _, show := range []func(ctx context.Context, value string, showsSome bool) (*protocol.ActResult, error){l.open, l.press, l.filter, l.scroll} {
		result, err := show(ctx, value, len(options) > 0)
		if errors.Is(err, errUnfit) {
			continue
		}
		if stops(result, err) {
			return result, err
		}
		option, names := l.find(value)
		if option != nil {
			return l.pick(ctx, option, value)
		}
		if len(options) == 0 {
			options = names
		}
	}
	if len(options) == 0 {
		text := notNative + " (a click on it showed no options, and neither did ArrowDown)"
		return &protocol.ActResult{Refused: protocol.RefusedKind, Text: text, Done: l.clicks}, nil
	}
	text := strings.Join(options[:min(len(options), mostNamed)], ", ")
	if len(options) > mostNamed {
		text += fmt.Sprintf(", … (%d)", len(options))
	}
	return &protocol.ActResult{Refused: protocol.RefusedOption, Text: text, Done: l.clicks}, nil
}

// do carries out a step on the list, and looks at the page until the list shows options, and after typing until it shows a certain one.
func (l *madeList) do(ctx context.Context, step protocol.ActStep, value string) (*protocol.ActResult, error) {
	result, err := l.step(ctx, step)
	if stops(result, err) {
		return result, err
	}
	deadline := l.actor.clock().Add(lateOptions)
	for {
		if err := l.look(ctx); err != nil {
			return nil, err
		}
		option, names := l.find(value)
		isOpen := l.node() == nil || l.is("expanded")
		isLate := step.Op == protocol.StepType || isOpen && len(names) == 0
		left := deadline.Sub(l.actor.clock())
		if option != nil || !isLate || left <= 0 {
			return result, nil
		}
		change := action{settle: min(left, lookAgain)}
		if waited, err := l.tab.send(ctx, []protocol.ActStep{{Op: protocol.StepChange}}, change, nil, false); stops(waited, err) {
			return waited, err
		}
	}
}

// step carries out a step on the element of the list.
func (l *madeList) step(ctx context.Context, step protocol.ActStep) (*protocol.ActResult, error) {
	path, err := l.tab.refs.path(l.ref)
	if err != nil {
		return nil, err
	}
	step.Path = path
	return l.tab.do(ctx, []protocol.ActStep{step})
}

// open clicks the list.
func (l *madeList) open(ctx context.Context, value string, _ bool) (*protocol.ActResult, error) {
	l.clicks++
	return l.do(ctx, protocol.ActStep{Op: protocol.StepClick}, value)
}

// press presses the key that opens a list in whose field a click only places the caret.
func (l *madeList) press(ctx context.Context, value string, showsSome bool) (*protocol.ActResult, error) {
	if showsSome || l.node() == nil {
		return nil, errUnfit
	}
	return l.do(ctx, protocol.ActStep{Op: protocol.StepPress, Key: "ArrowDown"}, value)
}

// filter types an option's name into the field of a list, if it has one. If no option appears, the field gets its text back.
func (l *madeList) filter(ctx context.Context, value string, _ bool) (*protocol.ActResult, error) {
	field := l.node()
	if field == nil || field.Role != "combobox" || field.Has("readonly") {
		return nil, errUnfit
	}
	before := ""
	if strings.Contains(field.Keys, "type=") { // of other elements, the value is what they show
		before = field.Value
	}
	result, err := l.do(ctx, protocol.ActStep{Op: protocol.StepType, Texts: []string{value}, Clear: true}, value)
	if err == nil && result.Refused != "" {
		return nil, errUnfit
	}
	if stops(result, err) {
		return result, err
	}
	if option, _ := l.find(value); option != nil {
		return result, nil
	}
	if result, err = l.step(ctx, protocol.ActStep{Op: protocol.StepType, Texts: []string{before}, Clear: true}); stops(result, err) {
		return result, err
	}
	return result, l.look(ctx)
}

// scroll scrolls a list that draws only the options in view.
func (l *madeList) scroll(ctx context.Context, value string, _ bool) (*protocol.ActResult, error) {
	for range mostScrolls {
		last := l.last()
		if last == nil {
			return nil, errUnfit
		}
		path, err := l.tab.refs.path(aria.Reference(last.Ref))
		if err != nil {
			return nil, err
		}
		result, err := l.tab.send(ctx, []protocol.ActStep{{Op: protocol.StepScroll, Path: path, Y: scrolledBy}}, l.tab.action, nil, false)
		if err == nil && result.Refused != "" {
			return nil, errUnfit
		}
		if stops(result, err) {
			return result, err
		}
		if err := l.look(ctx); err != nil {
			return nil, err
		}
		if option, _ := l.find(value); option != nil {
			return result, nil
		}
		if now := l.last(); now != nil && now.Ref == last.Ref {
			break
		}
	}
	return nil, errUnfit
}

// last returns the last option that is shown, nil for none.
func (l *madeList) last() *aria.Node {
	options, _ := l.options()
	if len(options) == 0 {
		return nil
	}
	return options[len(options)-1]
}

// look reads the page.
func (l *madeList) look(ctx context.Context) error {
	tree, err := l.actor.pages.Look(ctx, l.tab.id, l.tab.tab, false)
	if err == nil {
		l.root, l.document = tree.Root, tree.Document
	}
	return err
}

// node returns the element of the list, nil if it has left the page.
func (l *madeList) node() (node *aria.Node) {
	l.root.Walk(func(n *aria.Node) {
		if n.Ref == l.number {
			node = n
		}
	})
	return node
}

// is reports whether the element of the list has a state.
func (l *madeList) is(state string) bool {
	node := l.node()
	return node != nil && node.Has(state)
}

// announcesOptions reports whether the element says that it opens a list. Nothing else is clicked to look for options: a plain
// button may do anything.
func (l *madeList) announcesOptions() bool {
	node := l.node()
	return node != nil && (node.Role == "combobox" || node.Role == "listbox" || slices.ContainsFunc(node.States, func(state string) bool {
		return state == "expanded" || state == "collapsed" || strings.HasPrefix(state, "haspopup")
	}))
}

// options returns the options of the list: those in it, or those that appeared when it was opened. If it was open already, they are
// all on the page that are in no other list, and it is not certain that they are the list's. A closed list has none outside it.
func (l *madeList) options() (options []*aria.Node, certain bool) {
	// An open list may hide everything else.
	if node := l.node(); node != nil {
		if inside := l.optionsIn(node, nil); len(inside) > 0 || l.before == nil && node.Has("collapsed") {
			return inside, true
		}
	}
	if l.before != nil {
		return l.optionsIn(l.root, l.before), true
	}
	others := map[int]bool{}
	l.root.Walk(func(n *aria.Node) {
		if n.Role != "combobox" && (n.Role != "listbox" || !n.HasValue) {
			return
		}
		isAround := false
		n.Walk(func(o *aria.Node) { isAround = isAround || o.Ref == l.number })
		if !isAround {
			n.Walk(func(o *aria.Node) { others[o.Ref] = true })
		}
	})
	return l.optionsIn(l.root, others), false
}

// optionsIn returns the options in an element, without those of some references.
func (l *madeList) optionsIn(n *aria.Node, without map[int]bool) (options []*aria.Node) {
	n.Walk(func(o *aria.Node) {
		if optionRoles[o.Role] && o.Ref > 0 && !without[o.Ref] {
			options = append(options, o)
		}
	})
	return options
}

// find returns the option of a name, nil for none, and the names of all options.
func (l *madeList) find(name string) (option *aria.Node, names []string) {
	options, certain := l.options()
	var found []*aria.Node
	for _, n := range options {
		names = append(names, aria.Quote(n.Name))
		if isNamed(n.Name, name) {
			found = append(found, n)
		}
	}
	for _, n := range l.drawn(options) {
		text := drawnText(n)
		if quoted := aria.Quote(text); !slices.Contains(names, quoted) {
			names = append(names, quoted)
			if isNamed(text, name) {
				found = append(found, n)
			}
		}
	}
	if len(found) == 1 || certain && len(found) > 0 {
		return found[0], names
	}
	return nil, names
}

func isNamed(name, wanted string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(name), " "), strings.Join(strings.Fields(wanted), " "))
}

// drawn returns the elements of no role that draw the options of the list, which are then for screen readers alone, and may be only
// some. Components such as Ant Design's do so.
func (l *madeList) drawn(options []*aria.Node) []*aria.Node {
	var appeared []*aria.Node
	draws := false
	l.root.Walk(func(n *aria.Node) {
		text := drawnText(n)
		if text == "" || n.Has("no-pointer") || l.before[n.Ref] {
			return
		}
		appeared = append(appeared, n)
		draws = draws || slices.ContainsFunc(options, func(o *aria.Node) bool { return o.Name == text })
	})
	if !draws {
		return nil
	}
	return appeared
}

// drawnText returns the text of an element of no role that is nothing but a text, or "".
func drawnText(n *aria.Node) string {
	if n.Ref <= 0 || n.Role != "generic" {
		return ""
	}
	if n.Name == "" && len(n.Children) == 1 && n.Children[0].IsText() {
		return n.Children[0].Name
	}
	return n.Name
}

// pick clicks an option. A list that draws its options again, such as with each answer of a server, has another element of that name
// then.
func (l *madeList) pick(ctx context.Context, option *aria.Node, value string) (*protocol.ActResult, error) {
	document, deadline := l.document, l.actor.clock().Add(lateOptions)
	for {
		clicks := l.clicks
		result, err := l.choosing(ctx, option, value)
		if err != nil || result.Refused != protocol.RefusedGone || !l.actor.clock().Before(deadline) {
			return result, err
		}
		if err := l.look(ctx); err != nil {
			return nil, err
		}
		next, _ := l.find(value)
		if next == nil || l.document != document {
			return result, nil
		}
		option, l.clicks = next, clicks
	}
}

// choosing clicks an option. A chosen one of several that can be chosen stays chosen, also where nothing says that several can be: the
// click has taken it back then, and another one chooses it.
func (l *madeList) choosing(ctx context.Context, option *aria.Node, value string) (*protocol.ActResult, error) {
	if l.isChosen(option) {
		return l.tab.do(ctx, []protocol.ActStep{{Op: protocol.StepRest}})
	}
	result, err := l.click(ctx, option)
	if !isMarked(option) || stops(result, err) {
		return result, err
	}
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	now, _ := l.find(value)
	if now == nil || isMarked(now) || l.is("collapsed") {
		return result, nil
	}
	return l.click(ctx, now)
}

// click clicks an option, or what draws it if it is hidden itself, or covered by that.
func (l *madeList) click(ctx context.Context, option *aria.Node) (*protocol.ActResult, error) {
	l.clicks++
	result, err := l.tab.clickOn(ctx, option)
	if err != nil || result.Refused != protocol.RefusedHidden && result.Refused != protocol.RefusedCovered {
		return result, err
	}
	options, _ := l.options()
	var drawn []*aria.Node
	for _, n := range l.drawn(options) {
		if drawnText(n) == option.Name {
			drawn = append(drawn, n)
		}
	}
	if len(drawn) != 1 {
		return result, err
	}
	return l.tab.clickOn(ctx, drawn[0])
}

// isChosen reports whether an option is chosen already in a list of which several can be, where a click would take it back.
func (l *madeList) isChosen(option *aria.Node) bool {
	if !isMarked(option) {
		return false
	}
	marked := 0
	options, _ := l.options()
	for _, o := range options {
		if isMarked(o) {
			marked++
		}
	}
	several := option.Role == "menuitemcheckbox" || marked > 1
	l.root.Walk(func(n *aria.Node) {
		if n.Has("multiselectable") {
			n.Walk(func(o *aria.Node) { several = several || o == option })
		}
	})
	return several
}

// isMarked reports whether an option says that it is chosen.
func isMarked(option *aria.Node) bool { return option.Has("selected") || option.Has("checked") }

// clickOn clicks an element.
func (t *actingTab) clickOn(ctx context.Context, n *aria.Node) (*protocol.ActResult, error) {
	path, err := t.refs.path(aria.Reference(n.Ref))
	if err != nil {
		return nil, err
	}
	return t.do(ctx, []protocol.ActStep{{Op: protocol.StepClick, Path: path}})
}
