package workspace

import (
	"cmp"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/protocol"
)

const (
	// maxRecorded bounds the changes of one snapshot that are recorded. The buffer has room for about twice as many.
	maxRecorded = 2000
	// maxQueued bounds the changes that wait while the journal is behind.
	maxQueued = 20_000
	// maxCounted bounds the files of one snapshot of which lines are counted.
	maxCounted = 200
	// racy is how long before the time of a snapshot, in milliseconds, a file may have been written that is not in it.
	racy = 1000
)

// queue has the changes of files that wait to be recorded.
type queue struct {
	mu      sync.Mutex
	batches []batch
	length  int
	wake    chan struct{} // has a value while there are batches
}

// batch are the changes of one snapshot, or a mark at which done is closed.
type batch struct {
	subject event.Subject
	events  []event.Event
	// missed counts the changes that are not among them, since a time.
	missed int
	since  time.Time
	done   chan struct{}
}

func (q *queue) add(b batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.length+len(b.events) > maxQueued {
		b.missed, b.events = b.missed+len(b.events), nil
	}
	q.batches, q.length = append(q.batches, b), q.length+len(b.events)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() []batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.batches
	q.batches, q.length = nil, 0
	return all
}

// Name implements [recorder.Recorder].
func (ws *Workspaces) Name() string { return capture.Workspaces }

// Run implements [recorder.Recorder]: it records changes of files. It also closes workspaces that are not used. When ctx
// ends, it closes all.
func (ws *Workspaces) Run(ctx context.Context, sink recorder.Sink) error {
	defer ws.close()
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { ws.sweepOften(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ws.queue.wake:
			for _, b := range ws.queue.take() {
				if len(b.events) > 0 {
					if err := sink.Append(ctx, b.events...); err != nil {
						return nil // the daemon stops
					}
				}
				if b.missed > 0 {
					sink.Miss(b.subject, protocol.GapDropped, b.since, b.missed)
				}
				if b.done != nil {
					close(b.done)
				}
			}
		}
	}
}

// sweepOften closes workspaces that are not used, and deletes old snapshots, until ctx ends.
func (ws *Workspaces) sweepOften(ctx context.Context) {
	if ctx.Err() == nil {
		sweepClosed(ws) // what a killed daemon has left, among others
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ws.Sweep()
			sweepClosed(ws)
			ws.prune(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Flush waits until the changes of every snapshot that was taken before the call are recorded.
func (ws *Workspaces) Flush(ctx context.Context) error {
	b := batch{done: make(chan struct{})}
	ws.queue.add(b)
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record records what changed since the snapshot that was recorded last. By names what made the changes, "" where that is
// not known; see [Workspace.Take].
func (w *Workspace) record(ctx context.Context, by string) {
	w.recording.Lock()
	defer w.recording.Unlock()
	w.recordLocked(ctx, by)
}

// recordLocked is record for a caller that has the lock of recording.
func (w *Workspace) recordLocked(ctx context.Context, by string) {
	all := w.provider.List()
	if len(all) == 0 {
		return
	}
	last := all[len(all)-1]
	if w.recorded == last.Number {
		return
	}
	if w.o.taken != nil {
		w.o.taken(w.Dir, last.Number)
	}
	recordUpTo(ctx, w, all, by)
}

// unsaved is how long before the last write of the journal a snapshot may have been taken whose changes it does not have.
const unsaved = 10 * time.Second

// recordLost records the changes of the last snapshots again that were not on disk when an earlier process was killed.
func (w *Workspace) recordLost(ctx context.Context) {
	if w.o.Recorded == nil {
		return
	}
	number, saved := w.o.Recorded(w.Dir)
	w.recording.Lock()
	defer w.recording.Unlock()
	all := w.provider.List()
	lost := slices.IndexFunc(all, func(s tracked.Snapshot) bool { return s.Number > number && s.At.After(saved.Add(-unsaved)) })
	if lost < 0 {
		return
	}
	if w.recorded = 0; lost > 0 {
		w.recorded = all[lost-1].Number
	}
	recordUpTo(ctx, w, all, "")
}

// recordUpTo records what changed from one snapshot to the next, up to the last one. By is of the last one. The caller has the lock
// of recording.
func recordUpTo(ctx context.Context, w *Workspace, all []tracked.Snapshot, by string) {
	for i := range all {
		from, to := w.recorded, &all[i]
		if to.Number <= from {
			continue
		}
		w.recorded, w.edited = to.Number, time.Time{}
		if from == 0 {
			continue // everything is in the first one; another may have followed it already
		}
		who := ""
		if i == len(all)-1 {
			who = by
		}
		recordBetween(ctx, w, all, from, to, who)
	}
}

// recordBetween records what changed from a snapshot to a later one.
func recordBetween(ctx context.Context, w *Workspace, all []tracked.Snapshot, from uint64, last *tracked.Snapshot, by string) {
	b := batch{subject: event.InWorkspace(w.Dir), since: last.At}
	since := int64(0)
	if i := slices.IndexFunc(all, func(s tracked.Snapshot) bool { return s.Number == from }); i >= 0 {
		since = all[i].At.UnixMilli()
		if seen := all[i].Seen; !seen.IsZero() {
			since = seen.UnixMilli()
		}
	}
	d, err := w.comparer.Diff(ctx, from, last.Number, compare.Options{MaxFiles: maxCounted, MaxLines: 1, Exact: true, Secrets: true})
	if err != nil {
		if w.o.Log != nil {
			w.o.Log.Warn("cannot record the changes of files", "workspace", w.Dir, "error", err)
		}
		b.missed = last.Changed
		w.queue.add(b)
		return
	}
	masked := map[*event.FileChange][2]string{} // paths of files whose names have secrets
	files := slices.DeleteFunc(d.Files, func(f compare.File) bool { return changeOf(&f) == nil })
	chosen := choose(files, maxRecorded)
	b.missed = len(files) - len(chosen)
	for _, f := range chosen {
		e := changeOf(f)
		e.At, e.Subject, e.Snapshot, e.Since = last.At.UnixMilli(), b.subject, last.Number, since
		if e.Edited < since-racy || e.Edited > e.At || since == 0 {
			e.Edited = 0 // the time of a copy, say
		}
		if made(by, e.Path) {
			e.By = event.OneLine(by)
		}
		w.edited = earlier(w.edited, e, e.Edited)
		b.events = append(b.events, e)
		path, n := w.comparer.MaskPath(f.Path)
		from, more := w.comparer.MaskPath(f.OldPath)
		if e.Masked = n + more; e.Masked > 0 {
			masked[e] = [2]string{event.FilePath(path), event.FilePath(from)}
		}
	}
	w.edited = removed(w.edited, w.Dir, b.events, since)
	w.findTails(b.events)
	for e, paths := range masked {
		e.Path, e.From, e.Tail = paths[0], paths[1], ""
	}
	// A file may have been renamed to the path of one that was removed.
	slices.SortStableFunc(b.events, func(x, y event.Event) int {
		return cmp.Compare(after(x), after(y))
	})
	if len(b.events) > 0 || b.missed > 0 {
		w.queue.add(b)
	}
}

// choose returns at most so many of the changes of a snapshot, in their order. If there are more, each directory has its share, so
// that those which a program makes by the thousand do not hide an edit. What is built or installed gets what remains.
func choose(files []compare.File, most int) []*compare.File {
	var byHand, others []*compare.File
	for i := range files {
		if path := files[i].Path; len(files) > most && (cause.IsBuilt(path) || strings.Contains("/"+path, "/node_modules/")) {
			others = append(others, &files[i])
		} else {
			byHand = append(byHand, &files[i])
		}
	}
	chosen := share(byHand, 0, most)
	chosen = append(chosen, share(others, 0, most-len(chosen))...)
	slices.SortFunc(chosen, func(a, b *compare.File) int { return strings.Compare(a.Path, b.Path) })
	return chosen
}

// share returns at most so many of the changes in a directory, whose path has so many bytes: an equal part for each name in it, and
// what some leave for the others.
func share(files []*compare.File, prefix, most int) []*compare.File {
	switch {
	case len(files) <= most:
		return files
	case most == 0:
		return nil
	}
	var names []string
	in := map[string][]*compare.File{}
	for _, f := range files {
		name, _, _ := strings.Cut(f.Path[min(prefix, len(f.Path)):], "/") // "" is what the directory replaced, or was replaced by
		if in[name] == nil {
			names = append(names, name)
		}
		in[name] = append(in[name], f)
	}
	if len(in[""]) == len(files) {
		return files[:most] // of one path
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(in[a]), len(in[b])) })
	var chosen []*compare.File
	for i, name := range names {
		part := (most - len(chosen)) / (len(names) - i)
		chosen = append(chosen, share(in[name], prefix+len(name)+1, part)...)
	}
	return chosen
}

// earlier returns the earlier of a time and that of a change, 0 for an unknown one, of a file that is written by hand.
func earlier(edited time.Time, e *event.FileChange, ms int64) time.Time {
	if at := time.UnixMilli(ms); ms != 0 && (edited.IsZero() || at.Before(edited)) && !cause.IsBuilt(e.Path) && !strings.Contains("/"+e.Path, "/node_modules/") {
		return at
	}
	return edited
}

// maxRemoved bounds the files of one snapshot of which their directory tells when they were removed or moved.
const maxRemoved = 50

// removed returns the earlier of a time and those at which files were removed or moved: their directory was written then.
func removed(edited time.Time, root string, events []event.Event, since int64) time.Time {
	left := maxRemoved
	for _, ev := range events {
		e := ev.(*event.FileChange)
		if e.Edited != 0 || since == 0 || left == 0 {
			continue
		}
		left--
		dir := filepath.Dir(filepath.Join(root, filepath.FromSlash(e.Path)))
		info, err := os.Stat(dir)
		for ; err != nil && dir != root && filepath.Dir(dir) != dir; info, err = os.Stat(dir) { // it was removed too
			dir = filepath.Dir(dir)
		}
		if err != nil {
			continue
		}
		if at := info.ModTime().UnixMilli(); at >= since && at <= e.At {
			edited = earlier(edited, e, at)
		}
	}
	return edited
}

const (
	// maxTails bounds the changes of one snapshot of which tails are looked for, maxPaths the paths that are looked at.
	maxTails = 50
	maxPaths = 200_000
)

// findTails finds how the paths of changed files end as no other one does, unless there are too many.
func (w *Workspace) findTails(events []event.Event) {
	names := map[string][]*event.FileChange{}
	n := 0
	for _, e := range events {
		if e := e.(*event.FileChange); !strings.Contains("/"+e.Path, "/node_modules/") {
			e.Tail = tree.Base(e.Path)
			names[e.Tail] = append(names[e.Tail], e)
			n++
		}
	}
	if n == 0 {
		return
	}
	left := maxPaths
	if n <= maxTails {
		tracked.Paths(w.provider, func(name string) bool { return name == "node_modules" || name == ".git" }, func(path string) bool {
			for _, e := range names[tree.Base(path)] {
				if other := event.FilePath(path); other != e.Path {
					e.Tail = longer(e.Tail, ending(e.Path, other))
				}
			}
			left--
			return left > 0
		})
	}
	if n > maxTails || left == 0 {
		for _, list := range names {
			for _, e := range list {
				e.Tail = ""
			}
		}
	}
}

// ending returns how a path ends, in whole names, as another path does not. It is the whole path if the other one ends so.
func ending(path, other string) string {
	at := len(path)
	for {
		at = strings.LastIndexByte(path[:at], '/')
		if at < 0 && strings.HasSuffix(other, "/"+path) {
			return "/" + path // only the path from the system's root says which one it is
		}
		if at < 0 {
			return path
		}
		if tail := path[at:]; !strings.HasSuffix("/"+other, tail) {
			return tail[1:]
		}
	}
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// after orders removals before all else.
func after(e event.Event) int {
	if e.(*event.FileChange).Change == event.FileRemoved {
		return 0
	}
	return 1
}

// made reports whether a call made a change: a command may have, an edit if it names the file.
func made(by, path string) bool {
	tool, _, ok := strings.Cut(by, " ")
	if by != "" && (tool == "Bash" || tool == "shell" || tool == "run_shell_command" || !ok) {
		return true
	}
	return Names(by, path)
}

// Names reports whether the words for a call, a tool and perhaps files, name a file.
func Names(call, path string) bool {
	_, files, _ := strings.Cut(call, " ")
	for file := range strings.SplitSeq(files, ", ") {
		if file == path && file != "" {
			return true
		}
	}
	return false
}

// changeOf returns a changed file as an event, nil for a directory.
func changeOf(f *compare.File) *event.FileChange {
	before, after := f.Before, f.After
	if before != nil && before.Kind == tree.Dir {
		before = nil
	}
	if after != nil && after.Kind == tree.Dir {
		after = nil
	}
	e := &event.FileChange{
		Path: event.FilePath(f.Path), Added: f.Added, Removed: f.Removed, Counted: f.Counted, Binary: f.Content == compare.Binary,
		Before: identity(before), After: identity(after),
	}
	if after != nil {
		e.Size = after.Size
		if before == nil || after.Mtime != before.Mtime {
			e.Edited = time.Unix(0, after.Mtime).UnixMilli()
		}
	}
	if len(f.Runs) <= event.MaxRuns {
		for _, r := range f.Runs {
			e.Replaced(event.Run{At: r.At, Old: r.Old, New: r.New}, event.Columns{From: r.From, To: r.To})
		}
	}
	switch {
	case before == nil && after == nil:
		return nil
	case f.OldPath != "":
		e.Change, e.From = event.FileRenamed, event.FilePath(f.OldPath)
	case before == nil:
		e.Change = event.FileAdded
	case after == nil:
		e.Change = event.FileRemoved
	default:
		e.Change = event.FileModified
	}
	return e
}

// identity identifies the content and the mode of a file, 0 where they are not known.
func identity(e *tree.Entry) uint64 {
	if e == nil || e.Unread != "" {
		return 0
	}
	id := binary.BigEndian.Uint64(e.Content[:])
	for _, c := range []byte(e.Target) {
		id = id*31 + uint64(c)
	}
	return max(1, id^uint64(e.Mode)<<1^uint64(e.Kind)<<40)
}
