package render

import (
	"errors"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

// forged is a report in which all that a page says is one text.
func forged(text string) *report.Report {
	r := full()
	r.Files = changedFiles().Files
	for i := range r.Files.Changed {
		f := &r.Files.Changed[i]
		f.Path, f.From, f.By, f.Prompt, f.Workspace = text, text, text, text, text
	}
	for _, list := range [][]report.Message{r.Console.NewErrors, r.Console.NewWarnings} {
		for i := range list {
			list[i].Message, list[i].Source = text, text
		}
	}
	for i := range r.Network.Failures {
		r.Network.Failures[i].Method, r.Network.Failures[i].URL = text, text
	}
	for i := range r.Network.NewEndpoints {
		r.Network.NewEndpoints[i].Method, r.Network.NewEndpoints[i].URL = text, text
	}
	for i := range r.WebSocket.Disconnections {
		r.WebSocket.Disconnections[i].URL, r.WebSocket.Disconnections[i].Reason = text, text
	}
	for i := range r.WebSocket.ErrorMessages {
		r.WebSocket.ErrorMessages[i].URL, r.WebSocket.ErrorMessages[i].Message = text, text
	}
	for i := range r.DOM.NewErrorElements {
		r.DOM.NewErrorElements[i].Text, r.DOM.NewErrorElements[i].Selector = text, text
	}
	for i := range r.DOM.DisappearedElements {
		r.DOM.DisappearedElements[i].Text, r.DOM.DisappearedElements[i].Selector = text, text
	}
	if r.DOM.URLChanged != nil {
		r.DOM.URLChanged.From, r.DOM.URLChanged.To = text, text
	}
	for i := range r.Actions.NewActions {
		r.Actions.NewActions[i].Target, r.Actions.NewActions[i].Value = text, text
	}
	return r
}

// TestPageTextForgesNoEntry: of a list, the entries are where they seem to be.
func TestPageTextForgesNoEntry(t *testing.T) {
	twice := []diff.Consequence{{Severity: report.Error, Text: "error: a (x.js:1); error: b (y.js:2)"}, {Severity: report.Error, Text: "error: c", Count: 3}}
	answer := act.Answer{
		Repeated: twice, Located: []report.Located{{Message: "TypeError: d", Source: "App.tsx:5"}}, Late: &act.Late{Repeated: twice[:1], Made: act.Made{Downloads: []string{`d", "e`, "f, g"}}},
		Refused: &act.Refusal{Reason: protocol.RefusedHidden, Element: `button "Pay" [e1]`, Blame: &act.Blame{Element: "div.x", Source: "a.js:1; rule p in b.css:2", Rule: ".r in a.css", Sheet: "c.css:3, d.css"}},
	}
	want := `button "Pay" [e1] is not visible. Nothing was done. You may have to open or hover something first.
Cause: div.x, "a.js:1; rule p in b.css:2"; rule ".r in a.css" in "c.css:3, d.css"
2 repeated errors:
- error: a (x.js:1); error: b (y.js:2)
- error: c ×3
Now located: "TypeError: d" (App.tsx:5)
After the previous answer:
1 repeated error: error: a (x.js:1); error: b (y.js:2)
Downloading: "d\", \"e", "f, g"`
	if got := Action(&answer); got != want {
		t.Errorf("%s", got)
	}
}

// TestPageTextBeginsNoLine: neither on a terminal, which breaks long lines and marks the rest, nor elsewhere, where a line of a
// report is one line.
func TestPageTextBeginsNoLine(t *testing.T) {
	parts := []string{"boom", "x", " ", "  ", "✔ clean  No significant changes", "✖", "▲ ", "⋮  ", "- ", "\n", strings.Repeat("x", 90), strings.Repeat("long ", 30), "日本語", "\u00a0"}
	rapid.Check(t, func(r *rapid.T) {
		text := event.Clean(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 12).Draw(r, "text"), ""))
		if oneLine(text) == "" {
			return
		}
		for _, width := range []int{0, 40, 80, 200} {
			var got, want strings.Builder
			if err := errors.Join(Report(&got, forged(text), width), Report(&want, forged("x"), width)); err != nil {
				t.Fatal(err)
			}
			var lines int
			for line := range strings.Lines(got.String()) {
				if w := lipgloss.Width(strings.TrimRight(line, "\n")); width > 0 && w > width && strings.HasPrefix(line, " ") {
					r.Errorf("a line is %d wide, the terminal %d: %s", w, width, line)
				}
				if width == 0 || !strings.HasPrefix(line, continued) {
					lines++
				}
			}
			if shorter := strings.ReplaceAll(want.String(), "\n"+continued, " "); lines != strings.Count(shorter, "\n") {
				r.Errorf("at a width of %d: %d lines instead of %d:\n%s", width, lines, strings.Count(shorter, "\n"), got.String())
			}
		}
	})
}

// FuzzPageTextForgesNoLine: of a report for a terminal, and of one as Markdown, outside of code spans.
func FuzzPageTextForgesNoLine(f *testing.F) {
	for _, s := range append(hostile, "x\u2028## Clean", "x\u0085- ✔ fine", "x\v\f\r\n### Network") {
		f.Add(s)
	}
	ends := "\r\v\f\u0085\u2028\u2029"
	f.Fuzz(func(t *testing.T, text string) {
		text = event.Clean(text) // as package event does, once for all packages, before a text gets here
		if len(text) > 60 || oneLine(printable(text)) == "" {
			return
		}
		if got, want := outsideCode(t, markdown(t, forged(text))), outsideCode(t, markdown(t, forged("x"))); got != want {
			t.Errorf("%q changes what is outside of code:\n%s\nwant\n%s", text, got, want)
		}
		var got, want strings.Builder
		const wide = 4000
		if err := Report(&got, forged(text), wide); err != nil {
			t.Fatal(err)
		}
		if err := Report(&want, forged("x"), wide); err != nil {
			t.Fatal(err)
		}
		if a, b := strings.Count(got.String(), "\n"), strings.Count(want.String(), "\n"); a != b || strings.ContainsAny(got.String(), ends) {
			t.Errorf("%q: %d lines, want %d, in\n%s", text, a, b, got.String())
		}
		if flat := Flat(text); strings.ContainsAny(flat, ends+"\n") {
			t.Errorf("%q has several lines", flat)
		}
	})
}
