package store

import (
	"reflect"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestAChangeOfAFileIsReadWithOtherFields: an older program wrote less of them, a newer one may write more.
func TestAChangeOfAFileIsReadWithOtherFields(t *testing.T) {
	type former struct {
		event.Head
		Path, From, Change string
		Added, Removed     int
		Counted, Binary    bool
		Size               int64
		Before, After      uint64
		Snapshot           uint64
		By                 string
		Since, Edited      int64
		Lines              []struct{ At, Old, New int }
		Tail               string
	}
	type later struct {
		former
		Columns []event.Columns
		More    []string
	}
	head := event.Head{At: 1_700_000_000_000, Subject: event.InWorkspace("/srv/shop")}
	was := former{Head: head, Path: "src/a.js", Change: event.FileModified, Size: 12, Before: 1 << 63, Since: 5, Edited: 7, Lines: []struct{ At, Old, New int }{{1, 2, 3}}, Tail: "a.js"}
	want := event.FileChange{Head: head, Path: "src/a.js", Change: event.FileModified, Size: 12, Before: 1 << 63, Since: 5, Edited: 7, Lines: []event.Run{{At: 1, Old: 2, New: 3}}, Tail: "a.js"}
	columns := want
	columns.Columns = []event.Columns{{From: 4, To: 9}}
	for name, c := range map[string]struct {
		wrote any
		want  event.FileChange
	}{
		"an older program's": {was, want},
		"this program's":     {&columns, columns},
		"a newer program's":  {later{was, columns.Columns, []string{"more"}}, columns},
	} {
		one, err := marshal(c.wrote)
		if err != nil {
			t.Fatal(err)
		}
		list, err := decodeEntries(capture.FilesSection, append(one, one...), 2, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range list.Len() {
			if got := list.At(i); !reflect.DeepEqual(got, &c.want) {
				t.Errorf("%s is read as %+v, want %+v", name, got, c.want)
			}
		}
	}
}
