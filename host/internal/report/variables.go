package report

// VariablesDiff lists what debuggers saw.
type VariablesDiff struct {
	Pauses    []Pause        `json:"pauses,omitempty"`
	Hits      []TraceHits    `json:"hits,omitempty"`
	Snapshots []SnapshotMade `json:"snapshots,omitempty"`
	// TotalNewEvents counts pauses, ends of pauses, hits and snapshots.
	TotalNewEvents int `json:"total_new_events,omitempty"`
	Omitted        int `json:"omitted,omitempty"`
}

// Pause is a place where a thread paused.
type Pause struct {
	// At is when it paused there last.
	At     Time   `json:"at"`
	Reason string `json:"reason"`
	// Place is function and line: "total (cart.ts:13)".
	Place string `json:"place,omitempty"`
	// Thread is the kind of a thread that is not the page.
	Thread string `json:"thread,omitempty"`
	// By names the agents that caused it.
	By    string `json:"by,omitempty"`
	Count int    `json:"count,omitempty"`
	// Paused is true while it pauses.
	Paused bool `json:"paused,omitempty"`
	Tab    int  `json:"tab,omitempty"`
	Ref    *Ref `json:"-"`
}

// TraceHits are the hits of a tracepoint.
type TraceHits struct {
	ID    string `json:"id"`
	Place string `json:"place,omitempty"`
	Count int    `json:"count"`
	// Last are the values of the newest hit.
	Last map[string]string `json:"last,omitempty"`
	By   string            `json:"by,omitempty"`
	Tab  int               `json:"tab,omitempty"`
	Ref  *Ref              `json:"-"`
}

// SnapshotMade is a variable snapshot.
type SnapshotMade struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	At    Time   `json:"at"`
	Place string `json:"place,omitempty"`
	By    string `json:"by,omitempty"`
	Tab   int    `json:"tab,omitempty"`
	Ref   *Ref   `json:"-"`
}

func (d *VariablesDiff) filter(bool) int {
	return dropAll(&d.Pauses) + dropAll(&d.Hits) + dropAll(&d.Snapshots)
}

func (d *VariablesDiff) quotes() bool { return len(d.Pauses)+len(d.Hits)+len(d.Snapshots) > 0 }

func (d *VariablesDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *VariablesDiff) Empty() bool { return d.TotalNewEvents == 0 }
