package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/render"
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
}

// showFrame prints what a recorded terminal showed at a time: seconds from the recording's beginning, a time, or end.
func showFrame(cmd *cobra.Command, which, ts string, asJSON bool) error {
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	r, err := recording.Store{Dir: h.Terminals()}.Open(which)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	s := r.Summary()
	at, err := frameTime(ts, s)
	if err != nil {
		return err
	}
	t, err := r.Frame(at)
	if err != nil {
		return err
	}
	f := frame{Recording: s.ID, TS: at.Seconds(), At: s.Started.Add(at), Title: t.Title(), Alternate: t.Alternate(), Lines: t.Text()}
	f.Cols, f.Rows = t.Size()
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(f)
	}
	for _, line := range t.Styled() {
		if err := render.Line(cmd.OutOrStdout(), "%s", line); err != nil {
			return err
		}
	}
	return render.Line(cmd.ErrOrStderr(), "%s", render.Faint(fmt.Sprintf("%s at %.3f s of %.3f s, %s, %d×%d", s.ID, f.TS, s.Duration.Seconds(), f.At.Local().Format(time.DateTime), f.Cols, f.Rows)))
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
		return 0, usageError{fmt.Errorf("--ts %q is neither a number of seconds nor a time such as 10:32:15 or 2026-01-31T10:32:15, nor end", ts)}
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
