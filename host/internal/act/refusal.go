package act

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/protocol"
)

// refusal says why the step after those that were done was not, and what to do.
func (o *outcome) refusal() string {
	r := o.result
	step := protocol.ActStep{}
	if r.Done < len(o.steps) {
		step = o.steps[r.Done]
	}
	what := o.refs.named(step.Path)
	if r.Done < len(o.names) {
		what = o.names[r.Done]
	}
	done := "nothing was done"
	if r.Done > 0 {
		done = fmt.Sprintf("%d of %d were done", r.Done, len(o.steps))
	}
	switch r.Refused {
	case protocol.RefusedGone:
		if o.gone != nil {
			return o.gone.Error()
		}
		if len(step.Path) > 0 {
			last := step.Path[len(step.Path)-1]
			if ref, _ := o.refs.page.At(last.Document, last.ID); ref > 0 {
				if _, err := o.refs.page.Find(ref); err == nil {
					return fmt.Sprintf("%s has been rendered anew, and it is not certain that it is the same; call browser_snapshot; %s", what, done)
				}
			}
		}
		return fmt.Sprintf("%s is gone; call browser_snapshot; %s", what, done)
	case protocol.RefusedOther:
		return fmt.Sprintf("%s has become %s since you looked; call browser_snapshot; %s", what, r.Text, done)
	case protocol.RefusedHidden:
		return fmt.Sprintf("%s is not visible; something may have to be opened or hovered first; %s", what, done)
	case protocol.RefusedDisabled:
		if r.Text == "read-only" {
			return fmt.Sprintf("%s is read-only; %s", what, done)
		}
		if r.Text != "" {
			return fmt.Sprintf("%s: %s is disabled; %s", what, r.Text, done)
		}
		return fmt.Sprintf("%s is disabled, and stayed so for %s; %s", what, readyTimeout, done)
	case protocol.RefusedMoving:
		return fmt.Sprintf("%s does not stand still; wait with browser_wait_for until its animation is over; %s", what, done)
	case protocol.RefusedOutside:
		return fmt.Sprintf("%s cannot be scrolled into view; %s", what, done)
	case protocol.RefusedCovered:
		return fmt.Sprintf("%s is covered by %s; close or move that first; %s", what, o.cover(), done)
	case protocol.RefusedKind:
		return fmt.Sprintf("%s is not %s; %s", what, r.Text, done)
	case protocol.RefusedOption:
		return fmt.Sprintf("%s takes %s; %s", what, r.Text, done)
	case protocol.RefusedDialog:
		if d := r.Dialog; d != nil {
			return fmt.Sprintf("a dialog is open %s; answer it with browser_handle_dialog first; %s", dialogText(d), done)
		}
		return "a dialog is open; answer it with browser_handle_dialog first; " + done
	case protocol.RefusedChooser:
		return fmt.Sprintf("a click on %s opened no file chooser; nothing was uploaded", what)
	case protocol.RefusedLoad:
		return "the page could not be loaded: " + r.Text
	case protocol.RefusedDebugger:
		return fmt.Sprintf("this needs the browser's debugger, which is refused (%s); nothing was done", r.Text)
	case protocol.RefusedCode:
		return fmt.Sprintf("the code %s; what it did before that is not undone", r.Text)
	case protocol.RefusedNoDialog:
		return "no dialog is open"
	}
	why := r.Text
	if r.Busy {
		why += "; if it stays so, " + leaveIt
	}
	if len(step.Path) == 0 && r.Busy {
		return fmt.Sprintf("%s; %s", why, done)
	}
	return fmt.Sprintf("%s: %s; %s", what, why, done)
}

// What is said of a page that does not answer.
const (
	unresponsive = "the page does not answer: it is busy, or hangs"
	leaveIt      = "close its tab and open another one (browser_tabs)"
)

// named is an element as it is told: its role and name with its reference.
func (r *references) named(path []protocol.ActNode) string {
	if len(path) == 0 {
		return "the page"
	}
	last := path[len(path)-1]
	ref, node := r.page.At(last.Document, last.ID)
	if ref <= 0 {
		return "the element"
	}
	if shown := r.seen.Node(ref); shown != nil {
		node = shown
	}
	if node == nil {
		return "the element " + aria.Reference(ref)
	}
	return fmt.Sprintf("%s [%s]", aria.Brief(node), aria.Reference(ref))
}

// cover is what covers an element.
func (o *outcome) cover() string {
	r := o.result
	if r.By != nil {
		if ref, node := o.refs.page.At(r.By.Document, r.By.ID); ref > 0 && node != nil {
			if text := aria.Brief(node); text != r.Text && r.Text != "" {
				return fmt.Sprintf("%s (%s [%s])", r.Text, text, aria.Reference(ref))
			}
			return fmt.Sprintf("%s [%s]", aria.Brief(node), aria.Reference(ref))
		}
	}
	if r.Text != "" {
		return r.Text
	}
	return "another element"
}
