package noiserules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/protocol"
)

// Findings lists the problems of a report: those that a user may ignore, and those that no rule can hide.
func (e *Rules) Findings(out *protocol.Overview, r *report.Report, from capture.Moment, v *capture.View, o window.Options) {
	found := map[EntryKey]*protocol.Finding{}
	list, more := unruled(r)
	window.Entries(from, v, o, func(n window.Entry) {
		if n.Hidden() || noise.LevelOf(n.Event) < event.Warning || o.Noise.FailedUpdate(n.Event) {
			return // a failed hot update cannot be ignored
		}
		k := EntryKeyOf(n.Event)
		if k.Fold == "" {
			return
		}
		f := found[k]
		if f == nil {
			f = &protocol.Finding{Kind: k.Kind, Level: k.Level.String(), Origin: k.Origin, Fingerprint: k.Fold, Text: Readable(n.Event)}
			found[k] = f
			list = append(list, f)
		}
		f.Count++
	})
	slices.SortStableFunc(list, func(a, b *protocol.Finding) int {
		return cmp.Or(strings.Compare(a.Level, b.Level), cmp.Compare(b.Count, a.Count)) // error before warning
	})
	all := len(list) + more
	if !v.Holds(from) { // the report also covers entries on disk
		all = max(all, r.Errors+r.Warnings)
	}
	for _, f := range list[:min(len(list), protocol.MaxFindings)] {
		out.Findings = append(out.Findings, *f)
	}
	out.MoreFindings = all - len(out.Findings)
}

// unruled returns the findings that no noise rule can match (error elements, crashed pages, endpoints that became slow)
// and how many more of them the report omitted.
func unruled(r *report.Report) (list []*protocol.Finding, more int) {
	add := func(kind string, level event.Level, text string) {
		i := slices.IndexFunc(list, func(f *protocol.Finding) bool { return f.Level == level.String() && f.Text == text })
		if i < 0 {
			i, list = len(list), append(list, &protocol.Finding{Kind: kind, Level: level.String(), Text: text})
		}
		list[i].Count++
	}
	for _, c := range r.DOM.Crashed {
		add("dom", event.Error, report.Shorten("crashed: "+c.URL))
	}
	for _, el := range r.DOM.NewErrorElements {
		add("dom", event.Warning, el.Text)
	}
	if len(r.DOM.Crashed)+len(r.DOM.NewErrorElements) == report.MaxEntries {
		more = r.DOM.Omitted
	}
	for _, s := range r.Storms {
		add("storm", event.Warning, s.Line())
	}
	for _, d := range r.Network.Degraded {
		add("network", event.Warning, fmt.Sprintf("%s %s became slower: %d → %d ms", event.Method(d.Method), d.URL, d.PreviousAvgMs, d.AvgMs))
	}
	return list, more
}

// Readable returns an entry as text for a user.
func Readable(ev event.Event) string {
	switch e := ev.(type) {
	case *event.Network:
		origin, path := capture.SplitURL(e.URL)
		if origin == e.Origin() {
			origin = ""
		}
		outcome := strconv.Itoa(e.Status)
		if e.Status < 400 {
			outcome = e.Error
		}
		return report.Shorten(event.Method(e.Method) + " " + origin + path + " " + outcome)
	case *event.WebSocket:
		_, path := capture.SplitURL(e.URL)
		if e.Op == "close" {
			return report.Shorten(fmt.Sprintf("connection to %s closed (%d)", path, e.Code))
		}
		return report.Shorten(strings.TrimRight(fmt.Sprintf("connection to %s: %s", path, cmp.Or(e.Text, "failed")), " "))
	default:
		return report.Shorten(textOf(ev))
	}
}

// Ignore adds a permanent rule for one finding.
func (e *Rules) Ignore(client *checkpoint.Client, p protocol.IgnoreParams) (*protocol.IgnoreResult, error) {
	a, err := e.addNoise(client, NoiseParams{
		Kind: p.Kind, Level: p.Level, Origin: p.Origin, Fingerprint: p.Fingerprint, HideNew: true, Expires: "never", Note: "ignored in the " + client.Name,
	})
	if err != nil {
		return nil, err
	}
	return &protocol.IgnoreResult{ID: a.Added.ID, Hides: a.Added.Hides, Unsaved: a.Unsaved}, nil
}

// Unignore removes a rule that [Rules.Ignore] added.
func (e *Rules) Unignore(client *checkpoint.Client, p protocol.UnignoreParams) error {
	a, err := e.removeNoise(client, p.ID)
	if err == nil && a.Unsaved != "" {
		return usererr.New(usererr.NotSaved, "the rule is removed only until Tidemark restarts: %s", a.Unsaved)
	}
	return err
}
