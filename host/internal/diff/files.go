package diff

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/filechanges"
	"tidemark.dev/tidemark/host/internal/flash"
	"tidemark.dev/tidemark/host/internal/report"
)

// changedFiles lists the files that differ. They never raise the severity.
func changedFiles(c *computation) *report.FilesDiff {
	var composer filechanges.Composer
	for pos, e := range c.View.Files().From(c.From.Pos[capture.Files]) {
		if c.Options.InScope(e.Subject) {
			composer.Add(pos, e)
		}
	}
	changes := composer.Changes()
	d := &report.FilesDiff{TotalChanged: len(changes)}
	c.files = len(changes)
	entries, omitted := filechanges.Fold(changes, report.MaxFiles)
	made := makers(c, entries)
	for _, e := range entries {
		f := report.ChangedFile{
			Path: event.Tail(e.Path, report.MaxMessage), Change: e.Kind, From: event.Tail(e.From, report.MaxMessage), Binary: e.Binary, Files: e.Files,
		}
		by, prompt := madeBy(&e.Change, made)
		f.By, f.Prompt = report.Shorten(strings.Join(by, ", ")), report.Shorten(prompt)
		if e.Counted {
			f.Added, f.Removed = &e.Added, &e.Removed
		}
		if e.Counted && (e.Kind == event.FileModified || e.Kind == event.FileRenamed) && e.Files == 0 {
			f.Count = several(e.Times)
		}
		if changes[0].Root != changes[len(changes)-1].Root {
			f.Workspace = event.Tail(event.OneLine(e.Root), report.MaxMessage)
		}
		if c.Options.Refs {
			f.Ref = &report.Ref{Positions: e.Positions}
		}
		d.Changed = append(d.Changed, f)
	}
	d.Omitted = omitted
	return d
}

// maxMade bounds the changes of one entry of which the calls are looked for: the newest.
const maxMade = 5

// maker is what made a change, and the prompt behind it. Known is false where it is no call.
type maker struct {
	by, prompt string
	known      bool
}

// makers returns what made the newest changes of entries, by their positions. It keeps none of the changes, because one that is
// read from disk keeps its whole block in memory.
func makers(c *computation, entries []filechanges.Entry) map[uint64]maker {
	if c.Options.Made == nil || len(entries) == 0 {
		return nil
	}
	made := map[uint64]maker{}
	first := uint64(math.MaxUint64)
	for _, e := range entries {
		for _, pos := range newest(&e.Change) {
			made[pos], first = maker{}, min(first, pos)
		}
	}
	for pos, e := range c.View.Files().From(first) {
		if _, wanted := made[pos]; wanted {
			call, prompt := c.Options.Made(e)
			made[pos] = maker{cmp.Or(call, strings.Clone(e.By)), prompt, call != ""}
		}
	}
	return made
}

func newest(e *filechanges.Change) []uint64 { return e.Positions[max(0, len(e.Positions)-maxMade):] }

// madeBy names what made the changes of an entry, and the prompt behind the newest of them.
func madeBy(e *filechanges.Change, made map[uint64]maker) (by []string, prompt string) {
	known := false
	for _, pos := range newest(e) {
		m := made[pos]
		known, prompt = known || m.known, cmp.Or(m.prompt, prompt)
		if m.by != "" && !slices.Contains(by, m.by) {
			by = append(by, m.by)
		}
	}
	if !known {
		return e.By, ""
	}
	if n := len(by) - filechanges.MaxBy; n > 0 {
		by = append([]string{"…"}, by[n:]...)
	}
	return by, prompt
}

// maxIntroduced bounds the entries of one list of which the change is looked for.
const maxIntroduced = 10

// appeared is an error element as it appeared.
func (c *computation) appeared(k capture.ElementKey, l flash.Life) event.Event {
	return &capture.Change{Head: event.Head{At: c.duplicates.Since(k, l.From), Subject: event.InTab(k.Tab, k.Origin)}, Op: "appeared", Element: k}
}
