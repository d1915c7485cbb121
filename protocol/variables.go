package protocol

// Methods for reading variables that the host calls on the extension. All take the fields of [DebugCaller].
const (
	// MethodDebugVariables takes [DebugVariablesParams] and returns [DebugVariables]: the variables of a frame of a
	// paused thread. It runs no code of the page.
	MethodDebugVariables = "debug_variables"
	// MethodDebugTrace takes [DebugTraceParams] and returns [DebugTraced] after enough hits or a timeout. It records
	// values each time the page reaches a place. The page keeps running.
	MethodDebugTrace = "debug_trace"
)

// Scopes of variables.
const (
	ScopeLocal      = "local"
	ScopeArgument   = "argument"
	ScopeThis       = "this"
	ScopeBlock      = "block"
	ScopeClosure    = "closure"
	ScopeModule     = "module"
	ScopeExpression = "expression"
)

// DebugVariablesParams request the variables of a frame.
type DebugVariablesParams struct {
	DebugCaller `tstype:",extends"`
	// Thread is 0 for the only paused thread. Frame is the index in the stack, 0 for the top.
	Thread int `json:"thread,omitempty"`
	Frame  int `json:"frame,omitempty"`
	// Scopes are the scopes to read; empty for those of the frame's own function.
	Scopes []string `json:"scopes,omitempty"`
	// Depth is the number of levels of fields to read, 0 for none.
	Depth int `json:"depth,omitempty"`
	// Paths are additional values to read. Named has one name for each.
	Paths [][]DebugKey `json:"paths,omitempty"`
	Named []string     `json:"named,omitempty"`
	// Expressions are evaluated too, unless that would change the page. Values that they derive from a secret are
	// not masked, so the host sends expressions only if the user allows agents to evaluate.
	Expressions []string `json:"expressions,omitempty"`
	// Path leads to a single value, the variable first; empty for all variables.
	Path []DebugKey `json:"path,omitempty"`
}

// DebugVariables are the variables of a frame.
type DebugVariables struct {
	// Session is that of [DebugState].
	Session int64 `json:"session"`
	Thread  int   `json:"thread"`
	Frame   int   `json:"frame"`
	// At is the position of the frame.
	At        DebugFrame      `json:"at"`
	Variables []DebugVariable `json:"variables"`
	// Gaps describe what could not be read.
	Gaps []string `json:"gaps,omitempty"`
}

// DebugVariable is a variable of a scope.
type DebugVariable struct {
	Scope string `json:"scope"`
	// Value is the value, under the variable's name.
	Value DebugField `json:"value"`
}

// Kinds of keys that lead from a value to a value inside it.
const (
	// KeyField is a property or a variable.
	KeyField = ""
	// KeyIndex is an element of an array.
	KeyIndex = "i"
	// KeyEntry is an entry of a Map, by its key in code notation.
	KeyEntry = "e"
	// KeyMember is a value of a Set in code notation.
	KeyMember = "m"
	// KeyPosition is an object in a Set, or a Map entry whose key is an object, by position.
	KeyPosition = "p"
	// KeySymbol is a property whose name is a symbol.
	KeySymbol = "s"
	// KeyPrivate is a private field.
	KeyPrivate = "#"
)

// DebugKey is one step to a value.
type DebugKey struct {
	Kind string `json:"k,omitempty"`
	// Name is the key's name. Elements and positions have an Index instead.
	Name  string `json:"n,omitempty"`
	Index int    `json:"i,omitempty"`
}

// DebugField is a value and its fields. The names are short because there may be thousands.
type DebugField struct {
	DebugKey `tstype:",extends"`
	// Type is the typeof of a primitive, the class of an object, "null", "accessor" or "unread".
	Type string `json:"t"`
	// Text is the value in code notation, or the characters of a string.
	Text string `json:"v,omitempty"`
	// ID identifies an object or symbol within a thread; 0 if unknown.
	ID int64 `json:"id,omitempty"`
	// Reference is true if the object with this ID is described elsewhere.
	Reference bool `json:"r,omitempty"`
	// Object is true if the value has more than Text.
	Object bool `json:"o,omitempty"`
	// Open is true if Fields has the object's fields. Size is their full number.
	Open   bool         `json:"x,omitempty"`
	Size   int          `json:"z,omitempty"`
	Fields []DebugField `json:"f,omitempty"`
	// Length and Hash are those of the full text when Text has only its start and end. Length is in UTF-16 units.
	Length int    `json:"l,omitempty"`
	Hash   string `json:"h,omitempty"`
	// Masked is true if the value is a secret; Text is then empty.
	Masked bool `json:"m,omitempty"`
}

// DebugTraceParams set a tracepoint, or read the records of the one with the same id.
type DebugTraceParams struct {
	DebugCaller `tstype:",extends"`
	ID          string `json:"id"`
	// Places are its locations, and Original whether new scripts are checked for it, as of a breakpoint.
	Places   []DebugPlace `json:"places"`
	Original bool         `json:"original,omitempty"`
	// Paths are the values to read at each hit. Without paths, all variables of the frame are read, which pauses the
	// page briefly at each hit.
	Paths [][]DebugKey `json:"paths,omitempty"`
	// Condition selects the hits that count. Every is 2 for every second of those, and so on; 0 means 1.
	Condition string `json:"condition,omitempty"`
	Every     int    `json:"every,omitempty"`
	// Limit is the number of hits to record. WaitMs limits the wait for them, in milliseconds. Recording then
	// continues until the next request, for at most five minutes.
	Limit  int `json:"limit"`
	WaitMs int `json:"wait_ms"`
}

// DebugTraced is the recorded hits.
type DebugTraced struct {
	// Session is that of [DebugState].
	Session int64 `json:"session"`
	// Locations are the places of the tracepoint; none if no code is loaded there.
	Locations []DebugLocation `json:"locations"`
	Hits      []DebugHit      `json:"hits"`
	// Passed counts the hits between the recorded ones.
	Passed int `json:"passed,omitempty"`
	// Error is why hits did not count: the condition threw.
	Error string `json:"error,omitempty"`
}

// DebugHit is one hit of a tracepoint.
type DebugHit struct {
	// At is the time of the hit in milliseconds since the epoch.
	At     int64 `json:"at"`
	Thread int   `json:"thread"`
	// Values are the values at the paths, in order. Without paths, Variables are all variables of the frame.
	Values    []DebugField    `json:"values,omitempty"`
	Variables []DebugVariable `json:"variables,omitempty"`
	Function  string          `json:"function,omitempty"`
}
