// Package nilfs2 takes snapshots of a workspace that is a directory on NILFS2: it promotes checkpoints of the filesystem.
//
// A view is a mount of the workspace's directory as it was. NILFS2 has no clones, so that a branch is a copy. What is too old is
// unpromoted: the filesystem's own cleaner removes it then. Nothing is deleted.
//
// A checkpoint that is a snapshot already, because a user promoted it, is not used: the next one is. Only one that a user promotes
// in the very instant in which Tidemark does is taken for Tidemark's. Several daemons of Tidemark take turns.
package nilfs2

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/installer/safefile"
)

// Names in the directory of a store. A file with the suffix has the checkpoint, its device, and the inode of the directory, on a line each.
const (
	suffix      = ".cp"
	takingName  = "taking"       // a checkpoint that is being promoted or read
	readingName = native.Reading // where it is mounted
	// openingPrefix begins the names of places where a snapshot is mounted of which a view is made.
	openingPrefix = native.Opening
	// busyPrefix begins the names of checkpoints that could not be unpromoted while they were mounted.
	busyPrefix = "busy-"
	// maxFile bounds a file in bytes.
	maxFile = 8 << 10
	// tries is how many checkpoints are tried that others promote or remove at once.
	tries = 10
)

// filesystem is NILFS2 with a workspace. Files in a directory name its snapshots.
type filesystem struct {
	of nilfscp.Filesystem
	// within is where the workspace is in the filesystem.
	workspace, within, dir string
}

// Open opens the snapshots of a workspace, with their files in a directory whose parent exists. To try the rights of this process
// it promotes a checkpoint, mounts it, and unpromotes it. The error is an [*native.Unfit] where no snapshot can be taken.
func Open(ctx context.Context, workspace, dir string, clock func() time.Time) (*native.Store, error) {
	if err := Fit(workspace); err != nil {
		return nil, err
	}
	if !nilfscp.Allowed() {
		return nil, forbidden()
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f := &filesystem{workspace: workspace, dir: dir}
	f.of, f.within, _ = nilfscp.Of(workspace)
	if err := f.try(ctx); err != nil {
		return nil, err
	}
	return native.New(f, dir, clock), nil
}

// Fit returns an [*native.Unfit] for a workspace of which no snapshot can be taken. It changes nothing.
func Fit(workspace string) error {
	if _, _, ok := nilfscp.Of(workspace); ok {
		return nil
	}
	if nilfscp.On(workspace) {
		return &native.Unfit{Why: "the project is in a NILFS2 snapshot, which does not change"}
	}
	return &native.Unfit{Why: "the project is not on NILFS2"}
}

// forbidden says what this process lacks. NILFS2 has no right for that alone.
func forbidden() *native.Unfit {
	program, err := os.Executable()
	if real, failed := filepath.EvalSymlinks(program); err == nil && failed == nil {
		program = real
	}
	return &native.Unfit{
		Why:     "only a program with CAP_SYS_ADMIN may keep NILFS2 snapshots and mount them",
		Command: "sudo setcap cap_sys_admin+p " + native.Argument(program),
	}
}

// try takes and drops a snapshot.
func (f *filesystem) try(ctx context.Context) error {
	err := f.Drop()
	if err == nil {
		if _, err = f.Take(ctx); err == nil {
			err = f.Drop()
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return &native.Unfit{Why: fmt.Sprintf("the system keeps Tidemark from taking NILFS2 snapshots, such as in a container: %v", err)}
	default:
		return &native.Unfit{Why: fmt.Sprintf("NILFS2 takes no snapshot: %v", err)}
	}
}

func (f *filesystem) path(name string) string { return filepath.Join(f.dir, name) }

func (*filesystem) Name() string { return "nilfs2" }

func (*filesystem) Title() string { return "NILFS2" }

func (f *filesystem) Whole() error {
	mounted, err := mounts.Below(f.workspace)
	if err == nil && len(mounted) > 0 {
		err = &native.Unfit{Why: fmt.Sprintf("something is mounted on %s, which is not part of NILFS2 snapshots", mounted[0].At)}
	}
	return err
}

func (*filesystem) Serves() error { return nil }

func (f *filesystem) Free() (float64, error) { return nilfscp.Free(f.workspace) }

func (f *filesystem) Take(context.Context) (string, error) {
	c, err := f.promote()
	if err != nil {
		return "", errors.Join(err, f.Drop())
	}
	if err := f.of.Mount(c.Number, f.path(readingName)); err != nil {
		return "", errors.Join(err, f.Drop())
	}
	return filepath.Join(f.path(readingName), f.within), nil
}

// promote makes a checkpoint that is no snapshot yet one. Its file is on disk before.
func (f *filesystem) promote() (c nilfscp.Checkpoint, err error) {
	for range tries {
		number, err := f.of.Sync()
		if err != nil {
			return c, err
		}
		c, err = f.promoted(number)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return c, err
		}
	}
	return c, fmt.Errorf("%d checkpoints in turn were promoted or removed by other programs", tries)
}

// promoted promotes a checkpoint. The error is [fs.ErrExist] if it is a snapshot already, and [fs.ErrNotExist] if it was removed.
func (f *filesystem) promoted(number uint64) (nilfscp.Checkpoint, error) {
	defer f.of.Lock()() // for other workspaces on the filesystem, and for daemons of other homes
	c, is, err := f.of.Get(number)
	if err == nil && is {
		err = fs.ErrExist
	}
	if err == nil {
		err = write(f.path(takingName+suffix), fmt.Sprintf("%v\n%s\n%d", c, f.of.Device, nilfscp.Inode(f.dir)))
	}
	if err == nil {
		err = f.of.Promote(number)
	}
	return c, err
}

// write writes a file that survives a loss of power.
func write(path, content string) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = w.WriteString(content)
	return errors.Join(err, w.Sync(), w.Close())
}

// read reads the file of a checkpoint. It is [fs.ErrNotExist] for a copy of another store's file, too.
func read(path string) (c nilfscp.Checkpoint, device string, err error) {
	data, err := safefile.Read(path, maxFile)
	if err != nil {
		return c, "", err
	}
	line, device, ok := strings.Cut(string(data), "\n")
	if c, err = nilfscp.Parse(line); err != nil || !ok {
		return c, "", fmt.Errorf("%s names no checkpoint", path)
	}
	device, of, _ := strings.Cut(device, "\n")
	if of != fmt.Sprint(nilfscp.Inode(filepath.Dir(path))) {
		return c, "", fmt.Errorf("%s names a checkpoint of another store: %w", path, fs.ErrNotExist)
	}
	return c, device, nil
}

func (f *filesystem) Keep(name string) error {
	return errors.Join(os.Rename(f.path(takingName+suffix), f.path(name+suffix)), tracked.RemoveAll(f.path(readingName)))
}

func (f *filesystem) Drop() error {
	err := tracked.RemoveAll(f.path(readingName))
	entries, failed := os.ReadDir(f.dir)
	err = errors.Join(err, failed)
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), suffix); is && (name == takingName || strings.HasPrefix(name, busyPrefix)) {
			err = errors.Join(err, f.Remove(name))
		}
	}
	return err
}

func (f *filesystem) Names(context.Context) (names []string, err error) {
	err = f.Drop()
	entries, failed := os.ReadDir(f.dir)
	err = errors.Join(err, failed)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), openingPrefix) {
			err = errors.Join(err, tracked.RemoveAll(f.path(e.Name())))
		}
		name, is := strings.CutSuffix(e.Name(), suffix)
		if !is || !native.Named(name) {
			continue
		}
		if _, failed := f.snapshot(name); failed == nil {
			names = append(names, name)
		} else if errors.Is(failed, fs.ErrNotExist) { // it was unpromoted
			err = errors.Join(err, os.Remove(f.path(e.Name())))
		} else {
			err = errors.Join(err, failed)
		}
	}
	return names, err
}

// snapshot returns the checkpoint of a name. The error is [fs.ErrNotExist] if it is no snapshot any more.
func (f *filesystem) snapshot(name string) (nilfscp.Checkpoint, error) {
	c, _, err := read(f.path(name + suffix))
	if err != nil {
		return c, err
	}
	now, promoted, err := f.of.Get(c.Number)
	if err == nil && (now != c || !promoted) {
		err = fmt.Errorf("checkpoint %d is not a snapshot: %w", c.Number, fs.ErrNotExist)
	}
	return c, err
}

func (f *filesystem) Remove(name string) error {
	path := f.path(name + suffix)
	err := demote(f.of, path)
	if errors.Is(err, nilfscp.ErrBusy) { // by a view: it is tried again with the next snapshot
		if strings.HasPrefix(name, busyPrefix) {
			return nil
		}
		return os.Rename(path, f.path(busyPrefix+rand.Text()+suffix))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// demote lets the cleaner remove the checkpoint that a file names, if it still is that snapshot, and removes the file. It is
// [fs.ErrNotExist] where there is no file.
func demote(of nilfscp.Filesystem, path string) error {
	c, device, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		now, promoted, failed := of.Get(c.Number)
		switch {
		case errors.Is(failed, fs.ErrNotExist):
		case failed != nil:
			return failed
		case promoted && now == c:
			if err := of.Demote(c.Number); errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("%w. Run `sudo chcp cp %s %d` to let the filesystem remove it.", err, device, c.Number)
			} else if err != nil {
				return err
			}
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a damaged one too
		return err
	}
	return nil
}

// View implements [native.Viewer].
func (f *filesystem) View(ctx context.Context, name, dir string, skip func(path string) bool) error {
	c, err := f.snapshot(name)
	if err != nil {
		return err
	}
	opening := f.path(openingPrefix + rand.Text())
	if err := f.of.Mount(c.Number, opening); err != nil {
		return err
	}
	shown := false
	git, err := hidden(ctx, filepath.Join(opening, f.within), skip)
	if err == nil {
		err = nilfscp.Show(opening, f.within, dir, git)
		shown = err == nil
	}
	if err = errors.Join(err, tracked.RemoveAll(opening)); err != nil && shown {
		err = errors.Join(err, tracked.RemoveAll(dir))
	}
	return err
}

// hidden returns the directories that a view must not show. What is not a repository at the top cannot be hidden, and is an error.
func hidden(ctx context.Context, dir string, skip func(path string) bool) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case tracked.LeftOut(nil, e.Name()) == "":
		case e.Name() == ".git" && e.IsDir():
			names = append(names, e.Name())
		default:
			return nil, fmt.Errorf("%s cannot be hidden", e.Name())
		}
	}
	if skip == nil {
		return names, nil
	}
	return names, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		switch {
		case err == nil && slices.Contains(names, rel):
			return fs.SkipDir
		case err == nil && skip(filepath.ToSlash(rel)):
			err = fmt.Errorf("%s cannot be hidden", rel)
		}
		return errors.Join(err, ctx.Err())
	})
}

// Shown is nothing: NILFS2 clones no files, so that a mount would only be another place to copy them from.
func (*filesystem) Shown(string) string { return "" }

// Clone is not supported.
func (*filesystem) Clone(context.Context, string, string) error { return errors.ErrUnsupported }

// Seal does nothing: there are no clones.
func (*filesystem) Seal(context.Context, string) error { return nil }

// Abandon unpromotes what a killed process was taking, in the directory of a store that is not open and may not exist.
func Abandon(dir string) error {
	path := filepath.Join(dir, takingName+suffix)
	_, device, err := read(path)
	of, ok := nilfscp.At(device)
	if err != nil || !ok {
		return nil //nolint:nilerr // there is none, or its filesystem is not mounted
	}
	if err := tracked.RemoveAll(filepath.Join(dir, readingName)); err != nil {
		return err
	}
	return demote(of, path)
}

// Discard unpromotes the snapshots of a store whose workspace no longer exists or has another provider, where their filesystem is
// mounted. The directory may not exist either.
func Discard(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err = errors.Join(err, tracked.RemoveAll(filepath.Join(dir, readingName)))
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), openingPrefix) {
			err = errors.Join(err, tracked.RemoveAll(path))
		}
		if !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		_, device, failed := read(path)
		if of, ok := nilfscp.At(device); failed == nil && ok {
			failed = demote(of, path)
		} else {
			failed = os.Remove(path)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(err, native.DiscardLists(dir))
}
