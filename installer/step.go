package installer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"tidemark.dev/tidemark/installer/safefile"
)

// Group is what a step sets up.
type Group string

// The groups.
const (
	Browsers  Group = "browser"
	Agents    Group = "agent"
	Extension Group = "extension"
)

// Step is one planned change, or the reason why there is nothing to change.
type Step struct {
	Group Group
	// ID is the name on the command line. Name is the display name, or several names joined by commas.
	ID, Name string
	// Path is the file, or the registry key with its root. It is "" if the step only reports something.
	Path string
	// Before and After are its content; nil means that it does not exist.
	Before, After []byte
	// Note says why there is nothing to do, or adds information.
	Note string
	// Problem says why the change cannot be made, and what to do by hand.
	Problem error
	// Left says what remains after the step is made, and what to do by hand.
	Left error

	// real is the path without links, as it was when the step was planned.
	real     string
	written  Written
	registry bool
	removes  bool
}

// Changes reports whether the step changes anything.
func (st *Step) Changes() bool {
	return st.Problem == nil && st.Path != "" && !(bytes.Equal(st.Before, st.After) && (st.Before == nil) == (st.After == nil))
}

// Diff returns the change as a unified diff.
func (st *Step) Diff() string {
	from, to := st.Path, st.Path
	if st.Before == nil {
		from = "/dev/null"
	}
	if st.After == nil {
		to = "/dev/null"
	}
	text := diff.Diff(from, st.Before, to, st.After)
	if _, rest, ok := bytes.Cut(text, []byte("\n")); ok {
		return string(rest) // without the line that names the command
	}
	return ""
}

// found is an existing file.
type found struct {
	// path is the file's path with links resolved.
	path string
	data []byte
	mode fs.FileMode
}

// maxSettings bounds an agent's settings file, in bytes: some keep their history in it.
const maxSettings = 64 << 20

// look reads a file that is about to change, and returns nil if it does not exist. It fails for a file that is not
// regular.
func (s *System) look(path string) (*found, error) {
	disk := s.disk(path)
	if _, err := os.Lstat(disk); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(disk)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is a link to a file that does not exist; create that file or remove the link", path)
	}
	if err != nil {
		return nil, unable(path, "read", err)
	}
	data, info, err := safefile.ReadInfo(real, maxSettings)
	if err != nil {
		return nil, unable(path, "read", err)
	}
	return &found{real, data, info.Mode().Perm()}, nil
}

// lookFor looks at the file of a step that is being planned.
func (s *System) lookFor(st *Step) (*found, error) {
	f, err := s.look(st.Path)
	if err != nil {
		return nil, err
	}
	if f != nil {
		st.real = f.path
	} else if st.real, err = safefile.Resolve(s.disk(st.Path)); err != nil {
		return nil, unable(st.Path, "read", err)
	}
	return f, nil
}

// put writes data in place of what was looked at, nil for none, or removes that for nil. It writes nowhere but in the directory
// in which the step was planned, even if another one comes to that path meanwhile.
func (st *Step) put(f *found, mode fs.FileMode) (err error) {
	p, err := safefile.OpenPlace(st.real)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	now, _, err := p.ReadInfo(maxSettings)
	switch {
	case f == nil && err == nil, err == nil && !bytes.Equal(now, f.data), f != nil && errors.Is(err, fs.ErrNotExist):
		return errors.New("it changed in the meantime; run this again")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if st.After == nil {
		return p.Remove()
	}
	return p.Write(st.After, mode)
}

// writable returns an error for a read-only file. A rename would ignore its mode.
func (f *found) writable(path string) error {
	if f != nil && f.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only; make it writable or add the entry by hand", path)
	}
	return nil
}

// newMode returns the mode of new files. Agent settings may hold secrets later.
func (g Group) newMode() fs.FileMode {
	if g == Agents {
		return 0o600
	}
	return 0o644
}

// Apply makes the change and records it. It does not touch a file that changed since the step was planned.
func (s *System) Apply(st *Step, r *Record) error {
	if !st.Changes() {
		return nil
	}
	if st.registry {
		return s.applyKey(st, r)
	}
	planned := st.real
	f, err := s.lookFor(st)
	if err != nil {
		return err
	}
	if st.real != planned {
		return fmt.Errorf("%s led to %s and leads to %s now; run this again", st.Path, planned, st.real)
	}
	if err := f.writable(st.Path); err != nil {
		return err
	}
	var now []byte
	if f != nil {
		now = f.data
	}
	if !bytes.Equal(now, st.Before) || (f == nil) != (st.Before == nil) {
		return fmt.Errorf("%s changed in the meantime; run this again", st.Path)
	}
	if st.removes {
		return s.takeBack(st, f, r)
	}
	mode := st.Group.newMode()
	if f != nil {
		mode = f.mode
	}
	w := st.written
	w.Created = f == nil
	var made []string
	for missing := parent(st.Path); ; missing = parent(missing) {
		if _, err := os.Lstat(s.disk(missing)); !errors.Is(err, fs.ErrNotExist) || missing == parent(missing) {
			break
		}
		made = append(made, missing)
	}
	slices.Reverse(made)
	w.Dirs = made
	known := r.find(w.Path, false) != nil
	if err := r.Put(w); err != nil {
		return err
	}
	if err := st.put(f, mode); err != nil {
		err = unable(st.Path, "write", err)
		if !known { // nothing was written
			s.removeDirs(w)
			err = errors.Join(err, r.forget(w))
		}
		return err
	}
	return nil
}

// parent returns the directory of a path of any system.
func parent(path string) string {
	if at := strings.LastIndexAny(path, `/\`); at > 0 {
		return path[:at]
	}
	return "/"
}

// unable wraps an error of reading or writing a file, without the names of temporary files.
func unable(path, do string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("cannot %s %s: %w; check who owns the file and its directory", do, path, err)
	}
	return fmt.Errorf("cannot %s %s: %w", do, path, err)
}

func (s *System) applyKey(st *Step, r *Record) error {
	if s.Registry == nil {
		return errors.New("this system has no registry")
	}
	key := st.written.Path
	if st.removes {
		if err := s.Registry.Delete(key); err != nil {
			return err
		}
		s.removeDirs(st.written)
		return r.forget(st.written)
	}
	w := st.written
	for i := range key {
		if key[i] != '\\' {
			continue
		}
		_, there, err := s.Registry.Get(key[:i])
		if err != nil {
			return err
		}
		if !there {
			w.Dirs = append(w.Dirs, key[:i])
		}
	}
	if err := r.Put(w); err != nil {
		return err
	}
	return s.Registry.Set(key, string(st.After))
}

// takeBack undoes a recorded write.
func (s *System) takeBack(st *Step, f *found, r *Record) error {
	if f != nil {
		do := "write"
		if st.After == nil {
			do = "remove"
		}
		if err := st.put(f, f.mode); err != nil {
			return unable(st.Path, do, err)
		}
	}
	return s.Forget(st, r)
}

// RemoveLeftovers removes the temporary files that killed installations left, beside the record and beside the files that it lists:
// a file is recorded before it is written. No other installation may be under way.
func (s *System) RemoveLeftovers(r *Record) error {
	err := r.RemoveLeftovers()
	for _, w := range r.Written {
		if !w.Registry && w.Group != Extension {
			err = errors.Join(err, safefile.RemoveLeftovers(s.disk(w.Path)))
		}
	}
	return err
}

// removeDirs removes the directories and keys that were created, if they are empty.
func (s *System) removeDirs(w Written) {
	for _, dir := range slices.Backward(w.Dirs) {
		switch {
		case !w.Registry:
			removeDir(s.disk(dir))
		case s.Registry != nil && s.Registry.Empty(dir):
			_ = s.Registry.Delete(dir) // a key that is no longer empty stays
		}
	}
}
