package timeline

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// reportedLate is how long after a snapshot with a change the call may be reported that made it: another one had it taken.
const reportedLate = 10 * time.Second

// OfChange returns the moment that has a change of a file: of those with its snapshot, the one whose call names the file or made
// it, or else the first. A call that is reported long after the snapshot did not make it. It is nil if none has a moment. The ID is
// that of the moment, or else that of the snapshot.
func OfChange(t *Timeline, e *event.FileChange) (id string, of *records.Moment) {
	id = records.SnapshotID(e.Snapshot)
	if t.lines.Failed() != nil {
		return id, nil
	}
	l, err := t.lines.Line(Now(t, e.Place))
	if err != nil {
		return id, nil
	}
	var maker *records.Moment
	for _, m := range slices.Backward(l.All()) {
		if m.Snapshot != e.Snapshot {
			continue
		}
		of = m
		switch {
		case isLate(m):
		case workspace.Names(m.Label, e.Path):
			maker = m
		case maker == nil && e.By != "" && m.Label == e.By:
			maker = m
		}
	}
	if of = cmp.Or(maker, of); of != nil {
		id = of.ID()
	}
	return id, of
}

// isLate reports whether what a moment is of followed its snapshot, which has nothing of it.
func isLate(m *records.Moment) bool { return m.At.Sub(time.Unix(0, m.SnapshotAt)) > reportedLate }

// failed ends the label of a call that failed.
const failed = " failed"

// FilesOf returns the files that the call of a moment edited by its label, as their workspace names them, or elsewhere, as the call
// named them. There are none if the call failed. One of which the label has only a part is left out.
func FilesOf(m *records.Moment) (files []string) {
	_, names, ok := strings.Cut(m.Label, " ")
	if m.Source != records.FromEdit || !ok || strings.HasSuffix(names, failed) {
		return nil
	}
	for name := range strings.SplitSeq(names, ", ") {
		if name != "" && !strings.HasSuffix(name, "…") {
			files = append(files, name)
		}
	}
	return files
}

// Edited returns the files that calls are reported to have edited between two times, as [FilesOf] names them, in the workspace with a
// root.
func Edited(t *Timeline, root string, from, to time.Time) (files []string) {
	if t.lines.Failed() != nil {
		return nil
	}
	l, err := t.lines.Line(Now(t, root))
	if err != nil {
		return nil
	}
	for _, m := range slices.Backward(l.All()) {
		if m.Placed || m.At.After(to) {
			continue
		}
		if m.At.Before(from) {
			break
		}
		files = append(files, FilesOf(m)...)
	}
	return files
}

// Hides reports whether a change is of a file in a directory that the user denies now, in a workspace that is allowed.
func Hides(t *Timeline, e *event.FileChange) bool {
	root := Now(t, e.Place)
	dir := filepath.Dir(filepath.Join(root, filepath.FromSlash(e.Path)))
	for ; len(dir) > len(root); dir = filepath.Dir(dir) { // the nearest one that is there
		if _, err := os.Stat(dir); err == nil {
			return !t.Allows(dir)
		}
	}
	return false
}
