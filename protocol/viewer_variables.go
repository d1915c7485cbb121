package protocol

// ViewResumeParams select a tab in which all threads are resumed.
type ViewResumeParams struct {
	Tab int `json:"tab" path:"tab"`
}

// ViewVariables are the variable snapshots in memory, the oldest first, and the tracepoints' records.
type ViewVariables struct {
	Snapshots []ViewVariableSnapshot `json:"snapshots"`
	Traces    []ViewTrace            `json:"traces"`
}

// ViewVariableSnapshot describes a variable snapshot.
type ViewVariableSnapshot struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// At is in milliseconds since the Unix epoch.
	At     int64 `json:"at"`
	Tab    int   `json:"tab"`
	Thread int   `json:"thread"`
	Frame  int   `json:"frame"`
	// Function is "" for code outside functions. Place is file:line:column.
	Function string `json:"function,omitempty"`
	Place    string `json:"place,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	// Count is the number of variables without their fields.
	Count int `json:"count"`
	// Before is the previous snapshot of the same function.
	Before string `json:"before,omitempty"`
}

// ViewTrace is a tracepoint as last reported to its agent.
type ViewTrace struct {
	Tab int `json:"tab"`
	// Place is the file and line given by the agent.
	Place string `json:"place"`
	// At is the time of that report, in milliseconds since the Unix epoch. State is done, tracing or waiting.
	At    int64  `json:"at"`
	State string `json:"state"`
	Hits  int    `json:"hits"`
	// Columns are the recorded names. Rows has one list of values per hit; of many hits, the first and the last.
	// A single name has no rows. Evolution is the history of each column, in order.
	Columns   []string   `json:"columns"`
	Evolution []string   `json:"evolution"`
	Rows      [][]string `json:"rows,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
}

// ViewVariableTreeParams request a variable snapshot or, with From, its difference from that one. Both are ids.
type ViewVariableTreeParams struct {
	From string `json:"from,omitempty" doc:"The id of an earlier snapshot; empty: no comparison"`
	To   string `json:"to" required:"true" doc:"The id of a snapshot"`
}

// ViewVariableTree is a variable snapshot, or the difference of two, as a tree of scopes, variables and their fields.
type ViewVariableTree struct {
	From *ViewVariableSnapshot `json:"from,omitempty"`
	To   ViewVariableSnapshot  `json:"to"`
	// Summary is the difference in one line; "" for a single snapshot.
	Summary string `json:"summary,omitempty"`
	// ElapsedMs is the time from the first to the second, in milliseconds.
	ElapsedMs int64       `json:"elapsed_ms,omitempty"`
	Scopes    []ViewScope `json:"scopes"`
	// Omitted counts the values left out because there were too many.
	Omitted int      `json:"omitted,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// ViewScope is a scope with its variables.
type ViewScope struct {
	Scope  string      `json:"scope"`
	Values []ViewValue `json:"values"`
}

// Changes of a [ViewValue].
const (
	ChangeAdded    = "added"
	ChangeRemoved  = "removed"
	ChangeModified = "modified"
	// ChangeRetyped is a change of the value's type: removed and added at once.
	ChangeRetyped = "retyped"
)

// ViewValue is a value and its fields.
type ViewValue struct {
	// Name is the step to it in code notation: `order`, `.total`, `[3]`, `.get("k")`.
	Name string `json:"name"`
	Type string `json:"type"`
	// Value is in code notation; "" if Children has everything.
	Value string `json:"value,omitempty"`
	// Change is "" for a value that only contains changes, and in a single snapshot. Old is the previous value,
	// OldType its type if that changed.
	Change   string      `json:"change,omitempty"`
	Old      string      `json:"old,omitempty"`
	OldType  string      `json:"old_type,omitempty"`
	Children []ViewValue `json:"children,omitempty"`
	// Same counts its unchanged fields that are left out. More counts fields that are not shown.
	Same int `json:"same,omitempty"`
	More int `json:"more,omitempty"`
}
