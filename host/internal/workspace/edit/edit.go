// Package edit changes several files of a workspace: all of them, or none.
//
// Guarantees:
//   - New contents are written beside the files before the first file changes. A full disk changes nothing.
//   - A file that is no longer as it was planned is not touched.
//   - After an error or a kill, [Recover] finds all files changed, or sets back those that were. What others changed since
//     then stays.
package edit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/winname"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// File is what is at a path. Nil is nothing.
type File struct {
	// Mode has the type and the permissions, Data the content or the target of a link. A directory has no data.
	Mode fs.FileMode
	Data []byte
	// large is the content of a file that is too large for Data, nil for others.
	large *large
}

// large is a content that stays in its file.
type large struct {
	sum [sha256.Size]byte
	// dir and name are the file.
	dir, name string
}

// Same reports whether two paths have the same type and content.
func (f *File) Same(o *File) bool {
	return f == nil && o == nil || f != nil && o != nil && f.Kind() == o.Kind() && f.SameContent(o)
}

// SameContent reports whether two files have the same content.
func (f *File) SameContent(o *File) bool {
	if f.large == nil || o.large == nil {
		return f.large == o.large && bytes.Equal(f.Data, o.Data)
	}
	return f.large.sum == o.large.sum
}

// WithMode returns the file with other permissions.
func (f *File) WithMode(mode fs.FileMode) *File {
	changed := *f
	changed.Mode = mode
	return &changed
}

// Kind is the type of a file, and whether it is a program. Other permissions differ between a workspace and a view.
func (f *File) Kind() fs.FileMode {
	kind := f.Mode.Type()
	if kind == 0 && f.Mode&0o111 != 0 {
		kind = 0o111
	}
	return kind
}

// Text reports whether a file can be merged by lines.
func (f *File) Text() bool {
	return f != nil && f.large == nil && f.Mode.IsRegular() && !bytes.Contains(f.Data[:min(len(f.Data), 8<<10)], []byte{0})
}

// Sum identifies type, permissions and content. It is "" for nothing.
func (f *File) Sum() string {
	if f == nil {
		return ""
	}
	sum := sha256.Sum256(f.Data)
	if f.large != nil {
		sum = f.large.sum
	}
	perm := f.Mode.Perm()
	if runtime.GOOS == "windows" { // which only keeps whether a file can be written
		perm &= 0o200
	}
	return fmt.Sprintf("%o:%s", f.Mode.Type()|perm, hex.EncodeToString(sum[:]))
}

// maxFile bounds a content in memory, in bytes.
const maxFile = 256 << 20

// Read returns what is at a path with slashes, without following links. Behind a link there is nothing.
func Read(root *os.Root, name string) (*File, error) {
	at, last := root, name
	for strings.Count(last, "/") > shallow { // to ask for each directory by its whole path takes the square of the depth
		dir, below, _ := strings.Cut(last, "/")
		info, err := at.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		in, err := at.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer func() { _ = in.Close() }()
		at, last = in, below
	}
	f, err := NewReader(at).Read(last)
	if f != nil && f.large != nil {
		f.large.dir, f.large.name = root.Name(), filepath.FromSlash(name)
	}
	return f, err
}

// shallow is how many directories are above a usual path.
const shallow = 16

// Reader reads paths of a directory in which nobody changes what is above them: it looks once at each directory. It is not safe for
// concurrent use.
type Reader struct {
	root *os.Root
	// nothing is whether there is nothing below a path that is above others.
	nothing map[string]bool
}

// NewReader returns a reader of a directory.
func NewReader(root *os.Root) *Reader { return &Reader{root, map[string]bool{}} }

// Read is [Read].
func (r *Reader) Read(name string) (*File, error) {
	root := r.root
	for i, c := range name {
		if c != '/' {
			continue
		}
		nothing, known := r.nothing[name[:i]]
		if !known {
			info, err := root.Lstat(filepath.FromSlash(name[:i]))
			nothing = errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink != 0
			r.nothing[name[:i]] = nothing
		}
		if nothing {
			return nil, nil
		}
	}
	name = filepath.FromSlash(name)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // or something that is no directory is above it
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return &File{Mode: fs.ModeDir}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(name)
		return &File{Mode: fs.ModeSymlink, Data: []byte(to)}, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		sum, err := sumOf(root, name)
		return &File{Mode: info.Mode().Perm(), large: &large{sum, root.Name(), name}}, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, errors.New("it grew while it was read")
	}
	return &File{Mode: info.Mode().Perm(), Data: data}, err
}

// sumOf returns the hash of a file's content, which is not in memory as a whole.
func sumOf(root *os.Root, name string) (sum [sha256.Size]byte, err error) {
	f, err := root.Open(name)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [sha256.Size]byte(h.Sum(nil)), err
}

// copyTo copies the content to a new file of another directory. Where the filesystem shares extents, it takes no room.
func (l *large) copyTo(root *os.Root, name string) (err error) {
	dir, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	from, err := dir.Open(l.name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if sum, err := sumOf(root, name); err != nil || sum != l.sum {
		return cmp.Or(err, errors.New("it was changed in the meantime"))
	}
	return nil
}

// Step is a change of a path, which has slashes. From is what is there before, To what is there after it.
type Step struct {
	Path     string
	From, To *File
}

// staging is the directory in which new contents wait. It is in the workspace, because a rename needs the same filesystem.
const staging = ".tidemark-apply"

// Complete returns steps with those that make directories which they need and nobody makes.
func Complete(root *os.Root, steps []Step) ([]Step, error) {
	known := map[string]bool{".": true}
	for _, s := range steps {
		known[s.Path] = true
	}
	var all []Step
	for _, s := range steps {
		if s.To != nil {
			if at, why := winname.Here(s.Path); at != "" {
				return nil, usererr.Invalid("cannot write %q: %s. Rename it first.", at, why)
			}
			var missing []Step
			for dir := path.Dir(s.Path); !known[dir]; dir = path.Dir(dir) {
				known[dir] = true
				is, err := Read(root, dir)
				if err != nil {
					return nil, err
				}
				if is == nil {
					missing = append(missing, Step{Path: dir, To: &File{Mode: fs.ModeDir}})
				}
			}
			slices.Reverse(missing)
			all = append(all, missing...)
		}
		all = append(all, s)
	}
	return all, nil
}

// newDir is in place of the sum of a directory that was not there.
const newDir = "new directory"

// Wrote returns the sums of what steps write, by path.
func Wrote(steps []Step) map[string]string {
	sums := map[string]string{}
	for _, s := range steps {
		if sums[s.Path] = s.To.Sum(); s.From == nil && s.To.Mode.IsDir() {
			sums[s.Path] = newDir
		}
	}
	return sums
}

// Is reports whether what is at a path has the content that [Wrote] identifies.
func Is(now *File, wrote string) bool {
	if wrote == newDir {
		return now != nil && now.Mode.IsDir()
	}
	_, content, _ := strings.Cut(wrote, ":") // earlier builds identified other permissions
	_, is, _ := strings.Cut(now.Sum(), ":")
	return content == is
}

// Do does complete steps. After an error some may be done: [Recover] sets them back.
func Do(root *os.Root, steps []Step) (err error) {
	if err := root.Mkdir(staging, 0o700); err != nil {
		return fmt.Errorf("cannot write the new contents: %w", err)
	}
	defer func() { err = errors.Join(err, root.RemoveAll(staging)) }()
	for i, s := range steps {
		if err := stage(root, s, staged(i)); err != nil {
			return fmt.Errorf("cannot write the new content of %s: %w", s.Path, err)
		}
	}
	// Deletions first, the deepest before the directories that they are in. A path may be in what was a file.
	for i := range slices.Backward(steps) {
		if s := steps[i]; s.To == nil {
			if err := s.do(root, ""); err != nil {
				return fmt.Errorf("cannot delete %s: %w", s.Path, err)
			}
		}
	}
	for i, s := range steps {
		if s.To != nil {
			if err := s.do(root, staged(i)); err != nil {
				return fmt.Errorf("cannot change %s: %w", s.Path, err)
			}
		}
	}
	return nil
}

func staged(i int) string { return filepath.Join(staging, strconv.Itoa(i)) }

// stage writes what a step writes under another name.
func stage(root *os.Root, s Step, name string) error {
	switch {
	case s.To == nil || s.To.Mode.IsDir():
		return nil
	case s.To.Mode&fs.ModeSymlink != 0:
		return root.Symlink(string(s.To.Data), name)
	}
	write := func() error { return root.WriteFile(name, s.To.Data, 0o600) }
	if s.To.large != nil {
		write = func() error { return s.To.large.copyTo(root, name) }
	}
	if err := write(); err != nil {
		return err
	}
	return root.Chmod(name, s.To.Mode)
}

// do makes a change, unless the file is no longer as it was planned.
func (s Step) do(root *os.Root, staged string) error {
	name := filepath.FromSlash(s.Path)
	now, err := Read(root, s.Path)
	switch {
	case err != nil:
		return err
	case !now.Same(s.From):
		return errors.New("it was changed in the meantime")
	case s.To == nil:
		return root.Remove(name)
	case s.From != nil && s.From.Mode.IsDir() != s.To.Mode.IsDir():
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	if s.To.Mode.IsDir() {
		return root.Mkdir(name, 0o755)
	}
	return root.Rename(staged, name)
}

// Restorer sets paths of a workspace back to a snapshot.
type Restorer interface {
	PrepareRestore(ctx context.Context, snapshot uint64, paths []string) (*restore.Plan, error)
	Restore(ctx context.Context, plan *restore.Plan) (*restore.Result, error)
}

// Recover ends what [Do] began in a directory: done is true where all is as it wrote. Else what is as it wrote is set back to a
// snapshot of the state before. Differs are the paths for which that was not possible, with the reasons.
func Recover(ctx context.Context, w Restorer, dir string, before uint64, wrote map[string]string) (done bool, differs []tree.Problem, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.RemoveAll(staging); err != nil {
		return false, nil, err
	}
	var ours, made []string
	for _, name := range slices.Sorted(maps.Keys(wrote)) {
		now, err := Read(root, name)
		switch {
		case err != nil:
		case wrote[name] == newDir && now != nil && now.Mode.IsDir():
			made = append(made, name)
		case now.Sum() == wrote[name]: // another one was not reached, or others changed it
			ours = append(ours, name)
		}
	}
	if len(ours)+len(made) == len(wrote) {
		return true, nil, nil
	}
	if len(ours) > 0 {
		plan, err := w.PrepareRestore(ctx, before, ours)
		if err != nil {
			return false, nil, err
		}
		plan.Leave()
		result, err := w.Restore(ctx, plan)
		if err != nil {
			return false, nil, err
		}
		differs = result.Differs
	}
	for _, name := range slices.Backward(made) { // one that is not empty has files of others
		_ = root.Remove(filepath.FromSlash(name))
	}
	return false, differs, nil
}
