package cause_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestAHotUpdateOfAnUnrecordedChange: a component was edited and undone before a snapshot was taken. Its hot update names it, and the
// only change that was recorded is an old one.
func TestAHotUpdateOfAnUnrecordedChange(t *testing.T) {
	old := edit("scratch/a.js", 10_000)
	old.Change, old.Edited, old.At, old.Since = event.FileRemoved, 0, 10_000, 2000
	for name, c := range map[string]struct {
		at      int64
		modules []cause.Module
		frames  []cause.Frame
		want    string
	}{
		"another module, long after":    {20_000, []cause.Module{{At: 20_000, File: "/src/Cart.svelte"}}, frames(site+"/src/Cart.svelte", 10), cause.NoEvidence},
		"another module, and no frames": {20_000, []cause.Module{{At: 20_000, File: "/src/Cart.svelte"}}, nil, cause.NoEvidence},
		"another module, at once":       {10_500, []cause.Module{{At: 10_500, File: "/src/Cart.svelte"}}, nil, "scratch/a.js:0 [order]"},
		"no module":                     {20_000, nil, frames(site+"/src/Cart.svelte", 10), "scratch/a.js:0 [order]"},
		"the file too": {
			20_000, []cause.Module{{At: 20_000, File: "/src/Cart.svelte"}, {At: 20_000, File: "/scratch/a.js"}}, nil, "scratch/a.js:0 [hot_update order]",
		},
	} {
		h := cause.History{Loads: []int64{1000, 5000}, Updates: []int64{1000, 5000, c.at}, Modules: c.modules}
		f := cause.Finder{Edits: []cause.Edit{old}}
		if got := told(f.Find(cause.Symptom{At: c.at + 60, Frames: c.frames}, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	h := cause.History{Loads: []int64{1000, 5000, 20_000}, Updates: []int64{1000, 5000, 20_000}, Modules: []cause.Module{{At: 20_000, File: "/src/Cart.svelte"}}}
	f := cause.Finder{Edits: []cause.Edit{old}}
	if got := told(f.Find(cause.Symptom{At: 20_060}, &h)); got != "scratch/a.js:0 [order]" {
		t.Errorf("a load: %s", got)
	}
}
