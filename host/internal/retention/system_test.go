package retention_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/retention"
)

func TestTheClockThatNobodySetsRuns(t *testing.T) {
	a := retention.System()
	b := retention.System()
	if a.Boot == "" || a.Boot != b.Boot || a.Ran <= 0 || b.Ran < a.Ran || b.At.Before(a.At) {
		t.Errorf("%+v, then %+v", a, b)
	}
}
