package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

func consequences(severity report.Severity, n int) (list []diff.Consequence) {
	for i := range n {
		list = append(list, diff.Consequence{Severity: severity, Text: fmt.Sprintf("error: no %d (app.js:%d)", i+1, i+1), Count: 1 + i%2})
	}
	return list
}

func fetched(n int) (list []diff.Consequence) {
	for i := range n {
		list = append(list, diff.Consequence{Text: fmt.Sprintf("GET /api/%d 200", i+1), Request: true, Count: 1 + i%2})
	}
	return list
}

// acted returns answers of actions, each with its name in the golden file.
func acted() []struct {
	name   string
	answer act.Answer
} {
	page := "+ status \"1 item\" [e12]  # was \"0 items\"\n"
	email, empty := "a", ""
	confirm := &protocol.ActDialog{Kind: "confirm", Message: "Really?"}
	prompt := &protocol.ActDialog{Kind: "prompt", Message: "Your \"name\"?", Default: "Ada"}
	fields := func(n int) (invalid []act.InvalidField, ignored []act.IgnoredField) {
		for i := range n {
			invalid = append(invalid, act.InvalidField{Element: fmt.Sprintf("textbox \"F%d\" [e%d]", i, i), Message: "Please fill out this field."})
			ignored = append(ignored, act.IgnoredField{Element: fmt.Sprintf("textbox \"F%d\" [e%d]", i, i), Typed: i, Value: &email})
		}
		return invalid, ignored
	}
	many, manyIgnored := fields(7)
	type named = struct {
		name   string
		answer act.Answer
	}
	refused := func(name string, r act.Refusal) named { return named{"refused: " + name, act.Answer{Refused: &r}} }
	return []named{
		{"nothing changed", act.Answer{Unchanged: true}},
		{"the page changed", act.Answer{Page: page, Requests: fetched(1)}},
		{"opened a tab", act.Answer{Tab: 3, NewTab: true, Page: page}},
		{"it broke", act.Answer{Broke: consequences(report.Error, 2), Page: page}},
		{"it broke before the wait", act.Answer{Waited: true, Met: "It appeared.", Late: &act.Late{Broke: consequences(report.Error, 1)}, Page: page}},
		{"it broke before the action", act.Answer{Repeated: consequences(report.Error, 1), Late: &act.Late{Broke: consequences(report.Error, 1)}, Page: page}},
		{"much is repeated", act.Answer{Repeated: consequences(report.Error, 8), Unchanged: true}},
		{"a lot broke", act.Answer{Broke: consequences(report.Error, 14), Requests: fetched(7), Unfinished: []string{"GET /1", "GET /2", "GET /3", "GET /4", "GET /5", "GET /6"}, Unchanged: true}},
		{"a script's events", act.Answer{Untrusted: "a policy forbids the debugger", Unchanged: true}},
		{"a dialog", act.Answer{Dialog: confirm}},
		{"a prompt", act.Answer{Dialog: prompt}},
		{"an invalid field", act.Answer{Invalid: many[:1], Unchanged: true}},
		{"an invalid field with a secret", act.Answer{Invalid: []act.InvalidField{{Element: `textbox "PIN" [e1]`}}, Unchanged: true}},
		{"many fields", act.Answer{Invalid: many, Ignored: manyIgnored, Page: page}},
		{"fields that were emptied late", act.Answer{Late: &act.Late{Broke: []diff.Consequence{{Severity: report.Error, Text: "POST /api/sign-in 401", Count: 1}}, Emptied: []string{`textbox "Email" [e3]`}, Page: "~ textbox \"Email\" [e3]\n"}, Unchanged: true}},
		{"emptied fields", act.Answer{Emptied: []string{`textbox "Email" [e3]`, `textbox "Password" [e4]`}, Broke: []diff.Consequence{{Severity: report.Error, Text: "POST /api/sign-in 401", Count: 1}}, Unchanged: true}},
		{"ignored fields", act.Answer{Ignored: []act.IgnoredField{{Element: `textbox "A" [e1]`, Typed: 5, Value: &empty}, {Element: `textbox "B" [e2]`, Typed: 1}}, Unchanged: true}},
		{"text that went elsewhere", act.Answer{Strayed: []act.StrayedText{{Element: `spinbutton "day" [e1]`, Reached: `spinbutton "year" [e2]`}}, Page: page}},
		{"editors that were not cleared", act.Answer{Uncleared: []act.UnclearedField{{Element: `textbox "A" [e1]`, Value: &email, Kept: 3, Former: 9}, {Element: `textbox "B" [e2]`, Kept: 9, Former: 9, Typed: 5}}, Unchanged: true}},
		{"a click that was not fired", act.Answer{Unclicked: &protocol.ActUnclicked{Pressed: `button "Go"`, Released: `p "Enter a name"`, Field: `textbox "Name"`}, Page: page}},
		{"a click on what was replaced", act.Answer{Unclicked: &protocol.ActUnclicked{Pressed: `button "Go"`, Released: `button "Go"`, Field: `textbox "Name"`, Removed: true}, Unchanged: true}},
		{"opened and downloaded", act.Answer{Made: act.Made{Opened: []act.OpenedTab{{}, {ID: 4}, {ID: 5, URL: "http://localhost/b"}}, Downloads: []string{"a.csv", "b.csv"}}, Unchanged: true}},
		{"a value", act.Answer{Value: `{"a":1}`, Unchanged: true}},
		{"busy", act.Answer{Busy: true}},
		{"unreadable", act.Answer{Unreadable: "tab 2: the page is loading"}},
		{"a picture", act.Answer{Image: "AA==", Mime: "image/png"}},
		{"late", act.Answer{Late: &act.Late{Broke: consequences(report.Error, 1), Made: act.Made{Downloads: []string{"a.csv"}}, Page: page}, Page: page}},
		{"late, the first", act.Answer{Late: &act.Late{First: true, Page: page}, Unchanged: true}},
		{"late, merged", act.Answer{Late: &act.Late{Merged: true}, Page: page}},
		{"late, while a dialog is open", act.Answer{Late: &act.Late{Page: page}, Dialog: confirm}},
		{"paused", act.Answer{Paused: "tab 1 is paused in the debugger at onclick (app.js:3) by you (breakpoint); debugger_resume or Resume in the popup resumes it"}},
		{"paused, with variables", act.Answer{Paused: "tab 1 is paused in the debugger at total (app.js:6) by you (breakpoint)", Changed: []string{"sum: 1 → 3", "+ item = \"a\nb\""}}},
		{"waited for a text", act.Answer{Waited: true, Met: `"Saved" is on the page.`, Unchanged: true}},
		{"waited in vain", act.Answer{Waited: true, Refused: &act.Refusal{Reason: protocol.RefusedFailed, Detail: `after 300 ms, "Saved" did not appear`}}},
		{"waited", act.Answer{Late: &act.Late{Page: page}, Waited: true, Page: page}},
		{"refused, with every part", act.Answer{
			Refused: &act.Refusal{Reason: protocol.RefusedHidden, Element: `button "Go" [e3]`, Done: 1, Steps: 2},
			Invalid: many[:1], Broke: consequences(report.Error, 1), Late: &act.Late{Page: page}, Page: page,
		}},
		{"refused, and the page changed", act.Answer{Refused: &act.Refusal{Reason: protocol.RefusedHidden, Element: `button "Go" [e3]`, Steps: 1}, Page: page}},
		refused("gone", act.Refusal{Reason: protocol.RefusedGone, Element: `button "Go" [e3]`}),
		refused("gone and re-rendered", act.Refusal{Reason: protocol.RefusedGone, Element: `button "Go" [e3]`, Rerendered: true}),
		refused("gone and explained", act.Refusal{Reason: protocol.RefusedGone, Explained: true, Detail: "e3 no longer exists. Its list is e2. Nothing was done."}),
		refused("a different element", act.Refusal{Reason: protocol.RefusedOther, Element: `button "Go" [e3]`, Detail: `button "Delete"`}),
		refused("disabled", act.Refusal{Reason: protocol.RefusedDisabled, Element: `button "Go" [e3]`}),
		refused("read-only", act.Refusal{Reason: protocol.RefusedDisabled, Element: `textbox "A" [e3]`, Detail: "read-only"}),
		refused("an option is disabled", act.Refusal{Reason: protocol.RefusedDisabled, Element: `combobox "A" [e3]`, Detail: `option "Red"`}),
		refused("moving", act.Refusal{Reason: protocol.RefusedMoving, Element: `button "Go" [e3]`}),
		refused("outside", act.Refusal{Reason: protocol.RefusedOutside, Element: `button "Go" [e3]`}),
		refused("ignores pointers", act.Refusal{Reason: protocol.RefusedPointer, Element: `button "Go" [e3]`, Blame: &act.Blame{Style: "pointer-events: none", Rule: ".off", Sheet: "app.css:2"}}),
		refused("covered", act.Refusal{Reason: protocol.RefusedCovered, Element: `button "Go" [e3]`, CoveredBy: `dialog "Cookies" [e9]`}),
		refused("covered, with its code", act.Refusal{Reason: protocol.RefusedCovered, Element: `button "Go" [e3]`, CoveredBy: "div.toast", Blame: &act.Blame{Style: "position: fixed", Source: "src/Toast.vue:6", Rule: ".toast", Sheet: "src/Toast.vue:13"}}),
		refused("hidden by an element around it", act.Refusal{Reason: protocol.RefusedHidden, Element: `button "Go" [e3]`, Blame: &act.Blame{Element: "div.fold", Style: "height: 0px", Source: "src/App.svelte:3", Outer: true}}),
		refused("covered by an unknown element", act.Refusal{Reason: protocol.RefusedCovered, Element: `button "Go" [e3]`}),
		refused("kind", act.Refusal{Reason: protocol.RefusedKind, Element: `button "Go" [e3]`, Detail: "a text field"}),
		refused("option", act.Refusal{Reason: protocol.RefusedOption, Element: `combobox "A" [e3]`, Detail: `"Red", "Green"`}),
		refused("covered from around it", act.Refusal{Reason: protocol.RefusedCovered, Element: `button "Pay" [e3]`, CoveredBy: "::after of div.card"}),
		refused("option, after a click", act.Refusal{Reason: protocol.RefusedOption, Element: `combobox "A" [e3]`, Detail: `"Red", "Green"`, Done: 1, Steps: 1}),
		refused("a dialog", act.Refusal{Reason: protocol.RefusedDialog, Dialog: prompt}),
		refused("an unknown dialog", act.Refusal{Reason: protocol.RefusedDialog}),
		refused("no dialog", act.Refusal{Reason: protocol.RefusedNoDialog}),
		refused("no chooser", act.Refusal{Reason: protocol.RefusedChooser, Element: `button "Go" [e3]`}),
		refused("load", act.Refusal{Reason: protocol.RefusedLoad, Detail: "net::ERR_CONNECTION_REFUSED"}),
		refused("debugger", act.Refusal{Reason: protocol.RefusedDebugger, Detail: "Cannot attach"}),
		refused("code", act.Refusal{Reason: protocol.RefusedCode, Detail: "threw Error: no"}),
		refused("failed", act.Refusal{Reason: protocol.RefusedFailed, Detail: "the browser did not open a tab"}),
		refused("failed on an element", act.Refusal{Reason: protocol.RefusedFailed, Element: `button "Go" [e3]`, Detail: "the browser refused"}),
		refused("does not answer", act.Refusal{Reason: protocol.RefusedFailed, Detail: "the page does not answer: it is busy or hangs", Busy: true}),
		refused("does not answer, for an element", act.Refusal{Reason: protocol.RefusedFailed, Element: `button "Go" [e3]`, Detail: "the page does not answer: it is busy or hangs", Busy: true}),
	}
}

func TestActions(t *testing.T) {
	var b strings.Builder
	for _, a := range acted() {
		fmt.Fprintf(&b, "== %s\n%s\n\n", a.name, Action(&a.answer))
	}
	path := filepath.Join("testdata", "actions.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v\n%s", err, b.String())
	}
}
