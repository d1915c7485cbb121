package viewer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Limits on the stored calls: their number, their bytes, and the bytes of one answer or its arguments.
const (
	maxCalls      = 5000
	maxCallBytes  = 6 << 20
	maxCallAnswer = 64 << 10
)

// Call is one call of a tool by an agent.
type Call struct {
	At        time.Time
	Took      time.Duration
	Tool      string
	Arguments string
	// Answer is the answer as sent, cut to a limit. Bytes and Tokens are its full length. Tokens that are 0 are estimated.
	Answer string
	Bytes  int
	Tokens int
	Failed bool
	// RawRead estimates the tokens that the raw entries behind the answer would have taken; nil where it replaces none.
	RawRead func() int
	Gist    string

	agent   int
	rawRead int
	head    event.Head
}

func callHead(c *Call) *event.Head { return &c.head }

func markOfCall(c *Call) byte {
	if c.Failed {
		return protocol.MarkWarning
	}
	return protocol.MarkClean
}

// Called records an agent's call, with the answer as it is sent, which does not wait until the call is counted. Whoever
// reads calls does.
func (a *Agents) Called(client *checkpoint.Client, c Call) {
	name := a.clients.NameOf(client)
	a.mu.Lock()
	c.agent = a.agentLocked(client, name).id
	a.uncounted = append(a.uncounted, c)
	a.mu.Unlock()
	go a.count()
}

// count counts the calls that are not counted yet, in their order.
func (a *Agents) count() {
	a.counting.Lock()
	defer a.counting.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.uncounted) > 0 {
		c := a.uncounted[0]
		a.uncounted = slices.Delete(a.uncounted, 0, 1)
		a.mu.Unlock()
		c.measure()
		a.mu.Lock()
		if i := slices.IndexFunc(a.list, func(agent *agentCalls) bool { return agent.id == c.agent }); i >= 0 {
			agent := a.list[i]
			agent.calls++
			agent.tokens += c.Tokens
			agent.rawRead += c.rawRead
		}
		a.calls.Append(c)
		a.signal.Notify()
	}
}

// measure fills in the lengths, and lets go of what the answer was made of.
func (c *Call) measure() {
	if c.Bytes = len(c.Answer); c.Tokens == 0 {
		c.Tokens = tokens.Estimate(c.Answer)
	}
	if c.RawRead != nil {
		c.rawRead, c.RawRead = c.RawRead(), nil
	}
	c.Arguments, c.Answer = cutTo(c.Arguments, maxCallAnswer), cutTo(c.Answer, maxCallAnswer)
	c.head = event.Head{At: c.At.UnixMilli()}
}

func (a *Agents) callsView() ring.View[Call] {
	a.count()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls.View()
}

// Calls returns agents' calls.
func (v *Viewer) Calls(ctx context.Context, p protocol.ViewCallsParams) (*protocol.ViewCalls, error) {
	if p.Limit == 0 {
		p.Limit = defaultEntries
	}
	if p.Limit < 1 || p.Limit > maxEntries {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxEntries)
	}
	from, to := int64(0), v.clock().UnixMilli()
	if p.From != "" || p.To != "" {
		if p.From == "" {
			p.From = checkpoint.Start
		}
		w, err := v.between(ctx, 0, p.From, p.To)
		if err != nil {
			return nil, err
		}
		from, to = w.from.At.UnixMilli(), w.to.At.UnixMilli()
		if p.From == checkpoint.Start {
			from = 0
		}
	}
	names := map[int]string{}
	agents, listed := v.Agents.all()
	for _, a := range agents {
		names[a.ID] = a.Name
	}
	listedAs := func(agent int) int { return cmp.Or(listed[agent], agent) }
	view := v.Agents.callsView()
	out := &protocol.ViewCalls{Calls: []protocol.ViewCall{}, Forgotten: view.Evicted(), Since: v.began.UnixMilli()}
	bytes := 0
	for pos, c := range view.From(0) {
		if p.Agent != 0 && listedAs(c.agent) != listedAs(p.Agent) || c.head.At < from || c.head.At > to || len(p.Positions) > 0 && !slices.Contains(p.Positions, pos) {
			continue
		}
		out.Total++
		call := protocol.ViewCall{
			Position: pos, At: c.head.At, Ms: float64(c.Took.Microseconds()) / 1000, Agent: listedAs(c.agent), AgentName: names[listedAs(c.agent)], Tool: c.Tool,
			Tokens: c.Tokens, RawRead: c.rawRead, Failed: c.Failed, Gist: c.Gist,
		}
		if len(p.Positions) > 0 {
			if bytes += len(c.Answer) + len(c.Arguments); bytes > maxEntryBytes/2 && len(out.Calls) > 0 {
				break
			}
			call.Arguments, call.Answer, call.Cut = c.Arguments, c.Answer, len(c.Answer) < c.Bytes
		}
		out.Calls = append(out.Calls, call)
	}
	if n := len(out.Calls) - p.Limit; n > 0 {
		out.Calls = out.Calls[n:]
	}
	return out, nil
}

// GistOf returns a one-line summary of an answer, for the list of calls.
func GistOf(answer any) string {
	switch a := answer.(type) {
	case *report.Report:
		return a.Summary
	case *observe.CheckpointCreated:
		return a.Name + ": " + a.Summary
	case *pages.Snapshot:
		return a.Kind
	}
	return ""
}

// TokensOf returns the tokens of an answer that counted them, 0 for any other.
func TokensOf(answer any) int {
	if r, ok := answer.(*report.Report); ok {
		return r.TokenCount
	}
	return 0
}

// RawReadOf returns what estimates the tokens of the raw read that an answer replaces, nil for answers that replace none.
func RawReadOf(answer any) func() int {
	if r, ok := answer.(*report.Report); ok {
		return r.RawTokens
	}
	return nil
}

// ShownArguments returns [CanonicalArguments] of a call, without the text that it types into a page. That text may be
// a secret, and its field is unknown.
func ShownArguments(set string, raw []byte) string {
	var v any
	if set != tool.Act || json.Unmarshal(raw, &v) != nil {
		return CanonicalArguments(raw)
	}
	data, err := report.Encode(withoutTyped(v))
	if err != nil {
		return ""
	}
	return string(data)
}

// withoutTyped replaces typed text by its length.
func withoutTyped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			text, isText := inner.(string)
			switch {
			case (key == "text" || key == "value") && isText:
				v[key] = fmt.Sprintf("(%d characters)", len([]rune(text)))
			case key == "text":
				v[key] = "(several texts)"
			default:
				v[key] = withoutTyped(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutTyped(v[i])
		}
	}
	return v
}

// CanonicalArguments returns arguments as sent, without insignificant white space.
func CanonicalArguments(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	data, err := report.Encode(v)
	if err != nil {
		return string(raw)
	}
	return string(data)
}
