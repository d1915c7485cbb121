package act

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/protocol"
)

// refusal says why the step after those that were done was not.
func (o *outcome) refusal() *Refusal {
	r := o.result
	step := protocol.ActStep{}
	if r.Done < len(o.steps) {
		step = o.steps[r.Done]
	}
	refusal := &Refusal{
		Reason: r.Refused, Element: o.refs.named(step.Path), Detail: r.Text, Dialog: r.Dialog, Busy: r.Busy, Done: r.Done, Steps: len(o.steps),
	}
	if r.Done < len(o.names) {
		refusal.Element = o.names[r.Done]
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

// unresponsive is the detail of a refusal by a page that does not answer.
const unresponsive = "the page does not answer: it is busy, or hangs"

// named is an element as it is told: its role and name with its reference; "" for the page.
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

// cover is what covers an element; "" where that is not known.
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
	return r.Text
}
