package render

import (
	"cmp"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/protocol"
)

// Limits of an action's text: lines of what broke, requests in a line, and fields that did not take their input.
const (
	maxBroke    = 12
	maxRequests = 5
	maxFields   = 5
)

// ForAgent is an answer that agents get as text alone; ok is false for any other, which they get as data.
func ForAgent(answer any) (text string, ok bool) {
	switch a := answer.(type) {
	case *act.Answer:
		return Action(a), true
	case interface{ AgentText() string }:
		return a.AgentText(), true
	}
	return "", false
}

// Action writes what an action did and caused, for an agent.
func Action(a *act.Answer) string {
	var b strings.Builder
	if a.NewTab {
		fmt.Fprintf(&b, "Opened tab %d.\n", a.Tab)
	}
	if a.Refused != nil {
		writeRefused(&b, a)
	} else {
		writeDone(&b, a)
	}
	return strings.TrimRight(b.String(), "\n")
}

func writeRefused(b *strings.Builder, a *act.Answer) {
	b.WriteString(refusal(a.Refused) + "\n" + fields(a))
	if lines := broke(a.Broke); len(lines) > 0 {
		b.WriteString("Broke meanwhile:\n" + strings.Join(lines, "\n") + "\n")
	}
	before := late(a.Late)
	b.WriteString(before)
	if before != "" && a.Page != "" {
		b.WriteString("Changed meanwhile:\n")
	}
	b.WriteString(a.Page)
}

func writeDone(b *strings.Builder, a *act.Answer) {
	if a.Untrusted != "" {
		fmt.Fprintf(b, "Done with a script's events, not a person's (%s): the page can tell.\n", a.Untrusted)
	}
	if a.Dialog != nil {
		fmt.Fprintf(b, "A dialog is open %s. Answer it with browser_handle_dialog; until then the page stands still.\n", dialog(a.Dialog))
	}
	b.WriteString(fields(a))
	if lines := broke(a.Broke); len(lines) > 0 {
		b.WriteString("Broke:\n" + strings.Join(lines, "\n") + "\n")
	} else if a.Dialog == nil && !a.Busy {
		b.WriteString("Nothing broke.\n")
	}
	if lines := requests(a.Requests); len(lines) > 0 {
		b.WriteString("Requests: " + strings.Join(lines, ", ") + "\n")
	}
	if n := min(len(a.Unfinished), maxRequests); n > 0 {
		b.WriteString("Not finished: " + strings.Join(a.Unfinished[:n], ", ") + "\n")
	}
	b.WriteString(made(a.Made))
	if a.Value != "" {
		fmt.Fprintf(b, "Value: %s\n", a.Value)
	}
	if a.Busy {
		b.WriteString("The page does not answer: it is busy, or hangs. What the action caused is not known yet; browser_wait_for waits for it; if the page stays so, " + leaveIt + ".\n")
	}
	page := a.Page
	switch {
	case a.Unchanged:
		page = "The page did not change.\n"
	case a.Unreadable != "":
		page = "The page cannot be read: " + a.Unreadable + "\n"
	}
	before := late(a.Late)
	b.WriteString(before)
	switch {
	case before == "" || page == "":
	case a.Waited:
		b.WriteString("While waiting:\n")
	default:
		b.WriteString("By this action:\n")
	}
	b.WriteString(page)
}

// leaveIt is what to do about a page that does not answer.
const leaveIt = "close its tab and open another one (browser_tabs)"

// dialog is what a dialog asks.
func dialog(d *protocol.ActDialog) string {
	text := fmt.Sprintf("(%s): %q", d.Kind, d.Message)
	if d.Default != "" {
		text += fmt.Sprintf(", with %q in its field", d.Default)
	}
	return text
}

// broke are the lines of what broke, the worst first.
func broke(list []diff.Consequence) []string {
	var lines []string
	for _, c := range list[:min(len(list), maxBroke)] {
		lines = append(lines, "- "+repeated(c))
	}
	if more := len(list) - maxBroke; more > 0 {
		lines = append(lines, fmt.Sprintf("- %d more; get_changes_since has them", more))
	}
	return lines
}

func requests(list []diff.Consequence) []string {
	var texts []string
	for _, c := range list[:min(len(list), maxRequests)] {
		texts = append(texts, repeated(c))
	}
	if more := len(list) - maxRequests; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return texts
}

func repeated(c diff.Consequence) string {
	if c.Count > 1 {
		return fmt.Sprintf("%s ×%d", c.Text, c.Count)
	}
	return c.Text
}

// made tells what a page opened and downloaded.
func made(m act.Made) string {
	var b strings.Builder
	for _, t := range m.Opened {
		switch {
		case t.ID == 0:
			b.WriteString("Opened a tab; browser_tabs lists it.\n")
		case t.URL == "":
			fmt.Fprintf(&b, "Opened tab %d.\n", t.ID)
		default:
			fmt.Fprintf(&b, "Opened tab %d: %s\n", t.ID, t.URL)
		}
	}
	if len(m.Downloads) > 0 {
		fmt.Fprintf(&b, "Downloading: %s\n", strings.Join(m.Downloads, ", "))
	}
	return b.String()
}

// late tells what came after the last answer and before the action.
func late(l *act.Late) string {
	if l == nil {
		return ""
	}
	heading := "Late, after your last action was answered:\n"
	if l.First {
		heading = "Late, before this action:\n"
	}
	var b strings.Builder
	b.WriteString(heading)
	for _, line := range broke(l.Broke) {
		b.WriteString(line + "\n")
	}
	b.WriteString(made(l.Made))
	if l.Merged {
		b.WriteString("The page changed too much to be told twice; what is told of it below is in part of before this action.\n")
	}
	b.WriteString(l.Page)
	return b.String()
}

// fields tells which fields the browser did not submit a form because of, and which did not take what was typed.
func fields(a *act.Answer) string {
	var unsent, untaken []string
	for _, f := range a.Invalid {
		unsent = append(unsent, f.Element+": "+cmp.Or(f.Message, "what it holds is not valid"))
	}
	for _, f := range a.Ignored {
		typed := fmt.Sprintf("typed: %d characters", f.Typed)
		switch f.Typed {
		case 0:
			typed = "it was to be emptied"
		case 1:
			typed = "typed: 1 character"
		}
		untaken = append(untaken, fmt.Sprintf("%s %s (%s)", f.Element, still(f.Value), typed))
	}
	return fieldList("Not submitted:", unsent) + fieldList("Not taken:", untaken)
}

// still says what a field holds that has not changed.
func still(value *string) string {
	switch {
	case value == nil:
		return "still holds what it held"
	case *value == "":
		return "is still empty"
	}
	return "still holds " + aria.Quote(*value)
}

func fieldList(what string, lines []string) string {
	switch more := len(lines) - maxFields; {
	case len(lines) == 0:
		return ""
	case len(lines) == 1:
		return what + " " + lines[0] + "\n"
	case more > 0:
		lines = append(lines[:maxFields], fmt.Sprintf("%d more", more))
	}
	return what + "\n- " + strings.Join(lines, "\n- ") + "\n"
}

// refusal says why a step was not done, and what to do.
func refusal(r *act.Refusal) string {
	what := cmp.Or(r.Element, "the page")
	done := "nothing was done"
	if r.Done > 0 {
		done = fmt.Sprintf("%d of %d were done", r.Done, r.Steps)
	}
	switch r.Reason {
	case protocol.RefusedGone:
		switch {
		case r.Explained:
			return r.Detail
		case r.Rerendered:
			return fmt.Sprintf("%s has been rendered anew, and it is not certain that it is the same; call browser_snapshot; %s", what, done)
		}
		return fmt.Sprintf("%s is gone; call browser_snapshot; %s", what, done)
	case protocol.RefusedOther:
		return fmt.Sprintf("%s has become %s since you looked; call browser_snapshot; %s", what, r.Detail, done)
	case protocol.RefusedHidden:
		return fmt.Sprintf("%s is not visible; something may have to be opened or hovered first; %s", what, done)
	case protocol.RefusedDisabled:
		switch r.Detail {
		case "":
			return fmt.Sprintf("%s is disabled, and stayed so for %s; %s", what, act.ReadyTimeout, done)
		case "read-only":
			return fmt.Sprintf("%s is read-only; %s", what, done)
		}
		return fmt.Sprintf("%s: %s is disabled; %s", what, r.Detail, done)
	case protocol.RefusedMoving:
		return fmt.Sprintf("%s does not stand still; wait with browser_wait_for until its animation is over; %s", what, done)
	case protocol.RefusedOutside:
		return fmt.Sprintf("%s cannot be scrolled into view; %s", what, done)
	case protocol.RefusedCovered:
		return fmt.Sprintf("%s is covered by %s; close or move that first; %s", what, cmp.Or(r.CoveredBy, "another element"), done)
	case protocol.RefusedKind:
		return fmt.Sprintf("%s is not %s; %s", what, r.Detail, done)
	case protocol.RefusedOption:
		return fmt.Sprintf("%s takes %s; %s", what, r.Detail, done)
	case protocol.RefusedDialog:
		if r.Dialog != nil {
			return fmt.Sprintf("a dialog is open %s; answer it with browser_handle_dialog first; %s", dialog(r.Dialog), done)
		}
		return "a dialog is open; answer it with browser_handle_dialog first; " + done
	case protocol.RefusedChooser:
		return fmt.Sprintf("a click on %s opened no file chooser; nothing was uploaded", what)
	case protocol.RefusedLoad:
		return "the page could not be loaded: " + r.Detail
	case protocol.RefusedDebugger:
		return fmt.Sprintf("this needs the browser's debugger, which is refused (%s); nothing was done", r.Detail)
	case protocol.RefusedCode:
		return fmt.Sprintf("the code %s; what it did before that is not undone", r.Detail)
	case protocol.RefusedNoDialog:
		return "no dialog is open"
	}
	why := r.Detail
	if r.Busy {
		why += "; if it stays so, " + leaveIt
	}
	if r.Element == "" && r.Busy {
		return fmt.Sprintf("%s; %s", why, done)
	}
	return fmt.Sprintf("%s: %s; %s", what, why, done)
}
