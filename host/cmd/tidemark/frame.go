package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/recording/screen"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// frame is what a terminal showed at a time.
type frame struct {
	Recording string    `json:"recording"`
	TS        float64   `json:"ts"`
	At        time.Time `json:"at"`
	Cols      int       `json:"cols"`
	Rows      int       `json:"rows"`
	Title     string    `json:"title,omitempty"`
	Alternate bool      `json:"altScreen,omitempty"`
	Lines     []string  `json:"lines"`
	// Damaged means that the file is damaged before this time, and MissingBytes is the output that is missing there. Interrupted means that
	// the recording has no end.
	Damaged      bool   `json:"damaged,omitempty"`
	MissingBytes uint64 `json:"missingBytes,omitempty"`
	Interrupted  bool   `json:"interrupted,omitempty"`
}

// showFrame prints what a recorded terminal showed at a time: seconds from the recording's beginning, a time, end, or a moment of
// a session. which is the recording, "" for the newest, or for that of the moment.
func showFrame(cmd *cobra.Command, which, ts, session string, asJSON bool) error {
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	store := recording.Store{Dir: h.Terminals()}
	if _, ok := records.Number(ts, 'm'); ok {
		if which != "" {
			return usageError{errors.New("--recording needs a time, because a moment has its recording")}
		}
		return showFrameOf(cmd, store, ts, session, asJSON)
	}
	if session != "" {
		return usageError{errors.New("--session with --ts needs a moment, such as --ts m12")}
	}
	r, err := store.Open(which)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	at, err := frameTime(ts, r.Summary())
	if err != nil {
		return err
	}
	t, err := r.Frame(at)
	if err != nil {
		return err
	}
	return printFrame(cmd, store, r, t, at, asJSON)
}

// showFrameOf prints what a recorded terminal showed at a moment: after a command, or where an agent did something.
func showFrameOf(cmd *cobra.Command, store recording.Store, moment, session string, asJSON bool) error {
	where, err := whereIs(cmd, session)
	if err != nil {
		return err
	}
	c, err := clientFor("moment_show")
	if err != nil {
		return err
	}
	var m timeline.Shown
	if err := c.Tool(cmd.Context(), "moment_show", timeline.ShowParams{Where: where, Moment: moment}, &m); err != nil {
		return err
	}
	if m.Terminal == nil {
		return usererr.New(usererr.NotFound, "%s has no place in the recording of a terminal. Name a time and a recording.", moment)
	}
	r, err := store.Open(m.Terminal.Recording)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	offset := m.Terminal.Offset
	if m.Anchor == nil {
		if offset, err = r.EndOf(offset); err != nil {
			return err
		}
	}
	t, at, err := r.FrameAt(offset)
	if err != nil {
		return err
	}
	return printFrame(cmd, store, r, t, at, asJSON)
}

func printFrame(cmd *cobra.Command, store recording.Store, r *recording.Reader, t *screen.Terminal, at time.Duration, asJSON bool) (err error) {
	s := r.Summary()
	f := frame{Recording: s.ID, TS: at.Seconds(), At: s.Started.Add(at), Title: t.Title(), Alternate: t.Alternate(), Lines: t.Text()}
	f.Cols, f.Rows = t.Size()
	f.Interrupted = !s.Finished && !store.Live(s.ID)
	if f.MissingBytes, f.Damaged, err = r.Missing(at); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(f)
	}
	for _, line := range t.Styled() {
		if err := render.Line(cmd.OutOrStdout(), "%s", line); err != nil {
			return err
		}
	}
	if err := render.Line(cmd.ErrOrStderr(), "%s", render.Faint(fmt.Sprintf("%s at %.3f s of %.3f s, %s, %d×%d", s.ID, f.TS, s.Duration.Seconds(), f.At.Local().Format(time.DateTime), f.Cols, f.Rows))); err != nil {
		return err
	}
	for _, problem := range f.problems() {
		if err := render.Line(cmd.ErrOrStderr(), "%s", problem); err != nil {
			return err
		}
	}
	return nil
}

// problems says what of a recording is missing.
func (f *frame) problems() (list []string) {
	if f.Damaged {
		list = append(list, fmt.Sprintf("The file of the recording is damaged: %d bytes of output before this time are missing.", f.MissingBytes))
	}
	if f.Interrupted {
		list = append(list, "The recording has no end: the recorder was killed, or the file is cut off.")
	}
	return list
}

// frameTime reads a time in a recording.
func frameTime(ts string, s recording.Summary) (time.Duration, error) {
	if ts == "end" {
		return s.Duration, nil
	}
	if n, err := strconv.ParseFloat(ts, 64); err == nil && !math.IsNaN(n) {
		if n < 0 || n > s.Duration.Seconds() {
			return 0, usageError{fmt.Errorf("--ts %s is outside of recording %s. It lasts %.3f s.", ts, s.ID, s.Duration.Seconds())}
		}
		return time.Duration(n * float64(time.Second)), nil
	}
	at, err := checkpoint.ParseTime(ts, time.Local)
	if clock, notTime := time.Parse(time.TimeOnly, ts); notTime == nil {
		at, err = clockIn(s, clock), nil
	}
	if err != nil {
		return 0, usageError{fmt.Errorf("--ts %q is not a time. Pass a number of seconds, a time such as 10:32:15 or 2026-01-31T10:32:15, a moment such as m12, or end.", ts)}
	}
	if at.Before(s.Started) || at.After(s.Started.Add(s.Duration)) {
		return 0, usageError{fmt.Errorf("%s is outside of recording %s. It is from %s to %s.", ts, s.ID, s.Started.Local().Format(time.DateTime), s.Started.Add(s.Duration).Local().Format(time.DateTime))}
	}
	return at.Sub(s.Started), nil
}

// clockIn returns the end of a second that commands print as a time of day, in the first day of a recording in which it can be.
func clockIn(s recording.Summary, clock time.Time) time.Time {
	began := s.Started.Local()
	at := time.Date(began.Year(), began.Month(), began.Day(), clock.Hour(), clock.Minute(), clock.Second(), int(time.Second-time.Nanosecond), time.Local)
	if at.Before(began) {
		at = at.AddDate(0, 0, 1)
	}
	if end := began.Add(s.Duration); at.After(end) && at.Sub(end) < time.Second {
		return end
	}
	return at
}
