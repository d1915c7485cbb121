package protocol

// The types below belong to the methods that the panel, the side panel and the dashboard call on the host
// (host/internal/viewer/methods.go). A tab is the host's number as listed in [ViewOverview]; 0 means all tabs. A moment
// is a checkpoint name, a time (RFC 3339), "start" (of the entries in memory) or "now".
//
// The tags of parameters beside json describe the live API, and limit what it accepts.

// Lanes of the timeline. The first five are the buffers'.
const (
	LaneConsole   = "console"
	LaneNetwork   = "network"
	LaneWebSocket = "websocket"
	LaneDOM       = "dom"
	LaneActions   = "actions"
	LaneVariables = "variables"
	LaneFiles     = "files"
	LaneCalls     = "calls"
)

// Severities of one entry of a lane, as characters of [ViewLane].
const (
	MarkClean   = '0'
	MarkWarning = '1'
	MarkError   = '2'
	// MarkHidden is a warning or an error hidden by noise rules.
	MarkHidden = '3'
)

// ViewParams select a tab and its scope.
type ViewParams struct {
	Tab int `json:"tab,omitempty"`
}

// ViewOverview lists connections and watched tabs with their status.
type ViewOverview struct {
	Host string `json:"host"`
	// Severity and Summary cover the time since the newest checkpoint, named by Since, or all entries in memory.
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Since    string `json:"since,omitempty"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// Scope lists the origins of the tab's checkpoints; empty means all.
	Scope    []string      `json:"scope,omitempty"`
	Tabs     []ViewTab     `json:"tabs"`
	Browsers []ViewBrowser `json:"browsers"`
	Agents   []ViewAgent   `json:"agents"`
	// Notices are messages for the user, about unused noise rules or data that is not kept.
	Notices []string `json:"notices,omitempty"`
	Masked  int      `json:"masked,omitempty"`
}

// ViewTab is a tab of any browser.
type ViewTab struct {
	ID    int    `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title"`
	// BrowserID is the browser's id of the tab. Own is true if it is in the requesting browser.
	BrowserID int    `json:"browser_id,omitempty"`
	Own       bool   `json:"own,omitempty"`
	Watched   bool   `json:"watched,omitempty"`
	Active    bool   `json:"active,omitempty"`
	Capture   string `json:"capture,omitempty"`
	Note      string `json:"note,omitempty"`
	Severity  string `json:"severity,omitempty"`
	// Paused is set while the page is paused in the debugger.
	Paused *TabPaused `json:"paused,omitempty"`
	// PausedPart is set while the page runs but one of its workers, or a frame in its own process, is paused.
	PausedPart *TabPaused `json:"paused_part,omitempty"`
}

// ViewBrowser is a browser that is or was connected.
type ViewBrowser struct {
	Name      string `json:"name"`
	Extension string `json:"extension"`
	Connected bool   `json:"connected"`
	// Paused is set while the user has paused watching there.
	Paused bool `json:"paused,omitempty"`
}

// ViewAgent is an agent that is connected or has made calls since the host started.
type ViewAgent struct {
	// ID identifies it until the host restarts.
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Scope   []string `json:"scope,omitempty"`
	Since   string   `json:"since"`
	Here    bool     `json:"here,omitempty"`
	Held    bool     `json:"held,omitempty"`
	Calls   int      `json:"calls,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`
	RawRead int      `json:"raw_read,omitempty"`
	// Acts is its current or last action; absent before the first one.
	Acts *ViewActs `json:"acts,omitempty"`
}

// ViewActs is an agent's current or last action.
type ViewActs struct {
	Tab int `json:"tab"`
	// Title is the tab's title, else its address; "" if it is closed.
	Title string `json:"title,omitempty"`
	// What describes the action in a few words. Now is true while it runs.
	What string `json:"what"`
	Now  bool   `json:"now,omitempty"`
	// Since is the start of the last action.
	Since string `json:"since"`
	// Stopped is true after the user stopped the agent, until the user allows it again.
	Stopped bool `json:"stopped,omitempty"`
}

// ViewPositions are cursors: the next position to read in each lane, by name. A lane that is missing, or 0, is at its
// beginning.
type ViewPositions map[string]uint64

// ViewTimelineParams request the timeline from given positions on.
type ViewTimelineParams struct {
	Tab   int           `json:"tab,omitempty"`
	After ViewPositions `json:"after,omitzero" doc:"The position to continue the lane from: next of the last answer"`
	// Limit is the maximum number of entries; 0 means 20000.
	Limit int `json:"limit,omitempty" minimum:"1" maximum:"50000" default:"20000" doc:"Maximum number of entries"`
	// WaitMs is how long to wait for new entries, in milliseconds. Marks is that of the last answer: a change of it
	// also ends the wait.
	WaitMs int    `json:"wait_ms,omitempty" minimum:"0" maximum:"25000" doc:"How long to wait for new entries, in milliseconds"`
	Marks  string `json:"marks,omitempty" doc:"marks of the last answer; a change of marks ends the wait too"`
}

// ViewTimeline is the timeline from given positions on.
type ViewTimeline struct {
	// Now is the time of the answer, Start that of the oldest entry in memory, in milliseconds since the Unix epoch.
	Now   int64 `json:"now"`
	Start int64 `json:"start"`
	// Store changes when positions are reset: cached positions are then invalid.
	Store string     `json:"store"`
	Lanes []ViewLane `json:"lanes"`
	// First are the oldest positions in memory. Next are the positions to continue from.
	First ViewPositions `json:"first"`
	Next  ViewPositions `json:"next"`
	// Held is the time, in milliseconds, from which a lane with evicted entries is in memory. Other lanes are
	// complete.
	Held map[string]int64 `json:"held,omitempty"`
	// More is true if more entries are available now.
	More bool `json:"more,omitempty"`
	// Marks identifies the state of everything but entries: checkpoints, tabs, agents, noise rules, gaps. If it differs
	// from the one in the request, Gaps lists all gaps.
	Marks string    `json:"marks"`
	Gaps  []ViewGap `json:"gaps,omitempty"`
}

// ViewLane is consecutive entries of one lane in compact form.
type ViewLane struct {
	Lane string `json:"lane"`
	// Position and Time are those of the first entry. Positions and Times are the increments of the later entries.
	// Without Positions, each increment is one.
	Position  uint64  `json:"position"`
	Time      int64   `json:"time"`
	Positions []int64 `json:"positions,omitempty"`
	Times     []int64 `json:"times"`
	// Marks has one character per entry, its severity.
	Marks string `json:"marks"`
}

// ViewGap is a gap in coverage. To is 0 while it lasts.
type ViewGap struct {
	From    int64  `json:"from"`
	To      int64  `json:"to,omitempty"`
	Reason  string `json:"reason"`
	Tab     int    `json:"tab,omitempty"`
	Dropped int    `json:"dropped,omitempty"`
}

// ViewCheckpoints are the checkpoints of a scope, oldest first.
type ViewCheckpoints struct {
	Checkpoints []ViewCheckpoint `json:"checkpoints"`
	// Now is the time since Since: the newest checkpoint of all watched tabs that are shown, or "start".
	Now   ViewSpan `json:"now"`
	Since string   `json:"since"`
	// Most is the maximum number of checkpoints.
	Most int `json:"most"`
}

// ViewSpan is the outcome of a span of time.
type ViewSpan struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// NotObserved is true when there were coverage gaps.
	NotObserved bool `json:"not_observed,omitempty"`
}

// ViewCheckpoint is a checkpoint and the outcome since the previous one, or since the beginning.
type ViewCheckpoint struct {
	Name string `json:"name"`
	// Moment identifies it in requests: its name, followed by "@" and its scope if other visible checkpoints have the
	// same name.
	Moment string `json:"moment"`
	// At is in milliseconds since the Unix epoch.
	At   int64  `json:"at"`
	Note string `json:"note,omitempty"`
	// Scope is set if it is not the scope of the tab.
	Scope string   `json:"scope,omitempty"`
	Since ViewSpan `json:"since"`
}

// ViewReportParams name two moments. To defaults to "now", From to the newest checkpoint before To, or to
// "start".
type ViewReportParams struct {
	Tab  int    `json:"tab,omitempty"`
	From string `json:"from,omitempty" doc:"A moment; empty: the newest checkpoint before 'to', else start"`
	To   string `json:"to,omitempty" doc:"A moment; empty: now"`
	// Severity is the minimum severity: all (also ""), warnings, errors_only.
	Severity string `json:"severity,omitempty" enum:"all,warnings,errors_only" default:"all" doc:"The lowest severity to show"`
}

// ViewReport is a report with the entries behind it.
type ViewReport struct {
	// Report is the same report that an agent gets.
	Report any `json:"report" tstype:"Report"`
	// From and To are the moments, resolved.
	From     string `json:"from"`
	To       string `json:"to"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// Refs belong to the report's lists, by name ("console.new_errors"), in the same order.
	Refs map[string][]ViewRef `json:"refs"`
}

// ViewRef lists the entries behind a line of a report.
type ViewRef struct {
	Lane string `json:"lane"`
	// Positions are those of the newest entries, oldest first.
	Positions []uint64 `json:"positions"`
	Source    *Place   `json:"source,omitempty"`
	// Finding identifies it for a noise rule.
	Finding *Finding `json:"finding,omitempty"`
	// Latency has an endpoint's requests, including those before the window.
	Latency []Latency `json:"latency,omitempty"`
	// Tab is where it happened.
	Tab int `json:"tab,omitempty"`
	// Selector finds the element in the tab's page. Overlay is true for the error overlay of a development server, which is an error.
	Selector string `json:"selector,omitempty"`
	Overlay  bool   `json:"overlay,omitempty"`
}

// Place is a place in code. File, FileLine and FileColumn are the original place, if known.
type Place struct {
	URL        string `json:"url"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	File       string `json:"file,omitempty"`
	FileLine   int    `json:"file_line,omitempty"`
	FileColumn int    `json:"file_column,omitempty"`
	// Generated is true for a place in generated code whose original is not known.
	Generated bool `json:"generated,omitempty"`
}

// Latency is the duration of a request.
type Latency struct {
	// At is in milliseconds since the Unix epoch. Ms is the duration in milliseconds.
	At     int64   `json:"at"`
	Ms     float64 `json:"ms"`
	Status int     `json:"status"`
	Failed bool    `json:"failed,omitempty"`
	// Before is true for a request before the window.
	Before bool `json:"before,omitempty"`
}

// ViewEntriesParams request entries: those of one lane at positions, or those that match.
type ViewEntriesParams struct {
	Tab int `json:"tab,omitempty"`
	// From and To are moments. Severity is the minimum (all, warnings, errors_only).
	From     string `json:"from,omitempty" doc:"A moment; empty: the newest checkpoint before 'to', else start"`
	To       string `json:"to,omitempty" doc:"A moment; empty: now"`
	Severity string `json:"severity,omitempty" enum:"all,warnings,errors_only" default:"all" doc:"The lowest severity to show"`
	// Positions are positions in Lane. The filters do not apply to them.
	Lane      string   `json:"lane,omitempty" enum:"(sections)" doc:"The lane of positions"`
	Positions []uint64 `json:"positions,omitempty" maxItems:"5000" doc:"Only these entries of the lane"`
	// Lanes are the lanes to search, empty for all buffers. Text is a substring, case-insensitive.
	Lanes []string `json:"lanes,omitempty" doc:"The lanes to search; empty: all"`
	Text  string   `json:"text,omitempty" doc:"Text that the entries contain, case-insensitive"`
	// Limit is the maximum number of entries, the newest ones; 0 means 500, at most 5000. Brief omits headers, bodies and
	// stacks.
	Limit int  `json:"limit,omitempty" minimum:"1" maximum:"5000" default:"500" doc:"Maximum number of entries; the newest are returned"`
	Brief bool `json:"brief,omitempty" doc:"Leave out headers, bodies and stacks"`
}

// ViewEntries are entries, oldest first.
type ViewEntries struct {
	Entries []ViewEntry `json:"entries"`
	// Total counts the matching entries. Missing counts requested positions that are no longer in memory.
	Total   int `json:"total"`
	Missing int `json:"missing,omitempty"`
}

// ViewEntry is one entry of a lane.
type ViewEntry struct {
	Lane     string `json:"lane"`
	Position uint64 `json:"position"`
	// At is in milliseconds since the Unix epoch.
	At  int64 `json:"at"`
	Tab int   `json:"tab"`
	// Mark is its severity, as in [ViewLane].
	Mark   string `json:"mark"`
	Masked int    `json:"masked,omitempty"`
	// Text is the message, the frame's text, the element's text, the action's target or the file's path.
	Text string `json:"text,omitempty"`
	// Kind is the level, the resource, the frame's direction, the change or the action.
	Kind   string   `json:"kind"`
	Via    string   `json:"via,omitempty"`
	Length int      `json:"length,omitempty"`
	Source *Place   `json:"source,omitempty"`
	Stack  []string `json:"stack,omitempty"`

	Method          string            `json:"method,omitempty"`
	URL             string            `json:"url,omitempty"`
	Status          int               `json:"status,omitempty"`
	Error           string            `json:"error,omitempty"`
	Started         int64             `json:"started,omitempty"`
	DurationMs      float64           `json:"duration_ms,omitempty"`
	Mime            string            `json:"mime,omitempty"`
	Size            int64             `json:"size,omitempty"`
	Cached          bool              `json:"cached,omitempty"`
	RequestHeaders  map[string]string `json:"request_headers,omitempty"`
	RequestBody     string            `json:"request_body,omitempty"`
	ResponseHeaders map[string]string `json:"response_headers,omitempty"`
	ResponseBody    string            `json:"response_body,omitempty"`
	BodyNote        string            `json:"body_note,omitempty"`

	Code     int    `json:"code,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Selector string `json:"selector,omitempty"`
	Value    string `json:"value,omitempty"`
	From     string `json:"from,omitempty"`

	// Workspace is the path of the workspace in which a file changed, Snapshot the number of its first snapshot with the
	// change.
	Workspace string `json:"workspace,omitempty"`
	Snapshot  uint64 `json:"snapshot,omitempty"`
}

// ViewHidden lists the entries hidden by noise rules, the most frequent first.
type ViewHidden struct {
	Entries []HiddenEntry `json:"entries"`
	Omitted int           `json:"omitted,omitempty"`
}

// HiddenEntry is one distinct hidden entry with the reason.
type HiddenEntry struct {
	Finding `tstype:",extends"`
	Because string `json:"because"`
	// Rule identifies the rule, if view_unignore can remove it.
	Rule string `json:"rule,omitempty"`
}

// ViewCallsParams request agents' calls: the newest, or those at positions with arguments and answers.
type ViewCallsParams struct {
	Agent     int      `json:"agent,omitempty" minimum:"0"`
	Positions []uint64 `json:"positions,omitempty" maxItems:"5000" doc:"Only these calls, with arguments and answer"`
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	// Limit is the maximum number of calls, the newest ones; 0 means 500.
	Limit int `json:"limit,omitempty" minimum:"1" maximum:"5000" default:"500"`
}

// ViewCalls are calls, oldest first.
type ViewCalls struct {
	Calls []ViewCall `json:"calls"`
	// Total counts the matching calls. Forgotten counts those no longer in memory.
	Total     int    `json:"total"`
	Forgotten uint64 `json:"forgotten,omitempty"`
	// Since is the start of this daemon, in milliseconds since the Unix epoch. Earlier calls are not kept.
	Since int64 `json:"since"`
}

// ViewCall is one call of a tool by an agent.
type ViewCall struct {
	Position uint64 `json:"position"`
	// At is in milliseconds since the Unix epoch. Ms is the duration in milliseconds.
	At        int64   `json:"at"`
	Ms        float64 `json:"ms"`
	Agent     int     `json:"agent"`
	AgentName string  `json:"agent_name"`
	Tool      string  `json:"tool"`
	// Tokens is the size of the answer, estimated. RawRead is the estimate for reading the same data raw;
	// 0 where it does not apply.
	Tokens  int  `json:"tokens"`
	RawRead int  `json:"raw_read,omitempty"`
	Failed  bool `json:"failed,omitempty"`
	// Gist is the answer in one line. Arguments and Answer are as sent. Cut is true if only the first part of the
	// answer was kept.
	Gist      string `json:"gist,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Cut       bool   `json:"cut,omitempty"`
}

// ViewHoldParams suspend an agent or allow it again.
type ViewHoldParams struct {
	Agent int  `json:"agent" path:"agent"`
	Held  bool `json:"held"`
}

// ViewRenameParams rename a checkpoint.
type ViewRenameParams struct {
	Tab  int    `json:"tab,omitempty"`
	Name string `json:"name" path:"name"`
	To   string `json:"to" maxLength:"50"`
}

// ViewDeleteParams name a checkpoint.
type ViewDeleteParams struct {
	Tab  int    `json:"tab,omitempty"`
	Name string `json:"name" path:"name"`
}

// ViewPageParams select a tab whose accessibility tree is compared with an earlier one.
type ViewPageParams struct {
	Tab int `json:"tab"`
	// Anew discards the earlier tree.
	Anew bool `json:"anew,omitempty"`
}

// ViewPage is a page's accessibility tree in lines, and the earlier one.
type ViewPage struct {
	At       int64  `json:"at"`
	Now      string `json:"now"`
	BeforeAt int64  `json:"before_at,omitempty"`
	Before   string `json:"before,omitempty"`
}
