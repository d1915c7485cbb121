package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
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

// agentCalls is a reader and what it has called.
type agentCalls struct {
	id                     int
	client                 *checkpoint.Client
	name                   string
	calls, tokens, rawRead int
	held                   bool
}

// maxAgents bounds of how many agents the calls are counted.
const maxAgents = 200

// agentLocked is what is counted of a client, which calls itself name now. One that comes by the name of an agent that
// is held is held as well: it may be the same one with a new connection.
func (v *viewing) agentLocked(client *checkpoint.Client, name string) *agentCalls {
	i := slices.IndexFunc(v.agents, func(a *agentCalls) bool { return a.client == client })
	if i >= 0 && (v.agents[i].name == name || name == client.Name) { // the name before it has introduced itself
		return v.agents[i]
	}
	held := slices.ContainsFunc(v.agents, func(a *agentCalls) bool { return a.held && a.name == name })
	if i >= 0 {
		v.agents[i].name, v.agents[i].held = name, v.agents[i].held || held
		return v.agents[i]
	}
	id := 1
	if n := len(v.agents); n > 0 {
		id = v.agents[n-1].id + 1
	}
	if len(v.agents) >= maxAgents { // a hold is a person's, and stays
		i := max(0, slices.IndexFunc(v.agents, func(a *agentCalls) bool { return !a.held }))
		v.agents = slices.Delete(v.agents, i, i+1)
	}
	a := &agentCalls{id: id, client: client, name: name, held: held}
	v.agents = append(v.agents, a)
	return a
}

// Called records a call of an agent's, with the answer as it was sent.
func (e *Engine) Called(client *checkpoint.Client, c Call) {
	name := e.NameOf(client)
	c.Bytes = len(c.Answer)
	c.Arguments, c.Answer = cutTo(c.Arguments, maxCallAnswer), cutTo(c.Answer, maxCallAnswer)
	c.head = event.Head{At: c.At.UnixMilli()}
	v := e.viewing
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.agentLocked(client, name)
	c.agent = a.id
	a.calls++
	a.tokens += observe.TokensOf(c.Bytes)
	a.rawRead += c.RawRead
	v.calls.Append(c)
	v.tellLocked()
}

// Held says whether a person holds an agent's access.
func (e *Engine) Held(client *checkpoint.Client) bool {
	name := e.NameOf(client)
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	return e.viewing.agentLocked(client, name).held
}

// heldClients are those whose access a person holds, with their names.
func (e *Engine) heldClients() map[*checkpoint.Client]string {
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	held := map[*checkpoint.Client]string{}
	for _, a := range e.viewing.agents {
		if a.held {
			held[a.client] = a.name
		}
	}
	return held
}

// ViewHold holds an agent's access, or allows it again; then those of its name that have left are held no longer.
func (e *Engine) ViewHold(_ context.Context, p protocol.ViewHoldParams) (tool.Nothing, error) {
	here := map[int]bool{}
	agents, _ := e.viewAgents() // numbers those who have not called yet
	for _, a := range agents {
		here[a.ID] = a.Here
	}
	e.viewing.mu.Lock()
	i := slices.IndexFunc(e.viewing.agents, func(a *agentCalls) bool { return a.id == p.Agent })
	if i < 0 {
		e.viewing.mu.Unlock()
		return tool.Nothing{}, usererr.New(usererr.NotFound, "there is no agent %d; it has left", p.Agent)
	}
	a := e.viewing.agents[i]
	a.held = p.Held
	for _, o := range e.viewing.agents {
		if !p.Held && o.name == a.name && !here[o.id] {
			o.held = false
		}
	}
	e.viewing.tellLocked()
	e.viewing.mu.Unlock()
	if p.Held {
		e.End(a.client, clients.ErrSuspended)
	}
	if e.disk != nil {
		e.disk.ReadersChanged() // the next daemon holds it as well
	}
	return tool.Nothing{}, nil
}

// ViewStop has an agent act no more, or lets it act again. It may look all the same.
func (e *Engine) ViewStop(_ context.Context, p protocol.StopAgentParams) (tool.Nothing, error) {
	if p.Stopped {
		return tool.Nothing{}, e.StopAgent(p.ID)
	}
	return tool.Nothing{}, e.AllowAgent(p.ID)
}

// agentNumber is by what a person's viewer and popup know an agent.
func (e *Engine) agentNumber(client *checkpoint.Client) int {
	name := e.NameOf(client)
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	return e.viewing.agentLocked(client, name).id
}

// viewActs says what those who act do, or did last.
func (e *Engine) viewActs() map[*checkpoint.Client]*protocol.ViewActs {
	titles := map[int]string{}
	for _, t := range e.store.View(e.clock()).Tabs {
		titles[t.ID] = cmp.Or(t.Title, t.URL)
	}
	acts := map[*checkpoint.Client]*protocol.ViewActs{}
	for client, a := range e.ByClient() {
		acts[client] = &protocol.ViewActs{Tab: a.Tab, Title: titles[a.Tab], What: a.What, Now: a.Acting, Since: diff.Time{Time: a.Since}.String(), Stopped: a.Stopped}
	}
	return acts
}

// viewAgents lists the agents that are connected, have called or are held; those of the same name are numbered.
// Those that have left are one for each name and scope, as which the calls of all of them are told: an agent that
// connects anew again and again is told once. Of those a hold is the name's: one of them shows it, whoever was held.
func (e *Engine) viewAgents() (list []protocol.ViewAgent, told map[int]int) {
	type here struct {
		name  string
		since time.Time
		here  bool
	}
	known := map[*checkpoint.Client]here{}
	var order []*checkpoint.Client
	for _, s := range e.Sessions() {
		if s.Here {
			order = append(order, s.Client)
		}
		known[s.Client] = here{cmp.Or(s.Name, s.Client.Name), s.Since, s.Here}
	}
	acts := e.viewActs()
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	for _, c := range order {
		e.viewing.agentLocked(c, known[c].name)
	}
	held, shows := map[string]bool{}, map[string]bool{}
	for _, a := range e.viewing.agents {
		if !known[a.client].here {
			held[a.name] = held[a.name] || a.held
			shows[a.name] = shows[a.name] || a.calls > 0
		}
	}
	list, told = []protocol.ViewAgent{}, map[int]int{}
	left := map[[2]string]int{} // name and scope → where in the list
	alike := map[string]int{}
	for _, a := range e.viewing.agents {
		told[a.id] = a.id
		k := known[a.client]
		isHeld := a.held
		if !k.here {
			if isHeld = held[a.name]; a.calls == 0 && (!isHeld || shows[a.name]) {
				continue
			}
			shows[a.name] = true
			key := [2]string{a.name, a.client.Scope.Key()}
			if i, ok := left[key]; ok {
				same := &list[i]
				same.Calls, same.Tokens, same.RawRead = same.Calls+a.calls, same.Tokens+a.tokens, same.RawRead+a.rawRead
				told[a.id] = same.ID
				continue
			}
			left[key] = len(list)
		}
		shown := protocol.ViewAgent{
			ID: a.id, Name: cmp.Or(k.name, a.name), Scope: a.client.Scope.Origins, Here: k.here, Held: isHeld, Calls: a.calls, Tokens: a.tokens, RawRead: a.rawRead, Acts: acts[a.client],
		}
		if alike[shown.Name]++; alike[shown.Name] > 1 {
			shown.Name = fmt.Sprintf("%s %d", shown.Name, alike[shown.Name])
		}
		if !k.since.IsZero() {
			shown.Since = diff.Time{Time: k.since}.String()
		}
		list = append(list, shown)
	}
	return list, told
}

func (e *Engine) callsView() ring.View[Call] {
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	return e.viewing.calls.View()
}

// ViewCalls reads agents' calls.
func (e *Engine) ViewCalls(ctx context.Context, p protocol.ViewCallsParams) (*protocol.ViewCalls, error) {
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
	agents, told := e.viewAgents()
	for _, a := range agents {
		names[a.ID] = a.Name
	}
	toldAs := func(agent int) int { return cmp.Or(told[agent], agent) }
	view := e.callsView()
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

// ShownArguments are [CanonicalArguments] of a call of a tool, without what is typed into pages: that may be a
// secret, and nobody knows which field it is for.
func ShownArguments(t *Tool, raw []byte) string {
	var v any
	if t.Set != tool.Act || json.Unmarshal(raw, &v) != nil {
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
