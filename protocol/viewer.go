package protocol

// Methods of the viewer: what the panel, the side panel and the dashboard ask of the host. A tab is the
// host's own number of it, as [ViewOverview] lists them; 0 is all tabs. A moment is a checkpoint's name, a
// time (RFC 3339), "start" (of what is held) or "now".
const (
	// MethodViewOverview takes [ViewParams] and answers with [ViewOverview].
	MethodViewOverview = "view_overview"
	// MethodViewTimeline takes [ViewTimelineParams] and answers with [ViewTimeline]; also waits for what is new.
	MethodViewTimeline = "view_timeline"
	// MethodViewCheckpoints takes [ViewParams] and answers with [ViewCheckpoints].
	MethodViewCheckpoints = "view_checkpoints"
	// MethodViewReport takes [ViewReportParams] and answers with [ViewReport].
	MethodViewReport = "view_report"
	// MethodViewEntries takes [ViewEntriesParams] and answers with [ViewEntries].
	MethodViewEntries = "view_entries"
	// MethodViewHidden takes [ViewReportParams] and answers with [ViewHidden].
	MethodViewHidden = "view_hidden"
	// MethodViewCalls takes [ViewCallsParams] and answers with [ViewCalls].
	MethodViewCalls = "view_calls"
	// MethodViewHold takes [ViewHoldParams] and answers with {}. An action that is under way ends with it.
	MethodViewHold = "view_hold"
	// MethodViewStop takes [StopAgentParams] and answers with {}.
	MethodViewStop = "view_stop"
	// MethodViewCheckpointCreate takes [CheckpointParams] and answers with [CheckpointResult].
	MethodViewCheckpointCreate = "view_checkpoint_create"
	// MethodViewCheckpointRename takes [ViewRenameParams] and answers with {}.
	MethodViewCheckpointRename = "view_checkpoint_rename"
	// MethodViewCheckpointDelete takes [ViewDeleteParams] and answers with {}.
	MethodViewCheckpointDelete = "view_checkpoint_delete"
	// MethodViewIgnore takes [IgnoreParams] and answers with [IgnoreResult].
	MethodViewIgnore = "view_ignore"
	// MethodViewUnignore takes [UnignoreParams] and answers with {}.
	MethodViewUnignore = "view_unignore"
	// MethodViewPage takes [ViewPageParams] and answers with [ViewPage].
	MethodViewPage = "view_page"
)

// Lanes of the timeline. The first five are the buffers'.
const (
	LaneConsole   = "console"
	LaneNetwork   = "network"
	LaneWebSocket = "websocket"
	LaneDOM       = "dom"
	LaneActions   = "actions"
	LaneCalls     = "calls"
)

// Severities of one entry of a lane, as characters of [ViewLane].
const (
	MarkClean   = '0'
	MarkWarning = '1'
	MarkError   = '2'
	// MarkHidden is a warning or an error that noise rules keep out of reports.
	MarkHidden = '3'
)

// ViewParams narrow to a tab and its scope.
type ViewParams struct {
	Tab int `json:"tab,omitempty"`
}

// ViewOverview is what is connected and watched, and how it stands.
type ViewOverview struct {
	Host string `json:"host"`
	// Severity and Summary speak of the time since the newest checkpoint, named by Since, or of all that is held.
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Since    string `json:"since,omitempty"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// Scope is the origins that the tab's checkpoints belong to; empty is everything.
	Scope    []string      `json:"scope,omitempty"`
	Tabs     []ViewTab     `json:"tabs"`
	Browsers []ViewBrowser `json:"browsers"`
	Agents   []ViewAgent   `json:"agents"`
	// Notices are what a person should know: noise rules that are not used, what is not kept.
	Notices []string `json:"notices,omitempty"`
	Masked  int      `json:"masked,omitempty"`
}

// ViewTab is a tab of any browser.
type ViewTab struct {
	ID    int    `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title"`
	// BrowserID is the browser's own id of it; Own says that the browser is the asker's.
	BrowserID int    `json:"browser_id,omitempty"`
	Own       bool   `json:"own,omitempty"`
	Watched   bool   `json:"watched,omitempty"`
	Active    bool   `json:"active,omitempty"`
	Capture   string `json:"capture,omitempty"`
	Note      string `json:"note,omitempty"`
	Severity  string `json:"severity,omitempty"`
	// Paused is set while the debugger holds the page.
	Paused *TabPaused `json:"paused,omitempty"`
	// PausedPart is set while the page itself runs and the debugger holds a worker of it, or a frame in a process of its own.
	PausedPart *TabPaused `json:"paused_part,omitempty"`
}

// ViewBrowser is a browser that is or was connected.
type ViewBrowser struct {
	Name      string `json:"name"`
	Extension string `json:"extension"`
	Connected bool   `json:"connected"`
	// Paused is set while a person has paused watching there.
	Paused bool `json:"paused,omitempty"`
}

// ViewAgent is an agent that is connected, or has called since Tidemark was started.
type ViewAgent struct {
	// ID names it until Tidemark is started again.
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Scope   []string `json:"scope,omitempty"`
	Since   string   `json:"since"`
	Here    bool     `json:"here,omitempty"`
	Held    bool     `json:"held,omitempty"`
	Calls   int      `json:"calls,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`
	RawRead int      `json:"raw_read,omitempty"`
	// Acts says where it acts, or acted last; absent before it did.
	Acts *ViewActs `json:"acts,omitempty"`
}

// ViewActs is what an agent does in a browser, or did last.
type ViewActs struct {
	Tab int `json:"tab"`
	// Title is what the tab shows, else its address, "" when it is closed.
	Title string `json:"title,omitempty"`
	// What says in a few words what it does; Now is true while it does.
	What string `json:"what"`
	Now  bool   `json:"now,omitempty"`
	// Since is when its last action began.
	Since string `json:"since"`
	// Stopped is true from when a person stopped it until one allows it again.
	Stopped bool `json:"stopped,omitempty"`
}

// ViewPositions are where a reader stands in each lane: the position that it reads next, 0 at the beginning.
type ViewPositions struct {
	Console   uint64 `json:"console,omitempty"`
	Network   uint64 `json:"network,omitempty"`
	WebSocket uint64 `json:"websocket,omitempty"`
	DOM       uint64 `json:"dom,omitempty"`
	Actions   uint64 `json:"actions,omitempty"`
	Calls     uint64 `json:"calls,omitempty"`
}

// ViewTimelineParams ask for what is on the timeline from positions on.
type ViewTimelineParams struct {
	Tab   int           `json:"tab,omitempty"`
	After ViewPositions `json:"after,omitzero"`
	// Limit bounds the entries of one answer; 0 is 20000.
	Limit int `json:"limit,omitempty"`
	// WaitMs is how long to wait when nothing is new, in milliseconds; Marks is that of the last answer: another
	// one is news as well.
	WaitMs int    `json:"wait_ms,omitempty"`
	Marks  string `json:"marks,omitempty"`
}

// ViewTimeline is what is on the timeline from positions on.
type ViewTimeline struct {
	// Now and Start are milliseconds since the Unix epoch: of the answer, and of the beginning of what is held.
	Now   int64 `json:"now"`
	Start int64 `json:"start"`
	// Store changes when positions begin anew: what is known of earlier ones is to be forgotten.
	Store string     `json:"store"`
	Lanes []ViewLane `json:"lanes"`
	// First are the oldest positions that are held; Next where to read on.
	First ViewPositions `json:"first"`
	Next  ViewPositions `json:"next"`
	// Held says of each lane that earlier entries have left since when (in milliseconds) it is held; of a lane
	// that is not here, all is.
	Held map[string]int64 `json:"held,omitempty"`
	// More says that there is more already.
	More bool `json:"more,omitempty"`
	// Marks names the state of everything but entries: checkpoints, tabs, agents, noise rules, gaps. Where it
	// is not the one asked with, Gaps are all gaps.
	Marks string    `json:"marks"`
	Gaps  []ViewGap `json:"gaps,omitempty"`
}

// ViewLane is consecutive entries of one lane, in few bytes.
type ViewLane struct {
	Lane string `json:"lane"`
	// Position and Time are of the first entry; Positions and Times how much more each later one has. Without
	// Positions each has one more.
	Position  uint64  `json:"position"`
	Time      int64   `json:"time"`
	Positions []int64 `json:"positions,omitempty"`
	Times     []int64 `json:"times"`
	// Marks is a character for each entry: its severity.
	Marks string `json:"marks"`
}

// ViewGap is a span that was not observed; To is 0 when it goes on.
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
	// Now is the time since Since: the newest that belongs to all watched tabs that are shown, "start" without one.
	Now   ViewSpan `json:"now"`
	Since string   `json:"since"`
	// Most is how many there can be.
	Most int `json:"most"`
}

// ViewSpan is how a span of time was.
type ViewSpan struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// NotObserved says that something of it was not.
	NotObserved bool `json:"not_observed,omitempty"`
}

// ViewCheckpoint is a checkpoint, and the span since the one before it (for the first: since the beginning).
type ViewCheckpoint struct {
	Name string `json:"name"`
	// Moment finds it wherever a moment or a checkpoint is named: its name, with "@" and its scope where others that are
	// seen have the same name.
	Moment string `json:"moment"`
	// At is milliseconds since the Unix epoch.
	At   int64  `json:"at"`
	Note string `json:"note,omitempty"`
	// Scope is there when it is not that of the tab.
	Scope string   `json:"scope,omitempty"`
	Since ViewSpan `json:"since"`
}

// ViewReportParams name two moments. To is "now" when it is empty, From the newest checkpoint before To, or
// the start.
type ViewReportParams struct {
	Tab  int    `json:"tab,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Severity is the least that is shown: all (also when it is empty), warnings, errors_only.
	Severity string `json:"severity,omitempty"`
}

// ViewReport is a report, and what its entries were made of.
type ViewReport struct {
	// Report is what an agent that asks for the same gets.
	Report any `json:"report" tstype:"Report"`
	// From and To are the moments as they were understood.
	From     string `json:"from"`
	To       string `json:"to"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// Refs belong to the report's lists, by their names ("console.new_errors"), in the same order.
	Refs map[string][]ViewRef `json:"refs"`
}

// ViewRef says which entries something in a report was made of.
type ViewRef struct {
	Lane string `json:"lane"`
	// Positions are those of the newest ones, oldest first.
	Positions []uint64 `json:"positions"`
	Source    *Place   `json:"source,omitempty"`
	// Finding is what a noise rule would know it by.
	Finding *Finding `json:"finding,omitempty"`
	// Latency are an endpoint's requests, those before the window too.
	Latency []Latency `json:"latency,omitempty"`
	// Tab is where it happened.
	Tab int `json:"tab,omitempty"`
	// Selector finds the element, in the tab's page.
	Selector string `json:"selector,omitempty"`
}

// Place is a place in code; File and the numbers after it the original one, where it is known.
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

// Latency is how long a request took.
type Latency struct {
	// At is milliseconds since the Unix epoch, Ms the time it took.
	At     int64   `json:"at"`
	Ms     float64 `json:"ms"`
	Status int     `json:"status"`
	Failed bool    `json:"failed,omitempty"`
	// Before says that it was before the window.
	Before bool `json:"before,omitempty"`
}

// ViewEntriesParams ask for entries: those of one lane at positions, or those that match.
type ViewEntriesParams struct {
	Tab  int    `json:"tab,omitempty"`
	Lane string `json:"lane,omitempty"`
	// Positions of the lane; the rest narrows nothing then.
	Positions []uint64 `json:"positions,omitempty"`
	// Lanes are those to look through, empty for all buffers; From and To moments; Severity the least (all,
	// warnings, errors_only); Text what it contains, in any case.
	Lanes    []string `json:"lanes,omitempty"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	Severity string   `json:"severity,omitempty"`
	Text     string   `json:"text,omitempty"`
	// Limit bounds the answer to the newest; 0 is 500, at most 5000. Brief leaves out headers, bodies and stacks.
	Limit int  `json:"limit,omitempty"`
	Brief bool `json:"brief,omitempty"`
}

// ViewEntries are entries, oldest first.
type ViewEntries struct {
	Entries []ViewEntry `json:"entries"`
	// Total counts those that match; Missing those of the positions asked for that are no longer held.
	Total   int `json:"total"`
	Missing int `json:"missing,omitempty"`
}

// ViewEntry is one entry of a lane.
type ViewEntry struct {
	Lane     string `json:"lane"`
	Position uint64 `json:"position"`
	// At is milliseconds since the Unix epoch.
	At  int64 `json:"at"`
	Tab int   `json:"tab"`
	// Mark is its severity, as in [ViewLane].
	Mark   string `json:"mark"`
	Masked int    `json:"masked,omitempty"`
	// Text is the message, the frame's text, the element's text or the action's target.
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
}

// ViewHidden is what noise rules keep out of a report, the most frequent first.
type ViewHidden struct {
	Entries []HiddenEntry `json:"entries"`
	Omitted int           `json:"omitted,omitempty"`
}

// HiddenEntry is one distinct entry that is kept out, and why.
type HiddenEntry struct {
	Finding `tstype:",extends"`
	Because string `json:"because"`
	// Rule names the rule where it can be taken back by [MethodViewUnignore].
	Rule string `json:"rule,omitempty"`
}

// ViewCallsParams ask for agents' calls: those at positions with arguments and answer, or the newest.
type ViewCallsParams struct {
	Agent     int      `json:"agent,omitempty"`
	Positions []uint64 `json:"positions,omitempty"`
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	// Limit bounds the answer to the newest; 0 is 500.
	Limit int `json:"limit,omitempty"`
}

// ViewCalls are calls, oldest first.
type ViewCalls struct {
	Calls []ViewCall `json:"calls"`
	// Total counts those that match; Forgotten those that are no longer held.
	Total     int    `json:"total"`
	Forgotten uint64 `json:"forgotten,omitempty"`
	// Since is when this daemon began, in milliseconds since the Unix epoch: calls of an earlier one are not kept.
	Since int64 `json:"since"`
}

// ViewCall is one call of a tool by an agent.
type ViewCall struct {
	Position uint64 `json:"position"`
	// At is milliseconds since the Unix epoch, Ms how long the answer took.
	At        int64   `json:"at"`
	Ms        float64 `json:"ms"`
	Agent     int     `json:"agent"`
	AgentName string  `json:"agent_name"`
	Tool      string  `json:"tool"`
	// Tokens are those of the answer, as estimated everywhere: bytes / 4. RawRead those that reading everything
	// which the answer speaks of would have taken; 0 where that means nothing.
	Tokens  int  `json:"tokens"`
	RawRead int  `json:"raw_read,omitempty"`
	Failed  bool `json:"failed,omitempty"`
	// Gist is the answer in a line. Arguments and Answer are as they were sent; Cut says that only the first part
	// of the answer was kept.
	Gist      string `json:"gist,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Cut       bool   `json:"cut,omitempty"`
}

// ViewHoldParams hold an agent's access, or allow it again.
type ViewHoldParams struct {
	Agent int  `json:"agent"`
	Held  bool `json:"held"`
}

// ViewRenameParams give a checkpoint another name.
type ViewRenameParams struct {
	Tab  int    `json:"tab,omitempty"`
	Name string `json:"name"`
	To   string `json:"to"`
}

// ViewDeleteParams name a checkpoint.
type ViewDeleteParams struct {
	Tab  int    `json:"tab,omitempty"`
	Name string `json:"name"`
}

// ViewPageParams name a tab whose accessibility tree is to be compared with that of an earlier look.
type ViewPageParams struct {
	Tab int `json:"tab"`
	// Anew forgets earlier looks.
	Anew bool `json:"anew,omitempty"`
}

// ViewPage is a page's accessibility tree in lines, and that of the look before.
type ViewPage struct {
	At       int64  `json:"at"`
	Now      string `json:"now"`
	BeforeAt int64  `json:"before_at,omitempty"`
	Before   string `json:"before,omitempty"`
}
