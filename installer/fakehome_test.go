package installer

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file of testdata, or writes it.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s (-update writes it) is not:\n%s", path, text)
	}
}

// fakeHome is a machine of any system in a directory, with a record and, on Windows, a registry.
type fakeHome struct {
	*System
	t      *testing.T
	binary string
	keys   fakeRegistry
	record *Record
}

var systems = []string{"linux", "darwin", "windows"}

func newFakeHome(t *testing.T, system string) *fakeHome {
	t.Helper()
	env := map[string]string{"PATH": "/usr/bin:/snap/bin"}
	h := &fakeHome{t: t, keys: fakeRegistry{}, binary: "/opt/tidemark/tidemark", System: &System{OS: system, Home: "/home/me", Root: t.TempDir()}}
	switch system {
	case "darwin":
		h.Home = "/Users/me"
	case "windows":
		h.Home, h.binary, h.Registry = `C:\Users\me`, `C:\Program Files\Tidemark\tidemark.exe`, h.keys
		env = map[string]string{
			"PATH": `C:\Windows`, "ProgramFiles": `C:\Program Files`, "ProgramFiles(x86)": `C:\Program Files (x86)`,
			"APPDATA": `C:\Users\me\AppData\Roaming`, "LOCALAPPDATA": `C:\Users\me\AppData\Local`,
		}
	}
	h.Getenv = func(name string) string { return env[name] }
	h.program(h.binary)
	h.readRecord()
	return h
}

// readRecord reads the record as another process would.
func (h *fakeHome) readRecord() {
	h.t.Helper()
	r, err := ReadRecord(filepath.Join(h.Root, "record", "install.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.record = r
}

func (h *fakeHome) write(path, text string, mode fs.FileMode) {
	h.t.Helper()
	disk := h.disk(path)
	if err := os.MkdirAll(filepath.Dir(disk), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(disk, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fakeHome) read(path string) string {
	h.t.Helper()
	data, err := os.ReadFile(h.disk(path))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// program puts a program on the machine.
func (h *fakeHome) program(path string) { h.t.Helper(); h.write(path, "", 0o755) }

// browser puts a browser's program on the machine.
func (h *fakeHome) browser(p *product) {
	h.t.Helper()
	path := h.programs(p)[0]
	if h.OS == "linux" && !strings.HasPrefix(path, "/") {
		path = "/usr/bin/" + path
	}
	h.program(path)
}

// agent puts an agent on the machine.
func (h *fakeHome) agent(a *agent) {
	h.t.Helper()
	signs := a.signs(h.System)
	if err := os.MkdirAll(h.disk(signs[len(signs)-1]), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// all is everything on the machine: each file with its mode, its text or where it links to, each directory
// and each registry key.
func (h *fakeHome) all() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for key, value := range h.keys {
		all[key] = value
	}
	err := filepath.WalkDir(h.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Dir(h.record.path) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			if text, err = os.Readlink(path); err != nil {
				return err
			}
		}
		all[path] = info.Mode().String() + " " + text
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// same makes sure that nothing is otherwise than before.
func (h *fakeHome) same(before map[string]string) {
	h.t.Helper()
	now := h.all()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[path]; !ok {
			h.t.Errorf("%s was left behind: %q", path, now[path])
		}
	}
	for path, was := range before {
		if now[path] != was {
			h.t.Errorf("%s was %q and is %q", path, was, now[path])
		}
	}
}

func (h *fakeHome) plan(o Options) []Step {
	h.t.Helper()
	o.Binary, o.Record, o.HostDir = h.binary, h.record, h.join(h.Home, "tidemark")
	steps, err := h.Plan(o)
	if err != nil {
		h.t.Fatal(err)
	}
	return steps
}

// install makes every change that there is to make, and returns all steps.
func (h *fakeHome) install() []Step {
	h.t.Helper()
	steps := h.plan(Options{})
	for i := range steps {
		if err := h.Apply(&steps[i], h.record); err != nil {
			h.t.Fatal(err)
		}
	}
	h.readRecord()
	return steps
}

// uninstall takes everything back.
func (h *fakeHome) uninstall() []Step {
	h.t.Helper()
	steps := h.PlanRemoval(h.record)
	for i := range steps {
		if err := h.Apply(&steps[i], h.record); err != nil {
			h.t.Fatal(err)
		}
		if steps[i].Problem == nil && !steps[i].Changes() {
			if err := h.Forget(&steps[i], h.record); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	h.readRecord()
	return steps
}

// fakeRegistry holds keys and their default values.
type fakeRegistry map[string]string

func (r fakeRegistry) Get(key string) (string, bool, error) {
	value, ok := r[key]
	return value, ok, nil
}

func (r fakeRegistry) Set(key, value string) error {
	for i := range key { // as Windows does it
		if key[i] == '\\' {
			if _, ok := r[key[:i]]; !ok {
				r[key[:i]] = ""
			}
		}
	}
	r[key] = value
	return nil
}

func (r fakeRegistry) Delete(key string) error {
	if r.hasBelow(key) {
		return fmt.Errorf("%s has keys below it", key)
	}
	delete(r, key)
	return nil
}

func (r fakeRegistry) Empty(key string) bool {
	value, ok := r[key]
	return ok && value == "" && !r.hasBelow(key)
}

func (r fakeRegistry) hasBelow(key string) bool {
	for other := range r {
		if strings.HasPrefix(other, key+`\`) {
			return true
		}
	}
	return false
}
