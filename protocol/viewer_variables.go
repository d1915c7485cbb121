package protocol

// Methods of the viewer that show what agents see in the debugger, and let a page that one has paused go on.
const (
	// MethodViewVariables takes [ViewParams] and answers with [ViewVariables].
	MethodViewVariables = "view_variables"
	// MethodViewVariableTree takes [ViewVariableTreeParams] and answers with [ViewVariableTree].
	MethodViewVariableTree = "view_variable_tree"
	// MethodViewResume takes [ViewResumeParams] and answers with {}.
	MethodViewResume = "view_resume"
)

// ViewResumeParams name a tab in which whatever is paused is to go on.
type ViewResumeParams struct {
	Tab int `json:"tab"`
}

// ViewVariables are the snapshots of variables that are held, the oldest first, and what tracepoints recorded.
type ViewVariables struct {
	Snapshots []ViewVariableSnapshot `json:"snapshots"`
	Traces    []ViewTrace            `json:"traces"`
}

// ViewVariableSnapshot says what a snapshot is.
type ViewVariableSnapshot struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// At is in milliseconds since the Unix epoch.
	At     int64 `json:"at"`
	Tab    int   `json:"tab"`
	Thread int   `json:"thread"`
	Frame  int   `json:"frame"`
	// Function is "" for code outside of functions; Place is file:line:column.
	Function string `json:"function,omitempty"`
	Place    string `json:"place,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	// Count is the number of variables, fields not counted.
	Count int `json:"count"`
	// Before is the snapshot of the same function before this one.
	Before string `json:"before,omitempty"`
}

// ViewTrace is a tracepoint, as the agent that set it was told of it last.
type ViewTrace struct {
	Tab int `json:"tab"`
	// Place is the file and the line, as the agent named them.
	Place string `json:"place"`
	// At is when it was told, in milliseconds since the Unix epoch; State is done, tracing or waiting.
	At    int64  `json:"at"`
	State string `json:"state"`
	Hits  int    `json:"hits"`
	// Columns are the names of what was recorded; Rows one list of values a hit, of many the first and the last.
	// Of a single name there are no rows: Evolution is how each went, in the order of the columns.
	Columns   []string   `json:"columns"`
	Evolution []string   `json:"evolution"`
	Rows      [][]string `json:"rows,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
}

// ViewVariableTreeParams ask for what a snapshot holds, or, with From, for what is different from that one. Both
// are ids.
type ViewVariableTreeParams struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// ViewVariableTree is a snapshot, or the difference of two, as a tree: the scopes, their variables, and what those
// hold.
type ViewVariableTree struct {
	From *ViewVariableSnapshot `json:"from,omitempty"`
	To   ViewVariableSnapshot  `json:"to"`
	// Summary is the difference in a line; "" of a single snapshot.
	Summary string `json:"summary,omitempty"`
	// ElapsedMs is the time from the first to the second, in milliseconds.
	ElapsedMs int64       `json:"elapsed_ms,omitempty"`
	Scopes    []ViewScope `json:"scopes"`
	// Omitted counts the values that were too many to be shown.
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
	// ChangeRetyped is of a value whose type is another one: removed and added at once.
	ChangeRetyped = "retyped"
)

// ViewValue is a value and what it holds.
type ViewValue struct {
	// Name is the step to it, as it reads in code: `order`, `.total`, `[3]`, `.get("k")`.
	Name string `json:"name"`
	Type string `json:"type"`
	// Value is as it reads in code; "" where Children tell all.
	Value string `json:"value,omitempty"`
	// Change is "" of what only holds changes, and in a single snapshot. Old is the value before, OldType its type
	// where that was another one.
	Change   string      `json:"change,omitempty"`
	Old      string      `json:"old,omitempty"`
	OldType  string      `json:"old_type,omitempty"`
	Children []ViewValue `json:"children,omitempty"`
	// Same counts what it holds besides that has not changed; More what is not shown.
	Same int `json:"same,omitempty"`
	More int `json:"more,omitempty"`
}
