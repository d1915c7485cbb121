package viewer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// What is kept of agents' calls: so many, so many bytes, and so much of one answer or its arguments.
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
	// Answer is as it was sent. It is kept up to a limit; Bytes is its whole length.
	Answer string
	Bytes  int
	Failed bool
	// RawRead is the tokens that reading everything which the answer speaks of would have taken.
	RawRead int
	Gist    string

	agent int
	head  event.Head
}

func callHead(c *Call) *event.Head { return &c.head }

func markOfCall(c *Call) byte {
	if c.Failed {
		return protocol.MarkWarning
	}
	return protocol.MarkClean
}

// Called records a call of an agent's, with the answer as it was sent.
func (e *Agents) Called(client *checkpoint.Client, c Call) {
	name := e.clients.NameOf(client)
	c.Bytes = len(c.Answer)
	c.Arguments, c.Answer = cutTo(c.Arguments, maxCallAnswer), cutTo(c.Answer, maxCallAnswer)
	c.head = event.Head{At: c.At.UnixMilli()}
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.agentLocked(client, name)
	c.agent = a.id
	a.calls++
	a.tokens += observe.TokensOf(c.Bytes)
	a.rawRead += c.RawRead
	e.calls.Append(c)
	e.signal.Tell()
}

func (e *Agents) callsView() ring.View[Call] {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls.View()
}

// Calls reads agents' calls.
func (e *Viewer) Calls(ctx context.Context, p protocol.ViewCallsParams) (*protocol.ViewCalls, error) {
	if p.Limit == 0 {
		p.Limit = defaultEntries
	}
	if p.Limit < 1 || p.Limit > maxEntries {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxEntries)
	}
	from, to := int64(0), e.clock().UnixMilli()
	if p.From != "" || p.To != "" {
		if p.From == "" {
			p.From = checkpoint.Start
		}
		w, err := e.window(ctx, 0, p.From, p.To)
		if err != nil {
			return nil, err
		}
		from, to = w.from.At.UnixMilli(), w.to.At.UnixMilli()
		if p.From == checkpoint.Start {
			from = 0
		}
	}
	names := map[int]string{}
	agents, told := e.Agents.all()
	for _, a := range agents {
		names[a.ID] = a.Name
	}
	toldAs := func(agent int) int { return cmp.Or(told[agent], agent) }
	view := e.Agents.callsView()
	out := &protocol.ViewCalls{Calls: []protocol.ViewCall{}, Forgotten: view.Evicted(), Since: e.began.UnixMilli()}
	bytes := 0
	for pos, c := range view.From(0) {
		if p.Agent != 0 && toldAs(c.agent) != toldAs(p.Agent) || c.head.At < from || c.head.At > to || len(p.Positions) > 0 && !slices.Contains(p.Positions, pos) {
			continue
		}
		out.Total++
		call := protocol.ViewCall{
			Position: pos, At: c.head.At, Ms: float64(c.Took.Microseconds()) / 1000, Agent: toldAs(c.agent), AgentName: names[toldAs(c.agent)], Tool: c.Tool,
			Tokens: observe.TokensOf(c.Bytes), RawRead: c.RawRead, Failed: c.Failed, Gist: c.Gist,
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

// GistOf is an answer in a line, for whoever looks through an agent's calls.
func GistOf(answer any) string {
	switch a := answer.(type) {
	case *diff.Report:
		return a.Summary
	case *observe.CheckpointCreated:
		return a.Name + ": " + a.Summary
	case *pages.Snapshot:
		return a.Kind
	}
	return ""
}

// RawReadOf is the tokens that a raw read would have taken, for an answer that stands in for one; 0 for others.
func RawReadOf(answer any) int {
	if r, ok := answer.(*diff.Report); ok {
		return r.RawTokens
	}
	return 0
}

// ShownArguments are [CanonicalArguments] of a call of a tool of a set, without what is typed into pages: that may be a
// secret, and nobody knows which field it is for.
func ShownArguments(set string, raw []byte) string {
	var v any
	if set != tool.Act || json.Unmarshal(raw, &v) != nil {
		return CanonicalArguments(raw)
	}
	data, err := diff.Encode(withoutTyped(v))
	if err != nil {
		return ""
	}
	return string(data)
}

// withoutTyped has the length of what is typed in its place.
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

// CanonicalArguments are arguments as they were sent, without insignificant white space.
func CanonicalArguments(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	data, err := diff.Encode(v)
	if err != nil {
		return string(raw)
	}
	return string(data)
}
