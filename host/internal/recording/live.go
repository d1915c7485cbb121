package recording

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// LiveStart is the first message of a live recording: the terminal as it is now. Init is output that leads there.
type LiveStart struct {
	Cols int         `json:"cols"`
	Rows int         `json:"rows"`
	Time json.Number `json:"time"`
	Init string      `json:"init"`
}

// Live follows a recording that is being written, in messages for asciinema-player's event source: a [LiveStart], and then
// events of three values, the first of which is their time in seconds. It is not safe for concurrent use.
type Live struct {
	r *Reader
	c *caster
	// last is the time of the last event that was sent, and equal how many events of that time were.
	last    time.Duration
	equal   int
	started bool
}

// errStopped is the error of a receiver that takes no more.
var errStopped = errors.New("the receiver of the recording takes no more")

// NewLive follows a recording. The reader must not be used by others.
func NewLive(r *Reader) *Live { return &Live{r: r} }

// Next passes messages on, and reports whether the recording has ended. It stops when send returns false.
func (l *Live) Next(send func(message any) bool) (ended bool, err error) {
	ok := true
	emit := func(at time.Duration, code, data string) {
		if ok && code != "x" {
			ok = send([3]any{json.Number(seconds(at)), code, data})
		}
	}
	if !l.started {
		l.started = true
		l.last = l.r.summary.Duration
		for e, err := range l.r.Events(l.last) {
			if err != nil {
				return false, err
			}
			if e.At == l.last {
				l.equal++
			}
		}
		t, err := l.r.Frame(l.last)
		if err != nil {
			return false, err
		}
		l.c = newCaster(0, nil)
		l.c.partial[Output] = t.Pending()
		l.c.last, l.c.shown = l.last, l.last
		cols, rows := t.Size()
		init := strings.TrimSuffix(t.Dump(), string(t.Pending()))
		if !send(LiveStart{cols, rows, json.Number(seconds(l.last)), init}) {
			return false, errStopped
		}
		return l.r.summary.Finished, nil
	}
	if err := l.r.Refresh(); err != nil {
		return false, err
	}
	l.c.emit = emit
	skip := l.equal
	for e, err := range l.r.Events(l.last) {
		switch {
		case err != nil:
			return false, err
		case e.At < l.last:
			continue
		case e.At == l.last && skip > 0:
			skip--
			continue
		case e.At > l.last:
			l.last, l.equal = e.At, 0
		}
		l.equal++
		if l.c.event(e); !ok {
			return false, errStopped
		}
	}
	return l.r.summary.Finished, nil
}
