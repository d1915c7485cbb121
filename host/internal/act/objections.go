package act

import (
	"cmp"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/protocol"
)

// maxObjections is how many fields are named that did not take what was done.
const maxObjections = 5

// objections tells which fields the browser did not submit a form because of, and which did not take what was typed.
func (o *outcome) objections() string {
	var unsent, untaken []string
	for _, f := range o.result.Objections {
		name := o.refs.named([]protocol.ActNode{f.Field})
		if f.Invalid != nil {
			unsent = append(unsent, name+": "+cmp.Or(*f.Invalid, "what it holds is not valid"))
			continue
		}
		typed := fmt.Sprintf("typed: %d characters", f.Typed)
		switch f.Typed {
		case 0:
			typed = "it was to be emptied"
		case 1:
			typed = "typed: 1 character"
		}
		untaken = append(untaken, fmt.Sprintf("%s %s (%s)", name, o.still(f.Field), typed))
	}
	return objected("Not submitted:", unsent) + objected("Not taken:", untaken)
}

// still says what a field holds that has not changed.
func (o *outcome) still(field protocol.ActNode) string {
	_, node := o.refs.page.At(field.Document, field.ID)
	switch {
	case node == nil || strings.Contains(node.Value, masked):
		return "still holds what it held"
	case node.Value == "":
		return "is still empty"
	}
	return "still holds " + aria.Quote(node.Value)
}

func objected(what string, lines []string) string {
	switch more := len(lines) - maxObjections; {
	case len(lines) == 0:
		return ""
	case len(lines) == 1:
		return what + " " + lines[0] + "\n"
	case more > 0:
		lines = append(lines[:maxObjections], fmt.Sprintf("%d more", more))
	}
	return what + "\n- " + strings.Join(lines, "\n- ") + "\n"
}
