package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

// Limits of an action's text: lines of problems, requests in a line, and fields that rejected or ignored input.
const (
	maxBroke    = act.MaxBroke
	maxRequests = act.MaxRequests
	maxFields   = 5
)

// ForAgent returns the text of an answer that agents get only as text. For other answers, sent as data, ok is false. Some
// are either, as the agent requested.
func ForAgent(answer any) (text string, ok bool) {
	switch a := answer.(type) {
	case *act.Answer:
		return Action(a), true
	case interface{ AgentText() string }:
		return a.AgentText(), true
	case interface{ AgentLines() (string, bool) }:
		return a.AgentLines()
	}
	return "", false
}

// Action reports to an agent what an action did and caused.
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
	b.WriteString(refusal(a.Refused, a.Waited) + "\n")
	if a.Refused.Blame != nil { // page text, at the end of its line
		fmt.Fprintf(b, "Cause: %s\n", a.Refused.Blame)
	}
	b.WriteString(fields(a))
	if lines := broke(a.Broke); len(lines) > 0 {
		b.WriteString("Problems during the attempt:\n" + strings.Join(lines, "\n") + "\n")
	}
	b.WriteString(repeatedAgain(a.Repeated))
	b.WriteString(located(a.Located))
	before := late(a.Late)
	b.WriteString(before)
	if before != "" && a.Page != "" {
		b.WriteString("During the attempt:\n")
	}
	b.WriteString(a.Page)
}

func writeDone(b *strings.Builder, a *act.Answer) {
	if a.Left != "" {
		b.WriteString(a.Left + "\n")
	}
	if a.Untrusted != "" {
		fmt.Fprintf(b, "Sent synthetic events, which the page can detect (%s).\n", a.Untrusted)
	}
	if a.Dialog != nil {
		fmt.Fprintf(b, "A dialog blocks the page %s. Answer it with browser_handle_dialog.\n", dialog(a.Dialog))
	}
	if a.Paused != "" {
		b.WriteString("The action is not finished: " + a.Paused + "\n")
		if len(a.Changed) > 0 {
			b.WriteString("Variables: " + event.OneLine(strings.Join(a.Changed, "; ")) + "\n")
		}
	}
	if a.Met != "" {
		b.WriteString(a.Met + "\n")
	}
	b.WriteString(unclicked(a.Unclicked))
	b.WriteString(fields(a))
	if lines := broke(a.Broke); len(lines) > 0 {
		b.WriteString("Problems:\n" + strings.Join(lines, "\n") + "\n")
	} else if a.Unclicked == nil && a.Dialog == nil && !a.Busy && a.Paused == "" && a.Left == "" {
		b.WriteString(none(a) + "\n")
	}
	b.WriteString(repeatedAgain(a.Repeated))
	b.WriteString(located(a.Located))
	if lines := requests(a.Flashes); len(lines) > 0 {
		b.WriteString("Shown briefly: " + strings.Join(lines, ", ") + "\n")
	}
	if lines := requests(a.Requests); len(lines) > 0 {
		b.WriteString("Requests: " + strings.Join(lines, ", ") + "\n")
	}
	if lines := atMost(a.Unfinished); len(lines) > 0 {
		b.WriteString("Pending: " + strings.Join(lines, ", ") + "\n")
	}
	b.WriteString(made(a.Made))
	if a.Value != "" {
		fmt.Fprintf(b, "Value: %s\n", a.Value)
	}
	if a.Busy {
		b.WriteString("The page does not answer: it is busy or hangs. The effects of the action are not known yet. Wait with browser_wait_for. " + leaveIt + ".\n")
	}
	page := a.Page
	switch {
	case a.Unchanged:
		page = "The page did not change.\n"
	case a.Unreadable != "":
		page = "Cannot read the page: " + a.Unreadable + "\n"
	}
	before := late(a.Late)
	b.WriteString(before)
	switch {
	case before == "" || page == "":
	case a.Waited:
		b.WriteString("While waiting:\n")
	default:
		b.WriteString("After this action:\n")
	}
	b.WriteString(page)
}

// none says that an action caused no problems, and of what that holds where others are listed below.
func none(a *act.Answer) string {
	what := "No problems"
	if len(a.Repeated) > 0 {
		what = "No new problems"
	}
	switch {
	case a.Late == nil || len(a.Late.Broke)+len(a.Late.Repeated) == 0:
	case a.Waited:
		what += " while waiting"
	default:
		what += " from this action"
	}
	return what + "."
}

// leaveIt is the advice for a page that keeps not answering.
const leaveIt = "If that lasts, close its tab and open another with browser_tabs"

// dialog returns the kind, message and default text of a dialog.
func dialog(d *protocol.ActDialog) string {
	text := fmt.Sprintf("(%s): %q", d.Kind, d.Message)
	if d.Default != "" {
		text += fmt.Sprintf(", default %q", d.Default)
	}
	return text
}

// broke returns a line for each problem, in the order of the list.
func broke(list []diff.Consequence) []string {
	var lines []string
	for _, c := range list[:min(len(list), maxBroke)] {
		lines = append(lines, "- "+c.Line())
	}
	if more := len(list) - maxBroke; more > 0 {
		lines = append(lines, fmt.Sprintf("- %d more: call get_changes_since", more))
	}
	return lines
}

func requests(list []diff.Consequence) []string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = repeated(c)
	}
	return atMost(texts)
}

// atMost keeps as many requests as a line shows, and counts the others.
func atMost(requests []string) []string {
	if more := len(requests) - maxRequests; more > 0 {
		return append(slices.Clone(requests[:maxRequests]), fmt.Sprintf("%d more", more))
	}
	return requests
}

func repeated(c diff.Consequence) string {
	c.IntroducedBy = nil
	return c.Line()
}

// repeatedAgain counts the problems that the agent was already given, and names some of them.
func repeatedAgain(list []diff.Consequence) string {
	if len(list) == 0 {
		return ""
	}
	var all []report.Repeated
	errors := 0
	for _, c := range list {
		all = append(all, report.Repeated{Message: c.Text, Count: c.Count})
		if c.Severity == report.Error {
			errors++
		}
	}
	var texts []string
	for _, r := range report.SumRepeated(all) {
		texts = append(texts, repeated(diff.Consequence{Text: r.Message, Count: r.Count}))
	}
	return onLines(report.CountRepeated(errors, len(list)-errors)+":", texts)
}

// located names the places of errors that earlier answers showed without them.
func located(list []report.Located) string {
	var texts []string
	for _, e := range list {
		texts = append(texts, fmt.Sprintf("%q (%s)", e.Message, event.Named(e.Source)))
	}
	return onLines("Now located:", texts)
}

// made reports what a page opened and downloaded.
func made(m act.Made) string {
	var b strings.Builder
	for _, t := range m.Opened {
		switch {
		case t.Outside:
			b.WriteString("Opened a tab outside of this client's origins.\n")
		case t.ID == 0:
			b.WriteString("Opened a tab, listed by browser_tabs.\n")
		case t.URL == "":
			fmt.Fprintf(&b, "Opened tab %d.\n", t.ID)
		default:
			fmt.Fprintf(&b, "Opened tab %d: %s\n", t.ID, t.URL)
		}
	}
	if len(m.Downloads) > 0 {
		var names []string
		for _, name := range m.Downloads {
			names = append(names, strconv.Quote(name))
		}
		fmt.Fprintf(&b, "Downloading: %s\n", strings.Join(names, ", "))
	}
	return b.String()
}

// late reports what happened after the previous answer and before the action.
func late(l *act.Late) string {
	if l == nil {
		return ""
	}
	heading := "After the previous answer:\n"
	if l.First {
		heading = "Before this action:\n"
	}
	var b strings.Builder
	b.WriteString(heading)
	for _, line := range broke(l.Broke) {
		b.WriteString(line + "\n")
	}
	b.WriteString(repeatedAgain(l.Repeated))
	if lines := requests(l.Requests); len(lines) > 0 {
		b.WriteString("Requests (late): " + strings.Join(lines, ", ") + "\n")
	}
	b.WriteString(made(l.Made))
	b.WriteString(fieldList("Emptied by the page:", l.Emptied))
	if l.Merged {
		b.WriteString("Too many page changes to list apart: those below include earlier ones.\n")
	}
	b.WriteString(l.Page)
	return b.String()
}

// unclicked reports a click that the browser did not fire.
func unclicked(u *protocol.ActUnclicked) string {
	if u == nil {
		return ""
	}
	did := "moved"
	if u.Removed {
		did = "removed or replaced"
	}
	return fmt.Sprintf("Not clicked: the page %s %s when %s lost the focus. The release hit %s, so the browser fired no click.\n", did, u.Pressed, u.Field, u.Released)
}

// fields reports the fields that blocked the submission of a form, those that ignored input or lost
// some of it to another element, and those that were emptied.
func fields(a *act.Answer) string {
	var unsent, untaken, uncleared, strayed []string
	for _, f := range a.Invalid {
		unsent = append(unsent, f.Element+": "+cmp.Or(f.Message, "invalid value"))
	}
	for _, f := range a.Ignored {
		untaken = append(untaken, fmt.Sprintf("%s %s (%s)", f.Element, still(f.Value), typed(f.Typed)))
	}
	for _, f := range a.Uncleared {
		line := fmt.Sprintf("%s kept %d of %d former characters", f.Element, f.Kept, f.Former)
		if f.Value != nil {
			line += " and contains " + aria.Quote(*f.Value)
		}
		uncleared = append(uncleared, fmt.Sprintf("%s (%s)", line, typed(f.Typed)))
	}
	for _, f := range a.Strayed {
		strayed = append(strayed, fmt.Sprintf("some of the text for %s went into %s, because the page moved the focus", f.Element, f.Reached))
	}
	return fieldList("Not submitted:", unsent) + fieldList("Input ignored:", untaken) + fieldList("Not cleared:", uncleared) + fieldList("Typed elsewhere:", strayed) + fieldList("Emptied by the page:", a.Emptied)
}

// typed describes what was done to a field.
func typed(characters int) string {
	switch characters {
	case 0:
		return "tried to clear it"
	case 1:
		return "typed 1 character"
	}
	return fmt.Sprintf("typed %d characters", characters)
}

// still describes the unchanged value of a field.
func still(value *string) string {
	switch {
	case value == nil:
		return "is unchanged"
	case *value == "":
		return "is still empty"
	}
	return "still contains " + aria.Quote(*value)
}

func fieldList(what string, lines []string) string {
	if more := len(lines) - maxFields; more > 0 {
		lines = append(lines[:maxFields], fmt.Sprintf("%d more", more))
	}
	return onLines(what, lines)
}

// onLines lists texts of a page. Several are on a line each, so that none can seem to be two.
func onLines(what string, texts []string) string {
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return what + " " + texts[0] + "\n"
	}
	return what + "\n- " + strings.Join(texts, "\n- ") + "\n"
}

// refusal reports why a step was refused, how many steps were done, and what to do next.
func refusal(r *act.Refusal, waited bool) string {
	what := cmp.Or(r.Element, "the page")
	done := "Nothing was done"
	switch {
	case r.Done > 0 && r.Done >= r.Steps: // a step of several clicks, such as choosing in a list
		done = cmp.Or(map[int]string{1: "It was clicked once"}[r.Done], fmt.Sprintf("%d clicks were done", r.Done))
	case r.Done > 0:
		done = fmt.Sprintf("%d of %d steps were done", r.Done, r.Steps)
	}
	switch r.Reason {
	case protocol.RefusedGone:
		switch {
		case r.Explained:
			return r.Detail
		case r.Rerendered:
			return sentences(what+" was re-rendered and may be a different element", done, "Call browser_snapshot")
		}
		return sentences(what+" no longer exists", done, "Call browser_snapshot")
	case protocol.RefusedOther:
		return sentences(fmt.Sprintf("%s is now %s", what, r.Detail), done, "Call browser_snapshot")
	case protocol.RefusedHidden:
		return sentences(what+" is not visible", done, "You may have to open or hover something first")
	case protocol.RefusedDisabled:
		switch r.Detail {
		case "":
			return sentences(fmt.Sprintf("%s is still disabled after %s", what, act.ReadyTimeout), done)
		case "read-only":
			return sentences(what+" is read-only", done)
		}
		return sentences(fmt.Sprintf("%s: %s is disabled", what, r.Detail), done)
	case protocol.RefusedMoving:
		return sentences(what+" keeps moving", done, "Wait with browser_wait_for until its animation ends")
	case protocol.RefusedOutside:
		return sentences(what+" cannot be scrolled into view", done)
	case protocol.RefusedPointer:
		return sentences(what+" ignores the pointer", done)
	case protocol.RefusedCovered:
		next := "Close or move that first"
		if strings.HasPrefix(r.CoveredBy, "::") { // only its style sheet can do that
			next = ""
		}
		return sentences(fmt.Sprintf("%s is covered by %s", what, cmp.Or(r.CoveredBy, "another element")), done, next)
	case protocol.RefusedKind:
		return sentences(fmt.Sprintf("%s is not %s", what, cmp.Or(r.Detail, "an element for this action")), done)
	case protocol.RefusedOption:
		return sentences(fmt.Sprintf("%s accepts %s", what, r.Detail), done)
	case protocol.RefusedDialog:
		why := "a dialog is open"
		if r.Dialog != nil {
			why += " " + dialog(r.Dialog)
		}
		return sentences(why, done, "Answer it with browser_handle_dialog first")
	case protocol.RefusedChooser:
		return sentences(fmt.Sprintf("a click on %s opened no file chooser", what), "Nothing was uploaded")
	case protocol.RefusedLoad:
		return sentences("cannot load the page: " + r.Detail)
	case protocol.RefusedDebugger:
		why := "this needs the browser's debugger, which is refused"
		if r.Detail != "" {
			why += " (" + r.Detail + ")"
		}
		return sentences(why, done)
	case protocol.RefusedCode:
		return sentences("the code "+r.Detail, "Its earlier effects remain")
	case protocol.RefusedNoDialog:
		return sentences("no dialog is open")
	}
	if waited && r.Element == "" && !r.Busy {
		return sentences(r.Detail)
	}
	why, next := r.Detail, ""
	if r.Busy {
		next = leaveIt
	}
	if r.Element != "" || !r.Busy {
		why = what + ": " + why
	}
	return sentences(why, done, next)
}

// sentences ends each part that is not empty with a full stop, and joins them.
func sentences(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSuffix(p, ".") + ".")
	}
	return b.String()
}
