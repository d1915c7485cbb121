package cause_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/cause"
)

// TestAPageOnABusyMachineFailsLateAfterAHotUpdate: it may run what it got as much later as the update came after its edit. The times
// are those of Next.js where a dozen other builds ran.
func TestAPageOnABusyMachineFailsLateAfterAHotUpdate(t *testing.T) {
	const named = "src/a.js:12 [hot_update order]"
	module := func(at int64) []cause.Module {
		return []cause.Module{{At: at, File: "[project]/src/a.js"}}
	}
	edits := []cause.Edit{edit("src/a.js", 1000, at(12))}
	for name, c := range map[string]struct {
		edits   []cause.Edit
		at      int64
		history cause.History
		want    string
	}{
		"as late as the update":         {edits, 23_000, cause.History{Updates: []int64{300, 17_000, 26_600}, Loads: []int64{300}, Modules: module(17_000)}, named},
		"later than that":               {edits, 34_000, cause.History{Updates: []int64{300, 17_000}, Loads: []int64{300}, Modules: module(17_000)}, cause.NoEvidence},
		"after an update that was fast": {edits, 7000, cause.History{Updates: []int64{300, 1200}, Loads: []int64{300}, Modules: module(1200)}, cause.NoEvidence},
		"after a load":                  {edits, 23_000, cause.History{Updates: []int64{300, 17_000}, Loads: []int64{300, 17_000}}, cause.NoEvidence},
		"after an update of long after": {edits, 66_000, cause.History{Updates: []int64{300, 61_000}, Loads: []int64{300}, Modules: module(61_000)}, cause.NoEvidence},
		"after an input":                {edits, 23_000, cause.History{Updates: []int64{300, 17_000}, Loads: []int64{300}, Inputs: []int64{22_900}, Modules: module(17_000)}, cause.NoEvidence},
		"while the server writes its files": {
			append(edits[:1:1], edit(".next/dev/a.js", 4000, at(1)), edit(".next/dev/b.js", 16_000, at(1)), edit(".next/dev/c.js", 19_000, at(1))),
			23_000, cause.History{Updates: []int64{300, 17_000, 26_600}, Loads: []int64{300}, Modules: module(17_000)}, named,
		},
		"and another file is edited meanwhile": {
			append(edits[:1:1], edit("src/b.js", 19_000, at(1))),
			23_000, cause.History{Updates: []int64{300, 17_000}, Loads: []int64{300}, Modules: module(17_000)}, "src/a.js:12 [hot_update]",
		},
		"and another file was edited with it": {
			append(edits[:1:1], edit("src/b.js", 1200, at(1))),
			23_000, cause.History{Updates: []int64{300, 17_000}, Loads: []int64{300}}, cause.NoEvidence,
		},
	} {
		f := cause.Finder{Edits: c.edits}
		if got := told(f.Find(cause.Symptom{At: c.at}, &c.history)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
