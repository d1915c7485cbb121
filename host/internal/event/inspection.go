package event

// Inspection is something that a debugger saw. Texts of the page are masked.
type Inspection struct {
	Head
	// Op is one of the operations below.
	Op string
	// By names the agents that caused it, "" for the page itself or the user.
	By string
	// Thread is the kind of the thread, "" for the page.
	Thread string
	// Reason is why the thread paused.
	Reason string
	// Location is function and line, marked if it is in generated code: "total (cart.ts:13)".
	Location string
	// Name identifies the tracepoint or the snapshot. Label is the agent's own name for the snapshot.
	Name, Label string
	// Values are the values of a hit: name and value in turn.
	Values []string
	// Count is the number of variables of a snapshot.
	Count int
}

// Operations of inspections.
const (
	Paused   = "paused"   // a thread paused
	Resumed  = "resumed"  // a thread no longer pauses
	Hit      = "hit"      // a tracepoint was hit; recorded when its agent reads the hits
	Snapshot = "snapshot" // variables were captured
)
