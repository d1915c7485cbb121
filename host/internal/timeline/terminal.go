package timeline

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// CommandParams are the parameters of terminal_command: a command ended in a recorded terminal.
type CommandParams struct {
	// Dir is the directory in which it began.
	Dir   string `json:"dir"`
	Label string `json:"label"`
	Terminal
}

// Commanded is the moment of a command.
type Commanded struct {
	SessionID string `json:"sessionId"`
	Moment    string `json:"momentId"`
}

// command adds a moment for a command of a recorded terminal, with a snapshot. It returns before the snapshot where that is
// shared with the next moment.
func command(ctx context.Context, t *Timeline, client *checkpoint.Client, p CommandParams) (*Commanded, error) {
	if !client.User || p.Dir == "" || p.Recording == "" {
		return nil, usererr.Invalid("terminal_command is for the user's recorder, which names its directory and its recording")
	}
	p.Recording = t.o.label(p.Recording)
	m, err := t.Record(ctx, p.Dir, Moment{Label: p.Label, Source: records.FromTerminal, Terminal: (*records.Terminal)(&p.Terminal)})
	if err != nil {
		return nil, err
	}
	return &Commanded{SessionID: m.Session, Moment: m.ID()}, nil
}
