package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/tabs"
)

// A page is settled when nothing new came for quiet and no request is in flight that is younger than
// slowRequest: an older one is a stream or a long poll, which a page may hold open for ever. Neither is polling
// waited for, which has no end.
const (
	quiet       = 300 * time.Millisecond
	slowRequest = 2 * time.Second
	syncTimeout = 500 * time.Millisecond
)

// Settled is how a wait ended.
type Settled struct {
	OK               bool
	Because          string
	NoDOM, noCapture []int
}

// settle waits as the request asks; updates is the position of the first update that was not looked at.
// It returns an error only when ctx ends.
func (e *Observer) settle(ctx context.Context, r *changesRequest, updates uint64) (*Settled, error) {
	began := e.clock()
	deadline := began.Add(r.timeout)
	out := &Settled{}
	// What the browser has reported already shall not look like silence.
	e.sync(ctx, r, deadline, out)
	for {
		changed := e.store.Changed()
		v := e.store.View(e.clock())
		if paused := tabs.PausedIn(v, r.options.InScope); paused != "" {
			out.Because = "the page is paused in the debugger" // nothing comes of a page that stands still
			return out, nil
		}
		wait, because := unsettled(e.clock(), v, r, updates)
		if because == "" {
			e.sync(ctx, r, deadline, out)
			if wait, because = unsettled(e.clock(), e.store.View(e.clock()), r, updates); because == "" {
				out.OK = true
				return out, nil
			}
		}
		left := deadline.Sub(e.clock())
		if left <= 0 {
			out.Because = because
			return out, nil
		}
		timer := time.NewTimer(min(wait, left))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// UntilQuiet waits until the pages in scope have no request in flight, however long one takes, and nothing comes any
// more.
func (e *Observer) UntilQuiet(ctx context.Context, o diff.Options, timeout time.Duration) (*Settled, error) {
	return e.settle(ctx, &changesRequest{options: o, wait: "settled", timeout: timeout, slow: true}, 0)
}

// sync has the browsers deliver what they have, and notes the watched tabs in scope that did not
// answer.
func (e *Observer) sync(ctx context.Context, r *changesRequest, deadline time.Time, out *Settled) {
	if e.browsers == nil {
		return
	}
	timeout := min(syncTimeout, deadline.Sub(e.clock()))
	if timeout <= 0 {
		return
	}
	noDOM, noCapture := e.browsers.Sync(ctx, timeout)
	out.NoDOM, out.noCapture = nil, nil
	for _, t := range e.store.View(e.clock()).Tabs {
		if !t.Watched || !r.options.InScope(t.Origin, t.ID) {
			continue
		}
		if slices.Contains(noDOM, t.ID) {
			out.NoDOM = append(out.NoDOM, t.ID)
		}
		if slices.Contains(noCapture, t.ID) {
			out.noCapture = append(out.noCapture, t.ID)
		}
	}
}

// unsettled says why the pages in scope are not settled, and how long to wait at the most before
// looking again; "" when they are.
func unsettled(now time.Time, v *capture.View, r *changesRequest, updates uint64) (time.Duration, string) {
	if r.wait == "reload" && !updated(v, r, updates) {
		if r.giveUp.IsZero() {
			return r.timeout, "no navigation or hot update came"
		}
		if left := r.giveUp.Sub(now); left > 0 {
			return left, "no navigation or hot update came"
		}
	}
	var flights []string
	soonest := slowRequest
	for _, f := range v.Flights {
		age := now.Sub(f.Began)
		if age >= slowRequest && !r.slow || f.Polling || !r.options.InScope(f.Origin, f.Tab) {
			continue
		}
		if age < slowRequest {
			soonest = min(soonest, slowRequest-age)
		}
		_, path := capture.SplitURL(f.URL)
		flights = append(flights, f.Method+" "+path)
	}
	if len(flights) > 0 {
		shown := flights
		if len(shown) > 3 {
			shown = shown[:3]
		}
		return soonest, fmt.Sprintf("%d request(s) in flight: %s", len(flights), strings.Join(shown, ", "))
	}
	for _, t := range v.Tabs {
		if since := now.Sub(t.LastEvent); since < quiet && r.options.InScope(t.Origin, t.ID) {
			return quiet - since, "events are still arriving"
		}
	}
	return 0, ""
}

// updated says whether a navigation or hot update came since a position.
func updated(v *capture.View, r *changesRequest, since uint64) bool {
	for _, u := range v.Updates.From(since) {
		if r.options.InScope(u.Origin, u.Tab) {
			return true
		}
	}
	return false
}
