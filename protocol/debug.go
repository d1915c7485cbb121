package protocol

// Methods of debugging that the host asks of the extension; each begins with [DebugPrefix]. All take the fields
// of [DebugCaller].
const (
	// DebugPrefix begins every method that the extension gives to its debugger.
	DebugPrefix = "debug_"
	// MethodDebugState takes [DebugStateParams] and answers with [DebugState]: which threads a tab has, and which
	// of them are paused where. It does not begin debugging.
	MethodDebugState = "debug_state"
	// MethodDebugScripts takes [DebugCaller] and answers with [DebugScripts]: the code that the tab has loaded.
	// It begins debugging.
	MethodDebugScripts = "debug_scripts"
	// MethodDebugBreakpoint takes [DebugBreakpointParams] and answers with [DebugPlaced]: a breakpoint is set, or
	// moved if one of its id is set already. It begins debugging.
	MethodDebugBreakpoint = "debug_breakpoint"
	// MethodDebugRemove takes [DebugRemoveParams] and answers with {}.
	MethodDebugRemove = "debug_remove"
	// MethodDebugRun takes [DebugRunParams] and answers with [DebugState].
	MethodDebugRun = "debug_run"
	// MethodDebugEvaluate takes [DebugEvaluateParams] and answers with [DebugValue].
	MethodDebugEvaluate = "debug_evaluate"
	// MethodDebugEnd takes [DebugCaller] and answers with {}: whatever is paused runs on, no breakpoint is left.
	MethodDebugEnd = "debug_end"
	// MethodDebugLeave takes [DebugCaller] and answers with {}: its client has left while another one debugs the tab.
	// Its breakpoints are removed, and what it alone paused runs on.
	MethodDebugLeave = "debug_leave"
)

// MethodDebugScript is asked of the host while a script with a source map waits to be run for the first time.
// It takes [DebugScriptParams] and answers with [DebugScriptResult].
const MethodDebugScript = "debug_script"

// MethodDebugNames is asked of the host when variables are read of code with a source map. It takes
// [DebugNamesParams] and answers with [DebugNames].
const MethodDebugNames = "debug_names"

// DebugNamesParams ask what identifiers of generated code were called.
type DebugNamesParams struct {
	Tab int    `json:"tab"`
	URL string `json:"url"`
	// Map is the reference to the script's source map, all of it for one that is inline.
	Map string `json:"map"`
	// Places are where identifiers begin: line and column in turn, each counts from 1.
	Places []int `json:"places"`
}

// DebugNames are the names at the places that were asked for, "" where the map says none.
type DebugNames struct {
	Names []string `json:"names"`
	// Known is false where there is no map, or it holds no names at all.
	Known bool `json:"known,omitempty"`
}

// DebugCaller says which tab is meant, and who asks.
type DebugCaller struct {
	Tab int `json:"tab"`
	// By names the agent, for the person whose page it pauses.
	By string `json:"by"`
	// Client is the host's number of the agent's client, by which it is known whose a pause is; 0 for nobody's.
	Client int `json:"client,omitempty"`
	// ReleaseMs is after how long a pause that nobody ends is ended, in milliseconds.
	ReleaseMs int `json:"release_ms"`
	// Evaluate allows expressions to change the page.
	Evaluate bool `json:"evaluate,omitempty"`
}

// DebugStateParams ask for a tab's state.
type DebugStateParams struct {
	DebugCaller `tstype:",extends"`
	// Thread is waited for; 0 for any.
	Thread int `json:"thread,omitempty"`
	// WaitMs is how long a pause is waited for, in milliseconds.
	WaitMs int `json:"wait_ms,omitempty"`
}

// DebugState is a tab under the debugger.
type DebugState struct {
	// Active says whether the tab is being debugged.
	Active bool `json:"active,omitempty"`
	// Session is when debugging began, in milliseconds since the epoch: what is kept of a session ends with it.
	Session int64         `json:"session,omitempty"`
	Threads []DebugThread `json:"threads"`
	// Gone are threads that were paused when they ended, the newest at the end.
	Gone []DebugThread `json:"gone,omitempty"`
	// Ended says why debugging ended without being asked to, and EndedAt when, in milliseconds since the epoch.
	Ended   string `json:"ended,omitempty"`
	EndedAt int64  `json:"ended_at,omitempty"`
	// Failed are the conditions of breakpoints that threw since the breakpoint was set.
	Failed []DebugFailed `json:"failed,omitempty"`
}

// DebugFailed is a breakpoint whose condition threw.
type DebugFailed struct {
	ID    string `json:"id"`
	Error string `json:"error"`
	Count int    `json:"count"`
}

// Kinds of threads.
const (
	ThreadPage          = "page"
	ThreadIframe        = "iframe"
	ThreadWorker        = "worker"
	ThreadSharedWorker  = "shared_worker"
	ThreadServiceWorker = "service_worker"
)

// DebugThread is one thread: the page with its frames of the same process, a frame of another one, a worker.
type DebugThread struct {
	// ID is 1 for the page; others count on, and are not given again while the tab is debugged.
	ID     int         `json:"id"`
	Kind   string      `json:"kind"`
	URL    string      `json:"url"`
	Paused *DebugPause `json:"paused,omitempty"`
	// Resumed says how its last pause ended.
	Resumed *DebugResumed `json:"resumed,omitempty"`
}

// DebugPause is where a thread stands.
type DebugPause struct {
	// At is when it was paused, in milliseconds since the epoch.
	At int64 `json:"at"`
	// Reason is one of the Pause constants.
	Reason string `json:"reason"`
	// By is the agent whose doing it is, or several; "" for the page itself or another debugger.
	By string `json:"by,omitempty"`
	// Hit are the ids of the breakpoints that it stands at.
	Hit []string `json:"hit,omitempty"`
	// Text is the exception, or what else the browser says.
	Text   string       `json:"text,omitempty"`
	Frames []DebugFrame `json:"frames"`
	// More counts the frames below those.
	More int `json:"more,omitempty"`
}

// Reasons of pauses.
const (
	PauseBreakpoint = "breakpoint"
	PauseStep       = "step"
	PauseAsked      = "pause"
	PauseException  = "exception"
	PauseRejection  = "promise_rejection"
	PauseOther      = "other" // a debugger statement, or another debugger's doing
)

// DebugFrame is one frame of a stack. Line and Column count from 1.
type DebugFrame struct {
	Function string `json:"function,omitempty"`
	URL      string `json:"url"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	// NameLine and NameColumn are where the function begins; 0 when that is not known.
	NameLine   int `json:"name_line,omitempty"`
	NameColumn int `json:"name_column,omitempty"`
	// Async says what the frames from here on wait for: they are no longer on the stack.
	Async string `json:"async,omitempty"`
}

// DebugResumed is how a pause ended.
type DebugResumed struct {
	At int64 `json:"at"`
	// How is one of the Resumed constants.
	How string `json:"how"`
}

// Ways in which a pause ends.
const (
	ResumedAgent    = "agent"
	ResumedPerson   = "person"
	ResumedTime     = "time"
	ResumedDebugger = "another_debugger"
	ResumedGone     = "navigation"
	ResumedHost     = "host_gone"
	ResumedWorker   = "extension_restarted"
	ResumedLeft     = "agent_left" // the agent that paused it has left
)

// DebugScripts is the code that a tab has loaded.
type DebugScripts struct {
	Scripts []DebugScriptLine `json:"scripts"`
}

// DebugScriptLine is one script.
type DebugScriptLine struct {
	URL string `json:"url"`
	// Map is the reference to its source map; "" for none. One that is inline is told as "data:" alone.
	Map string `json:"map,omitempty"`
}

// DebugBreakpointParams set a breakpoint.
type DebugBreakpointParams struct {
	DebugCaller `tstype:",extends"`
	Breakpoint  DebugBreakpoint `json:"breakpoint"`
}

// DebugBreakpoint is a breakpoint as the browser is told of it.
type DebugBreakpoint struct {
	ID string `json:"id"`
	// Client is the one that set it, as in [DebugCaller].
	Client int `json:"client,omitempty"`
	// Places are where it is set; one without any waits for its original source.
	Places    []DebugPlace `json:"places"`
	Condition string       `json:"condition,omitempty"`
	// HitCount is the first hit that pauses.
	HitCount int `json:"hit_count,omitempty"`
	// Original is true when a script's source map may name its place: every script that has one waits, before it
	// runs for the first time, until the host was asked.
	Original bool `json:"original,omitempty"`
}

// DebugPlace is a range of generated code. Lines and columns count from 1; the first place in it where
// the browser can pause is taken.
type DebugPlace struct {
	// URL is the script's; Pattern is a regular expression for it, when URL is "".
	URL       string `json:"url,omitempty"`
	Pattern   string `json:"pattern,omitempty"`
	Line      int    `json:"line"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

// DebugPlaced says where a breakpoint stands.
type DebugPlaced struct {
	Locations []DebugLocation `json:"locations"`
	// Hits is how often it was hit so far.
	Hits int `json:"hits,omitempty"`
}

// DebugLocation is a place in a thread's code.
type DebugLocation struct {
	Thread int    `json:"thread"`
	URL    string `json:"url"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// DebugRemoveParams remove a breakpoint.
type DebugRemoveParams struct {
	DebugCaller `tstype:",extends"`
	ID          string `json:"id"`
}

// DebugRunParams pause a thread or let it go on.
type DebugRunParams struct {
	DebugCaller `tstype:",extends"`
	// Thread is 0 for the only paused one, or for the page when it is to be paused.
	Thread int `json:"thread,omitempty"`
	// Kind is pause, resume, over, into or out; exceptions, which moves no thread; or release, by which a person lets
	// all threads go on.
	Kind string `json:"kind"`
	// Exceptions are which exceptions pause from now on: none, uncaught, all.
	Exceptions string `json:"exceptions,omitempty"`
	// WaitMs is how long the next pause is waited for, in milliseconds.
	WaitMs int `json:"wait_ms,omitempty"`
}

// DebugEvaluateParams evaluate an expression in a frame of a paused thread.
type DebugEvaluateParams struct {
	DebugCaller `tstype:",extends"`
	Thread      int    `json:"thread,omitempty"`
	Frame       int    `json:"frame,omitempty"`
	Expression  string `json:"expression"`
}

// DebugValue is what an expression evaluates to.
type DebugValue struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	// Threw is true when the value was thrown.
	Threw  bool `json:"threw,omitempty"`
	Masked int  `json:"masked,omitempty"`
}

// DebugScriptParams tell of a script that waits.
type DebugScriptParams struct {
	Tab int    `json:"tab"`
	URL string `json:"url"`
	// Map is the reference to its source map, all of it for one that is inline.
	Map string `json:"map"`
}

// DebugScriptResult are the breakpoints that lie in the script, with their places in it.
type DebugScriptResult struct {
	Breakpoints []DebugBreakpoint `json:"breakpoints"`
}

// TabPaused says that a tab stands still.
type TabPaused struct {
	// By is the agent whose doing it is, "" when it is nobody's that is known.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason"`
	// Kind is what of the tab stands still where it is not the page itself: iframe, worker, shared_worker, service_worker.
	Kind string `json:"kind,omitempty"`
	// At is since when, in milliseconds since the epoch.
	At int64 `json:"at"`
	// Place is the function and the line, as in "total (app.js:13)", with " (generated)" where the script has a source
	// map.
	Place string `json:"place,omitempty"`
}
