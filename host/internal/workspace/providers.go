package workspace

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Matrix is which ways there are to take snapshots of a workspace.
type Matrix struct {
	Workspace string `json:"workspace"`
	// Filesystem is the workspace's, "" where the system does not name it.
	Filesystem string `json:"filesystem,omitempty"`
	// Providers are in the order of preference. The first one that is available is used.
	Providers []Choice `json:"providers"`
}

// Choice is a way to take snapshots.
type Choice struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	// Why says why it is not available, or what it does.
	Why string `json:"why"`
	// Cost is how long a snapshot takes. It is nil for what is not available.
	Cost *Cost `json:"cost,omitempty"`
	// Seek and Branch say how a view and a branch get their files.
	Seek   string `json:"seek,omitempty"`
	Branch string `json:"branch,omitempty"`
}

// Cost is how long snapshots take, in milliseconds.
type Cost struct {
	// SnapshotMs is how long one took just now, as at a moment: it asked the watcher, compared Compared of the workspace's Files
	// files and directories, and found them unchanged. It is the median of three, and 0 before the first moment.
	SnapshotMs float64 `json:"snapshotMs,omitempty"`
	Compared   int     `json:"compared,omitempty"`
	Files      int     `json:"files,omitempty"`
	// WholeMs is how long one took that compared all of them, as at a moment that a user adds. It is 0 where each one does.
	WholeMs float64 `json:"wholeMs,omitempty"`
	// FilesystemMs is how long the filesystem took for its own snapshot. SnapshotMs contains it. It is 0 for "tracked".
	FilesystemMs float64 `json:"filesystemMs,omitempty"`
	// RecentMs is the median of the last snapshots that found changes, at moments. Recent is how many these are.
	RecentMs float64 `json:"recentMs,omitempty"`
	Recent   int     `json:"recent,omitempty"`
}

const (
	// measurements is how often a snapshot is measured.
	measurements = 3
	// maxCosts is of how many snapshots it is kept how long they took.
	maxCosts = 20
)

// noteCost notes how long a new snapshot took.
func noteCost(w *Workspace, by string, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.costs[by] = append(w.costs[by][max(0, len(w.costs[by])-maxCosts+1):], took)
}

func medianOf(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// Providers returns the ways to take snapshots of a workspace. To measure, it takes a snapshot of what changed, and then some more of
// each kind. Before the first snapshot it takes none: a moment begins the record.
func (w *Workspace) Providers(ctx context.Context) (*Matrix, error) {
	m := &Matrix{Workspace: w.Dir, Filesystem: filesystemOf(w.Dir)}
	list, err := w.List()
	if err != nil {
		return nil, err
	}
	last := tracked.Snapshot{} // without a number before the first one
	if len(list) > 0 {
		if last, _, err = w.Take(ctx, "before a measurement", "", false); err != nil {
			return nil, err
		}
	}
	for i := range natives {
		m.Providers = append(m.Providers, byFilesystem(ctx, w, i, last))
	}
	record, err := byRecord(ctx, w, last)
	m.Providers = append(m.Providers, record)
	return m, err
}

func byFilesystem(ctx context.Context, w *Workspace, of int, last tracked.Snapshot) Choice {
	n := natives[of]
	c := Choice{Name: n.driver.Name()}
	if why := w.unfit[c.Name]; why != nil {
		c.Why = why.Error()
		return c
	}
	support, err := n.driver.Probe(ctx, w.Dir)
	if err == nil {
		c.Cost, err = measured(ctx, w, c.Name, last)
	}
	if err != nil {
		c.Why, c.Cost = err.Error(), nil
		return c
	}
	c.Available, c.Why = true, support.Why
	if why := w.native.Serves(); why != nil {
		c.Seek, c.Branch = "as with tracked", "as with tracked"
		c.Why += ", from whose snapshots the record is read. They serve no view and no branch: " + why.Error()
		return c
	}
	c.Seek = "read-only, for root too: " + byCopy(ctx, w, n.copy, last, true)
	if c.Branch = "as with tracked"; !w.native.Views() {
		c.Branch = "writable: " + byCopy(ctx, w, n.copy, last, false)
	}
	return c
}

// byCopy says how the filesystem makes a view or a branch, after it has made one.
func byCopy(ctx context.Context, w *Workspace, what string, last tracked.Snapshot, view bool) string {
	if w.native.Has(last.Number) && w.place.Create() == nil {
		dir, began := filepath.Join(w.place.Dir, "copy-"+rand.Text()), time.Now()
		if _, err := checkout(ctx, w, last.Number, dir, view); err == nil {
			what += fmt.Sprintf(", made in %.0f ms just now", milliseconds(time.Since(began)))
			if err := tracked.RemoveAll(dir); err != nil {
				w.o.Log.Warn("cannot remove a view", "view", dir, "error", err)
			}
		}
	}
	return fmt.Sprintf("%s. It takes the same time for any number of files. Moments before the newest %d: as with tracked", what, native.MaxKept)
}

// measured measures what a snapshot costs, by the name of what takes it.
func measured(ctx context.Context, w *Workspace, by string, last tracked.Snapshot) (*Cost, error) {
	c := &Cost{}
	w.mu.Lock()
	c.RecentMs, c.Recent = milliseconds(medianOf(w.costs[by])), len(w.costs[by])
	w.mu.Unlock()
	if last.Number == 0 {
		if by == Provider {
			return c, nil
		}
		err := freeze(ctx, w)
		return &Cost{FilesystemMs: milliseconds(w.native.Took())}, err
	}
	if c.Files, c.Compared = last.Files, 1; everything(w) {
		c.Compared = c.Files
	}
	again := tree.Dirty{}
	again.AddAll("")
	tracked.Paths(w.provider, func(string) bool { return false }, func(path string) bool {
		again = tree.Dirty{}
		again.Path(path)
		return false
	})
	var took, own []time.Duration
	for range measurements {
		w.watching.Return(again, false)
		began := time.Now()
		if _, _, err := take(ctx, w, "measured", "", false, by == Provider); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if by != Provider {
			if err := w.native.Failed(); err != nil {
				return nil, err
			}
			own = append(own, w.native.Took())
		}
	}
	if c.Compared < c.Files {
		began := time.Now()
		if _, _, err := take(ctx, w, "measured", "", true, by == Provider); err != nil {
			return nil, err
		}
		c.WholeMs = milliseconds(time.Since(began))
	}
	c.SnapshotMs, c.FilesystemMs = milliseconds(medianOf(took)), milliseconds(medianOf(own))
	return c, nil
}

// freeze has the filesystem take a snapshot that nothing reads, while no other is taken.
func freeze(ctx context.Context, w *Workspace) error {
	held, err := w.provider.Hold(ctx)
	if err != nil {
		return err
	}
	defer held.Release()
	f := w.native.Freeze(ctx)
	if f == nil {
		return w.native.Failed()
	}
	f.Drop()
	return w.native.Failed()
}

// everything reports whether each snapshot compares all files.
func everything(w *Workspace) bool {
	why, unsupported := w.watching.limited()
	return why != "" || unsupported
}

func byRecord(ctx context.Context, w *Workspace, last tracked.Snapshot) (c Choice, err error) {
	c = Choice{Name: Provider, Available: true, Why: "works on every filesystem, without privileges"}
	if w.native != nil {
		c.Why = "keeps the record of what changed, for every provider, and serves older moments"
	}
	if why, _ := w.watching.limited(); everything(w) {
		c.Why += fmt.Sprintf("; each snapshot compares all files (%s)", why)
	}
	if c.Cost, err = measured(ctx, w, c.Name, last); err != nil {
		return c, err
	}
	c.Seek = "read-only: " + fromRecord(ctx, w, last, false)
	c.Branch = "writable: " + fromRecord(ctx, w, last, true)
	return c, nil
}

// copied says where the files of a view or a branch come from that is a copy.
func copied(w *Workspace) string {
	if w.place.Shares {
		return "a copy of the files. Unchanged ones share the room of the project's files"
	}
	return "a copy of the files: " + strings.TrimPrefix(w.place.Why, "files are copied: ")
}

// fromRecord says how the record makes a view or a branch, after it has mounted one.
func fromRecord(ctx context.Context, w *Workspace, last tracked.Snapshot, branch bool) string {
	mounted, err := "a mount of the snapshot", refused(w)
	if err == nil && last.Number != 0 {
		var took time.Duration
		mounted, took, err = tryOut(ctx, w, last.Number, branch)
		mounted += fmt.Sprintf(", made in %.0f ms just now", milliseconds(took))
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%s. Not mounted: %v", copied(w), err)
	case last.Number != 0 && (last.Files >= w.o.mountFiles() || small(w, last.Number) == nil):
		return mounted
	}
	return fmt.Sprintf("%s. From %d files or %d MiB on: %s", copied(w), w.o.mountFiles(), mountBytes>>20, mounted)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// renewEvery is how often a filesystem is tried again that refused its snapshots for want of a right, which no mount shows.
const renewEvery = time.Minute

// surroundings are what decides whether a filesystem takes snapshots, and can be read in microseconds: how it is mounted,
// and whether the workspace is a subvolume.
func surroundings(dir string) string {
	parts := []string{""}
	if m, err := mounts.Of(dir); err == nil {
		parts = []string{m.At, m.Type, m.Flags, m.Options}
	}
	if subvolume.Is(dir) {
		parts = append(parts, "subvolume")
	}
	return strings.Join(parts, "\n")
}

// outdated reports whether a filesystem refused the snapshots of a workspace and would decide otherwise now, or for another reason.
// Without always, that is tried only where something may have changed.
func outdated(w *Workspace, a allowed, always bool) bool {
	w.renewing.Lock()
	defer w.renewing.Unlock()
	if w.native != nil || w.Former || w.renew {
		return w.renew
	}
	now, around := w.o.Clock(), surroundings(w.Dir)
	if !always && around == w.around && (lacking(nil, w.unfit) == "" || now.Sub(w.tried) < renewEvery) {
		return false
	}
	w.tried, w.around = now, around
	place, err := provider.Place(w.Dir, w.home, filepath.Join(w.home, "views"))
	if err != nil {
		return false
	}
	store, unfit := openNative(w.o, a, place)
	w.renew = store != nil || !maps.EqualFunc(unfit, w.unfit, func(a, b *native.Unfit) bool { return *a == *b })
	return w.renew
}

// Renew asks the filesystem again where it refused the snapshots of an open workspace. The workspace is closed if the answer is
// another one: what opens it next has that.
func Renew(ws *Workspaces, root string) {
	for _, o := range ws.all() {
		if o.allowed.root == root && outdated(o.w, o.allowed, true) {
			ws.drop(o)
		}
	}
}
