package report_test

import (
	"encoding/json"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
)

// TestTimesAreShownAsTheLayoutSays compares with the layout that the documentation gives.
func TestTimesAreShownAsTheLayoutSays(t *testing.T) {
	const layout = "2006-01-02T15:04:05.000Z"
	zone := time.FixedZone("", 5*3600+1800)
	for _, at := range []time.Time{
		{},
		time.Unix(0, 0), time.Unix(1, 999_999_999), time.Unix(1, 1_000_000).In(zone), time.Unix(1, 10_000_000), time.Unix(-1, 123_456_789),
		time.Date(2026, 12, 31, 23, 59, 59, 987_654_321, zone), time.Date(9999, 12, 31, 23, 59, 59, 1, time.UTC),
	} {
		want := at.UTC().Format(layout)
		if got := (report.Time{Time: at}).String(); got != want {
			t.Errorf("String of %v: %s, want %s", at, got, want)
		}
		data, err := json.Marshal(report.Time{Time: at})
		if err != nil || string(data) != `"`+want+`"` {
			t.Errorf("JSON of %v: %s, %v", at, data, err)
		}
		var back report.Time
		if err := json.Unmarshal(data, &back); err != nil || !back.Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s is read as %v, %v", data, back, err)
		}
	}
}
