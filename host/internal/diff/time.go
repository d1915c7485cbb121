package diff

import "time"

// Time is a time as it is shown: RFC 3339 in UTC with milliseconds.
type Time struct{ time.Time }

// MarshalJSON writes the time.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

func (t Time) String() string { return t.UTC().Format(timeLayout) }

const timeLayout = "2006-01-02T15:04:05.000Z"

// UnmarshalJSON reads a time that [Time.MarshalJSON] wrote.
func (t *Time) UnmarshalJSON(data []byte) error { return t.Time.UnmarshalJSON(data) }
