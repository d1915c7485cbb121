package noiserules

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
)

// A period begins when a page is loaded or updated, and after each maxPeriod. It is clean if it has neither an error nor
// a failed request. An entry in minPeriods clean periods counts as repeating. What a page logs first may have an earlier time
// than its load, by up to slack.
const (
	maxPeriod  = time.Minute
	minPeriods = 3
	slack      = 100 * time.Millisecond
)

// NothingToSuggest is the note of an answer without suggestions.
const NothingToSuggest = "nothing to suggest: no warning repeats in three or more clean periods"

// period identifies a period of the pages of an origin.
type period struct {
	origin string
	begin  int64 // of the page or its update, in milliseconds
	nth    int64 // span since
}

// ownFailure reports whether an event is a request or a connection to the page's own host or to this machine, whose servers
// are the project's. That such a one fails may be the bug that an agent looks for, so it is never suggested.
func ownFailure(ev event.Event) bool {
	address := ""
	switch e := ev.(type) {
	case *event.Network:
		address = e.URL
	case *event.WebSocket:
		address = e.URL
	}
	if address == "" {
		return false
	}
	host := hostOf(address)
	return host == hostOf(ev.Header().Origin()) || isLocal(host)
}

// hostOf returns the host of an address, without port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// suggestNoise proposes rules for entries that repeat in clean periods.
func (e *Rules) suggestNoise(client *checkpoint.Client) *NoiseAnswer {
	u := e.Of(client)
	v := e.store.View(e.clock())
	updates := map[string][]int64{}
	for _, up := range v.Updates.From(0) {
		updates[up.Origin()] = append(updates[up.Origin()], up.At)
	}
	for _, list := range updates {
		slices.Sort(list)
	}
	periodOf := func(h *event.Head) period {
		p := period{origin: h.Origin()}
		if i, _ := slices.BinarySearch(updates[h.Origin()], h.At+slack.Milliseconds()+1); i > 0 {
			p.begin = updates[h.Origin()][i-1]
		}
		p.nth = (h.At - p.begin) / maxPeriod.Milliseconds()
		return p
	}
	type candidate struct {
		NoiseSuggestion
		periods map[period]bool
	}
	dirty := map[period]bool{}
	found := map[EntryKey]*candidate{}
	var list []*candidate
	window.Entries(v.Start(), v, window.Options{Origins: client.Scope.Origins, Noise: u.Rules, Beginning: true}, func(n window.Entry) {
		level := noise.LevelOf(n.Event)
		switch {
		case n.Hidden() || level < event.Warning || ownFailure(n.Event):
			return
		case level == event.Error || u.Rules.FailedUpdate(n.Event):
			dirty[periodOf(n.Event.Header())] = true
			return
		}
		k := EntryKeyOf(n.Event)
		c := found[k]
		if c == nil {
			c = &candidate{NoiseSuggestion{Kind: k.Kind, Level: k.Level.String(), Origin: k.Origin, Fingerprint: k.Fold}, map[period]bool{}}
			found[k] = c
			list = append(list, c)
		}
		c.WouldHide++
		c.periods[periodOf(n.Event.Header())] = true
	})
	a := &NoiseAnswer{Problems: u.Problems}
	for _, c := range list {
		for p := range c.periods {
			if !dirty[p] {
				c.CleanPeriods++
			}
		}
		if c.CleanPeriods >= minPeriods {
			a.Suggestions = append(a.Suggestions, c.NoiseSuggestion)
		}
	}
	slices.SortStableFunc(a.Suggestions, func(a, b NoiseSuggestion) int {
		return cmp.Or(cmp.Compare(b.CleanPeriods, a.CleanPeriods), cmp.Compare(b.WouldHide, a.WouldHide))
	})
	a.Omitted = max(0, len(a.Suggestions)-maxSuggested)
	a.Suggestions = a.Suggestions[:len(a.Suggestions)-a.Omitted]
	if len(a.Suggestions) > 0 {
		a.PageText = report.Untrusted
	} else {
		a.Note = NothingToSuggest
	}
	return a
}
