package installer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/installer/settings"
)

// theirs are files of a person's that no record may lead to.
var theirs = map[string]string{
	"/home/me/.bashrc":            "alias ll='ls -l'\n",
	"/home/me/empty":              "",
	"/home/me/.cursor/rules.json": `{"mcpServers": {"files": {"command": "files", "args": ["mcp"]}}, "hooks": {"Stop": [{"hooks": [{"command": "bell"}]}]}}`,
	"/home/me/documents/letter":   "Dear Sir",
}

// takeBack does all that an uninstallation does by a record.
func takeBack(t *testing.T, h *fakeHome) {
	for _, st := range h.PlanRemoval(h.record) {
		if st.Problem == nil {
			_ = h.Apply(&st, h.record) // what it cannot do it leaves
		}
		_ = st.Diff()
	}
	_ = RemoveExtension(filepath.Join(h.Root, "home/me/extension"), h.record)
	for path, text := range theirs {
		if data, err := os.ReadFile(h.disk(path)); err != nil || string(data) != text {
			t.Errorf("%s is now %q (%v)", path, data, err)
		}
	}
}

func readDamaged(t *testing.T, data []byte) (*fakeHome, error) {
	h := newFakeHome(t, "linux")
	for path, text := range theirs {
		h.write(path, text, 0o600)
	}
	path := filepath.Join(h.Root, "record", "install.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	h.record, err = ReadRecord(path)
	return h, err
}

func TestADamagedRecordIsRefusedAndNothingIsTouched(t *testing.T) {
	own, _ := manifestFor("/bin/tidemark")
	entry := `{"path":["mcpServers","tidemark"],"text":"\"tidemark\": {\"command\": \"t\", \"args\": [\"mcp\"]}"}`
	of := func(fields string) string { return `{"format":1,"written":[{` + fields + `}]}` }
	for _, data := range []string{
		``, `null`, `[]`, `{"format":1,"written":{}}`, `{"format":1,"written":[null]}`, `{"format":1,"written":[1]}`, `{"format":"1"}`, `{"written":[{}]}`,
		of(`"group":"agent","path":"relative","edits":[` + entry + `]`),
		of(`"group":"agent","path":"/home/me/../me/x","edits":[` + entry + `]`),
		of(`"group":"agent","path":"/x","content":"alias","edits":[` + entry + `]`),
		of(`"group":"agent","path":"/x","edits":[{}]`),
		of(`"group":"agent","path":"/x","edits":[null]`),
		of(`"group":"agent","path":"/x","edits":[` + strings.Replace(entry, `{"path"`, `{"depth":2,"path"`, 1) + `]`),
		of(`"group":"agent","path":"/x","edits":[` + strings.Replace(entry, `{"path"`, `{"depth":-1,"path"`, 1) + `]`),
		of(`"group":"agent","path":"/x","edits":[` + strings.Replace(entry, `tidemark"]`, `files"]`, 1) + `]`),
		of(`"group":"agent","path":"/x","edits":[{"path":["hooks","Stop","-"],"depth":2,"text":"{\"hooks\": [{\"command\": \"bell\"}]}"}]`),
		of(`"group":"agent","path":"/x","toml":true,"edits":[{"path":["a","tidemark"],"text":"[a"}]`),
		of(`"group":"browser","path":"/home/me/.bashrc","content":"alias ll='ls -l'\n"`),
		of(`"group":"browser","path":"/home/me/empty"`),
		of(`"group":"browser","registry":true,"path":"Software","content":"C:\\x"`),
		of(`"group":"extension","path":"/x","dirs":["/home/me"]`),
		of(`"group":"other","path":"/x"`),
		of(`"group":"agent","path":"/home/me/a/b","dirs":["/home/me/empty"],"edits":[` + entry + `]`),
		of(fmt.Sprintf(`"group":"browser","path":"/home/me/x.json","content":%q`, own)),
	} {
		h, err := readDamaged(t, []byte(data))
		if err == nil || !strings.Contains(err.Error(), "install.json") {
			t.Errorf("%s: %v", data, err)
		}
		if err == nil {
			takeBack(t, h)
		}
	}
	// The extension goes from where this home has it, from nowhere else.
	h, err := readDamaged(t, []byte(of(`"group":"extension","path":"/"`)))
	if err != nil {
		t.Fatal(err)
	}
	if err := RemoveExtension(filepath.Join(h.Root, "extension"), h.record); err == nil || !strings.Contains(err.Error(), "neither was removed") {
		t.Error(err)
	}
	takeBack(t, h)
}

func FuzzRecord(f *testing.F) {
	own, err := manifestFor("/opt/tidemark")
	if err != nil {
		f.Fatal(err)
	}
	_, server, err := settings.JSON{}.Insert([]byte("{}"), []string{"mcpServers", settings.ServerName}, map[string]any{"command": "/opt/tidemark", "args": []string{"mcp"}})
	if err != nil {
		f.Fatal(err)
	}
	_, table, err := settings.TOML{}.Insert(nil, []string{"mcp_servers", settings.ServerName}, map[string]any{"command": "/opt/tidemark", "args": []string{"mcp"}})
	if err != nil {
		f.Fatal(err)
	}
	_, hook, err := settings.JSON{}.Insert([]byte(theirs["/home/me/.cursor/rules.json"]), []string{"hooks", "Stop", settings.ListItem}, settings.HookEntry{Hooks: []settings.HookCommand{{Command: "/opt/tidemark hook"}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, w := range []Written{
		{Group: Browsers, Path: "/home/me/.config/chromium/NativeMessagingHosts/" + ManifestFile, Content: string(own), Created: true, Dirs: []string{"/home/me/.config/chromium"}},
		{Group: Agents, Path: "/home/me/.cursor/rules.json", Edits: []settings.Edit{server, hook}},
		{Group: Agents, Path: "/home/me/.bashrc", Edits: []settings.Edit{table}, TOML: true, Created: true},
		{Group: Extension, Path: "/home/me/documents"},
		{Group: Browsers, Path: "/home/me/empty"},
	} {
		data, err := json.Marshal(Record{Format: recordFormat, Written: []Written{w}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := readDamaged(t, data); err == nil {
			takeBack(t, h)
		}
	})
}

func TestLeftoversOfAKilledInstallationAreRemoved(t *testing.T) {
	dir := t.TempDir()
	r, err := ReadRecord(filepath.Join(dir, "install.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".install.json.123", ".install.json.4", ".install.json.bak", ".install.json.", "x.install.json.5", ".other.json.6"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".install.json.7"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.RemoveLeftovers(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != ".install.json. .install.json.7 .install.json.bak .other.json.6 x.install.json.5" {
		t.Error(got)
	}
	gone, err := ReadRecord(filepath.Join(dir, "missing", "install.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.RemoveLeftovers(); err != nil {
		t.Error(err)
	}
}

// TestLeftoversBesideSettingsAreRemoved, and files of others stay.
func TestLeftoversBesideSettingsAreRemoved(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.agent(&agents()[1]) // Cursor
	h.write("/home/me/dotfiles/mcp.json", "{}", 0o600)
	if err := os.Symlink("../dotfiles/mcp.json", h.disk("/home/me/.cursor/mcp.json")); err != nil {
		t.Fatal(err)
	}
	h.install()
	before := h.all()
	for _, path := range []string{"/home/me/dotfiles/.mcp.json.3141592653", "/home/me/.cursor/.hooks.json.27"} {
		h.write(path, "half a fi", 0o600)
	}
	if err := h.RemoveLeftovers(h.record); err != nil {
		t.Fatal(err)
	}
	h.same(before)
	for _, path := range []string{"/home/me/.cursor/.mcp.json.27.bak", "/home/me/.cursor/.rules.json.27"} {
		h.write(path, "theirs", 0o600)
	}
	before = h.all()
	if err := h.RemoveLeftovers(h.record); err != nil {
		t.Fatal(err)
	}
	h.same(before)
}

// TestAMissingEntryIsBroken where an installation wrote it, and not set up where none did.
func TestAMissingEntryIsBroken(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.agent(&agents()[1]) // Cursor
	states := func() (entry, hooks Check) {
		checks, _ := h.CheckAgents(h.record)
		for _, c := range checks {
			if c.Link == "agent" {
				entry = c
			} else {
				hooks = c
			}
		}
		return entry, hooks
	}
	if entry, hooks := states(); entry.State != None || hooks.State != "" {
		t.Errorf("before an installation: %+v, %+v", entry, hooks)
	}
	h.install()
	if entry, hooks := states(); entry.State != OK || hooks.State != OK {
		t.Errorf("after an installation: %+v, %+v", entry, hooks)
	}
	for _, text := range []string{"{}", ""} {
		for _, file := range []string{"/home/me/.cursor/mcp.json", "/home/me/.cursor/hooks.json"} {
			if h.write(file, text, 0o600); text == "" {
				if err := os.Remove(h.disk(file)); err != nil {
					t.Fatal(err)
				}
			}
		}
		entry, hooks := states()
		for _, c := range []Check{entry, hooks} {
			if c.State != Broken || !strings.Contains(c.Detail, "no longer has the") || !strings.Contains(c.Fix, "run `tidemark install --agent cursor`") {
				t.Errorf("%q: %+v", text, c)
			}
		}
	}
	h.install()
	if entry, hooks := states(); entry.State != OK || hooks.State != OK {
		t.Errorf("after the fix: %+v, %+v", entry, hooks)
	}
}

// TestARecordWithEntriesTwiceIsRemovedOnce: copies of entries, as a restored backup may have them, are one.
func TestARecordWithEntriesTwiceIsRemovedOnce(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.agent(&agents()[2])
	before := h.all()
	h.install()
	written := h.record.Written
	h.record.Written = append(written[:len(written):len(written)], written...)
	if err := h.record.save(); err != nil {
		t.Fatal(err)
	}
	h.readRecord()
	h.uninstall()
	h.same(before)
	if len(h.record.Written) > 0 {
		t.Errorf("%+v", h.record.Written)
	}
}
