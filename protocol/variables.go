package protocol

// Methods of reading variables that the host asks of the extension. All take the fields of [DebugCaller].
const (
	// MethodDebugVariables takes [DebugVariablesParams] and answers with [DebugVariables]: what the variables of a
	// frame of a paused thread are. No code of the page is run for it.
	MethodDebugVariables = "debug_variables"
	// MethodDebugTrace takes [DebugTraceParams] and answers with [DebugTraced], when it has enough hits or when its
	// time is over: what expressions were each time the page came to a place. The page runs on.
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

// DebugVariablesParams ask for the variables of a frame.
type DebugVariablesParams struct {
	DebugCaller `tstype:",extends"`
	// Thread is 0 for the only paused one. Frame is its place in the stack, 0 for the top.
	Thread int `json:"thread,omitempty"`
	Frame  int `json:"frame,omitempty"`
	// Scopes are those wanted; empty for those of the frame's own function.
	Scopes []string `json:"scopes,omitempty"`
	// Depth is how many levels of fields are wanted, 0 for none.
	Depth int `json:"depth,omitempty"`
	// Paths are read too, each told under its name in Named, which are as many.
	Paths [][]DebugKey `json:"paths,omitempty"`
	Named []string     `json:"named,omitempty"`
	// Expressions are read too, as far as that changes nothing in the page. What they make of a secret is not
	// masked: the host sends some only where a person allows agents to evaluate.
	Expressions []string `json:"expressions,omitempty"`
	// Path is the way to the one value that is wanted, the variable first; empty for all.
	Path []DebugKey `json:"path,omitempty"`
}

// DebugVariables is what the variables of a frame are.
type DebugVariables struct {
	// Session is that of [DebugState].
	Session int64 `json:"session"`
	Thread  int   `json:"thread"`
	Frame   int   `json:"frame"`
	// At is where the frame stands.
	At        DebugFrame      `json:"at"`
	Variables []DebugVariable `json:"variables"`
	// Gaps say in words what could not be read.
	Gaps []string `json:"gaps,omitempty"`
}

// DebugVariable is a variable of a scope.
type DebugVariable struct {
	Scope string `json:"scope"`
	// Value is the variable's, by whose name it goes.
	Value DebugField `json:"value"`
}

// Kinds of keys by which a value is reached from what holds it.
const (
	// KeyField is a property or a variable.
	KeyField = ""
	// KeyIndex is an element of an array.
	KeyIndex = "i"
	// KeyEntry is an entry of a Map, by its key as it reads in code.
	KeyEntry = "e"
	// KeyMember is a value of a Set, as it reads in code.
	KeyMember = "m"
	// KeyPosition is an object in a Set, or the entry of a Map whose key is one, by its place.
	KeyPosition = "p"
	// KeySymbol is a property whose name is a symbol.
	KeySymbol = "s"
	// KeyPrivate is a private field.
	KeyPrivate = "#"
)

// DebugKey is one step to a value.
type DebugKey struct {
	Kind string `json:"k,omitempty"`
	// Name is the key's, but for elements and positions, which have an Index.
	Name  string `json:"n,omitempty"`
	Index int    `json:"i,omitempty"`
}

// DebugField is a value and what it holds. The names are short: there may be thousands.
type DebugField struct {
	DebugKey `tstype:",extends"`
	// Type is what typeof says of a primitive, the class of an object, "null", "accessor" or "unread".
	Type string `json:"t"`
	// Text is the value as it reads in code; of a string, its characters.
	Text string `json:"v,omitempty"`
	// ID is the same for the same object or symbol of a thread; 0 when it is not known.
	ID int64 `json:"id,omitempty"`
	// Reference says that the object is told in another place, by its ID.
	Reference bool `json:"r,omitempty"`
	// Object says that there is more to the value than Text.
	Object bool `json:"o,omitempty"`
	// Open says that Fields are what the object holds, but for those that are more than Size.
	Open   bool         `json:"x,omitempty"`
	Size   int          `json:"z,omitempty"`
	Fields []DebugField `json:"f,omitempty"`
	// Length and Hash are those of a whole text of which Text has only begin and end. Length is in UTF-16 units.
	Length int    `json:"l,omitempty"`
	Hash   string `json:"h,omitempty"`
	// Masked says that the value is a secret; Text is empty.
	Masked bool `json:"m,omitempty"`
}

// DebugTraceParams set a tracepoint, or ask what the one of the same id has recorded.
type DebugTraceParams struct {
	DebugCaller `tstype:",extends"`
	ID          string `json:"id"`
	// Places are where, as of a breakpoint.
	Places []DebugPlace `json:"places"`
	// Paths are what is read at each hit; none reads all variables of the frame, for which the page stands still
	// for a moment each time.
	Paths [][]DebugKey `json:"paths,omitempty"`
	// Condition says which hits count. Every is 2 for every second of those, and so on; 0 is 1.
	Condition string `json:"condition,omitempty"`
	Every     int    `json:"every,omitempty"`
	// Limit is how many hits are recorded; WaitMs how long they are waited for, in milliseconds. What is not recorded
	// by then goes on to be, until it is asked for again, or five minutes later.
	Limit  int `json:"limit"`
	WaitMs int `json:"wait_ms"`
}

// DebugTraced is what was read.
type DebugTraced struct {
	// Session is that of [DebugState].
	Session int64 `json:"session"`
	// Locations are where it stood; none when no code is loaded there.
	Locations []DebugLocation `json:"locations"`
	Hits      []DebugHit      `json:"hits"`
	// Passed counts the hits between those that were recorded.
	Passed int `json:"passed,omitempty"`
	// Error is why hits did not count: their condition threw.
	Error string `json:"error,omitempty"`
}

// DebugHit is one time that the page came to the place.
type DebugHit struct {
	// At is when, in milliseconds since the epoch.
	At     int64 `json:"at"`
	Thread int   `json:"thread"`
	// Values are those at the paths, in their order, or Variables are all of the frame.
	Values    []DebugField    `json:"values,omitempty"`
	Variables []DebugVariable `json:"variables,omitempty"`
	Function  string          `json:"function,omitempty"`
}
