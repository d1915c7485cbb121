package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/nilfs2"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
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
	// abandon removes what a killed process was taking there.
	abandon func(dir string) error
	// shares is true if views and branches must be on the workspace's filesystem.
	shares bool
	// copy is what a view is, and a branch where the filesystem makes them.
	copy string
}{
	{zfs.Driver{}, "ZFS", zfs.Open, zfs.Discard, zfs.Abandon, false, "a clone of the ZFS snapshot"},
	{btrfs.Driver{}, "Btrfs", btrfs.Open, btrfs.Discard, btrfs.Abandon, true, "a Btrfs snapshot"},
	{nilfs2.Driver{}, "NILFS2", nilfs2.Open, nilfs2.Discard, nilfs2.Abandon, false, "a mount of the NILFS2 snapshot"},
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
			err = placeless(place, a.root)
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
		if chosen == name {
			why.Why = fmt.Sprintf("config.toml chooses it for %s, which is not possible: %s", at, why.Why)
		}
		unfit[name] = why
	}
	return store, unfit
}

// placeless returns why no directory takes snapshots that must be on the project's filesystem, and what helps.
func placeless(place provider.Placement, workspace string) *native.Unfit {
	why := &native.Unfit{Why: "no directory on the project's filesystem can take them: " + strings.TrimPrefix(place.Why, "files are copied: ")}
	if place.Missing != "" {
		why.Command = fmt.Sprintf("sudo install -d -m 700 -o %d -g %d %s", os.Getuid(), os.Getgid(), native.Argument(place.Missing))
		if allow := btrfs.Allow(workspace); allow != "" {
			why.Command += " && " + allow
		}
	} else {
		why.Advice = "To have them, set TIDEMARK_HOME to a directory on the project's filesystem."
	}
	return why
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
	if beside := provider.Beside(dir, store); beside != "" {
		err = errors.Join(err, discardIn(beside))
	}
	return err
}

// discardNative removes the filesystem's snapshots of workspaces that no longer exist, whose files they would keep, and views beside
// these.
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
		err = discardOf(store)
		if beside := provider.Beside(dir, store); beside != "" { // such as that of a removed branch
			_, failed := RemoveViews(beside)
			err = errors.Join(err, failed)
		}
		if err != nil {
			ws.o.Log.Warn("cannot remove the filesystem's snapshots of a workspace that no longer exists", "workspace", dir, "error", err)
		}
	}
}

// copiesOf returns the copies of a snapshot whose files can be cloned: the filesystem's own, and a view that is no mount.
func copiesOf(w *Workspace, number uint64) (copies []string) {
	if kept := w.native.Kept(number); kept != "" {
		copies = append(copies, kept)
	}
	if dir := filepath.Join(w.place.Dir, viewOf(number)); !overlay.Is(dir) && exists(dir) {
		copies = append(copies, dir)
	}
	return copies
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
	at, others, why := w.place.Dir+": ", "for others ", w.place.Why
	w.mu.Lock()
	refusal := errors.Join(w.copied[false], w.copied[true]) // of those that were tried last
	w.mu.Unlock()
	if refusal == nil && refused(w) == nil {
		others = "of others, "
		why = fmt.Sprintf("large ones (from %d files or %d MiB on) are mounted, for smaller ones %s", w.o.mountFiles(), mountBytes>>20, why)
	}
	if w.native != nil && w.native.Serves() == nil && !w.place.Shares {
		what := "those"
		if w.native.Views() {
			what = "views"
		}
		at += fmt.Sprintf("%s makes %s of the newest states, %s", w.native.Title(), what, others)
	}
	return at + why
}

// preferred returns the name of what takes the snapshots, as of the last one.
func (w *Workspace) preferred() string {
	if w.native != nil && w.native.Failed() == nil {
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
		if why := unfit[n.driver.Name()]; why.Command != "" || why.Advice != "" {
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
