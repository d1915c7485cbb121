package act

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Blame is what covers or hides the target of a step, with its code as far as it is known.
type Blame struct {
	// Element is the element if it is neither the target nor [Refusal.CoveredBy].
	Element string `json:"element,omitempty"`
	// Style is the declaration that does it.
	Style string `json:"style,omitempty"`
	// Source is the element's markup, or the code that created it, as file:line. It is the file alone if the line is not
	// known.
	Source string `json:"source,omitempty"`
	// Outer is true if Source is that of an element around it, because its own is not known.
	Outer bool `json:"outer,omitempty"`
	// Rule is the selector of the rule with the declaration, and Sheet its file, with the line if that is known.
	Rule  string `json:"rule,omitempty"`
	Sheet string `json:"sheet,omitempty"`
}

// String returns all that is known on one line: "div.controls, height: 0px, app.tsx:40; rule .controls in app.css:7".
func (b *Blame) String() string {
	var parts []string
	source := event.Named(b.Source)
	if b.Outer {
		source = "inside " + source
	}
	for _, part := range []string{event.Named(b.Element), b.Style, source} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ", ")
	if b.Rule != "" {
		text += "; rule " + event.Apart(b.Rule, ";", " in ")
	}
	if b.Sheet != "" {
		text += " in " + event.Named(b.Sheet)
	}
	return text
}

// Finder implements [pages.Finder].
type Finder struct{ Actor *Actor }

// Hidden names the first hidden element with a text, what hides it, and the code of that.
func (f Finder) Hidden(ctx context.Context, client *checkpoint.Client, id int, text string) string {
	a := f.Actor
	instance, browserTab, ok := a.store.BrowserTab(id)
	if !ok || a.hands == nil || a.pages.Paused(id) != nil {
		return ""
	}
	step := protocol.ActStep{Op: protocol.StepSeek, Texts: []string{text}}
	began := a.clock().UnixMilli()
	result, err := a.do(ctx, id, instance, browserTab, []protocol.ActStep{step}, action{timeout: seekTimeout, settle: time.Millisecond}, nil, false)
	if err != nil || result.Refused != protocol.RefusedHidden || a.pages.Left(client, id) != nil {
		return ""
	}
	found := outcome{id: id, result: result, began: began}
	v := a.store.View(a.clock())
	b, err := observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (*Blame, *observe.Places, error) {
		places := a.observer.OriginalsIn(v)
		return found.blame(places, client.Scope.Workspace), places, nil
	})
	if err != nil || b == nil {
		return event.Described(result.Text)
	}
	return event.Described(result.Text) + ", " + b.String()
}

// explained adds to an error about a missing element what hides it, if the page only hides it. The tab is locked before and
// after, and unlocked while waiting for the browser.
func (f Finder) explained(ctx context.Context, client *checkpoint.Client, id int, t *pages.Tab, err error) error {
	var m *missing
	if !errors.As(err, &m) || m.name == "" {
		return err
	}
	var hidden string
	t.Unlocked(func() { hidden = f.Hidden(ctx, client, id, m.name) })
	if hidden == "" {
		return err
	}
	return usererr.New(usererr.ReferenceGone, "element %s is no longer shown. Call browser_snapshot. Nothing was done.\nHidden: %s", m.element, hidden)
}

// seekTimeout limits the search for hidden text in a page.
const seekTimeout = 500 * time.Millisecond

// blame returns what the browser blames for a refusal; nil for nothing. Files are named from the workspace on.
func (o *outcome) blame(places *observe.Places, workspace string) *Blame {
	said := o.result.Blame
	if said == nil {
		return nil
	}
	b := &Blame{Element: said.Element, Style: said.Style, Rule: said.Rule}
	if said.Sheet != "" {
		sheet := report.Place{File: said.Sheet, Line: said.SheetLine}
		switch {
		case said.SheetBlock > 0:
			property, _, _ := strings.Cut(said.Style, ":")
			sheet.Line = places.StyleLine(o.id, o.began, said.Sheet, said.SheetBlock, sheet.Line, property)
		case said.SheetColumn > 0:
			sheet = places.Styled(o.id, o.began, said.Sheet, sheet.Line, said.SheetColumn)
		}
		b.Sheet = placeName(sheet, workspace) + report.Mark(sheet.Generated)
	}
	place := report.Place{File: said.File, Line: said.Line}
	switch {
	case len(said.Stack) > 0:
		place = places.StackPlace(o.id, o.began, said.Stack)
	case said.CompiledLine > 0:
		if at, ok := places.Compiled(o.id, o.began, said.File, said.CompiledLine, said.CompiledColumn); ok {
			place.Line = at.Line
		} else {
			place.Generated = said.Line > 0 && places.Unbundled(o.id, said.File)
		}
	case said.Unsure:
		place.Generated = places.Unbundled(o.id, said.File)
	}
	if place.File != "" {
		b.Source, b.Outer = placeName(place, workspace)+report.Mark(place.Generated), said.Outer
	}
	if *b == (Blame{}) {
		return nil
	}
	return b
}

// placeName is [report.PlaceName] for a file that is named from the workspace or the project on: its path says which of
// several files with the same base name it is.
func placeName(p report.Place, workspace string) string {
	file := filepath.ToSlash(p.File)
	if workspace != "" {
		if inner, ok := strings.CutPrefix(file, strings.TrimSuffix(filepath.ToSlash(workspace), "/")+"/"); ok {
			file = inner
		}
	}
	p.File = file
	p.Shared = p.Shared || !strings.Contains(file, "://") && !filepath.IsAbs(p.File) && !strings.HasPrefix(file, "/")
	return report.PlaceName(p)
}
