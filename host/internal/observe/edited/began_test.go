package edited_test

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe/edited"
)

// TestAnEditBeganWithTheFirstFileSinceTheLastHook, as far as the times of files are known.
func TestAnEditBeganWithTheFirstFileSinceTheLastHook(t *testing.T) {
	const shop, since, earliest = "/home/me/shop", 20_000, 10_000
	change := func(root, path string, since, edited, at int64) *event.FileChange {
		return &event.FileChange{Head: event.Head{At: at, Subject: event.InWorkspace(root)}, Path: path, Change: event.FileModified, Since: since, Edited: edited}
	}
	for name, c := range map[string]struct {
		changes []*event.FileChange
		want    int64
	}{
		"nothing":               {nil, earliest},
		"one":                   {[]*event.FileChange{change(shop, "a.js", 15_000, 25_000, 26_000)}, 24_999},
		"two":                   {[]*event.FileChange{change(shop, "a.js", 15_000, 25_000, 26_000), change(shop, "b.js", 15_000, 24_000, 26_000)}, 23_999},
		"before the last hook":  {[]*event.FileChange{change(shop, "a.js", 15_000, 19_000, 19_500), change(shop, "a.js", 19_500, 25_000, 26_000)}, 24_999},
		"removed":               {[]*event.FileChange{change(shop, "a.js", 22_000, 0, 26_000)}, 21_999},
		"removed at some time":  {[]*event.FileChange{change(shop, "a.js", 22_000, 25_000, 26_000), change(shop, "b.js", 15_000, 0, 26_000)}, earliest},
		"in another workspace":  {[]*event.FileChange{change("/home/me/blog", "a.js", 15_000, 25_000, 26_000)}, earliest},
		"what a program writes": {[]*event.FileChange{change(shop, "dist/a.js", 15_000, 25_000, 26_000)}, earliest},
	} {
		s := capture.New(capture.DefaultLimits(), noise.Default(), time.UnixMilli(0))
		files := capture.NewSink(s, capture.Workspaces, func() time.Time { return time.UnixMilli(0) })
		for _, e := range c.changes {
			if err := files.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		v := s.View(time.UnixMilli(30_000))
		if got := edited.Began(v, shop, time.UnixMilli(since), time.UnixMilli(earliest)).UnixMilli(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got := edited.Began(v, "", time.UnixMilli(since), time.UnixMilli(earliest)).UnixMilli(); got != earliest {
			t.Errorf("%s, of no workspace: %d", name, got)
		}
	}
}
