package records

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxSeconds bounds a time in seconds from the start of a session: ten years.
const MaxSeconds = 10 * 365 * 24 * 3600

// Seconds returns a duration in seconds, in milliseconds' steps.
func Seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// localTimes are the forms of times that commands print, in the time zone of the machine.
var localTimes = []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04"}

// Time returns the time that a text means, and which moments it reaches: seconds from the session's start count without
// changes of the system's clock. ok is false for a text that is no time.
func (s *Session) Time(text string, now time.Time) (at time.Time, reaches func(*Moment) bool, ok bool) {
	if elapsed, ok := elapsedOf(text); ok {
		return s.Started.Add(elapsed), func(m *Moment) bool { return m.Elapsed(s) <= elapsed }, true
	}
	at, ok = s.absolute(text, now)
	return at, func(m *Moment) bool { return !m.At.After(at) }, ok
}

// elapsedOf reads seconds from a session's start, or the hours, minutes and seconds that [Elapsed] writes after a plus.
func elapsedOf(text string) (time.Duration, bool) {
	if sec, err := strconv.ParseFloat(text, 64); err == nil && sec >= 0 && sec <= MaxSeconds {
		return time.Duration(sec * float64(time.Second)), true
	}
	rest, ok := strings.CutPrefix(text, "+")
	var h, m, sec int
	if n, err := fmt.Sscanf(rest, "%d:%2d:%2d", &h, &m, &sec); !ok || err != nil || n != 3 || rest != Elapsed(float64(h*3600+m*60+sec)) {
		return 0, false
	}
	return endOf(time.Duration(h*3600+m*60+sec)*time.Second, time.Second), true
}

// absolute reads RFC 3339, or what commands print. A time without fractions of a second means the end of that second,
// because what is printed is cut. A time of day is the last one of the session.
func (s *Session) absolute(text string, now time.Time) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		if !strings.Contains(text, ".") {
			at = at.Add(endOf(0, time.Second))
		}
		return at, true
	}
	for _, layout := range localTimes {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			unit := time.Second
			if !strings.Contains(layout, "05") {
				unit = time.Minute
			}
			return at.Add(endOf(0, unit)), true
		}
	}
	clock, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		return time.Time{}, false
	}
	if !s.Ended.IsZero() {
		now = s.Ended
	}
	now = now.Local()
	at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, time.Local)
	if at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at.Add(endOf(0, time.Second)), true
}

// endOf returns the last instant of a unit that begins at a time.
func endOf(begin, unit time.Duration) time.Duration { return begin + unit - time.Nanosecond }

// Elapsed writes seconds from the start of a session as hours, minutes and seconds.
func Elapsed(sec float64) string {
	s := int(sec)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
