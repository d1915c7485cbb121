package protocol

// Debugging methods that the host calls on the extension. Each starts with [DebugPrefix] and takes the fields of
// [DebugCaller].
const (
	// DebugPrefix is the prefix of every method that the extension passes to its debugger.
	DebugPrefix = "debug_"
	// MethodDebugState takes [DebugStateParams] and returns [DebugState]: the threads of a tab, and where they are
	// paused. It does not start debugging.
	MethodDebugState = "debug_state"
	// MethodDebugScripts takes [DebugCaller] and returns [DebugScripts]: the code that the tab has loaded.
	// It starts debugging. The response follows the events that the browser has reported of it.
	MethodDebugScripts = "debug_scripts"
	// MethodDebugMap takes [DebugMapParams] and returns [DebugMap]: the source map in code that was evaluated. It does not
	// start debugging.
	MethodDebugMap = "debug_map"
	// MethodDebugBreakpoint takes [DebugBreakpointParams] and returns [DebugPlaced]. It sets a breakpoint, or moves
	// an existing one with the same id. It starts debugging.
	MethodDebugBreakpoint = "debug_breakpoint"
	// MethodDebugRemove takes [DebugRemoveParams] and returns {}.
	MethodDebugRemove = "debug_remove"
	// MethodDebugRun takes [DebugRunParams] and returns [DebugState].
	MethodDebugRun = "debug_run"
	// MethodDebugEvaluate takes [DebugEvaluateParams] and returns [DebugValue].
	MethodDebugEvaluate = "debug_evaluate"
	// MethodDebugEnd takes [DebugCaller] and returns {}. It resumes all threads and removes all breakpoints.
	MethodDebugEnd = "debug_end"
	// MethodDebugLeave takes [DebugCaller] and returns {}. Its client has disconnected while another one debugs the
	// tab. It removes the client's breakpoints and resumes threads that only this client paused.
	MethodDebugLeave = "debug_leave"
)

// MethodDebugScript is called on the host while a script with a source map waits for its first run.
// It takes [DebugScriptParams] and returns [DebugScriptResult].
const MethodDebugScript = "debug_script"

// MethodDebugNames is called on the host when variables of code with a source map are read. It takes
// [DebugNamesParams] and returns [DebugNames].
const MethodDebugNames = "debug_names"

// MethodDebugPlace is called on the host when a thread pauses in code with a source map. It takes [DebugPlaceParams]
// and returns [DebugPlaceText].
const MethodDebugPlace = "debug_place"

// DebugPlaceParams request the place of the top frame of a paused thread.
type DebugPlaceParams struct {
	Tab   int        `json:"tab"`
	Frame DebugFrame `json:"frame"`
}

// DebugPlaceText is a place as in [TabPaused].
type DebugPlaceText struct {
	Place string `json:"place"`
}

// DebugNamesParams request the original names of identifiers in generated code.
type DebugNamesParams struct {
	Tab int    `json:"tab"`
	URL string `json:"url"`
	// Map is the reference to the script's source map, in full for an inline map.
	Map string `json:"map"`
	// Places are the starts of identifiers: line and column in turn, both starting at 1.
	Places []int `json:"places"`
}

// DebugNames are the names at the requested places, "" where the map has none.
type DebugNames struct {
	Names []string `json:"names"`
	// Known is false if there is no map or it has no names at all.
	Known bool `json:"known,omitempty"`
}

// DebugCaller identifies the tab and the client.
type DebugCaller struct {
	Tab int `json:"tab"`
	// By is the name of the agent, as shown to the user whose page it pauses.
	By string `json:"by"`
	// Client is the host's number of the agent's client, which owns its pauses; 0 for none.
	Client int `json:"client,omitempty"`
	// ReleaseMs is the time after which a pause ends automatically, in milliseconds.
	ReleaseMs int `json:"release_ms"`
	// Evaluate allows expressions to change the page.
	Evaluate bool `json:"evaluate,omitempty"`
}

// DebugStateParams request a tab's state.
type DebugStateParams struct {
	DebugCaller `tstype:",extends"`
	// Thread is the thread to wait for; 0 for any.
	Thread int `json:"thread,omitempty"`
	// WaitMs limits the wait for a pause, in milliseconds.
	WaitMs int `json:"wait_ms,omitempty"`
}

// DebugState is the state of a tab in the debugger.
type DebugState struct {
	// Active is true while the tab is being debugged.
	Active bool `json:"active,omitempty"`
	// Session is the start of the debug session, in milliseconds since the epoch. It identifies data kept for that session.
	Session int64         `json:"session,omitempty"`
	Threads []DebugThread `json:"threads"`
	// Gone are threads that ended while paused, the newest last.
	Gone []DebugThread `json:"gone,omitempty"`
	// Ended is why debugging ended unexpectedly; EndedAt is when, in milliseconds since the epoch.
	Ended   string `json:"ended,omitempty"`
	EndedAt int64  `json:"ended_at,omitempty"`
	// Failed are the breakpoints whose condition has thrown since they were set.
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

// DebugThread is the page with its frames in the same process, a frame in another process, or a worker.
type DebugThread struct {
	// ID is 1 for the page. Other threads have the next numbers, which are not reused while the tab is debugged.
	ID     int         `json:"id"`
	Kind   string      `json:"kind"`
	URL    string      `json:"url"`
	Paused *DebugPause `json:"paused,omitempty"`
	// Resumed is how its last pause ended.
	Resumed *DebugResumed `json:"resumed,omitempty"`
}

// DebugPause is a pause of a thread.
type DebugPause struct {
	// At is the start of the pause, in milliseconds since the epoch.
	At int64 `json:"at"`
	// Reason is one of the Pause constants.
	Reason string `json:"reason"`
	// By names the agents that caused the pause; "" for the page itself or another debugger.
	By string `json:"by,omitempty"`
	// Hit are the ids of the breakpoints that were hit.
	Hit []string `json:"hit,omitempty"`
	// Text is the exception or another message of the browser.
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
	PauseOther      = "other" // a debugger statement or another debugger
)

// DebugFrame is one frame of a stack. Line and Column start at 1.
type DebugFrame struct {
	Function string `json:"function,omitempty"`
	URL      string `json:"url"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	// NameLine and NameColumn are the start of the function; 0 if unknown.
	NameLine   int `json:"name_line,omitempty"`
	NameColumn int `json:"name_column,omitempty"`
	// Async is what the following frames wait for. They are no longer on the stack.
	Async string `json:"async,omitempty"`
}

// DebugResumed is how a pause ended.
type DebugResumed struct {
	At int64 `json:"at"`
	// How is one of the Resumed constants.
	How string `json:"how"`
}

// Causes of the end of a pause.
const (
	ResumedAgent    = "agent"
	ResumedPerson   = "person"
	ResumedTime     = "time"
	ResumedDebugger = "another_debugger"
	ResumedGone     = "navigation"
	ResumedHost     = "host_gone"
	ResumedWorker   = "extension_restarted"
	ResumedLeft     = "agent_left" // the agent that paused it has disconnected
)

// DebugScripts is the code that a tab has loaded.
type DebugScripts struct {
	Scripts []DebugScriptLine `json:"scripts"`
}

// DebugScriptLine is one script.
type DebugScriptLine struct {
	URL string `json:"url"`
	// Map is the reference to its source map; "" for none, "data:" for an inline map.
	Map string `json:"map,omitempty"`
}

// DebugMapParams name the newest code of an address.
type DebugMapParams struct {
	DebugCaller `tstype:",extends"`
	URL         string `json:"url"`
}

// DebugMap is the source map of code.
type DebugMap struct {
	// Map is an inline source map in full; "" for none.
	Map string `json:"map,omitempty"`
}

// DebugBreakpointParams set a breakpoint.
type DebugBreakpointParams struct {
	DebugCaller `tstype:",extends"`
	Breakpoint  DebugBreakpoint `json:"breakpoint"`
}

// DebugBreakpoint is a breakpoint as sent to the extension.
type DebugBreakpoint struct {
	ID string `json:"id"`
	// Client is the client that set it, as in [DebugCaller].
	Client int `json:"client,omitempty"`
	// Places are its locations. A breakpoint without places waits for its original source.
	Places    []DebugPlace `json:"places"`
	Condition string       `json:"condition,omitempty"`
	// HitCount is the first hit that pauses.
	HitCount int `json:"hit_count,omitempty"`
	// Original is true when a source map may contain its place. Scripts with a source map then wait for the host
	// before their first run.
	Original bool `json:"original,omitempty"`
}

// DebugPlace is a range of generated code. Lines and columns start at 1. The breakpoint is set at the first place
// in it where the browser can pause.
type DebugPlace struct {
	// URL is the script's address. Pattern is a regular expression for it, used if URL is "".
	URL       string `json:"url,omitempty"`
	Pattern   string `json:"pattern,omitempty"`
	Line      int    `json:"line"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

// DebugPlaced lists the locations of a breakpoint.
type DebugPlaced struct {
	Locations []DebugLocation `json:"locations"`
	// Hits counts its hits so far.
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

// DebugRunParams pause or resume a thread.
type DebugRunParams struct {
	DebugCaller `tstype:",extends"`
	// Thread is 0 for the only paused thread, or for the page when pausing.
	Thread int `json:"thread,omitempty"`
	// Kind is pause, resume, over, into or out. exceptions only sets Exceptions. release is the user's way to
	// resume all threads.
	Kind string `json:"kind"`
	// Exceptions selects the exceptions that pause: none, uncaught, all.
	Exceptions string `json:"exceptions,omitempty"`
	// WaitMs limits the wait for the next pause, in milliseconds.
	WaitMs int `json:"wait_ms,omitempty"`
}

// DebugEvaluateParams evaluate an expression in a frame of a paused thread.
type DebugEvaluateParams struct {
	DebugCaller `tstype:",extends"`
	Thread      int    `json:"thread,omitempty"`
	Frame       int    `json:"frame,omitempty"`
	Expression  string `json:"expression"`
}

// DebugValue is the value of an expression.
type DebugValue struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	// Threw is true when the value was thrown.
	Threw  bool `json:"threw,omitempty"`
	Masked int  `json:"masked,omitempty"`
}

// DebugScriptParams describe a script that waits for its first run.
type DebugScriptParams struct {
	Tab int    `json:"tab"`
	URL string `json:"url"`
	// Map is the reference to its source map, in full for an inline map.
	Map string `json:"map"`
}

// DebugScriptResult lists the breakpoints in the script, with their places.
type DebugScriptResult struct {
	Breakpoints []DebugBreakpoint `json:"breakpoints"`
}

// TabPaused describes a paused tab.
type TabPaused struct {
	// By is the agent that paused it; "" if unknown.
	By string `json:"by,omitempty"`
	// Reason is why it paused.
	Reason string `json:"reason" rule:"filled"`
	// Kind is the paused part, if it is not the page itself: iframe, worker, shared_worker, service_worker.
	Kind string `json:"kind,omitempty"`
	// At is the start of the pause, in milliseconds since the epoch.
	At int64 `json:"at" rule:"min=1"`
	// Place is the function and the line, as in "total (cart.ts:13)", with " (generated)" for a line of generated code.
	Place string `json:"place,omitempty"`
}
