package report

import "time"

// Time is a time as it is shown: RFC 3339 in UTC with milliseconds.
type Time struct{ time.Time }

// MarshalJSON writes the time.
func (t Time) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(`"2006-01-02T15:04:05.000Z"`)), '"')
	return append(t.append(b), '"'), nil
}

func (t Time) String() string { return string(t.append(nil)) }

// append appends the time. Package time writes RFC 3339 several times as fast as any other layout.
func (t Time) append(b []byte) []byte {
	b = t.UTC().AppendFormat(b, time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-1], '.', '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10), 'Z')
}

// UnmarshalJSON reads a time that [Time.MarshalJSON] wrote.
func (t *Time) UnmarshalJSON(data []byte) error { return t.Time.UnmarshalJSON(data) }
