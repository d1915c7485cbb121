package observe

import (
	"cmp"
	"context"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// BetweenParams select two moments and the part of the report to show.
type BetweenParams struct {
	// From and To are each a checkpoint's name, an ISO 8601 time or [Now]. An empty From means the start of the
	// buffers, an empty To means now.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Include, Severity and Tab are the same as in [ChangesParams].
	Include  []string `json:"include,omitempty"`
	Severity string   `json:"severity,omitempty"`
	Tab      int      `json:"tab,omitempty"`
}

// Now names the present moment. No checkpoint can have this name.
const Now = checkpoint.Now

// Between reports what happened between two moments. It advances no cursor: the same two past moments give the same
// report as long as their entries are kept. A file is an exported state that replaces From, or nil.
func (o *Observer) Between(ctx context.Context, client *checkpoint.Client, p BetweenParams, file *checkpoint.File) (*report.Report, error) {
	from := strings.TrimSpace(p.From)
	if from == Now {
		return nil, usererr.Invalid(`from is "now", so there is nothing to compare. Pass a checkpoint or an earlier time as from.`)
	}
	r, err := o.checkChanges(client, ChangesParams{Checkpoint: from, Include: p.Include, Severity: p.Severity, Tab: p.Tab})
	if err != nil {
		return nil, err
	}
	if to := strings.TrimSpace(p.To); to == "" || to == Now {
		o.syncFiles(ctx, client, r)
	}
	return WithPlaces(ctx, r.timeout, func(bool) (*report.Report, *Places, error) {
		return o.between(ctx, client, p, *r, from, file)
	})
}

func (o *Observer) between(ctx context.Context, client *checkpoint.Client, p BetweenParams, r changesRequest, from string, file *checkpoint.File) (*report.Report, *Places, error) {
	v := o.store.View(o.clock())
	if err := tabs.Check(v, client.Scope, p.Tab); err != nil {
		return nil, nil, err
	}
	places := o.OriginalsIn(v)
	of, inEdited := Edited(o, client, from, strings.TrimSpace(p.To))
	places.ExplainIn(&r.options, of, inEdited)
	r.options.Standing = r.time.IsZero()
	var err error
	var begin capture.Moment
	switch {
	case file != nil:
		begin = o.momentOf(file, client.Scope, v, v.Start())
	case from == "", from == checkpoint.Buffers:
		r.options.Beginning = true
		begin = v.Start()
	default:
		if begin, err = o.Moment(ctx, client, from, v); err != nil {
			return nil, nil, err
		}
	}
	var until *capture.Moment
	if to := strings.TrimSpace(p.To); to != "" && to != Now {
		end, err := o.Moment(ctx, client, to, v)
		if err != nil {
			return nil, nil, err
		}
		if end.At.Before(begin.At) {
			return nil, nil, usererr.Invalid("from (%s) is later than to (%s). Swap the two.", report.Time{Time: begin.At}, report.Time{Time: end.At})
		}
		until = &end
	}
	v, past := o.reach(ctx, begin, v, r.options.Beginning || o.foreign(file))
	defer past.Close()
	answer := past.Report(begin, v, until, r.options)
	r.addUnsynced(answer)
	if answer.Checkpoint = cmp.Or(from, "beginning"); file != nil {
		answer.Checkpoint = file.Name
	}
	answer.CountTokens()
	return answer, places, nil
}

// Peek reports what a client's next call of get_changes_since would, without moving the client's cursor.
func (o *Observer) Peek(ctx context.Context, client *checkpoint.Client) (*report.Report, error) {
	r, err := o.checkChanges(client, ChangesParams{})
	if err != nil {
		return nil, err
	}
	o.syncFiles(ctx, client, r)
	return WithPlaces(ctx, r.timeout, func(bool) (*report.Report, *Places, error) { return o.peek(ctx, client, *r) })
}

func (o *Observer) peek(ctx context.Context, client *checkpoint.Client, r changesRequest) (*report.Report, *Places, error) {
	end, err := client.Turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	v := o.store.View(o.clock())
	from, v, past, err := o.baseline(ctx, client, &r, v)
	if err != nil {
		return nil, nil, err
	}
	defer past.Close()
	places := o.OriginalsIn(v)
	places.Explain(&r.options)
	r.options.Given = client.Given()
	answer := past.Report(from, v, nil, r.options)
	r.addUnsynced(answer)
	client.Lock()
	answer.Checkpoint = client.AutoName()
	client.Unlock()
	answer.CountTokens()
	return answer, places, nil
}
