package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/disksize"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Settings are the user's settings for snapshots, the section [snapshots] of config.toml.
type Settings struct {
	// Count is how many snapshots a workspace keeps, Days how old they get, and MiB what they take on disk at most. 0 is the
	// default.
	Count int     `toml:"count"`
	Days  float64 `toml:"days"`
	MiB   int64   `toml:"mib"`
	// Provider chooses what takes snapshots, by the path of a directory: "zfs", "btrfs" or "tracked". A directory has the choice of the
	// nearest one at or above it. Without one, or where it cannot be used, it is the first one that can be.
	Provider map[string]string `toml:"provider"`
	// UntestedMounts mounts large snapshots on systems where nobody has tried that: macOS and Windows. Elsewhere it changes nothing.
	UntestedMounts bool `toml:"untested_mounts"`
}

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	switch {
	case s.Count < 0 || s.Count > 100_000:
		return errors.New("count must be from 1 to 100000 snapshots")
	case s.Days < 0 || s.Days > 3650:
		return errors.New("days must be more than 0, and at most 3650")
	case s.MiB < 0 || s.MiB > 1<<24 || s.MiB > 0 && s.MiB < 16:
		return errors.New("mib must be from 16 to 16777216")
	}
	for dir, name := range s.Provider {
		if err := checkProvider(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// Policy returns what is kept.
func (s Settings) Policy() provider.Policy {
	p := provider.DefaultPolicy
	if s.Count > 0 {
		p.Count = s.Count
	}
	if s.Days > 0 {
		p.Age = time.Duration(s.Days * 24 * float64(time.Hour))
	}
	if s.MiB > 0 {
		p.Bytes = s.MiB << 20
	}
	return p
}

// Refer sets what snapshots of a workspace are referred to, with the name of what does, and what is called with those
// that will be deleted. The first are kept longest. The functions must not call back. Call it before the first workspace is opened.
func (ws *Workspaces) Refer(to func(root string) map[uint64]string, deleting func(root string, numbers []uint64)) {
	ws.o.references, ws.o.deleting = to, deleting
}

// OnKnown sets what returns the largest number of a snapshot of a workspace that others know. No new one gets a number up to it.
// The function must not call back. Call it before the first workspace is opened.
func (ws *Workspaces) OnKnown(known func(root string) uint64) { ws.o.known = known }

// OnTaken sets what is called after each new snapshot, whatever it was taken for. The function must not call back. Call it before
// the first workspace is opened.
func (ws *Workspaces) OnTaken(taken func(root string, number uint64)) { ws.o.taken = taken }

// Policy returns what the user's settings keep.
func (ws *Workspaces) Policy() provider.Policy { return ws.o.Settings.Policy() }

// Age tells how old a snapshot is.
func (ws *Workspaces) Age(written time.Time, limit time.Duration) time.Duration {
	return ws.o.Age(written, limit)
}

// Pruned is what a deletion of snapshots did.
type Pruned struct {
	// Deleted are the numbers of the snapshots. Forced are those of them that something refers to, with what does.
	Deleted []uint64
	Forced  []provider.Forced
	// Freed, Left, and Over are bytes. Over is by how much more than the policy's remains, which no other deletion frees.
	Freed, Left, Over int64
	// Kept counts the snapshots that remain, Referred those of them that something refers to.
	Kept, Referred int
}

// Prune deletes what a policy does not keep by an age, and frees what no snapshot needs.
func (w *Workspace) Prune(ctx context.Context, policy provider.Policy, age retention.Age) (p Pruned, err error) {
	end, err := w.begin()
	if err != nil {
		return p, err
	}
	defer end()
	before := w.provider.Size()
	references := w.references()
	choice, err := w.provider.Retain(ctx, policy, age, references)
	if err == nil && len(choice.Delete) == 0 {
		_, err = w.provider.Prune(ctx) // of snapshots that were deleted before
	}
	p = pruned(w, choice.Delete, choice.Forced, before, references)
	if policy.Bytes > 0 {
		p.Over = max(0, p.Left-policy.Bytes)
	}
	return p, err
}

// PruneDenied deletes the snapshots that have files of directories which the user denies now, whatever refers to them, and
// frees what no snapshot needs.
func PruneDenied(ctx context.Context, w *Workspace) (p Pruned, err error) {
	end, err := w.begin()
	if err != nil {
		return p, err
	}
	defer end()
	before := w.provider.Size()
	references := w.references()
	var numbers []uint64
	var forced []provider.Forced
	for _, s := range w.provider.List() {
		for _, dir := range w.rules.Denied {
			e, err := w.provider.Entry(s.Number, dir.String())
			if err != nil {
				return p, err
			}
			if e == nil {
				continue
			}
			if numbers = append(numbers, s.Number); references[s.Number] != "" {
				forced = append(forced, provider.Forced{Number: s.Number, By: references[s.Number]})
			}
			break
		}
	}
	_, err = w.provider.Prune(ctx, numbers...)
	return pruned(w, numbers, forced, before, references), err
}

// pruned describes a deletion. Before is the size of the store before it.
func pruned(w *Workspace, deleted []uint64, forced []provider.Forced, before int64, references map[uint64]string) Pruned {
	left := w.provider.Size()
	p := Pruned{Deleted: deleted, Forced: forced, Freed: max(0, before-left), Left: left}
	for _, s := range w.provider.List() {
		if p.Kept++; references[s.Number] != "" {
			p.Referred++
		}
	}
	return p
}

func (w *Workspace) deleting(numbers []uint64) {
	w.native.Forget(numbers...)
	if w.o.deleting != nil {
		w.o.deleting(w.Dir, numbers)
	}
}

func (w *Workspace) references() map[uint64]string {
	if w.o.references == nil {
		return nil
	}
	return w.o.references(w.Dir)
}

// due reports whether the policy deletes enough for it to be worth the work, which reads the records of all snapshots. It
// never deletes the newest one, and what something refers to only for the budget, which is kept with each snapshot.
func (w *Workspace) due() bool {
	policy := w.o.Settings.Policy()
	all := w.provider.List()
	if len(all) < 2 {
		return false
	}
	references := w.references()
	free := slices.DeleteFunc(slices.Clone(all[:len(all)-1]), func(s tracked.Snapshot) bool { return references[s.Number] != "" })
	if len(free) == 0 {
		return false
	}
	more := policy.Count / 10
	return len(all) > policy.Count+more && len(free) > more || w.o.Age(free[0].At, policy.Age) > policy.Age+time.Hour
}

// prune deletes what the user's policy does not keep, if that is due.
func (w *Workspace) prune(ctx context.Context) {
	end, err := w.begin()
	if err != nil {
		return
	}
	due := w.due()
	end()
	if !due {
		return
	}
	p, err := w.Prune(ctx, w.o.Settings.Policy(), w.o.Age)
	if err != nil && ctx.Err() == nil {
		w.o.Log.Warn("cannot delete old snapshots", "workspace", w.Dir, "error", err)
	} else if len(p.Deleted) > 0 {
		w.o.Log.Info("deleted old snapshots", "workspace", w.Dir, "snapshots", len(p.Deleted), "freed", p.Freed)
	}
}

// Usage is what the snapshots of a workspace take on disk.
type Usage struct {
	provider.Usage
	// Dir is the directory of the store, Budget the bytes that it may take.
	Dir       string
	Budget    int64
	Snapshots int
	// Views counts the views that exist.
	Views int
}

// Usage returns what the snapshots take on disk.
func (w *Workspace) Usage(ctx context.Context) (u Usage, err error) {
	end, err := w.begin()
	if err != nil {
		return u, err
	}
	defer end()
	u = Usage{Dir: w.home, Budget: w.o.Settings.Policy().Bytes, Snapshots: len(w.provider.List())}
	if u.Usage, err = w.provider.Usage(ctx); err != nil {
		return u, err
	}
	views, err := filepath.Glob(filepath.Join(w.place.Dir, "s*[0-9]"))
	u.Views = len(views)
	return u, err
}

// Place returns the directory for branches: usual, or one beside the workspace where only that shares extents.
func (w *Workspace) Place(usual string) (string, error) {
	p, err := w.Placement(usual)
	if err != nil {
		return "", err
	}
	if err := p.Create(); err != nil {
		return "", fmt.Errorf("cannot create the directory of branches: %w", err)
	}
	return p.Dir, nil
}

// Placement returns where branches go, and whether files share room there. Usual is a directory of the home.
func (w *Workspace) Placement(usual string) (provider.Placement, error) {
	if w.Former {
		return provider.Placement{Dir: usual, Why: w.place.Why}, nil
	}
	p, err := provider.Place(w.Dir, w.home, usual)
	if p.Beside {
		p.Dir = filepath.Join(p.Dir, branchesDir)
	}
	return p, err
}

// branchesDir is the directory of branches in that of the views, where that is beside the workspace.
const branchesDir = "branches"

// Stored is the store of a workspace, open or not.
type Stored struct {
	// Workspace is the directory, Store that of its store. Bytes is what the snapshots take on disk, Views what the views in
	// the store take besides. Deleted snapshots can be among that: a mounted view keeps what it is read from.
	Workspace string `json:"workspace"`
	Store     string `json:"store"`
	Bytes     int64  `json:"bytes"`
	Views     int64  `json:"views,omitempty"`
	// Missing is true where the workspace no longer exists.
	Missing bool `json:"missing,omitempty"`
}

// Keeps reports whether there is a store of a workspace, open or not.
func (ws *Workspaces) Keeps(root string) bool {
	dir, err := directoryOf(filepath.Join(ws.o.Dir, ID(root)))
	return err == nil && dir == root
}

// Stored lists the stores of all workspaces, by their names.
func (ws *Workspaces) Stored() ([]Stored, error) {
	entries, err := os.ReadDir(ws.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Stored
	for _, e := range entries {
		s := Stored{Store: filepath.Join(ws.o.Dir, e.Name())}
		if s.Workspace, err = directoryOf(s.Store); err != nil {
			continue // it is being created, or not Tidemark's
		}
		_, err = os.Lstat(s.Workspace)
		s.Missing = errors.Is(err, fs.ErrNotExist)
		views, counted := filepath.Join(s.Store, "views"), disksize.Counted{}
		s.Bytes = counted.Add(s.Store, views)
		s.Views = counted.Add(views, "")
		all = append(all, s)
	}
	return all, nil
}

// Discard deletes all that is stored of a workspace that no longer exists or that the user does not allow, after what begin does.
// It returns the bytes that are free then.
func (ws *Workspaces) Discard(root string, begin func() error) (freed int64, err error) {
	if _, err := os.Lstat(root); !errors.Is(err, fs.ErrNotExist) {
		if _, err := ws.Root(root); err == nil || usererr.CodeOf(err) != usererr.NotAllowed {
			return 0, usererr.Invalid("%s exists and is allowed. Without gone, prune deletes its snapshots.", root)
		}
	}
	store := filepath.Join(ws.o.Dir, ID(root))
	if dir, err := directoryOf(store); err != nil || dir != root {
		return 0, usererr.New(usererr.NotFound, "there are no snapshots of %s", root)
	}
	ws.CloseDir(root)
	if err := begin(); err != nil {
		return 0, err
	}
	freed = disksize.Of(store)
	if err := discardOf(store); err != nil {
		return 0, err
	}
	return freed, tracked.RemoveAll(store)
}

// directoryFile is the file of a store that has the path of its workspace, and maxDirectory bounds it.
const (
	directoryFile = "directory"
	maxDirectory  = 64 << 10
)
