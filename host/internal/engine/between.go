package engine

import (
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
)

// BetweenParams say which two moments are compared, and what of them is shown.
type BetweenParams struct {
	// From and To are each a checkpoint's name, an ISO 8601 time or [Now]. An empty From is the beginning of
	// what the buffers hold, an empty To is now.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Include, Severity and Tab are those of [ChangesParams].
	Include  []string `json:"include,omitempty"`
	Severity string   `json:"severity,omitempty"`
	Tab      int      `json:"tab,omitempty"`
}

// Now is the present moment, where a moment is asked for. No checkpoint can have this name.
const Now = checkpoint.Now

// Between reports what happened between two moments. It advances nothing: asked again about two moments that
// have passed, it says the same as long as their entries are kept. A file is an exported state to compare with
// in place of From, nil for none.
func (e *Engine) Between(client *checkpoint.Client, p BetweenParams, file *checkpoint.File) (*diff.Report, error) {
	from := strings.TrimSpace(p.From)
	if from == Now {
		return nil, invalid("from is now, and nothing has happened since; name a checkpoint or an earlier time")
	}
	r, err := e.checkChanges(client, ChangesParams{Checkpoint: from, Include: p.Include, Severity: p.Severity, Tab: p.Tab})
	if err != nil {
		return nil, err
	}
	r.file = file
	v := e.store.View(e.clock())
	if err := checkTab(v, client.Scope, p.Tab); err != nil {
		return nil, err
	}
	to, err := e.end(client, strings.TrimSpace(p.To))
	if err != nil {
		return nil, err
	}
	r.options.Original = e.originalsIn(v).place
	var begin capture.Moment
	var past *reading
	if from == "" && file == nil {
		r.options.Beginning = true
		begin = v.Start()
	} else {
		client.Lock()
		begin, v, past, err = e.baseline(client, r, v)
		client.Unlock()
		if err != nil {
			return nil, err
		}
		defer past.close()
	}
	if to != nil {
		if to.At.Before(begin.At) {
			return nil, invalid("from (%s) is later than to (%s); ask for them the other way round", diff.Time{Time: begin.At}, diff.Time{Time: to.At})
		}
		if to.Pos == (capture.Positions{}) { // a time, whose moment is rebuilt
			if past == nil && !v.HoldsTime(to.At.UnixMilli()) {
				v, past = e.behind(v)
				defer past.close()
			}
			*to = v.MomentAt(to.At)
		}
		to.Pos.Gaps = v.Now().Pos.Gaps // what was not observed is often known later only
		v = v.Until(*to)
		r.options.Ended = true
	}
	report := diff.Compute(begin, v, r.options)
	past.tell(report)
	switch report.Checkpoint = from; {
	case file != nil:
		report.Checkpoint = file.Name
	case from == "":
		report.Checkpoint = "beginning"
	}
	report.CountTokens()
	return report, nil
}

// end is the moment that a comparison ends with: nil for now, without positions for a time.
func (e *Engine) end(client *checkpoint.Client, to string) (*capture.Moment, error) {
	switch {
	case to == "" || to == Now:
		return nil, nil
	case checkpoint.LooksLikeTime(to):
		t, err := checkpoint.ParseTime(to, e.location)
		if err != nil {
			return nil, &Error{err.Error()}
		}
		if now := e.clock(); t.After(now) {
			return nil, invalid("the time %s is in the future; it is %s now", diff.Time{Time: t}, diff.Time{Time: now})
		}
		return &capture.Moment{At: t.UTC().Truncate(time.Millisecond)}, nil
	}
	c, err := e.named.Get(client.Scope.Key(), to)
	if err != nil {
		return nil, err
	}
	return &c.Moment, nil
}

// Peek reports what a client's next call of get_changes_since would, and leaves its place where it is.
func (e *Engine) Peek(client *checkpoint.Client) (*diff.Report, error) {
	r, err := e.checkChanges(client, ChangesParams{})
	if err != nil {
		return nil, err
	}
	v := e.store.View(e.clock())
	client.Lock()
	from, v, past, err := e.baseline(client, r, v)
	name := client.AutoName()
	client.Unlock()
	if err != nil {
		return nil, err
	}
	defer past.close()
	r.options.Original = e.originalsIn(v).place
	report := diff.Compute(from, v, r.options)
	past.tell(report)
	report.Checkpoint = name
	report.CountTokens()
	return report, nil
}
