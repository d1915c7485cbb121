package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/nilfs2"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/zfs"
)

// Names of what takes snapshots.
const (
	Provider = "tracked"
	ZFS      = "zfs"
	Btrfs    = "btrfs"
	NILFS2   = "nilfs2"
)

// natives are the filesystems whose own snapshots are used, in the order of preference.
var natives = []struct {
	driver provider.Driver
	title  string
	open   func(ctx context.Context, workspace, dir string, clock func() time.Time) (*native.Store, error)
	// discard removes the snapshots of a store in a directory, which may not exist.
	discard func(dir string) error
	// shares is true if views and branches must be on the workspace's filesystem.
	shares bool
}{
	{zfs.Driver{}, "ZFS", zfs.Open, zfs.Discard, false},
	{btrfs.Driver{}, "Btrfs", btrfs.Open, btrfs.Discard, true},
	{nilfs2.Driver{}, "NILFS2", nilfs2.Open, nilfs2.Discard, false},
}

// nativeDir is the directory of the filesystem's own snapshots, in that of the views. Clean-ups of views leave it alone.
const nativeDir = "native"

// openNative opens the filesystem's own snapshots of the workspace. Unfit has why there are none, by the names of the filesystems.
func openNative(o Options, a allowed, place provider.Placement) (store *native.Store, unfit map[string]*native.Unfit) {
	unfit = map[string]*native.Unfit{}
	at, chosen := o.Settings.providerOf(a.root)
	for _, n := range natives {
		name := n.driver.Name()
		support, err := n.driver.Probe(context.Background(), a.root)
		switch {
		case chosen == Provider:
			err = &native.Unfit{Why: fmt.Sprintf("config.toml chooses %s for %s", chosen, at)}
		case err != nil:
		case !support.Supported:
			err = &native.Unfit{Why: support.Why}
		case len(a.rules.Denied) > 0:
			err = &native.Unfit{Why: "a snapshot of the filesystem would have directories in it that you did not allow"}
		case n.shares && !place.Shares:
			err = &native.Unfit{Why: "no directory on the project's filesystem can take them: " + place.Why}
		default:
			err = place.Create()
		}
		if err == nil {
			if store, err = n.open(context.Background(), a.root, filepath.Join(place.Dir, nativeDir), o.Clock); err == nil {
				continue
			}
		}
		why := (*native.Unfit)(nil)
		if !errors.As(err, &why) {
			why = &native.Unfit{Why: err.Error()}
		}
		unfit[name] = why
	}
	return store, unfit
}

// discardIn removes the filesystem's snapshots whose files are in a directory of views.
func discardIn(views string) (err error) {
	for _, n := range natives {
		err = errors.Join(err, n.discard(filepath.Join(views, nativeDir)))
	}
	return err
}

// DiscardNative removes the filesystem's snapshots of all workspaces, by the stores in a directory. The daemon must not run.
func DiscardNative(stores string) (err error) {
	entries, _ := os.ReadDir(stores) // else there are none
	for _, e := range entries {
		err = errors.Join(err, discardOf(filepath.Join(stores, e.Name())))
	}
	return err
}

// discardOf removes the filesystem's snapshots of the workspace that a store is of.
func discardOf(store string) error {
	dir, err := directoryOf(store)
	if err != nil {
		return nil //nolint:nilerr // it is of no workspace
	}
	err = discardIn(filepath.Join(store, "views"))
	if beside := provider.Beside(dir); beside != "" {
		err = errors.Join(err, discardIn(beside))
	}
	return err
}

// discardNative removes the filesystem's snapshots of workspaces that no longer exist, whose files they would keep.
func (ws *Workspaces) discardNative() {
	entries, err := os.ReadDir(ws.o.Dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		store := filepath.Join(ws.o.Dir, e.Name())
		dir, err := directoryOf(store)
		if err != nil {
			continue
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := discardOf(store); err != nil {
			ws.o.Log.Warn("cannot remove the filesystem's snapshots of a workspace that no longer exists", "workspace", dir, "error", err)
		}
	}
}

// mark notes what the filesystem keeps of a snapshot.
func mark(s *tracked.Snapshot, of *native.Store) {
	if of.Has(s.Number) {
		s.Native = of.Name()
	}
}

// ProviderOf returns the name of what serves a snapshot of [Workspace.List].
func ProviderOf(s tracked.Snapshot) string {
	if s.Native != "" {
		return s.Native
	}
	return Provider
}

// providerOf returns what the user chose to take the snapshots of a directory, and the directory that this is said of; "" for
// nothing.
func (s Settings) providerOf(dir string) (at, name string) {
	for of, chosen := range s.Provider {
		if of, err := grants.Resolve(of); err == nil && grants.Within(dir, of) && len(of) > len(at) {
			at, name = of, chosen
		}
	}
	return at, name
}

// Instant reports whether a branch of a snapshot takes about the same time for any number of files: the filesystem makes it, or it
// is mounted.
func Instant(w *Workspace, number uint64) bool {
	return w.native.Clones(number) || unmounted(w, number, true) == nil
}

// viewsAt returns where views and branches go, and why there.
func viewsAt(w *Workspace) string {
	at := w.place.Dir + ": "
	if w.native != nil && w.native.Serves() == nil && !w.place.Shares {
		what := "those"
		if w.native.Views() {
			what = "views"
		}
		at += fmt.Sprintf("%s makes %s of the newest states, for others ", w.native.Title(), what)
	}
	return at + w.place.Why
}

// preferred returns the name of what takes the snapshots.
func (w *Workspace) preferred() string {
	if w.native != nil {
		return w.native.Name()
	}
	return Provider
}

// lacking returns why the filesystem's own snapshots are not used though they could be, "" if they are, or cannot be.
func lacking(of *native.Store, unfit map[string]*native.Unfit) string {
	if of != nil {
		if err := of.Failed(); err != nil {
			return fmt.Sprintf("files are read without a %s snapshot: %v", of.Title(), err)
		}
		return ""
	}
	for _, n := range natives {
		if why := unfit[n.driver.Name()]; why.Command != "" {
			return fmt.Sprintf("%s snapshots are not used: %v", n.title, why)
		}
	}
	return ""
}

// checkProvider returns an error for a choice of [Settings].Provider that cannot be meant.
func checkProvider(dir, name string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("provider has %q, which is not an absolute path", dir)
	}
	if name != Provider && name != ZFS && name != Btrfs && name != NILFS2 {
		return fmt.Errorf("provider of %q is %q; it must be %q, %q, %q or %q", dir, name, ZFS, Btrfs, NILFS2, Provider)
	}
	return nil
}
