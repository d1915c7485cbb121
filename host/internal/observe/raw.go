package observe

import (
	"context"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Limits of a raw read.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Listing is a page of a buffer.
type Listing[T any] struct {
	// PageText is [diff.Untrusted] when there are entries, because they quote pages.
	PageText string `json:"page_text,omitempty"`
	Entries  []T    `json:"entries"`
	// Next is the position to pass as after for the next page, 0 at the end.
	Next uint64 `json:"next,omitempty"`
	// Total counts the kept entries that match.
	Total int `json:"total"`
	// Evicted counts the entries of the whole buffer that are no longer kept.
	Evicted uint64 `json:"evicted"`
}

// ReadParams are the arguments of every raw read.
type ReadParams struct {
	After *uint64 `json:"after,omitempty"`
	Limit *int    `json:"limit,omitempty"`
	Tab   int     `json:"tab,omitempty"`
}

// EntryHead begins every entry of a raw read.
type EntryHead struct {
	Position uint64    `json:"position"`
	At       diff.Time `json:"at"`
	Tab      int       `json:"tab"`
	Masked   int       `json:"masked,omitempty"`
}

// read returns a page of a buffer: the oldest entries following after, or without after the newest.
func read[T any, P event.Pointer[T], E any](o *Observer, scope checkpoint.Scope, p ReadParams, pick func(*capture.View) *ring.View[T], match func(*T) bool, show func(EntryHead, *T) E) (*Listing[E], error) {
	limit := defaultLimit
	if p.Limit != nil {
		limit = *p.Limit
		if limit < 1 || limit > maxLimit {
			return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", limit, maxLimit)
		}
	}
	v := o.store.View(o.clock())
	if err := tabs.Check(v, scope, p.Tab); err != nil {
		return nil, err
	}
	view := pick(v)
	if p.After != nil && *p.After >= view.Next() {
		return nil, usererr.Invalid("after is %d, but the newest position is %d. Pass next from an earlier answer, or omit after for the newest entries.", *p.After, view.Next()-1)
	}
	page := &Listing[E]{Entries: []E{}, Evicted: view.Evicted()}
	type hit struct {
		pos uint64
		v   *T
	}
	var hits []hit
	for pos, entry := range view.From(0) {
		head := P(entry).Header()
		if !scope.Covers(head.Subject) || p.Tab != 0 && head.Tab() != p.Tab || !match(entry) {
			continue
		}
		page.Total++
		if p.After != nil && pos <= *p.After {
			continue
		}
		if p.After != nil && len(hits) > limit {
			continue // counted only
		}
		hits = append(hits, hit{pos, entry})
	}
	if len(hits) > limit {
		if p.After != nil {
			page.Next = hits[limit-1].pos
			hits = hits[:limit]
		} else {
			hits = hits[len(hits)-limit:]
		}
	}
	for _, h := range hits {
		head := P(h.v).Header()
		page.Entries = append(page.Entries, show(EntryHead{Position: h.pos, At: diff.Time{Time: head.Time()}, Tab: head.Tab(), Masked: head.Masked}, h.v))
	}
	if len(page.Entries) > 0 {
		page.PageText = diff.Untrusted
	}
	return page, nil
}

// LogsParams are the arguments of get_browser_logs.
type LogsParams struct {
	// Level is the lowest level to include: debug, log, info, warning or error.
	Level string `json:"level,omitempty"`
	// Search is a text that the message contains, in any case.
	Search string `json:"search,omitempty"`
	ReadParams
}

// LogEntry is one console entry.
type LogEntry struct {
	EntryHead
	Level   string `json:"level"`
	Via     string `json:"via"`
	Message string `json:"message"`
	Length  int    `json:"length,omitempty"`
	Source  string `json:"source,omitempty"`
	// Generated is true where Source is a line of generated code. Such lines of Stack end in "(generated)".
	Generated bool     `json:"generated,omitempty"`
	Stack     []string `json:"stack,omitempty"`
	Category  string   `json:"category,omitempty"`
	Target    string   `json:"target,omitempty"`
	// Joined is true for an entry that repeats a failed request or another error.
	Joined bool `json:"joined,omitempty"`
}

var getBrowserLogsTool = tool.New(tool.Definition{
	Name: "get_browser_logs", Title: "Console log", Effect: tool.Reads,
	Description: "List raw console entries with stacks. For details only: get_changes_since is cheaper.",
	Arguments: `
		"level":{"type":"string","enum":["debug","log","info","warning","error"],"description":"lowest level"},
		"search":{"type":"string"},` + paging,
}, (*Observer).Logs)

// Logs answers get_browser_logs.
func (o *Observer) Logs(ctx context.Context, client *checkpoint.Client, p LogsParams) (*Listing[LogEntry], error) {
	least := event.Debug
	if p.Level != "" {
		var ok bool
		if least, ok = event.ParseLevel(p.Level); !ok {
			return nil, usererr.Invalid("level is %q; it must be debug, log, info, warning or error", p.Level)
		}
	}
	search := strings.ToLower(p.Search)
	return WithPlaces(ctx, defaultTimeout, func(bool) (*Listing[LogEntry], *Places, error) { return o.logs(client, p, least, search) })
}

func (o *Observer) logs(client *checkpoint.Client, p LogsParams, least event.Level, search string) (*Listing[LogEntry], *Places, error) {
	var places *Places
	page, err := read[event.Console](o, client.Scope, p.ReadParams,
		func(v *capture.View) *ring.View[event.Console] {
			places = o.OriginalsIn(v)
			return v.Console()
		},
		func(c *event.Console) bool {
			return c.Level >= least && (search == "" || strings.Contains(strings.ToLower(c.Text), search))
		},
		func(h EntryHead, c *event.Console) LogEntry {
			source := c.URL
			if source != "" && c.Line > 0 {
				source = fmt.Sprintf("%s:%d:%d", c.URL, c.Line, c.Column)
			}
			generated := false
			if p, ok := places.Source(c); ok {
				source = fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
			} else {
				generated = places.Generated(c.Tab(), TopFrame(c))
			}
			return LogEntry{EntryHead: h, Level: c.Level.String(), Via: c.Via, Message: c.Text, Length: c.Length, Source: source, Generated: generated, Stack: places.Stack(c), Category: c.Category, Target: c.Target, Joined: c.Joined}
		})
	return page, places, err
}

// NetworkParams are the arguments of get_network_bodies.
type NetworkParams struct {
	Method string `json:"method,omitempty"`
	// URL is a part of the address.
	URL string `json:"url,omitempty"`
	// StatusMin is the lowest status to include. Requests that failed without a status always match.
	StatusMin int `json:"status_min,omitempty"`
	ReadParams
}

// NetworkEntry is one request.
type NetworkEntry struct {
	EntryHead
	Method          string            `json:"method"`
	URL             string            `json:"url"`
	Resource        string            `json:"resource,omitempty"`
	Status          int               `json:"status"`
	Error           string            `json:"error,omitempty"`
	Canceled        bool              `json:"canceled,omitempty"`
	DurationMs      float64           `json:"duration_ms"`
	Mime            string            `json:"mime,omitempty"`
	Size            int64             `json:"size,omitempty"`
	Cached          bool              `json:"cached,omitempty"`
	Stream          bool              `json:"stream,omitempty"`
	RequestHeaders  map[string]string `json:"request_headers,omitempty"`
	RequestBody     string            `json:"request_body,omitempty"`
	ResponseHeaders map[string]string `json:"response_headers,omitempty"`
	ResponseBody    string            `json:"response_body,omitempty"`
	BodyNote        string            `json:"body_note,omitempty"`
	Target          string            `json:"target,omitempty"`
	Backfilled      bool              `json:"backfilled,omitempty"`
}

var getNetworkBodiesTool = tool.New(tool.Definition{
	Name: "get_network_bodies", Title: "Requests", Effect: tool.Reads,
	Description: "List requests with headers and text bodies, secrets masked. Use it to see why a request failed.",
	Arguments: `
		"method":{"type":"string"},
		"url":{"type":"string","description":"part of the address"},
		"status_min":{"type":"integer","description":"400: failures only"},` + paging,
}, func(o *Observer, _ context.Context, c *checkpoint.Client, p NetworkParams) (*Listing[NetworkEntry], error) {
	return o.Network(c, p)
})

// Network answers get_network_bodies.
func (o *Observer) Network(client *checkpoint.Client, p NetworkParams) (*Listing[NetworkEntry], error) {
	if p.StatusMin < 0 || p.StatusMin > 599 {
		return nil, usererr.Invalid("status_min is %d; it must be from 0 to 599", p.StatusMin)
	}
	return read[event.Network](o, client.Scope, p.ReadParams,
		(*capture.View).Network,
		func(n *event.Network) bool {
			return (p.Method == "" || strings.EqualFold(p.Method, n.Method)) && strings.Contains(n.URL, p.URL) &&
				(n.Status >= p.StatusMin || n.Status < 400 && n.Failed())
		},
		func(h EntryHead, n *event.Network) NetworkEntry {
			return NetworkEntry{
				EntryHead: h, Method: n.Method, URL: n.URL, Resource: n.Resource, Status: n.Status, Error: n.Error, Canceled: n.Canceled,
				DurationMs: n.Duration, Mime: n.Mime, Size: n.Size, Cached: n.Cached, Stream: n.Stream,
				RequestHeaders: n.RequestHeaders, RequestBody: n.RequestBody, ResponseHeaders: n.ResponseHeaders, ResponseBody: n.ResponseBody,
				BodyNote: n.BodyNote, Target: n.Target, Backfilled: n.Backfilled,
			}
		})
}

// SocketParams are the arguments of get_websocket_events.
type SocketParams struct {
	URL string `json:"url,omitempty"`
	ReadParams
}

// SocketEntry is one event of a connection.
type SocketEntry struct {
	EntryHead
	Connection string `json:"connection"`
	URL        string `json:"url"`
	Event      string `json:"event"`
	Text       string `json:"text,omitempty"`
	Size       int    `json:"size,omitempty"`
	Binary     bool   `json:"binary,omitempty"`
	Code       int    `json:"code,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

var getWebsocketEventsTool = tool.New(tool.Definition{
	Name: "get_websocket_events", Title: "WebSocket events", Effect: tool.Reads,
	Description: "List WebSocket connections and frames.",
	Arguments: `
		"url":{"type":"string","description":"part of the address"},` + paging,
}, func(o *Observer, _ context.Context, c *checkpoint.Client, p SocketParams) (*Listing[SocketEntry], error) {
	return o.Sockets(c, p)
})

// Sockets answers get_websocket_events.
func (o *Observer) Sockets(client *checkpoint.Client, p SocketParams) (*Listing[SocketEntry], error) {
	return read[event.WebSocket](o, client.Scope, p.ReadParams,
		(*capture.View).WebSocket,
		func(w *event.WebSocket) bool { return strings.Contains(w.URL, p.URL) },
		func(h EntryHead, w *event.WebSocket) SocketEntry {
			return SocketEntry{EntryHead: h, Connection: w.ID, URL: w.URL, Event: w.Op, Text: w.Text, Size: w.Size, Binary: w.Binary, Code: w.Code, Reason: w.Reason}
		})
}

// ActionsParams are the arguments of get_enhanced_actions.
type ActionsParams struct{ ReadParams }

// ActionEntry is one action.
type ActionEntry struct {
	EntryHead
	Type     string `json:"type"`
	Target   string `json:"target"`
	Selector string `json:"selector,omitempty"`
	Value    string `json:"value,omitempty"`
	// By is "agent" for what an agent did, "" for the user.
	By string `json:"by,omitempty"`
}

var getEnhancedActionsTool = tool.New(tool.Definition{
	Name: "get_enhanced_actions", Title: "User actions", Effect: tool.Reads,
	Description: "List what was done in the browser: clicks, typing, navigation, by the user or by an agent.",
	Arguments:   paging,
}, func(o *Observer, _ context.Context, c *checkpoint.Client, p ActionsParams) (*Listing[ActionEntry], error) {
	return o.Actions(c, p)
})

// Actions answers get_enhanced_actions.
func (o *Observer) Actions(client *checkpoint.Client, p ActionsParams) (*Listing[ActionEntry], error) {
	return read[event.Action](o, client.Scope, p.ReadParams,
		(*capture.View).Actions,
		func(*event.Action) bool { return true },
		func(h EntryHead, a *event.Action) ActionEntry {
			e := ActionEntry{EntryHead: h, Type: a.Type, Target: a.Target, Selector: a.Selector, Value: a.Value}
			if o.byAgent != nil && o.byAgent(a.Tab(), a.At) {
				e.By = "agent"
			}
			return e
		})
}
