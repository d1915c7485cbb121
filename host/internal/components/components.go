// Package components finds the components of frameworks that messages of a page name.
//
// It is pure: no clock, no files, no network.
package components

import (
	"math"
	"sort"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// maxToEcho bounds how many entries before and after an error are looked at for its echo.
const maxToEcho = 16

// Frames returns the frames of the components that a message names, or that a framework names in what it logs about an error.
// Those of installed packages are left out.
func Frames(v *capture.View, c *event.Console) (frames []stacks.Frame) {
	for _, text := range []string{c.Text, echo(v, c)} {
		for _, line := range alike.Frames(text) {
			if f, ok := stacks.Parse(line); ok && f.IsWeb() && !stacks.IsLibrary(f.URL) {
				frames = append(frames, f)
			}
		}
	}
	return frames
}

// echo returns what a framework logged about an error that nothing caught, with components: the nearest; "" for nothing.
func echo(v *capture.View, c *event.Console) string {
	if v == nil || !c.IsUncaught() {
		return ""
	}
	near := v.Console().InRing()
	first, next := near.First(), near.Next()
	after := first + uint64(sort.Search(int(next-first), func(i int) bool { return near.At(first+uint64(i)).At > c.At }))
	text, apart := "", int64(math.MaxInt64)
	for at := max(first, after-min(after, maxToEcho)); at < min(after+maxToEcho, next); at++ {
		e := near.At(at)
		away := max(e.At-c.At, c.At-e.At)
		if away < apart && e.Tab() == c.Tab() && alike.IsEcho(e) && alike.Near(c.At, e.At) && len(alike.Frames(e.Text)) > 0 {
			text, apart = e.Text, away
		}
	}
	return text
}

// RendersForever reports whether a message is about a component of Vue that is rendered without end. The stack of such a message is
// that of whatever rendered the component first. File is the address of the component's file, which has its name, among the
// scripts of the tab; "" for none, or for several.
func RendersForever(v *capture.View, c *event.Console) (file string, is bool) {
	component, is := alike.SaysRendersForever(c.Text)
	if v == nil || component == "" {
		return "", is
	}
	for _, n := range v.Network().InRing().From(0) {
		_, path := capture.SplitURL(n.URL)
		if n.Tab() != c.Tab() || strings.Contains(n.URL, "type=") || !strings.HasSuffix(path, "/"+component+".vue") {
			continue // a part of a component, such as its style, has its type in the query
		}
		address, _, _ := strings.Cut(n.URL, "?")
		if file != "" && file != address {
			return "", is
		}
		file = address
	}
	return file, is
}
