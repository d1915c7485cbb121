// Package tabs says what stands in the way of what is asked of a tab: that it is not there, or paused.
//
// It guarantees: an error names the tabs that could have been meant, of the scope alone. It is pure.
package tabs

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Check makes sure that a tab is there.
func Check(v *capture.View, scope checkpoint.Scope, id int) error {
	if id == 0 {
		return nil
	}
	var known []string
	for _, t := range v.Tabs {
		if !scope.Covers(t.Origin) {
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
		return usererr.New(usererr.NotFound, "there is no tab %d; no tab is watched at the moment", id)
	}
	return usererr.New(usererr.NotFound, "there is no tab %d; watched are %s", id, strings.Join(known, ", "))
}

// pausedTab says that the debugger holds a tab's page, by whose doing, and what ends that; "" when it does not.
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
	return fmt.Sprintf("tab %d is paused in the debugger%s by %s (%s); debugger_resume or Resume in the popup lets it go on", t.ID, at, by, t.Paused.Reason)
}

// PausedIn says the same of the first paused tab among those that a request speaks of.
func PausedIn(v *capture.View, inScope func(origin string, tab int) bool) string {
	for i := range v.Tabs {
		if t := &v.Tabs[i]; t.Watched && t.Paused != nil && inScope(t.Origin, t.ID) {
			return pausedTab(t)
		}
	}
	return ""
}
