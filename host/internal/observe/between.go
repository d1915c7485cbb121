package observe

import (
	"context"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/usererr"
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
func (e *Observer) Between(ctx context.Context, client *checkpoint.Client, p BetweenParams, file *checkpoint.File) (*diff.Report, error) {
	from := strings.TrimSpace(p.From)
	if from == Now {
		return nil, usererr.Invalid("from is now, and nothing has happened since; name a checkpoint or an earlier time")
	}
	r, err := e.checkChanges(client, ChangesParams{Checkpoint: from, Include: p.Include, Severity: p.Severity, Tab: p.Tab})
	if err != nil {
		return nil, err
	}
	return WithPlaces(ctx, r.timeout, func(bool) (*diff.Report, *Places, error) {
		return e.between(ctx, client, p, *r, from, file)
	})
}

func (e *Observer) between(ctx context.Context, client *checkpoint.Client, p BetweenParams, r changesRequest, from string, file *checkpoint.File) (*diff.Report, *Places, error) {
	v := e.store.View(e.clock())
	if err := tabs.Check(v, client.Scope, p.Tab); err != nil {
		return nil, nil, err
	}
	places := e.OriginalsIn(v)
	r.options.Original = places.Place
	var err error
	var begin capture.Moment
	switch {
	case file != nil:
		begin = e.momentOf(file, client.Scope, v, v.Start())
	case from == "":
		r.options.Beginning = true
		begin = v.Start()
	default:
		if begin, err = e.Moment(ctx, client.Scope, from, v); err != nil {
			return nil, nil, err
		}
	}
	var until *capture.Moment
	if to := strings.TrimSpace(p.To); to != "" && to != Now {
		end, err := e.Moment(ctx, client.Scope, to, v)
		if err != nil {
			return nil, nil, err
		}
		if end.At.Before(begin.At) {
			return nil, nil, usererr.Invalid("from (%s) is later than to (%s); ask for them the other way round", diff.Time{Time: begin.At}, diff.Time{Time: end.At})
		}
		until = &end
	}
	v, past := e.reach(ctx, begin, v, r.options.Beginning || e.foreign(file))
	defer past.Close()
	report := past.report(begin, v, until, r.options)
	switch report.Checkpoint = from; {
	case file != nil:
		report.Checkpoint = file.Name
	case from == "":
		report.Checkpoint = "beginning"
	}
	report.CountTokens()
	return report, places, nil
}

// Peek reports what a client's next call of get_changes_since would, and leaves its place where it is.
func (e *Observer) Peek(ctx context.Context, client *checkpoint.Client) (*diff.Report, error) {
	r, err := e.checkChanges(client, ChangesParams{})
	if err != nil {
		return nil, err
	}
	return WithPlaces(ctx, r.timeout, func(bool) (*diff.Report, *Places, error) { return e.peek(ctx, client, *r) })
}

func (e *Observer) peek(ctx context.Context, client *checkpoint.Client, r changesRequest) (*diff.Report, *Places, error) {
	end, err := client.Turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	v := e.store.View(e.clock())
	from, v, past, err := e.baseline(ctx, client, &r, v)
	if err != nil {
		return nil, nil, err
	}
	defer past.Close()
	places := e.OriginalsIn(v)
	r.options.Original = places.Place
	report := past.report(from, v, nil, r.options)
	client.Lock()
	report.Checkpoint = client.AutoName()
	client.Unlock()
	report.CountTokens()
	return report, places, nil
}
