package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// The forms of ISO 8601-1:2019, 5.2 to 5.4: calendar, ordinal and week dates, extended and basic,
// with a time of day of any precision, and Z, an offset, or none.
var isoForm = lazyregexp.New(`^(\d{4})(?:-?W(\d{2})(?:-?([1-7]))?|-(\d{3})|-?(\d{2})-?(\d{2})|-(\d{2})|(\d{3}))?` +
	`(?:[Tt ](\d{2})(?::?(\d{2})(?::?(\d{2}))?)?(?:[.,](\d+))?\s*([Zz]|[+\-−]\d{2}(?::?\d{2})?)?)?$`)

// LooksLikeTime reports whether a checkpoint argument is a time: no name begins with a digit.
func LooksLikeTime(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// ParseTime reads a time in any form of ISO 8601. One without a zone is local.
func ParseTime(s string, local *time.Location) (time.Time, error) {
	bad := func(why string) (time.Time, error) {
		return time.Time{}, fmt.Errorf("%q is not a valid ISO 8601 time%s; write it like 2026-01-23T10:25:00Z", s, why)
	}
	m := isoForm().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return bad("")
	}
	num := func(i int) int {
		n, _ := strconv.Atoi(m[i])
		return n
	}
	year, month, day := num(1), 1, 1
	switch {
	case m[2] != "": // week date
		weekday := 1
		if m[3] != "" {
			weekday = num(3)
		}
		// Week 1 holds 4 January (ISO 8601-1:2019, 3.1.1.23).
		fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		monday := 4 - (int(fourth.Weekday())+6)%7
		day = monday + (num(2)-1)*7 + weekday - 1
		if y, w := time.Date(year, 1, day, 0, 0, 0, 0, time.UTC).ISOWeek(); y != year || w != num(2) {
			return bad(": no such week")
		}
	case m[4]+m[8] != "": // ordinal date
		day, _ = strconv.Atoi(m[4] + m[8])
		if t := time.Date(year, 1, day, 0, 0, 0, 0, time.UTC); day < 1 || t.Year() != year {
			return bad(": no such day")
		}
	case m[5] != "":
		month, day = num(5), num(6)
		if t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC); t.Day() != day || int(t.Month()) != month {
			return bad(": no such day")
		}
	case m[7] != "":
		month = num(7)
		if month < 1 || month > 12 {
			return bad(": no such month")
		}
	}
	hour, minute, second := num(9), num(10), num(11)
	if hour > 24 || minute > 59 || second > 60 || hour == 24 && minute+second > 0 {
		return bad(": no such time of day")
	}
	zone := local
	if z := m[13]; z != "" {
		var err error
		if zone, err = parseZone(z); err != nil {
			return bad(": " + err.Error())
		}
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, zone)
	if m[12] != "" { // a fraction of the smallest part given
		part := time.Second
		switch {
		case m[10] == "":
			part = time.Hour
		case m[11] == "":
			part = time.Minute
		}
		fraction, err := strconv.ParseFloat("0."+m[12], 64)
		if err != nil {
			return bad("")
		}
		t = t.Add(time.Duration(fraction * float64(part)).Round(time.Microsecond))
	}
	return t.UTC(), nil
}

func parseZone(z string) (*time.Location, error) {
	if z == "Z" || z == "z" {
		return time.UTC, nil
	}
	sign := 1
	if !strings.HasPrefix(z, "+") {
		sign = -1
	}
	digits := strings.ReplaceAll(strings.TrimLeft(z, "+-−"), ":", "")
	hours, _ := strconv.Atoi(digits[:2])
	minutes := 0
	if len(digits) == 4 {
		minutes, _ = strconv.Atoi(digits[2:])
	}
	if hours > 18 || minutes > 59 {
		return nil, fmt.Errorf("no such time zone")
	}
	return time.FixedZone(z, sign*(hours*3600+minutes*60)), nil
}
