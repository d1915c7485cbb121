package checkpoint

import (
	"testing"
	"time"
)

// TestDaysAndWeeksThatAreNotThereAreRefused: not taken for the day after.
func TestDaysAndWeeksThatAreNotThereAreRefused(t *testing.T) {
	for in, there := range map[string]bool{
		"2026-W53": true, "2025-W53": false, "2026-W00": false, "2026-W53-7": true, "2025-W01-1": true,
		"2024-366": true, "2025-366": false, "2025-365": true, "2025-000": false,
		"2025-02-29": false, "2024-02-29": true, "2026-04-31": false, "2026-00-10": false,
		"2026-01-23T24:00:00Z": true, "2026-01-23T24:00:01Z": false, "2026-01-23T23:59:60Z": true, "2026-01-23T23:59:61Z": false,
	} {
		if _, err := ParseTime(in, time.UTC); (err == nil) != there {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestWordsWithAMAndPMInThemAreNoTimes(t *testing.T) {
	for name, fine := range map[string]bool{
		"before_step_1_amend": true, "v8_amazon_pay": true, "phase_2_pmo_review": true,
		"at_1_am": false, "at_11pm": false, "build_2am_fix": false,
	} {
		if err := CheckName(name); (err == nil) != fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{
		"2026-01-23T10:25:00.123456789Z", "20260123T102500+0530", "2026-W04-5", "2026W045T10", "2026-023", "2026023T1025,5-08", "2026-01", "2026",
		"2026-01-23T24:00", "2026-01-23 10:25:00−03:00", "9999-12-31T23:59:60Z", "0000-01-01",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime(s, time.UTC)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		again, err := ParseTime(at.Format("2006-01-02T15:04:05.000000Z"), time.UTC)
		if at.Year() >= 0 && at.Year() <= 9999 && (err != nil || !again.Equal(at.Truncate(time.Microsecond))) {
			t.Errorf("%q is %s, which is %s (%v)", s, at, again, err)
		}
	})
}
