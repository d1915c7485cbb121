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

// Record lists what an installation wrote, so that uninstall can remove exactly that.
type Record struct {
	// Format is the version of the record format.
	Format  int       `json:"format"`
	Written []Written `json:"written"`

	path string
}

// Written is one thing that was written.
type Written struct {
	// Group is [Browsers], [Agents] or [Extension]; Name is the browser or agent.
	Group Group  `json:"group"`
	Name  string `json:"name"`
	// Path is the file, or the registry key below HKEY_CURRENT_USER.
	Path     string `json:"path"`
	Registry bool   `json:"registry,omitempty"`
	// Content is the whole content, if Tidemark wrote all of it.
	Content string `json:"content,omitempty"`
	// Edits are the entries added to a settings file, in this order. TOML says that the file is TOML, not JSON.
	Edits []settings.Edit `json:"edits,omitempty"`
	TOML  bool            `json:"toml,omitempty"`
	// Created says that the file did not exist before. Dirs lists the directories (on Windows: keys) above it that
	// did not exist, outermost first.
	Created bool     `json:"created,omitempty"`
	Dirs    []string `json:"dirs,omitempty"`
}

const (
	recordFormat = 1
	maxRecord    = 16 << 20 // bytes
)

// ReadRecord reads a record. A missing one is empty.
func ReadRecord(path string) (*Record, error) {
	r := &Record{Format: recordFormat, path: path}
	data, err := safefile.Read(path, maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the installation record: %w", err)
	}
	if err := r.decode(data); err != nil {
		return nil, fmt.Errorf("the installation record %s is damaged: %w. Nothing was changed. Move it away and run this again without TIDEMARK_HOME: Tidemark then recognizes its entries", path, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("the installation record %s was written by another version of Tidemark; use that version", path)
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

// lists reports whether an installation wrote an entry of a settings file.
func (r *Record) lists(path string, entry []string) bool {
	w := r.find(path, false)
	return w != nil && slices.ContainsFunc(w.Edits, func(e settings.Edit) bool { return slices.Equal(e.Path, entry) })
}

// Put records a write before it is made, so that nothing is ever written unrecorded.
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

// Adopt records an existing manifest that is equal to Tidemark's: its record was lost.
func (r *Record) Adopt(st *Step) error {
	if w := st.written; !st.removes && w.Content != "" && r.find(w.Path, w.Registry) == nil {
		return r.Put(w)
	}
	return nil
}

// Extension returns the directory of the unpacked extension, "" if there is none.
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

// RemoveLeftovers removes the temporary files that killed installations left beside the record. No installation may be under
// way.
func (r *Record) RemoveLeftovers() error { return safefile.RemoveLeftovers(r.path) }

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
		return fmt.Errorf("cannot write the installation record: %w", err)
	}
	if err := writeFile(r.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write the installation record: %w", err)
	}
	return nil
}
