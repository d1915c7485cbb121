package retention_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/retention"
)

func TestPrune(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	files := []retention.File{
		{ID: "new", Bytes: 10, Written: now.Add(-time.Minute)},
		{ID: "oldest", Bytes: 10, Written: now.Add(-4 * time.Hour)},
		{ID: "used", Bytes: 10, Written: now.Add(-3 * time.Hour)},
		{ID: "broken", Bytes: 10, Written: now.Add(-150 * time.Minute)},
		{ID: "old", Bytes: 10, Written: now.Add(-2 * time.Hour)},
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		policy  retention.Policy
		deleted []string
		fails   bool
	}{
		"no bound":         {retention.Policy{}, nil, false},
		"all are within":   {retention.Policy{Age: 5 * time.Hour, Bytes: 50}, nil, false},
		"by age":           {retention.Policy{Age: time.Hour}, []string{"oldest", "old"}, true},
		"by size":          {retention.Policy{Bytes: 40}, []string{"oldest"}, false},
		"by size, further": {retention.Policy{Bytes: 30}, []string{"oldest", "old"}, true},
		"by both":          {retention.Policy{Age: 210 * time.Minute, Bytes: 1}, []string{"oldest", "old", "new"}, true},
	} {
		done, err := retention.Prune(retention.Wall(func() time.Time { return now }), c.policy, files, func(id string) (bool, error) {
			if id == "broken" {
				return false, broken
			}
			return id != "used", nil
		})
		if !slices.Equal(done.Deleted, c.deleted) || done.Freed != int64(10*len(c.deleted)) {
			t.Errorf("%s: %+v", name, done)
		}
		if errors.Is(err, broken) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
	if files[0].ID != "new" {
		t.Error("the caller's list was sorted")
	}
}
