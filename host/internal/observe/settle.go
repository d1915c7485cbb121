package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/window"
)

// A page is settled when no event arrived for quiet and no request is in flight. Polling and long polls never end, so they
// do not count. Nor does a request that is older than endless when the wait begins: it is a stream, which a page may keep
// open indefinitely. A wait for a reload that an update before the call satisfies lasts as long as quiet, because that
// update may be of an earlier edit. A storm is no polling: a page that is in one is not settled, and the wait ends when that
// is certain.
const (
	quiet       = 300 * time.Millisecond
	endless     = 30 * time.Second
	syncTimeout = 500 * time.Millisecond
)

// Settled is the outcome of a wait.
type Settled struct {
	OK               bool
	Because          string
	NoDOM, noCapture []int
	cutOff           int  // tabs that answered, but not at the end, where less than syncTimeout was left
	synced           bool // they were asked
}

// settle waits as requested. updates is the position of the first update that the client has not seen. It returns an
// error only when ctx ends.
func (o *Observer) settle(ctx context.Context, r *changesRequest, updates uint64) (*Settled, error) {
	r.began = o.clock()
	deadline := r.began.Add(r.timeout)
	out := &Settled{}
	// Pending events must not look like silence.
	o.sync(ctx, r, deadline, out)
	for {
		changed := o.store.Changed()
		v := o.store.View(o.clock())
		if paused := tabs.PausedIn(v, r.options.InScope); paused != "" {
			out.Because = "the page is paused in the debugger" // a paused page cannot settle
			return out, nil
		}
		wait, because, storm := unsettled(o.clock(), v, r, updates)
		if because == "" {
			o.sync(ctx, r, deadline, out)
			v = o.store.View(o.clock())
			if wait, because, storm = unsettled(o.clock(), v, r, updates); because == "" {
				wait, because = quiet, out.unanswered()
			}
			if because == "" {
				if out.OK = watched(v, &r.options) > 0; !out.OK {
					out.Because = "nothing is observed"
				}
				return out, nil
			}
		}
		if storm {
			out.Because = because
			return out, nil
		}
		left := deadline.Sub(o.clock())
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

// UntilQuiet waits until the pages in scope are settled.
func (o *Observer) UntilQuiet(ctx context.Context, options window.Options, timeout time.Duration) (*Settled, error) {
	return o.settle(ctx, &changesRequest{options: options, wait: "settled", timeout: timeout}, 0)
}

// sync makes the browsers deliver pending events, and records the watched tabs in scope that did not answer. A tab that
// answered before and did not within what is left of the wait, which is less than syncTimeout, is cut off.
func (o *Observer) sync(ctx context.Context, r *changesRequest, deadline time.Time, out *Settled) {
	timeout := min(syncTimeout, deadline.Sub(o.clock()))
	if o.browsers == nil || timeout <= 0 {
		return
	}
	short := out.synced && timeout < syncTimeout
	noDOM, noCapture := o.browsers.Sync(ctx, timeout)
	before := *out
	*out = Settled{synced: true}
	for _, t := range o.store.View(o.clock()).Tabs {
		if !t.Watched || !r.options.InScope(t.Subject()) {
			continue
		}
		if slices.Contains(noDOM, t.ID) && (!short || slices.Contains(before.NoDOM, t.ID)) {
			out.NoDOM = append(out.NoDOM, t.ID)
		}
		switch {
		case !slices.Contains(noCapture, t.ID):
		case short && !slices.Contains(before.noCapture, t.ID):
			out.cutOff++
		default:
			out.noCapture = append(out.noCapture, t.ID)
		}
	}
}

// unanswered says that tabs did not deliver their events, so that nothing is known of them; "" if all did. A page without
// a content script, such as one of the browser's own, does deliver them.
func (s *Settled) unanswered() string {
	if n := len(s.noCapture); n > 0 {
		return fmt.Sprintf("%d tab(s) did not answer in time", n)
	}
	if s.cutOff > 0 {
		return fmt.Sprintf("the wait ended before %d tab(s) delivered their last events", s.cutOff)
	}
	return ""
}

// unsettled returns why the pages in scope are not settled, and the longest wait before the next look. It returns ""
// when they are settled. Storm is true when they are not going to be.
func unsettled(now time.Time, v *capture.View, r *changesRequest, updates uint64) (wait time.Duration, because string, storm bool) {
	if because = notUpdated(v, r, updates); r.wait == "reload" && because != "" {
		if r.giveUp.IsZero() {
			return r.timeout, because, false
		}
		if left := r.giveUp.Sub(now); left > 0 {
			return left, because, false
		}
	}
	if s, newest, ok := storms.Ongoing(v, r.options); ok {
		// One that has not repeated since the wait began may have ended.
		return quiet, "a storm continues: " + s.Line(), newest.After(r.began)
	}
	if because = inFlight(v, r); because != "" {
		return r.timeout, because, false
	}
	if left := r.began.Add(quiet).Sub(now); r.unsure && left > 0 {
		return left, "an update may still begin", false
	}
	for _, t := range v.Tabs {
		since := now.Sub(t.LastEvent)
		switch left := v.EmptyKnownAt(&t, now).Sub(now); {
		case !r.options.InScope(t.Subject()):
		case since < quiet:
			return quiet - since, "events are still arriving", false
		case left > 0:
			return left, "an error was thrown, and it is not known yet whether the page is empty", false
		}
	}
	return 0, "", false
}

// inFlight names the requests that a wait is for. It returns "" when there are none. The end of one in a tab that is not
// watched would not be known.
func inFlight(v *capture.View, r *changesRequest) string {
	watched := map[int]bool{}
	for _, t := range v.Tabs {
		watched[t.ID] = t.Watched
	}
	var flights []string
	for _, f := range v.Flights {
		if f.Polling || r.began.Sub(f.Began) >= endless || !watched[f.Tab] || !r.options.InScope(f.Subject()) {
			continue
		}
		_, path := capture.SplitURL(f.URL)
		flights = append(flights, strings.TrimSpace(event.Method(f.Method)+" "+event.Unbroken(path)+" "+f.Operation))
	}
	if len(flights) == 0 {
		return ""
	}
	shown := flights[:min(len(flights), 3)]
	return fmt.Sprintf("%d request(s) in flight: %s", len(flights), strings.Join(shown, ", "))
}

// notUpdated says that no navigation or hot update occurred since a position; "" if one did. A page that was requested before the
// last edit may be without it.
func notUpdated(v *capture.View, r *changesRequest, since uint64) string {
	because := "no navigation or hot update occurred"
	for _, u := range v.Updates.From(since) {
		if !r.options.InScope(u.Subject) {
			continue
		}
		if u.Asked == 0 || u.Asked >= r.edit {
			return ""
		}
		because = "the page was loaded, but requested before the last edit"
	}
	return because
}
