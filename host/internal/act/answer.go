package act

import (
	"encoding/base64"
	"fmt"
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Answer is what an action did and caused. Agents get it as text from package render.
type Answer struct {
	tool.Quotes
	Tab int `json:"tab"`
	// NewTab is set where the action opened the tab.
	NewTab bool `json:"new_tab,omitempty"`
	// Refused is why a step was not carried out; nil if all were.
	Refused *Refusal `json:"refused,omitempty"`
	// Untrusted is why the page got synthetic events instead of input events, or "".
	Untrusted string `json:"untrusted,omitempty"`
	// Dialog is a dialog that the action opened and that is still open.
	Dialog *protocol.ActDialog `json:"dialog,omitempty"`
	// Invalid are the fields that blocked the submission of a form. Ignored are the fields that ignored input. Uncleared are
	// the editors that kept text that was to be cleared.
	Invalid   []InvalidField   `json:"invalid,omitempty"`
	Ignored   []IgnoredField   `json:"ignored,omitempty"`
	Uncleared []UnclearedField `json:"uncleared,omitempty"`
	// Strayed are the fields of whose text another element got some.
	Strayed []StrayedText `json:"strayed,omitempty"`
	// Unclicked is a click that the browser did not fire.
	Unclicked *protocol.ActUnclicked `json:"unclicked,omitempty"`
	// Emptied are the filled fields that the page emptied after a request of the submitted form failed.
	Emptied []string `json:"emptied,omitempty"`
	// Broke are the errors and warnings that the action caused, errors first. Requests are the requests that succeeded.
	// Repeated are errors and warnings that the agent was already given. Flashes are messages that the page took back.
	Broke    []diff.Consequence `json:"broke,omitempty"`
	Requests []diff.Consequence `json:"requests,omitempty"`
	Repeated []diff.Consequence `json:"repeated,omitempty"`
	Flashes  []diff.Consequence `json:"flashes,omitempty"`
	// Located are errors of earlier answers, with the places that are known by now.
	Located []report.Located `json:"located,omitempty"`
	// Unfinished are requests of the action that have not ended, each with how many there are: "GET /api/cart ×3".
	Unfinished []string `json:"unfinished,omitempty"`
	Made
	// Value is the value of an expression, as JSON.
	Value string `json:"value,omitempty"`
	// Busy means that the page does not answer, so that the effects are not known yet.
	Busy bool `json:"busy,omitempty"`
	// Late is what happened after the previous answer and before this action.
	Late *Late `json:"late,omitempty"`
	// Waited is set for an action that waits for a change.
	Waited bool `json:"waited,omitempty"`
	// Met says that what the action waited for is the case; "" if it is not, or if it is unknown.
	Met string `json:"met,omitempty"`
	// Page is the difference of the page, as text with element references. Unchanged means that the page was read and
	// did not change. Unreadable is why it could not be read. Left says that the tab left the client's origins. Then the
	// answer has nothing of the page.
	Page       string `json:"page,omitempty"`
	Unchanged  bool   `json:"unchanged,omitempty"`
	Unreadable string `json:"unreadable,omitempty"`
	Left       string `json:"left,omitempty"`
	// Paused describes the pause in the debugger that interrupted the action, or is "".
	Paused string `json:"paused,omitempty"`
	// Changed has the variables of the top frame of that pause, if the agent debugs the tab: those that changed since its
	// last answer about a pause in the same function, else all.
	Changed []string `json:"changed,omitempty"`
	// Image is a screenshot, in base64, and Mime its type.
	Image string `json:"image,omitempty"`
	Mime  string `json:"mime,omitempty"`
}

// MaxBroke and MaxRequests limit the problems and the requests that the text of an answer lists.
const (
	MaxBroke    = 12
	MaxRequests = 5
)

// broken returns the errors, then the warnings, and apart those that the agent was already given. Errors that nothing caught
// are first if not all problems are shown.
func broken(list []diff.Consequence) (found, repeated []diff.Consequence) {
	for _, severity := range []report.Severity{report.Error, report.Warning} {
		for _, c := range list {
			switch {
			case c.Severity != severity:
			case c.Given:
				repeated = append(repeated, c)
			default:
				found = append(found, c)
			}
		}
	}
	if len(found) > MaxBroke {
		first := slices.DeleteFunc(slices.Clone(found), func(c diff.Consequence) bool { return !c.Uncaught })
		found = append(first, slices.DeleteFunc(found, func(c diff.Consequence) bool { return c.Uncaught })...)
	}
	return found, repeated
}

// flashes returns the messages that the page took back itself and that the agent was not given yet.
func flashes(list []diff.Consequence) (found []diff.Consequence) {
	for _, c := range list {
		if c.Flash && !c.Given {
			found = append(found, c)
		}
	}
	return found
}

// given returns what the text of the answer shows.
func (a *Answer) given() (shown []alike.Entry) {
	show := func(most int, list []diff.Consequence) {
		for _, c := range list[:min(len(list), most)] {
			shown = append(shown, c.Entries...)
		}
	}
	show(MaxBroke, a.Broke)
	show(MaxBroke, a.Late.Broke)
	show(MaxRequests, a.Flashes)
	show(len(a.Repeated), a.Repeated)
	show(len(a.Late.Repeated), a.Late.Repeated)
	return shown
}

// counted makes equal lines one, with their number.
func counted(lines []string) (list []string) {
	count := map[string]int{}
	for _, line := range lines {
		if count[line]++; count[line] == 1 {
			list = append(list, line)
		}
	}
	for i, line := range list {
		if n := count[line]; n > 1 {
			list[i] = fmt.Sprintf("%s ×%d", line, n)
		}
	}
	return list
}

// Failed returns [usererr.ActionRefused] if the action was refused, else "".
func (a *Answer) Failed() usererr.Code {
	if a.Refused != nil {
		return usererr.ActionRefused
	}
	return ""
}

// Picture returns the screenshot, or nil.
func (a *Answer) Picture() (data []byte, mime string) {
	data, err := base64.StdEncoding.DecodeString(a.Image)
	if err != nil {
		return nil, ""
	}
	return data, a.Mime
}

// Refusal is why a step was not carried out.
type Refusal struct {
	// Reason is one of protocol.Refused….
	Reason string `json:"reason"`
	// Element is the target of the step, as the agent was shown it; "" for the page.
	Element string `json:"element,omitempty"`
	// Detail depends on the reason: see protocol.Refused….
	Detail string `json:"detail,omitempty"`
	// CoveredBy is the element in front of the target.
	CoveredBy string `json:"covered_by,omitempty"`
	// Blame is what covers or hides the target, if the browser reports it.
	Blame *Blame `json:"blame,omitempty"`
	// Rerendered means that the element is missing and another one may have replaced it.
	Rerendered bool `json:"rerendered,omitempty"`
	// Explained means that Detail is a complete message about a missing element.
	Explained bool                `json:"explained,omitempty"`
	Dialog    *protocol.ActDialog `json:"dialog,omitempty"`
	Busy      bool                `json:"busy,omitempty"`
	// Done is how many of the Steps were carried out before the refused one.
	Done  int `json:"done"`
	Steps int `json:"steps"`
}

// InvalidField is a field whose value the browser refuses to submit.
type InvalidField struct {
	Element string `json:"element"`
	// Message is the browser's, or "" if it would quote a secret.
	Message string `json:"message,omitempty"`
}

// IgnoredField is a field that ignored its input.
type IgnoredField struct {
	Element string `json:"element"`
	// Value is the value of the field; nil if it is secret or unknown.
	Value *string `json:"value,omitempty"`
	// Typed is how many characters were typed; 0 for an attempt to clear the field.
	Typed int `json:"typed"`
}

// UnclearedField is an editor that kept former text that was to be cleared.
type UnclearedField struct {
	Element string `json:"element"`
	// Value is what the editor contains now; nil if it is secret or unknown.
	Value *string `json:"value,omitempty"`
	// Kept is how many characters of the former text are left, and Former how many there were, without white space.
	Kept   int `json:"kept"`
	Former int `json:"former"`
	// Typed is how many characters were typed in their place.
	Typed int `json:"typed"`
}

// StrayedText is text of a field of which another element got some, because the page moved the focus there.
type StrayedText struct {
	Element string `json:"element"`
	Reached string `json:"reached"`
}

// Made is what a page opened and downloaded.
type Made struct {
	Opened    []OpenedTab `json:"opened,omitempty"`
	Downloads []string    `json:"downloads,omitempty"`
}

// OpenedTab is a tab that a page opened. ID is 0 if the tab is not known yet, URL is "" if its address is not. A tab
// outside of the client's origins has neither.
type OpenedTab struct {
	ID      int    `json:"id,omitempty"`
	URL     string `json:"url,omitempty"`
	Outside bool   `json:"outside,omitempty"`
}

// Late is what happened between the previous answer and an action.
type Late struct {
	// First means that there was no previous answer.
	First bool `json:"first,omitempty"`
	// Broke, Requests, Repeated and Emptied are the same as in [Answer].
	Broke    []diff.Consequence `json:"broke,omitempty"`
	Requests []diff.Consequence `json:"requests,omitempty"`
	Repeated []diff.Consequence `json:"repeated,omitempty"`
	Emptied  []string           `json:"emptied,omitempty"`
	Made
	// Page is the difference of the page up to the action. Merged means that it was too large to show apart and is part
	// of the answer's Page.
	Page   string `json:"page,omitempty"`
	Merged bool   `json:"merged,omitempty"`
}

// empty reports whether there is nothing late.
func (l *Late) empty() bool {
	return len(l.Broke)+len(l.Requests)+len(l.Repeated)+len(l.Emptied) == 0 && len(l.Opened) == 0 && len(l.Downloads) == 0 && l.Page == "" && !l.Merged
}
