package installer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/installer/safefile"
	"tidemark.dev/tidemark/installer/settings"
)

// Record is what an installation wrote, so that it can be taken back and nothing else.
type Record struct {
	// Format counts the ways in which records were written.
	Format  int       `json:"format"`
	Written []Written `json:"written"`

	path string
}

// Written is one thing that was written.
type Written struct {
	// Group is [Browsers], [Agents] or [Extension]; Name is whom it serves.
	Group Group  `json:"group"`
	Name  string `json:"name"`
	// Path is the file, or the registry key below HKEY_CURRENT_USER.
	Path     string `json:"path"`
	Registry bool   `json:"registry,omitempty"`
	// Content is all of it, where all of it was written.
	Content string `json:"content,omitempty"`
	// Edits are what was put into a settings file, in this order; TOML when it says so.
	Edits []settings.Edit `json:"edits,omitempty"`
	TOML  bool            `json:"toml,omitempty"`
	// Created says that the file was not there before, Dirs which directories (on Windows: keys) above it were
	// not, outermost first.
	Created bool     `json:"created,omitempty"`
	Dirs    []string `json:"dirs,omitempty"`
}

const (
	recordFormat = 1
	maxRecord    = 16 << 20 // bytes
)

// ReadRecord reads a record; one that is not there is empty.
func ReadRecord(path string) (*Record, error) {
	r := &Record{Format: recordFormat, path: path}
	data, err := safefile.Read(path, maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the record of what was installed cannot be read: %w", err)
	}
	if err := r.decode(data); err != nil {
		return nil, fmt.Errorf("the record of what was installed, %s, is damaged: %w; nothing was changed. Move it away and run this again: what is plainly Tidemark's is found without it", path, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("the record of what was installed, %s, is of another version of Tidemark; use that one", path)
	}
	return r, nil
}

func (r *Record) find(path string, registry bool) *Written {
	for i := range r.Written {
		if w := &r.Written[i]; w.Path == path && w.Registry == registry {
			return w
		}
	}
	return nil
}

// Put notes what is about to be written: before it is, so that nothing is ever written unrecorded.
func (r *Record) Put(w Written) error {
	if old := r.find(w.Path, w.Registry); old != nil {
		w.Created = w.Created || old.Created
		w.Dirs = append(slices.Clone(old.Dirs), w.Dirs...)
		*old = w
	} else {
		r.Written = append(r.Written, w)
	}
	return r.save()
}

// Adopt notes a manifest that was there already, as Tidemark would have written it: its record was lost.
func (r *Record) Adopt(st *Step) error {
	if w := st.written; !st.removes && w.Content != "" && r.find(w.Path, w.Registry) == nil {
		return r.Put(w)
	}
	return nil
}

// Extension is where the extension was unpacked, "" when it was not.
func (r *Record) Extension() string {
	for _, w := range r.Written {
		if w.Group == Extension {
			return w.Path
		}
	}
	return ""
}

func (r *Record) forget(w Written) error {
	r.Written = slices.DeleteFunc(r.Written, func(o Written) bool { return o.Path == w.Path && o.Registry == w.Registry })
	return r.save()
}

func (r *Record) save() error {
	if len(r.Written) == 0 {
		if err := os.Remove(r.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return fmt.Errorf("what is installed cannot be recorded: %w", err)
	}
	if err := writeFile(r.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("what is installed cannot be recorded: %w", err)
	}
	return nil
}
