package act

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// refusal returns why the first step that was not done was refused.
func (o *outcome) refusal() *Refusal {
	r := o.result
	at := min(r.Done, len(o.steps)-1) // one step can be several clicks, of which some are done
	step := protocol.ActStep{}
	if at >= 0 {
		step = o.steps[at]
	}
	refusal := &Refusal{
		Reason: r.Refused, Element: o.refs.named(step.Path), Detail: r.Text, Dialog: r.Dialog, Busy: r.Busy, Done: r.Done, Steps: len(o.steps),
	}
	if at >= 0 && at < len(o.names) {
		refusal.Element = o.names[at]
	}
	switch r.Refused {
	case protocol.RefusedGone:
		if o.gone != nil {
			refusal.Explained, refusal.Detail = true, o.gone.Error()
		} else if len(step.Path) > 0 {
			last := step.Path[len(step.Path)-1]
			if ref, _ := o.refs.page.At(last.Document, last.ID); ref > 0 {
				_, err := o.refs.page.Find(ref)
				refusal.Rerendered = err == nil
			}
		}
	case protocol.RefusedCovered:
		refusal.CoveredBy = o.cover()
	}
	return refusal
}

// unresponsive is the detail of a refusal because the page does not answer.
const unresponsive = "the page does not answer: it is busy or hangs"

// named returns the role, name and reference of an element as answers show them, or "" for the page.
func (r *references) named(path []protocol.ActNode) string {
	if len(path) == 0 {
		return ""
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

// cover describes what covers an element, or returns "" if that is unknown.
func (o *outcome) cover() string {
	r := o.result
	if r.By != nil {
		if ref, node := o.refs.page.At(r.By.Document, r.By.ID); ref > 0 && node != nil {
			if text := aria.Brief(node); text != r.Text && r.Text != "" {
				return fmt.Sprintf("%s (%s [%s])", event.Described(r.Text), text, aria.Reference(ref))
			}
			return fmt.Sprintf("%s [%s]", aria.Brief(node), aria.Reference(ref))
		}
	}
	if r.Text == "" {
		return ""
	}
	return event.Described(r.Text)
}
