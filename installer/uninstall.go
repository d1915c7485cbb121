package installer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/installer/settings"
	"tidemark.dev/tidemark/installer/unpack"
)

// PlanRemoval returns the steps that undo everything the record holds, and changes nothing. Later changes by others
// are left untouched and reported. The last write is undone first, so that created directories are empty when their
// turn comes.
func (s *System) PlanRemoval(r *Record) []Step {
	var steps []Step
	for _, w := range slices.Backward(r.Written) {
		if w.Group != Extension {
			steps = append(steps, s.planRemoval(w))
		}
	}
	return steps
}

// PlanUnrecorded returns the steps that remove what is clearly Tidemark's but not in the record, which may be lost:
// manifests that allow only its extension, and entries equal to the ones it writes. hostDir is as in [Options].
func (s *System) PlanUnrecorded(r *Record, hostDir string) []Step {
	var found []Written
	known := func(path string, registry bool) bool {
		return r.find(path, registry) != nil || slices.ContainsFunc(found, func(w Written) bool { return w.Path == path && w.Registry == registry })
	}
	for _, b := range s.Find() {
		if b.Confined != "" {
			continue
		}
		for _, l := range s.links(&b, hostDir) {
			w := Written{Group: Browsers, Name: b.Name, Path: l.path, Registry: l.registry}
			if known(l.path, l.registry) {
				continue
			}
			if l.registry {
				if value, there, err := s.Registry.Get(l.path); err == nil && there && value == l.value {
					w.Content = value
					found = append(found, w)
				}
			} else if f, err := s.look(l.path); err == nil && f != nil && readManifest(f.data).own() {
				w.Content = string(f.data)
				found = append(found, w)
			}
		}
	}
	for i := range agents() {
		for _, set := range agents()[i].settings {
			if path := set.file(s); !known(path, false) {
				if w := s.unrecorded(&agents()[i], path); len(w.Edits) > 0 || w.Content != "" {
					found = append(found, w)
				}
			}
		}
	}
	var steps []Step
	for _, w := range found {
		if st := s.planRemoval(w); st.Changes() || st.Problem != nil {
			steps = append(steps, st)
		}
	}
	return steps
}

// unrecorded returns the entries of an agent's settings file that Tidemark seems to have written. The file itself may be the
// user's even if it holds nothing else, unless it has Tidemark's name.
func (s *System) unrecorded(a *agent, path string) Written {
	w := Written{Group: Agents, Name: a.name, Path: path, Created: strings.HasPrefix(path[len(parent(path))+1:], "tidemark")}
	f, err := s.look(path)
	if err != nil || f == nil {
		return w // Tidemark did not write an unreadable file
	}
	for _, set := range a.settings {
		if set.file(s) != path {
			continue
		}
		if set.content != nil {
			if settings.IsPlugin(f.data) {
				w.Content = string(f.data)
			}
			return w
		}
		_, w.TOML = set.format.(settings.TOML)
		there, err := set.format.Read(f.data, set.path)
		if err != nil {
			continue
		}
		for _, entry := range there {
			for _, was := range set.written(entry) {
				// As if Tidemark had written the tables around the entry: those that hold nothing else are removed too.
				none := []byte("{}")
				if w.TOML {
					none = nil
				}
				if _, edit, err := set.format.Insert(none, set.path, was); err == nil {
					if w.TOML {
						edit.Lead = "\n"
					}
					w.Edits = append(w.Edits, edit)
				}
			}
		}
	}
	return w
}

func (s *System) planRemoval(w Written) Step {
	st := Step{Group: w.Group, Name: w.Name, Path: w.Path, written: w, registry: w.Registry, removes: true}
	const left = "was changed since install and is left unchanged"
	if w.Registry {
		st.Path = `HKEY_CURRENT_USER\` + w.Path
		if s.Registry == nil {
			st.Problem = errors.New("this system has no registry")
			return st
		}
		value, there, err := s.Registry.Get(w.Path)
		switch {
		case err != nil:
			st.Problem = err
		case !there:
			st.Note = "is already removed"
		case value != w.Content:
			st.Note = left
		default:
			st.Before = []byte(value)
		}
		return st
	}
	f, err := s.lookFor(&st)
	if err != nil {
		st.Problem = err
		return st
	}
	if f == nil {
		st.Note = "is already removed"
		return st
	}
	st.Before = f.data
	if len(w.Edits) == 0 {
		if string(f.data) != w.Content || w.Content == "" {
			st.Note, st.After = left, f.data
		}
	} else {
		st.withoutEntries(f.data)
	}
	if st.Changes() {
		st.Problem = f.writable(w.Path)
	}
	return st
}

// withoutEntries plans a settings file without the entries. A file that was created only for them is removed.
func (st *Step) withoutEntries(text []byte) {
	const gone = "no longer has the entry"
	var f settings.Format = settings.JSON{}
	if st.written.TOML {
		f = settings.TOML{}
	}
	st.After = text
	for _, edit := range slices.Backward(st.written.Edits) {
		after, err := f.Remove(st.After, edit)
		if errors.Is(err, settings.ErrGone) && !st.written.TOML {
			after, err = settings.RemoveHook(st.After, edit)
		}
		switch {
		case err == nil:
			st.After = append([]byte{}, after...) // empty, not missing
		case errors.Is(err, settings.ErrGone):
			if st.Note == "" {
				st.Note = gone
			}
		case errors.Is(err, settings.ErrChanged):
			st.Note = "has an entry that was changed since install; it is left unchanged"
		default:
			st.After = text
			st.Problem = fmt.Errorf("%s is left unchanged: %w; remove the entry %q by hand", st.Path, err, settings.ServerName)
			return
		}
	}
	if st.Note == gone && !bytes.Equal(st.After, text) {
		st.Note = "" // of another entry
	}
	if !st.written.TOML {
		for _, edit := range st.written.Edits {
			if command, program := settings.HookOf(edit); program != "" && settings.StillRuns(st.After, program) {
				st.Left = fmt.Errorf("%s still runs `%s` outside Tidemark's entries; remove it by hand", st.Path, command)
			}
		}
	}
	rest := bytes.Join(bytes.Fields(st.After), nil)
	if st.written.Created && !bytes.Equal(st.After, text) && (len(rest) == 0 || string(rest) == "{}") {
		st.After = nil
	}
}

// Forget drops a step's entry from the record: it is removed, or no longer Tidemark's. An entry that is partly left
// stays recorded, so that the next removal reports it too.
func (s *System) Forget(st *Step, r *Record) error {
	if st.Left != nil {
		return nil
	}
	s.removeDirs(st.written)
	return r.forget(st.written)
}

// InstallExtension unpacks the embedded extension to dir. The directory stays the same, so that a browser that has
// loaded the extension finds its updates. It reports whether anything changed.
func InstallExtension(dir string, r *Record) (bool, error) {
	own, err := unpack.Embedded()
	if err != nil {
		return false, err
	}
	if err := r.Put(Written{Group: Extension, Name: "extension", Path: dir}); err != nil {
		return false, err
	}
	if own.In(dir) {
		return false, nil
	}
	if err := own.Unpack(dir); err != nil {
		return false, err
	}
	return true, nil
}

// RemoveExtension removes what [InstallExtension] unpacked to dir. A record that names another directory is damaged
// or belongs to another home, so nothing is removed.
func RemoveExtension(dir string, r *Record) error {
	for _, w := range r.Written {
		if w.Group != Extension {
			continue
		}
		if filepath.Clean(w.Path) != filepath.Clean(dir) {
			return fmt.Errorf("the installation record names %s as the extension's directory, but this home uses %s; neither was removed. Remove Tidemark's files by hand", w.Path, dir)
		}
		if err := os.RemoveAll(w.Path); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(w.Path)) // fails if it holds another one
		return r.forget(w)
	}
	return nil
}
