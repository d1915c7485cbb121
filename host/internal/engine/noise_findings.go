package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/protocol"
)

// findings lists what a person may want to ignore.
func (e *Engine) findings(out *protocol.Overview, from capture.Moment, v *capture.View, o diff.Options) {
	found := map[entryKey]*protocol.Finding{}
	var list []*protocol.Finding
	diff.Entries(from, v, o, func(n diff.Entry) {
		if n.Hidden() || noise.LevelOf(n.Event) < event.Warning || o.Noise.FailedUpdate(n.Event) {
			return // (what failed of a hot update cannot be ignored)
		}
		k := entryKeyOf(n.Event)
		if k.fold == "" {
			return
		}
		f := found[k]
		if f == nil {
			f = &protocol.Finding{Kind: k.kind, Level: k.level.String(), Origin: k.origin, Fingerprint: k.fold, Text: readable(n.Event)}
			found[k] = f
			list = append(list, f)
		}
		f.Count++
	})
	slices.SortStableFunc(list, func(a, b *protocol.Finding) int {
		return cmp.Or(strings.Compare(a.Level, b.Level), cmp.Compare(b.Count, a.Count)) // error before warning
	})
	out.MoreFindings = max(0, len(list)-protocol.MaxFindings)
	for _, f := range list[:len(list)-out.MoreFindings] {
		out.Findings = append(out.Findings, *f)
	}
}

// readable is an entry as a person reads it.
func readable(ev event.Event) string {
	switch e := ev.(type) {
	case *event.Network:
		origin, path := capture.SplitURL(e.URL)
		if origin == e.Origin {
			origin = ""
		}
		outcome := strconv.Itoa(e.Status)
		if e.Status < 400 {
			outcome = e.Error
		}
		return diff.Shorten(e.Method + " " + origin + path + " " + outcome)
	case *event.WebSocket:
		_, path := capture.SplitURL(e.URL)
		if e.Op == "close" {
			return diff.Shorten(fmt.Sprintf("connection to %s closed (%d)", path, e.Code))
		}
		return diff.Shorten(strings.TrimRight(fmt.Sprintf("connection to %s: %s", path, cmp.Or(e.Text, "failed")), " "))
	default:
		return diff.Shorten(textOf(ev))
	}
}

// Ignore makes a rule for good of one finding.
func (e *Engine) Ignore(client *checkpoint.Client, p protocol.IgnoreParams) (*protocol.IgnoreResult, error) {
	a, err := e.addNoise(client, NoiseParams{
		Kind: p.Kind, Level: p.Level, Origin: p.Origin, Fingerprint: p.Fingerprint, HideNew: true, Expires: "never", Note: "ignored in the " + client.Name,
	})
	if err != nil {
		return nil, err
	}
	return &protocol.IgnoreResult{ID: a.Added.ID, Hides: a.Added.Hides, Unsaved: a.Unsaved}, nil
}

// Unignore takes such a rule back.
func (e *Engine) Unignore(client *checkpoint.Client, p protocol.UnignoreParams) error {
	a, err := e.removeNoise(client, p.ID)
	if err == nil && a.Unsaved != "" {
		return invalid("the rule is gone until Tidemark is started again: %s", a.Unsaved)
	}
	return err
}
