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

// Group is whom a step serves.
type Group string

// The groups.
const (
	Browsers  Group = "browser"
	Agents    Group = "agent"
	Extension Group = "extension"
)

// Step is one change, planned and not yet made, or the reason why there is none.
type Step struct {
	Group Group
	// ID is the name on the command line, Name what a person calls it; of several: all of them.
	ID, Name string
	// Path is the file, or the registry key with its root; "" when the step is only told.
	Path string
	// Before and After are what it holds; nil: it is not there.
	Before, After []byte
	// Note says what is the case where there is nothing to do, or what to know beside.
	Note string
	// Problem says why nothing can be done, and what to do by hand.
	Problem error
	// Left says what stays although the step is made, and what to do by hand.
	Left error

	written  Written
	registry bool
	removes  bool
}

// Changes says whether the step changes anything.
func (st *Step) Changes() bool {
	return st.Problem == nil && st.Path != "" && !(bytes.Equal(st.Before, st.After) && (st.Before == nil) == (st.After == nil))
}

// Diff is the change as a unified diff.
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

// found is a file as it is.
type found struct {
	// path is where its bytes are, links followed.
	path string
	data []byte
	mode fs.FileMode
}

// maxSettings bounds an agent's settings file, in bytes: some keep their history in it.
const maxSettings = 64 << 20

// look reads a file that is to be changed: nil when there is none. It refuses what cannot or must not be
// written to.
func (s *System) look(path string) (*found, error) {
	disk := s.disk(path)
	if _, err := os.Lstat(disk); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(disk)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is a link to a file that does not exist; make it, or remove the link", path)
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

// writable says why a file that is there is not to be written to. A rename would pass over its mode.
func (f *found) writable(path string) error {
	if f != nil && f.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only; make it writable, or put the entry in by hand", path)
	}
	return nil
}

// newMode is the mode of files that are made: settings may come to hold secrets.
func (g Group) newMode() fs.FileMode {
	if g == Agents {
		return 0o600
	}
	return 0o644
}

// Apply makes the change, and keeps the record of it. A file that was changed since the step was planned
// is left as it is.
func (s *System) Apply(st *Step, r *Record) error {
	if !st.Changes() {
		return nil
	}
	if st.registry {
		return s.applyKey(st, r)
	}
	f, err := s.look(st.Path)
	if err != nil {
		return err
	}
	if err := f.writable(st.Path); err != nil {
		return err
	}
	var now []byte
	if f != nil {
		now = f.data
	}
	if !bytes.Equal(now, st.Before) || (f == nil) != (st.Before == nil) {
		return fmt.Errorf("%s was changed in the meantime; run this again", st.Path)
	}
	if st.removes {
		return s.takeBack(st, f, r)
	}
	disk, mode := s.disk(st.Path), st.Group.newMode()
	if f != nil {
		disk, mode = f.path, f.mode
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
	err = os.MkdirAll(filepath.Dir(s.disk(st.Path)), 0o700)
	if err == nil {
		err = writeFile(disk, st.After, mode)
	}
	if err != nil {
		err = unable(st.Path, "written", err)
		if !known { // nothing of it is there
			s.removeDirs(w)
			err = errors.Join(err, r.forget(w))
		}
	}
	return err
}

// parent is the directory of a path of any system.
func parent(path string) string {
	if at := strings.LastIndexAny(path, `/\`); at > 0 {
		return path[:at]
	}
	return "/"
}

// unable says that a file cannot be read or written, without the names of temporary files.
func unable(path, done string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be %s: %w; see whom it and its directory belong to", path, done, err)
	}
	return fmt.Errorf("%s cannot be %s: %w", path, done, err)
}

func (s *System) applyKey(st *Step, r *Record) error {
	if s.Registry == nil {
		return errors.New("there is no registry on this system")
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

// takeBack undoes what a record says.
func (s *System) takeBack(st *Step, f *found, r *Record) error {
	if st.After != nil {
		if err := writeFile(f.path, st.After, f.mode); err != nil {
			return unable(st.Path, "written", err)
		}
	} else if f != nil {
		if err := os.Remove(f.path); err != nil {
			return unable(st.Path, "removed", err)
		}
	}
	return s.Forget(st, r)
}

// removeDirs removes directories and keys that were made, where nothing else has come into them.
func (s *System) removeDirs(w Written) {
	for _, dir := range slices.Backward(w.Dirs) {
		switch {
		case !w.Registry:
			removeDir(s.disk(dir))
		case s.Registry != nil && s.Registry.Empty(dir):
			_ = s.Registry.Delete(dir) // what came into it meanwhile stays
		}
	}
}
