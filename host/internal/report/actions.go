package report

// ActionsDiff lists what a person did.
type ActionsDiff struct {
	NewActions      []Action `json:"new_actions,omitempty"`
	TotalNewActions int      `json:"total_new_actions,omitempty"`
	Omitted         int      `json:"omitted,omitempty"`
}

// Action is one action.
type Action struct {
	Type   string `json:"type"`
	Target string `json:"target"`
	Value  string `json:"value,omitempty"`
	At     Time   `json:"at"`
	Tab    int    `json:"tab,omitempty"`
	Ref    *Ref   `json:"-"`
}

func (d *ActionsDiff) filter(bool) int { return dropAll(&d.NewActions) }

func (d *ActionsDiff) quotes() bool { return len(d.NewActions) > 0 }

func (d *ActionsDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *ActionsDiff) Empty() bool { return d.TotalNewActions == 0 }
