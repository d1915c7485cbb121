package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/inflight"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/rawcost"
	"tidemark.dev/tidemark/host/internal/rawtext"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Limits of a raw read, in entries and in tokens. The default ones are those of [rawcost].
const maxLimit, minMaxTokens = 1000, 100

// Older is added to a position that is passed as after, which then requests the newest entries before it. No buffer has as many.
const Older = 1_000_000_000_000

// Listing is a page of a buffer. Agents get it as lines unless they request JSON.
type Listing[T any] struct {
	// PageText is [report.Untrusted] when there are entries, because they quote pages.
	PageText string `json:"page_text,omitempty"`
	Entries  []T    `json:"entries"`
	// Next is what to pass as after for the entries that this page does not have, nil at the end: the position of its last entry, or
	// where it has the newest entries, [Older] and the position of its first.
	Next *uint64 `json:"next,omitempty"`
	// Left counts the entries within the limit that did not fit max_tokens.
	Left int `json:"left_out,omitempty"`
	// Files counts the requests that are not listed: the loaded page, and its scripts, style sheets, fonts and pictures.
	Files int `json:"files,omitempty"`
	// Open are the newest requests that match and have not ended, oldest first. OpenTotal counts them all.
	Open      []inflight.Request `json:"open,omitempty"`
	OpenTotal int                `json:"open_total,omitempty"`
	// Missing are requested positions that no entry in memory and scope has.
	Missing []uint64 `json:"missing,omitempty"`
	// Total counts the kept entries that match.
	Total int `json:"total"`
	// Evicted counts the entries of the whole buffer that are no longer kept.
	Evicted uint64 `json:"evicted"`

	lines  func(*Listing[T]) string
	asJSON bool
	beyond int // how many older entries the limit left out of a page of the newest ones
}

// AgentLines returns the listing in lines, and false if the agent requested JSON.
func (l *Listing[T]) AgentLines() (string, bool) {
	if l.lines == nil || l.asJSON {
		return "", !l.asJSON
	}
	return l.lines(l), true
}

// ReadParams are the arguments of every raw read.
type ReadParams struct {
	After     *uint64 `json:"after,omitempty"`
	Limit     *int    `json:"limit,omitempty"`
	Tab       int     `json:"tab,omitempty"`
	MaxTokens *int    `json:"max_tokens,omitempty"`
	// Format is lines (the default) or json.
	Format string `json:"format,omitempty"`
}

// EntryHead begins every entry of a raw read.
type EntryHead struct {
	Position uint64      `json:"position"`
	At       report.Time `json:"at"`
	Tab      int         `json:"tab"`
	Masked   int         `json:"masked,omitempty"`
	// Cut names the parts of the entry that were shortened to fit max_tokens.
	Cut []string `json:"cut,omitempty"`

	// key is what equal entries had in common before they were cut.
	key string
}

// a reading is a raw read of the buffer of T whose entries are shown as E.
type reading[T, E any] struct {
	pick  func(*capture.View) *ring.View[T]
	match func(uint64, *T) bool
	show  func(EntryHead, *T) E
	// file reports whether an entry that matches is only counted as a file; nil: none is.
	file func(*T) bool
	// open returns the newest entries that have not ended, and counts all; nil: there are none of the kind.
	open func() ([]inflight.Request, int)
	// what are the entries, in the plural.
	what string
}

// bounds are the checked arguments of a raw read.
type bounds struct {
	limit, tokens int
	asJSON        bool
}

func (p *ReadParams) check() (b bounds, err error) {
	b = bounds{limit: rawcost.Entries, tokens: rawcost.Tokens, asJSON: p.Format == "json"}
	if p.Limit != nil {
		if b.limit = *p.Limit; b.limit < 1 || b.limit > maxLimit {
			return b, usererr.Invalid("limit is %d; it must be from 1 to %d", b.limit, maxLimit)
		}
	}
	if p.MaxTokens != nil {
		if b.tokens = *p.MaxTokens; b.tokens < minMaxTokens {
			return b, usererr.Invalid("max_tokens is %d; it must be %d or more", b.tokens, minMaxTokens)
		}
	}
	if p.Format != "" && p.Format != "lines" && p.Format != "json" {
		return b, usererr.Invalid("format is %q; it must be lines or json", p.Format)
	}
	return b, nil
}

// hit is an entry that matches.
type hit[T any] struct {
	pos uint64
	v   *T
}

// read returns a page of a buffer: the oldest entries following after, or the newest, of all or of those before a position.
func read[T any, P event.Pointer[T], E any, R rawEntry[E]](v *capture.View, scope checkpoint.Scope, p ReadParams, r reading[T, E]) (*Listing[E], error) {
	b, err := p.check()
	if err != nil {
		return nil, err
	}
	if err := tabs.Check(v, scope, p.Tab); err != nil {
		return nil, err
	}
	view := r.pick(v)
	newest, before := p.After == nil, view.Next()
	if p.After != nil && *p.After > Older && *p.After-Older <= before {
		newest, before = true, *p.After-Older
	} else if p.After != nil && *p.After >= before {
		return nil, usererr.Invalid("after is %d, but the newest position is %d. Pass next from an earlier answer, or omit after for the newest entries.", *p.After, before-1)
	}
	page := &Listing[E]{Entries: []E{}, Evicted: view.Evicted(), asJSON: b.asJSON, lines: func(l *Listing[E]) string { return text[E, R](l, r.what, newest) }}
	var hits []hit[T]
	for pos, entry := range view.From(0) {
		head := P(entry).Header()
		if !scope.Covers(head.Subject) || p.Tab != 0 && head.Tab() != p.Tab || !r.match(pos, entry) {
			continue
		}
		if r.file != nil && r.file(entry) {
			page.Files++
			continue
		}
		page.Total++
		if newest && pos >= before || !newest && (pos <= *p.After || len(hits) > b.limit) {
			continue // counted only
		}
		if hits = append(hits, hit[T]{pos, entry}); newest && len(hits) > b.limit {
			hits = hits[1:]
			page.beyond++
		}
	}
	more := page.beyond > 0 || len(hits) > b.limit
	hits = hits[:min(len(hits), b.limit)]
	if r.open != nil && p.After == nil { // the later pages of a read repeat none
		open, total := r.open()
		kept, need := inflight.Fit(open, min(b.tokens/2, b.tokens-around-minMaxTokens/2), b.asJSON)
		page.Open, page.OpenTotal = kept, total
		b.tokens -= need
	}
	taken := fill[T, P, E, R](page, hits, b, newest, r.show)
	page.Left = len(hits) - taken
	if more || page.Left > 0 {
		var next uint64
		if next = hits[taken-1].pos; newest {
			next = Older + hits[page.Left].pos
		}
		page.Next = &next
	}
	if len(page.Entries) > 0 || page.OpenTotal > 0 {
		page.PageText = report.Untrusted
	}
	return page, nil
}

// fill adds entries to a page until they need more tokens than allowed: from the oldest on, or from the newest. It returns
// how many it added. The first one is added however long it is, cut to fit.
func fill[T any, P event.Pointer[T], E any, R rawEntry[E]](page *Listing[E], hits []hit[T], b bounds, newest bool, show func(EntryHead, *T) E) (taken int) {
	most := max(b.tokens-around, minMaxTokens/2)
	each := max(most/min(max(len(hits), 1), 4), min(most, leastEntry))
	used := 0
	var known rawtext.Folder
	for ; taken < len(hits); taken++ {
		h := hits[taken]
		if newest {
			h = hits[len(hits)-1-taken]
		}
		head := P(h.v).Header()
		e := show(EntryHead{Position: h.pos, At: report.Time{Time: head.Time()}, Tab: head.Tab(), Masked: head.Masked}, h.v)
		R(&e).head().key = R(&e).same()
		if b.asJSON || !known.Has(traits[E, R](&e)) {
			need := fit[E, R](&e, each, b.asJSON)
			if b.asJSON || !known.Has(traits[E, R](&e)) {
				used += need
			}
		}
		if used > most && taken > 0 {
			break
		}
		known.Add(traits[E, R](&e))
		page.Entries = append(page.Entries, e)
	}
	slices.SortStableFunc(page.Entries, func(a, b E) int {
		return cmp.Or(R(&a).at().Compare(R(&b).at()), cmp.Compare(R(&a).head().Position, R(&b).head().Position))
	})
	return taken
}

// leastEntry is how many tokens an entry may have at least, if max_tokens allows as many.
const leastEntry = 150

// fit cuts an entry to about so many tokens, and returns how many it needs.
func fit[E any, R rawEntry[E]](e *E, most int, asJSON bool) (need int) {
	whole := *e
	for share := most; ; {
		*e = whole
		R(e).shrink(share)
		need = cost[E, R](e, asJSON)
		if need <= most || share < 20 {
			return need
		}
		share = share * most / need * 9 / 10
	}
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

	page string // the page's origin
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
	search, rules := strings.ToLower(p.Search), o.rules.Of(client).Rules
	return WithPlaces(ctx, defaultTimeout, func(bool) (*Listing[LogEntry], *Places, error) {
		v := o.store.View(o.clock())
		places := o.OriginalsIn(v)
		page, err := read[event.Console](v, client.Scope, p.ReadParams, reading[event.Console, LogEntry]{
			pick: (*capture.View).Console,
			match: func(_ uint64, c *event.Console) bool {
				return levelOf(c, rules) >= least && (search == "" || strings.Contains(strings.ToLower(c.Text), search))
			},
			show: func(h EntryHead, c *event.Console) LogEntry { return logEntry(h, c, levelOf(c, rules), places) },
			what: "console entries",
		})
		return page, places, err
	})
}

// levelOf returns the level at which reports have an entry.
func levelOf(c *event.Console, rules *noise.Rules) event.Level {
	as, _, _ := rules.Stale(c)
	return as
}

func logEntry(h EntryHead, c *event.Console, level event.Level, places *Places) LogEntry {
	f, at, known := places.Source(c)
	source, generated := f.URL, false
	switch {
	case known:
		source = fmt.Sprintf("%s:%d:%d", at.Source, at.Line, at.Column)
	case source != "" && f.Line > 0:
		source = fmt.Sprintf("%s:%d:%d", f.URL, f.Line, f.Column)
		generated = places.Generated(c.Tab(), f)
	}
	return LogEntry{
		EntryHead: h, Level: level.String(), Via: c.Via, Message: c.Text, Length: c.Length, Source: source, Generated: generated, Stack: places.Stack(c),
		Category: c.Category, Target: c.Target, Joined: c.Joined, page: c.Origin(),
	}
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
	// Status is the HTTP status of a refused handshake.
	Status int `json:"status,omitempty"`
	// Initiator is the code that opened the connection; Generated is true where that is generated code.
	Initiator string `json:"initiator,omitempty"`
	Generated bool   `json:"generated,omitempty"`

	page string // the page's origin
}

var getWebsocketEventsTool = newRawTool(tool.Definition{
	Name: "get_websocket_events", Title: "WebSocket events", Effect: tool.Reads,
	Description: "List WebSocket connections and frames.",
	Arguments: `
		"url":{"type":"string","description":"part of the address"},` + paging,
}, readSockets)

// readSockets answers get_websocket_events.
func readSockets(ctx context.Context, o *Observer, client *checkpoint.Client, p SocketParams) (*Listing[SocketEntry], error) {
	return WithPlaces(ctx, defaultTimeout, func(bool) (*Listing[SocketEntry], *Places, error) {
		v := o.store.View(o.clock())
		places := o.OriginalsIn(v)
		page, err := read[event.WebSocket](v, client.Scope, p.ReadParams, reading[event.WebSocket, SocketEntry]{
			pick:  (*capture.View).WebSocket,
			match: func(_ uint64, w *event.WebSocket) bool { return strings.Contains(w.URL, p.URL) },
			show:  func(h EntryHead, w *event.WebSocket) SocketEntry { return socketEntry(h, w, places) },
			what:  "WebSocket events",
		})
		return page, places, err
	})
}

func socketEntry(h EntryHead, w *event.WebSocket, places *Places) SocketEntry {
	e := SocketEntry{
		EntryHead: h, Connection: w.ID, URL: w.URL, Event: w.Op, Text: w.Text, Size: w.Size, Binary: w.Binary, Code: w.Code, Reason: w.Reason, Status: w.Status,
		page: w.Origin(),
	}
	e.Initiator, e.Generated = places.Initiator(w)
	return e
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

var getEnhancedActionsTool = newRawTool(tool.Definition{
	Name: "get_enhanced_actions", Title: "User actions", Effect: tool.Reads,
	Description: "List what was done in the browser: clicks, typing, navigation, by the user or by an agent.",
	Arguments:   paging,
}, readActions)

// readActions answers get_enhanced_actions.
func readActions(_ context.Context, o *Observer, client *checkpoint.Client, p ActionsParams) (*Listing[ActionEntry], error) {
	return read[event.Action](o.store.View(o.clock()), client.Scope, p.ReadParams, reading[event.Action, ActionEntry]{
		pick:  (*capture.View).Actions,
		match: func(uint64, *event.Action) bool { return true },
		show: func(h EntryHead, a *event.Action) ActionEntry {
			e := ActionEntry{EntryHead: h, Type: a.Type, Target: a.Target, Selector: a.Selector, Value: a.Value}
			if o.byAgent != nil && o.byAgent(a.Tab(), a.At) {
				e.By = "agent"
			}
			return e
		},
		what: "actions",
	})
}
