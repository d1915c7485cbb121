// Package tabs checks whether a tab can serve a request: whether it exists, and whether it is paused.
//
// It guarantees: an error lists the watched tabs of the client's scope, and no others. It is pure.
package tabs

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Check returns an error if a tab does not exist in a scope. Tab 0 stands for all tabs and always exists.
func Check(v *capture.View, scope checkpoint.Scope, id int) error {
	if id == 0 {
		return nil
	}
	var known []string
	for _, t := range v.Tabs {
		if !scope.CoversOrigin(t.Origin) {
			continue
		}
		if t.ID == id {
			return nil
		}
		if t.Watched {
			known = append(known, fmt.Sprintf("%d (%s)", t.ID, t.URL))
		}
	}
	if len(known) == 0 {
		return usererr.New(usererr.NotFound, "there is no tab %d, and no tab is watched", id)
	}
	return usererr.New(usererr.NotFound, "there is no tab %d; watched tabs: %s", id, strings.Join(known, ", "))
}

// pausedTab describes a pause of a tab: the place, who paused it, and how to resume. It is "" if the tab runs.
func pausedTab(t *capture.Tab) string {
	if t.Paused == nil {
		return ""
	}
	by := "the page itself or DevTools"
	if t.Paused.By != "" {
		by = t.Paused.By
	}
	at := ""
	if t.Paused.Place != "" {
		at = " at " + t.Paused.Place
	}
	return fmt.Sprintf("tab %d is paused in the debugger%s by %s (%s); debugger_resume or Resume in the popup resumes it", t.ID, at, by, t.Paused.Reason)
}

// PausedIn describes the pause of the first paused tab that inScope accepts; "" if none is paused.
func PausedIn(v *capture.View, inScope func(event.Subject) bool) string {
	for i := range v.Tabs {
		if t := &v.Tabs[i]; t.Watched && t.Paused != nil && inScope(t.Subject()) {
			return pausedTab(t)
		}
	}
	return ""
}
