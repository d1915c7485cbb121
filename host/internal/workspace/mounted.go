package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/treecopy"
)

// To mount a snapshot takes about as long as to copy so many files, or so many bytes. Smaller ones are copied.
const (
	mountFiles = 2000
	mountBytes = 64 << 20
)

// ServeSnapshot is the command of Tidemark that serves a mounted snapshot. It runs in a process of its own, so that neither the end
// of the daemon nor a newer one takes a branch away.
const ServeSnapshot = "serve-snapshot"

// Something is faster than a mount: a copy, or what the filesystem makes.
var errSmall, errNative = errors.New("it is small"), errors.New("the filesystem makes it")

// unmounted returns why a view or a branch of a snapshot is not mounted, nil if it can be tried.
func unmounted(w *Workspace, number uint64, branch bool) error {
	if branch && w.native.Clones(number) || !branch && w.native.Has(number) {
		return errNative
	}
	for _, s := range w.provider.List() {
		if s.Number == number && s.Files < w.o.mountFiles() {
			if err := small(w, number); err != nil {
				return err
			}
		}
	}
	return refused(w)
}

// refused returns why nothing is mounted here, nil if it can be tried.
func refused(w *Workspace) error {
	switch {
	case len(w.o.Server) == 0:
		return errors.New("no program serves mounts")
	case w.place.Beside:
		return errors.New("the project is on another filesystem than Tidemark's home")
	}
	return overlay.Allowed(w.o.Settings.UntestedMounts)
}

// tryOut mounts a snapshot, removes it, and returns how it was mounted and how long that took.
func tryOut(ctx context.Context, w *Workspace, number uint64, branch bool) (how string, took time.Duration, err error) {
	if err := refused(w); err != nil {
		return "", 0, err
	}
	if err := w.place.Create(); err != nil {
		return "", 0, err
	}
	dir := filepath.Join(w.place.Dir, "copy-"+rand.Text())
	began := time.Now()
	if err := mount(ctx, w, number, dir, branch); err != nil {
		return "", 0, err
	}
	return overlay.FormOf(dir).Long(), time.Since(began), tracked.RemoveAll(dir)
}

func (o Options) mountFiles() int {
	if o.MountFiles > 0 {
		return o.MountFiles
	}
	return mountFiles
}

// small returns [errSmall] for a snapshot of which a copy is faster, though it has few files.
func small(w *Workspace, number uint64) error {
	t, err := w.provider.Tree(number)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, n := range t.All() {
		bytes += n.Size
	}
	if bytes < mountBytes {
		return errSmall
	}
	return nil
}

// prepareMount makes that a mount of a new snapshot takes no longer with many files, where the next one may be mounted.
func prepareMount(w *Workspace, s *tracked.Snapshot) {
	if w.native != nil || s.Files < w.o.mountFiles() || refused(w) != nil || !w.preparing.CompareAndSwap(false, true) {
		return
	}
	end, err := w.begin()
	if err != nil {
		w.preparing.Store(false)
		return
	}
	go func() {
		defer end()
		defer w.preparing.Store(false)
		if err := tracked.PrepareExport(context.Background(), w.provider); err != nil {
			w.o.Log.Warn("cannot prepare the mount of a snapshot", "workspace", w.Dir, "error", err)
		}
	}()
}

// mount mounts a snapshot in a new directory, for a branch or as a view. After an error the directory does not exist.
func mount(ctx context.Context, w *Workspace, number uint64, dir string, branch bool) error {
	form := overlay.View
	if branch {
		form = overlay.Best()
		if w.o.FUSEAlone {
			form = overlay.Alone
		}
	}
	err := mountAs(ctx, w, number, dir, form)
	if errors.Is(err, overlay.ErrKernel) {
		w.o.Log.Info("a branch is mounted by FUSE alone", "directory", dir, "reason", err)
		err = mountAs(ctx, w, number, dir, overlay.Alone)
	}
	return err
}

func mountAs(ctx context.Context, w *Workspace, number uint64, dir string, form overlay.Form) error {
	err := overlay.Prepare(dir, form, func(s overlay.Served) error {
		root, err := tracked.Export(ctx, w.provider, number, image.Files{Index: s.Index, Changes: s.Changes, Packs: s.Packs}, form != overlay.View)
		if err != nil || form != overlay.Kernel {
			return err
		}
		xattrs := map[string][]byte{}
		for _, x := range root.Xattrs {
			xattrs[x.Name] = x.Value
		}
		return overlay.SetRoot(dir, root.Mode, root.Mtime, xattrs)
	})
	if err != nil {
		return err
	}
	if err := overlay.Mount(ctx, w.o.Server, dir); err != nil {
		return errors.Join(err, tracked.RemoveAll(dir))
	}
	return nil
}

// tryMount is [mount] where that is the fastest. It reports whether the directory is mounted. What prevents it is noted.
func tryMount(ctx context.Context, w *Workspace, number uint64, dir string, branch bool) bool {
	err := unmounted(w, number, branch)
	if err == nil {
		err = mount(ctx, w, number, dir, branch)
		if err != nil && ctx.Err() == nil {
			w.o.Log.Warn("a snapshot is copied, because it cannot be mounted", "directory", dir, "error", err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.copied[branch] = err; errors.Is(err, errSmall) || errors.Is(err, errNative) {
		w.copied[branch] = nil
	}
	return err == nil
}

// Form says how a view or a branch that was just made got its files.
func Form(w *Workspace, dir string, branch bool) string {
	if mounted := Mounted(dir); mounted != "" {
		return mounted
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.copied[branch]; err != nil {
		return "not mounted: " + err.Error()
	}
	return ""
}

// lacks notes which paths a view or a branch lacks.
func lacks(w *Workspace, dir string, lacking []tree.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.unnamed, dir)
	if len(lacking) > 0 {
		w.unnamed[dir] = tree.Lines(lacking)
	}
}

// Unnamed returns the paths that a view or a branch that was just made lacks because of their names, or because they could not be read, as
// "path: reason".
func Unnamed(w *Workspace, dir string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unnamed[dir]
}

// cloneNamed is [Workspace.Clone] without the paths whose names the system or the filesystem refuses. It returns what is left out.
func cloneNamed(ctx context.Context, w *Workspace, number uint64, dir string) (lacking []tree.Problem, err error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	return checkout(ctx, w, number, dir, false)
}

// CloneAs is [Workspace.Clone] into a new directory, in the fastest way. Making is another one, beside it, that is used meanwhile
// where files are copied. Paths whose names the system or the filesystem refuses are left out: [Unnamed] has them.
func CloneAs(ctx context.Context, w *Workspace, number uint64, dir, making string) error {
	end, err := w.begin()
	if err != nil {
		return err
	}
	mounted := tryMount(ctx, w, number, dir, true)
	end()
	if mounted {
		return nil
	}
	lacking, err := cloneNamed(ctx, w, number, making)
	if err != nil {
		return errors.Join(err, tracked.RemoveAll(making))
	}
	lacks(w, dir, lacking)
	if err := dataset.Rename(making, dir); err != nil {
		return errors.Join(err, tracked.RemoveAll(making))
	}
	return nil
}

// Present mounts a branch that is not mounted, such as after the machine was started. Any other directory is left as it is.
func (ws *Workspaces) Present(ctx context.Context, dir string) error {
	if err := overlay.Mount(ctx, ws.o.Server, dir); err != nil {
		return fmt.Errorf("cannot mount the branch in %s. What was written in it is in %s, beside it. The reason: %w", dir, overlay.Written(dir, overlay.FormOf(dir)), err)
	}
	return nil
}

// Mounted says how a branch is mounted. It is "" for plain files.
func Mounted(dir string) string {
	if !overlay.Is(dir) {
		return ""
	}
	return "mounted (" + overlay.FormOf(dir).Short() + ")"
}

// MakePlain makes a mounted branch plain files, at the same path. See [overlay.Plain]. Original is the directory that it is a branch
// of, "" where that is not known. Its files and what was written in the branch share their room with the copies, where the filesystem
// allows it.
func MakePlain(ctx context.Context, ws *Workspaces, dir, original string) error {
	var like []string
	if overlay.FormOf(dir) == overlay.Kernel { // by FUSE alone, what was written is not at its path
		like = append(like, overlay.Written(dir, overlay.Kernel))
	}
	if original != "" {
		like = append(like, original)
	}
	err := overlay.Plain(ctx, ws.o.Server, dir, func(ctx context.Context, from, to string) error {
		err := treecopy.Copy(ctx, from, to, like...)
		ws.CloseDir(dir) // it is in use while it is open
		return err
	})
	return explainRoom(err, dir)
}

// checkMounted returns the damages of what views, and the workspace itself where it is a branch, are mounted from.
func checkMounted(w *Workspace) (damages []string) {
	check := func(dir, what string) {
		if !overlay.Is(dir) {
			return
		}
		s := overlay.ServedFor(dir)
		for _, damage := range image.Check(image.Files{Index: s.Index, Changes: s.Changes, Packs: s.Packs}) {
			damages = append(damages, fmt.Sprintf("%s: reading some files in %s fails: %s", what, dir, damage))
		}
	}
	views := w.Views()
	for _, number := range slices.Sorted(maps.Keys(views)) {
		check(views[number], fmt.Sprintf("the view of s%d", number))
	}
	check(w.Dir, "the branch")
	return damages
}

// Heal detaches what was mounted in a directory and whose process has ended.
func (ws *Workspaces) Heal(dir string) {
	if err := overlay.Heal(dir); err != nil {
		ws.o.Log.Warn("cannot detach a mount whose process has ended", "directory", dir, "error", err)
	}
}

// sweepLayers removes the layers of views that do not exist.
func sweepLayers(o Options, views, name string) {
	if of := overlay.Of(name); of != "" && viewName().MatchString(of) {
		dir := filepath.Join(views, of)
		if !exists(dir) {
			if err := overlay.Release(dir); err != nil {
				o.Log.Warn("cannot remove what a view was made of", "view", dir, "error", err)
			}
		}
	}
}
