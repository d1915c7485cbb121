package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// WaitForTab is like [Pages.TabFor], and waits for up to a second until a tab that was just opened is watched.
func (p *Pages) WaitForTab(ctx context.Context, client *checkpoint.Client, id int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, tabPatience)
	defer cancel()
	for {
		changed := p.store.Changed()
		found, err := p.TabFor(client, id)
		if err == nil || id != 0 && usererr.CodeOf(err) != usererr.NotWatched {
			return found, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-changed:
		}
	}
}

// seesSeveralTabs reports whether a client sees several watched tabs, so that answers must name the tab of references.
func (p *Pages) seesSeveralTabs(client *checkpoint.Client) bool {
	count := 0
	for _, t := range p.store.View(p.clock()).Tabs {
		if t.Watched && client.Scope.CoversOrigin(t.Origin) {
			count++
		}
	}
	return count > 1
}

// TabFor returns the tab for a call: id if it is not 0, else the tab that the client used last, else the active watched
// tab.
func (p *Pages) TabFor(client *checkpoint.Client, id int) (int, error) {
	v := p.store.View(p.clock())
	p.forgetClosed(v)
	if last := p.LastOf(client); id == 0 || id == last {
		if err := left(v, client.Scope, last); err != nil {
			return 0, err
		}
	}
	if err := tabs.Check(v, client.Scope, id); err != nil {
		if id == p.ClosedBefore(client) { // it used the tab before
			return 0, Closed(id)
		}
		return 0, err
	}
	if id == 0 {
		id = p.DefaultTab(v, client)
		if err := ambiguous(v, client.Scope); err != nil && id != p.LastOf(client) {
			return 0, err
		}
	}
	for _, t := range v.Tabs {
		if t.ID != id {
			continue
		}
		if !t.Watched {
			if !slices.ContainsFunc(v.Browsers, func(b capture.Browser) bool { return b.Instance == t.Instance && b.Connected }) {
				return 0, usererr.New(usererr.NoBrowser, "the browser of tab %d (%s) is not connected. Open the page with browser_open.", id, t.URL)
			}
			return 0, usererr.New(usererr.NotWatched, "tab %d (%s) is not watched. The user can turn it on in Tidemark's popup.", id, t.URL)
		}
		return id, nil
	}
	return 0, noTab(v, client.Scope)
}

// Left returns an error if a tab that a client used left its origins; nil while the tab is in its scope, or closed.
func (p *Pages) Left(client *checkpoint.Client, id int) error {
	return left(p.store.View(p.clock()), client.Scope, id)
}

func left(v *capture.View, scope checkpoint.Scope, id int) error {
	i := slices.IndexFunc(v.Tabs, func(t capture.Tab) bool { return t.ID == id })
	if i < 0 || scope.CoversOrigin(v.Tabs[i].Origin) {
		return nil
	}
	return outside(scope, v.Tabs[i].Watched, id)
}

// Closed is the error about a tab that was closed.
func Closed(id int) error {
	return usererr.New(usererr.TabClosed, "tab %d was closed. browser_tabs lists the open ones.", id)
}

// outside is the error about a tab that left the origins of a scope. A tab that is not watched has no origin.
func outside(scope checkpoint.Scope, watched bool, id int) error {
	unwatched := ""
	if !watched {
		unwatched = " or is no longer watched"
	}
	return usererr.New(usererr.NotWatched, "tab %d left this client's origins (%s)%s. Pass the tab you mean: browser_tabs lists them.", id, strings.Join(scope.Origins, ", "), unwatched)
}

// noTab returns why no tab can be read: no browser is connected, or no watched tab is in a client's scope.
func noTab(v *capture.View, scope checkpoint.Scope) error {
	const open = "Open the page with browser_open"
	switch {
	case !slices.ContainsFunc(v.Browsers, func(b capture.Browser) bool { return b.Connected }):
		return NoBrowser()
	case len(scope.Origins) > 0:
		return usererr.New(usererr.NotWatched, "no watched tab shows %s. "+open+", or have the user turn it on in Tidemark's popup.", strings.Join(scope.Origins, " or "))
	}
	return usererr.New(usererr.NotWatched, "no tab is watched. "+open+", or have the user turn it on in Tidemark's popup.")
}

// NoBrowser returns the error of a call that needs a browser while none is connected.
func NoBrowser() error {
	return usererr.New(usererr.NoBrowser, "no browser is connected. Open the page with browser_open.")
}

// ambiguous returns an error that lists the watched tabs by browser, in the order of their numbers, if several browsers
// have some.
func ambiguous(v *capture.View, scope checkpoint.Scope) error {
	var order []string
	tabs := map[string][]string{} // by instance
	for _, t := range v.Tabs {
		if !t.Watched || !scope.CoversOrigin(t.Origin) {
			continue
		}
		if tabs[t.Instance] == nil {
			order = append(order, t.Instance)
		}
		tabs[t.Instance] = append(tabs[t.Instance], fmt.Sprintf("%d (%s)", t.ID, t.URL))
	}
	if len(order) < 2 {
		return nil
	}
	names := browserNames(v, scope)
	list := make([]string, len(order))
	for i, instance := range order {
		list[i] = names[instance] + " with tab " + strings.Join(tabs[instance], ", ")
	}
	return usererr.New(usererr.Ambiguous, "several browsers show watched pages: %s. Pass the tab you mean once; later calls use it.", strings.Join(list, "; "))
}

// browserNames returns the names of the browsers with tabs in a scope, by instance. It numbers browsers of the same
// name.
func browserNames(v *capture.View, scope checkpoint.Scope) map[string]string {
	names, count := map[string]string{}, map[string]int{}
	for _, t := range v.Tabs {
		if names[t.Instance] != "" || !scope.CoversOrigin(t.Origin) {
			continue
		}
		names[t.Instance] = t.Browser
		if count[t.Browser]++; count[t.Browser] > 1 {
			names[t.Instance] = fmt.Sprintf("%s #%d", t.Browser, count[t.Browser])
		}
	}
	return names
}

// DefaultTab returns the tab for calls without one. It is 0 if no tab in scope is watched, or if the tab that the client
// used last left its scope.
func (p *Pages) DefaultTab(v *capture.View, client *checkpoint.Client) int {
	last := p.LastOf(client)
	if left(v, client.Scope, last) != nil {
		return 0
	}
	first, active := 0, 0
	for _, t := range v.Tabs {
		if !t.Watched || !client.Scope.CoversOrigin(t.Origin) {
			continue
		}
		if t.ID == last {
			return last
		}
		if first == 0 {
			first = t.ID
		}
		if t.Active {
			active = t.ID
		}
	}
	if active != 0 {
		return active
	}
	return first
}
