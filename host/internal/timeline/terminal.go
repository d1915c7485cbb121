package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// CommandParams are the parameters of terminal_command: a command ended in a recorded terminal.
type CommandParams struct {
	// Dir is the directory in which it began.
	Dir   string `json:"dir"`
	Label string `json:"label"`
	// Kind is a milestone that the command reached, "" for its end.
	Kind string `json:"kind,omitempty"`
	// Happened is when it ended, if no moment of that could be recorded then. The moment is that of the call, because its snapshot is.
	Happened time.Time `json:"happened,omitzero"`
	answers.Terminal
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
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	source := cmp.Or(p.Kind, records.FromTerminal)
	if _, known := records.Milestone(p.Kind); p.Kind != "" && !known {
		return nil, usererr.Invalid("there is no milestone %q", event.Clean(p.Kind))
	}
	p.Recording, p.Cwd, p.Command = t.lines.Label(p.Recording), t.lines.Label(p.Dir), moments.Text(t.lines, p.Command)
	if strings.HasPrefix(t.lines.Label(p.Label), p.Command) {
		p.Command = ""
	}
	notes := ""
	if !p.Happened.IsZero() {
		notes = fmt.Sprintf("it ended at %s, when it could not be recorded", p.Happened.Local().Format(time.DateTime))
	}
	m, err := t.Record(ctx, p.Dir, records.Moment{Label: p.Label, Source: source, Terminal: (*records.Terminal)(&p.Terminal), Notes: notes})
	if err != nil {
		return nil, err
	}
	return &Commanded{SessionID: m.Session, Moment: m.ID()}, nil
}

// castVersion is the version of asciicast that a recording's URI names. Version 3 is served too.
const castVersion = 2

// recordingsOf returns the recordings of terminals that belong to a session, by their start: those that have a command, or what an agent did,
// among its moments, and those that ran in its workspace meanwhile.
func recordingsOf(ctx context.Context, t *Timeline, l *moments.Line, s *records.Session) ([]answers.TerminalRecording, error) {
	named := map[string]bool{}
	for _, m := range l.Of(s) {
		if m.Terminal != nil {
			named[m.Terminal.Recording] = true
		}
	}
	all, err := t.o.Terminals.List(ctx)
	if err != nil {
		return nil, err
	}
	ended := t.o.Clock()
	if !s.Ended.IsZero() {
		ended = s.Ended
	}
	list := []answers.TerminalRecording{}
	for _, r := range all {
		meanwhile := r.Started.Before(ended) && r.Started.Add(r.Duration).After(s.Started) && grants.Within(r.Dir, s.Workspace)
		if !named[r.ID] && !meanwhile {
			continue
		}
		one := answers.TerminalRecording{
			ID: r.ID, Name: t.lines.Label(r.Name), Format: "cast", Version: castVersion, Width: r.Cols, Height: r.Rows, HasInput: r.HasInput,
			URI: fmt.Sprintf("/api/v1/sessions/%s/recordings/%s/cast", s.ID, r.ID),
			TS:  records.Seconds(r.Started.Sub(s.Started)), DurationSec: records.Seconds(r.Duration),
		}
		if live := !r.Finished && t.o.Terminals.Live(r.ID); !live {
			one.Interrupted = !r.Finished
		} else {
			one.Live = fmt.Sprintf("/api/v1/sessions/%s/recordings/%s/live", s.ID, r.ID)
		}
		list = append(list, one)
	}
	return list, nil
}

// OpenRecording opens a recording of a session.
func OpenRecording(ctx context.Context, t *Timeline, client *checkpoint.Client, where moments.Where, id string) (*recording.Reader, error) {
	s, l, err := t.lines.Recorded(client, where)
	if err != nil {
		return nil, err
	}
	list, err := recordingsOf(ctx, t, l, s)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(r answers.TerminalRecording) bool { return r.ID == id }) {
		return nil, usererr.New(usererr.NotFound, "session %s has no recording %q", s.ID, id)
	}
	return t.o.Terminals.Open(id)
}
