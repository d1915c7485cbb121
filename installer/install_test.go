package installer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"tidemark.dev/tidemark/installer/settings"
)

// TestEveryBrowserOfEverySystem: each alone on a machine is found, gets its manifest where it looks for it,
// is told well by doctor's checks, and nothing is left when it is taken back.
func TestEveryBrowserOfEverySystem(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		var text strings.Builder
		for i := range products {
			p := &products[i]
			if len(p.on(system).programs) == 0 {
				fmt.Fprintf(&text, "%s: none on this system\n", p.id)
				continue
			}
			h := newFakeHome(t, system)
			h.browser(p)
			h.keys["Software"] = ""
			before := h.all()
			if checks, _ := h.CheckBrowsers(h.join(h.Home, "tidemark"), &Record{}); checks[1].State != None || checks[1].Fix == "" {
				t.Errorf("%s on %s: %+v", p.id, system, checks)
			}
			steps := h.install()
			fmt.Fprintf(&text, "%s: %s\n", p.id, h.Find()[0].Program)
			for _, st := range steps {
				fmt.Fprintf(&text, "  %s\n", st.Path)
				switch want, _ := manifestFor(h.binary); {
				case st.Problem != nil || st.ID != p.id || st.Name != p.name:
					t.Errorf("%s on %s: %+v", p.id, system, st)
				case !st.registry && h.read(st.Path) != string(want):
					t.Errorf("%s holds %s", st.Path, h.read(st.Path))
				case st.registry && h.keys[st.written.Path] != `C:\Users\me\tidemark\`+ManifestFile:
					t.Errorf("%s is %q", st.Path, h.keys[st.written.Path])
				}
			}
			checks, programs := h.CheckBrowsers(h.join(h.Home, "tidemark"), &Record{})
			if slices.ContainsFunc(checks, func(c Check) bool { return c.State != OK }) || len(checks) != 2 || !slices.Equal(programs, []string{h.binary}) {
				t.Errorf("%s on %s: %+v, %s", p.id, system, checks, programs)
			}
			if again := h.plan(Options{}); slices.ContainsFunc(again, func(st Step) bool { return st.Changes() }) {
				t.Errorf("%s on %s is installed twice: %+v", p.id, system, again)
			}
			h.uninstall()
			h.same(before)
		}
		golden(t, "browsers-"+system+".golden", text.String())
	}
}

func fileOf(h *fakeHome, agent int) string { return agents()[agent].settings[0].file(h.System) }

func TestABrowserIsKnownByItsProfileAlone(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		for i := range products {
			p := &products[i]
			at := p.on(system)
			if len(at.programs) == 0 {
				continue
			}
			h := newFakeHome(t, system)
			dir := h.browserData()
			if system == "windows" && strings.HasPrefix(at.data, "Opera") {
				dir = h.appData()
			}
			h.write(h.join(dir, at.data, "First Run"), "", 0o644)
			if found := h.Find(); len(found) != 0 {
				t.Errorf("%s on %s: a bare directory is taken for %+v", p.id, system, found)
			}
			h.write(h.join(dir, at.data, "Local State"), "{}", 0o644)
			if found := h.Find(); len(found) != 1 || found[0].ID != p.id || found[0].Program != "" {
				t.Errorf("%s on %s: %+v", p.id, system, found)
			}
		}
	}
}

func TestConfinedBrowsersAreTold(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.write("/home/me/.local/share/flatpak/app/com.google.Chrome/current", "", 0o644)
	h.write("/snap/chromium/current", "", 0o644)
	h.program("/usr/bin/chromium-browser") // Ubuntu's: it starts the snap
	h.program("/snap/bin/opera")
	before := h.all()
	steps := h.install()
	for i, name := range []string{"Chrome (Flatpak)", "Chromium (snap)"} {
		if len(steps) != 2 || steps[i].Name != name || !strings.Contains(steps[i].Note, "tidemark browser") {
			t.Errorf("%+v", steps)
		}
	}
	h.same(before)
	checks, _ := h.CheckBrowsers("", &Record{})
	if last := checks[len(checks)-1]; len(checks) != 3 || last.State != Broken || last.Fix == "" {
		t.Errorf("%+v", checks)
	}
}

// TestEveryAgentOfEverySystem: each gets its entry in a file that is not there, in one with comments and
// others' entries, and in one of a single line; taken back, every byte is as it was.
func TestEveryAgentOfEverySystem(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		var text strings.Builder
		for i := range agents() {
			a := &agents()[i]
			for _, there := range []struct{ name, json, toml string }{
				{name: "no file"},
				{
					"others' entries and comments",
					"// mine\n{\n\t\"theme\": \"dark\", // at night\n\t\"TABLE\": {\n\t\t\"files\": { \"command\": \"npx\" }, /* keep */\n\t},\n\t\"last\": 1\n}\n",
					"model = \"x\" # best\n\n[TABLE.files] # keep\ncommand = 'npx'\n",
				},
				{"one line", `{"a":1,"TABLE":{"files":{}},"b":[2]}`, "a = 1"},
			} {
				h := newFakeHome(t, system)
				h.agent(a)
				files := map[string]bool{}
				for _, set := range a.settings {
					path := set.file(h.System)
					old := there.json
					if set.format == settings.Format(settings.TOML{}) {
						old = there.toml
					}
					if set.beside {
						continue
					}
					if old != "" && !files[path] && set.content == nil {
						h.write(path, strings.ReplaceAll(old, "TABLE", set.path[0]), 0o640)
					}
					files[path] = true
				}
				before := h.all()
				steps := h.install()
				if len(steps) != len(files) {
					t.Fatalf("%s on %s: %+v", a.id, system, steps)
				}
				for _, st := range steps {
					if hooks := strings.HasSuffix(st.Path, "hooks.json") && a.id == "codex"; (st.Note != "") != hooks || hooks && !strings.Contains(st.Note, "/hooks") {
						t.Errorf("%s on %s: the note is %q", a.id, system, st.Note)
					}
					if st.ID != a.id || st.Problem != nil || !st.Changes() {
						t.Fatalf("%s on %s: %+v", a.id, system, st)
					}
					// The texts differ with the system in the program's name alone.
					if system == systems[0] || st.Before == nil {
						diff := st.Diff()
						if strings.HasSuffix(st.Path, pluginFile) { // TestThePluginOfOpencode has its text
							diff = st.Path + "\n"
						}
						fmt.Fprintf(&text, "%s, %s:\n%s", a.id, there.name, diff)
					}
				}
				checks, starts := h.CheckAgents(h.record)
				if len(checks) != min(len(a.settings), 2) || slices.ContainsFunc(checks, func(c Check) bool { return c.State != OK }) || len(starts) != 1 || starts[0].Command != h.binary || !slices.Equal(starts[0].Args, []string{"mcp"}) {
					t.Errorf("%s on %s: %+v, %+v", a.id, system, checks, starts)
				}
				for _, again := range h.plan(Options{}) {
					if again.Changes() || again.Note != Registered {
						t.Errorf("%s on %s is registered twice: %+v", a.id, system, again)
					}
				}
				h.uninstall()
				h.same(before)
			}
		}
		golden(t, "agents-"+system+".golden", text.String())
	}
}

// TestSettingsThatCannotBeWrittenAreLeft: a clear word, and no harm.
func TestSettingsThatCannotBeWrittenAreLeft(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, c := range []struct {
		name, agent, settings string
		mode                  os.FileMode
		link                  string
	}{
		{name: "malformed", agent: "cursor", settings: "{\n  \"mcpServers\": {\n    \"files\": {,\n"},
		{name: "malformed", agent: "codex", settings: "model = \"x\"\n[mcp_servers\n"},
		{name: "no object", agent: "cursor", settings: "[]"},
		{name: "servers are a list", agent: "gemini", settings: `{"mcpServers": []}`},
		{name: "servers are null", agent: "gemini", settings: `{"mcpServers": null}`},
		{name: "servers stand in an inline table", agent: "codex", settings: "mcp_servers = { files = { command = 'npx' } }\n"},
		{name: "servers twice", agent: "vscode", settings: `{"servers": {}, "servers": {}}`},
		{name: "UTF-16", agent: "claude-desktop", settings: "\xff\xfe{\x00}\x00"},
		{name: "read-only", agent: "cursor", settings: "{}", mode: 0o440},
		{name: "another entry of the name", agent: "cursor", settings: `{"mcpServers": {"tidemark": {"command": "npx", "args": ["tidal-marks"]}}}`},
		{name: "another entry of the name", agent: "codex", settings: "[mcp_servers.tidemark]\nurl = \"https://example.com\"\n"},
		{name: "the entry is no table", agent: "gemini", settings: `{"mcpServers": {"tidemark": true}}`},
		{name: "an entry by hand", agent: "cursor", settings: `{"mcpServers": {"tidemark": {"command": "/elsewhere/tidemark", "args": ["mcp", "--origin", "http://localhost:5173"]}}}`},
		{name: "a link to nothing", agent: "cursor", link: "gone"},
		{name: "a directory", agent: "cursor", link: "."},
	} {
		h := newFakeHome(t, "linux")
		a := &agents()[slices.IndexFunc(agents(), func(a agent) bool { return a.id == c.agent })]
		h.agent(a)
		path := a.settings[0].file(h.System)
		if c.link != "" {
			if err := os.Symlink(c.link, h.disk(path)); err != nil {
				t.Fatal(err)
			}
		} else {
			h.write(path, c.settings, 0o600)
			if c.mode != 0 {
				if err := os.Chmod(h.disk(path), c.mode); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := h.all()
		steps := h.plan(Options{})
		if err := h.Apply(&steps[0], h.record); err != nil {
			t.Error(err)
		}
		h.same(before)
		if steps[0].Path != path || steps[0].Changes() {
			t.Errorf("%s, %s: %+v", c.agent, c.name, steps)
			continue
		}
		said := steps[0].Note
		if steps[0].Problem != nil {
			said = steps[0].Problem.Error()
		}
		checks, _ := h.CheckAgents(h.record)
		fmt.Fprintf(&text, "%s, %s:\n  install %s\n  doctor  %s: %s\n", c.agent, c.name, strings.ReplaceAll(said, h.Root, ""), checks[0].State, strings.ReplaceAll(checks[0].Detail, h.Root, ""))
		if checks[0].Fix != "" {
			fmt.Fprintf(&text, "          → %s\n", checks[0].Fix)
		}
	}
	golden(t, "refused.golden", text.String())
}

// TestHooksStandBesideOthers: those of other tools for the same event stay; one that somebody wrote for
// Tidemark by hand is not doubled.
func TestHooksStandBesideOthers(t *testing.T) {
	const file = "/home/me/.claude/settings.json"
	const theirs = `{
  "hooks": {
    "PostToolUse": [
      { "matcher": "Edit", "hooks": [{ "type": "command", "command": "npx prettier" }] } // format
    ],
    "Stop": [{ "hooks": [{ "type": "command", "command": "/elsewhere/tidemark hook --timeout 9s" }] }]
  }
}
`
	h := newFakeHome(t, "linux")
	h.write(file, theirs, 0o600)
	before := h.all()
	h.install()
	text := h.read(file)
	for _, want := range []string{`{ "matcher": "Edit", "hooks": [{ "type": "command", "command": "npx prettier" }] }`, "// format", `"SessionStart": [`, `"PostToolUseFailure": [`, `"SessionEnd": [`} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times: %s", want, strings.Count(text, want), text)
		}
	}
	if n := strings.Count(text, "tidemark hook"); n != 9 { // with the one by hand
		t.Errorf("%d hooks: %s", n, text)
	}
	of := func(checks []Check, _ []Start) Check {
		return checks[slices.IndexFunc(checks, func(c Check) bool { return c.Link == "hooks" })]
	}
	if c := of(h.CheckAgents(h.record)); c.State != Broken || c.Detail != file+" runs /elsewhere/tidemark, which is not an executable" {
		t.Errorf("%+v", c)
	}
	h.program("/elsewhere/tidemark")
	if c := of(h.CheckAgents(h.record)); c.State != OK || c.Detail != "9 of 9 events run `tidemark hook`" {
		t.Errorf("%+v", c)
	}
	if err := os.RemoveAll(h.disk("/elsewhere")); err != nil {
		t.Fatal(err)
	}
	h.uninstall()
	h.same(before)

	// What the agent cannot have meant is left, and said.
	for _, odd := range []string{`{"hooks": []}`, `{"hooks": {"Stop": "tidemark"}}`, `{"hooks": `} {
		h.write(file, odd, 0o600)
		before := h.all()
		for _, st := range h.plan(Options{}) {
			if st.Path == file && (st.Problem == nil || st.Changes()) {
				t.Errorf("%s: %+v", odd, st)
			}
		}
		h.same(before)
	}
}

func TestEmptySettingsAreFilled(t *testing.T) {
	for _, old := range []string{"", "\n", " \t\n\n", "{}", "{ }\n", "\ufeff{}", "// nothing yet\n{\n}\n"} {
		h := newFakeHome(t, "linux")
		h.write("/home/me/.cursor/mcp.json", old, 0o600)
		before := h.all()
		h.install()
		if checks, _ := h.CheckAgents(h.record); checks[0].State != OK {
			t.Errorf("%q: %+v in %q", old, checks, h.read("/home/me/.cursor/mcp.json"))
		}
		h.uninstall()
		h.same(before)
	}
}

func TestALinkedSettingsFileStaysALink(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.write("/home/me/dotfiles/cursor.json", "{\n}\n", 0o600)
	h.agent(&agents()[1])
	if err := os.Symlink("../dotfiles/cursor.json", h.disk("/home/me/.cursor/mcp.json")); err != nil {
		t.Fatal(err)
	}
	before := h.all()
	h.install()
	if text := h.read("/home/me/dotfiles/cursor.json"); !strings.Contains(text, h.binary) {
		t.Errorf("%s", text)
	}
	h.uninstall()
	h.same(before)
}

func TestAManifestOfSomebodyElseIsLeft(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.browser(&products[0])
	path := "/home/me/.config/google-chrome/NativeMessagingHosts/" + ManifestFile
	for _, theirs := range []string{`{"name":"dev.tidemark.host","allowed_origins":["chrome-extension://other/"]}`, "broken"} {
		h.write(path, theirs, 0o644)
		before := h.all()
		if steps := h.install(); steps[0].Problem == nil || !strings.Contains(steps[0].Problem.Error(), "remove it and install again") {
			t.Errorf("%+v", steps)
		}
		h.same(before)
	}
}

func TestAManifestThatWasDamagedIsWrittenAnew(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.browser(&products[0])
	before := h.all()
	path := h.install()[0].Path
	want := h.read(path)
	for _, damaged := range []string{"bad", "", "{}", want[:40], "[]"} {
		h.write(path, damaged, 0o644)
		checks, _ := h.CheckBrowsers("", &Record{})
		if checks[1].State != Broken || !strings.Contains(checks[1].Fix, "run `tidemark install` to write it") {
			t.Errorf("%q: %+v", damaged, checks)
		}
		if st := h.install()[0]; st.Problem != nil || st.Diff() == "" || h.read(path) != want {
			t.Errorf("%q: %+v", damaged, st)
		}
	}
	// Another program has taken the place.
	theirs := `{"name":"dev.tidemark.host","allowed_origins":["chrome-extension://other/"]}`
	h.write(path, theirs, 0o644)
	if st := h.install()[0]; st.Problem == nil || h.read(path) != theirs {
		t.Errorf("%+v", st)
	}
	h.write(path, want, 0o644)
	h.uninstall()
	h.same(before)
}

// TestAnOlderInstallationIsBroughtUpToDate: the program has moved; its manifest and entries follow it, and
// are taken back all the same.
func TestAnOlderInstallationIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		h := newFakeHome(t, system)
		h.browser(&products[0])
		for i := range agents() {
			h.agent(&agents()[i])
		}
		h.write(fileOf(h, 1), "{\n  \"mcpServers\": {\n    \"files\": {}\n  }\n}\n", 0o644)
		before := h.all()
		h.install()
		h.binary = strings.Replace(h.binary, "tidemark", "moved", 1)
		h.program(h.binary)
		delete(before, h.disk(h.binary))
		moved := h.all()
		for _, st := range h.install() {
			if st.Problem != nil || st.registry == st.Changes() { // the registry names the manifest, which stays
				t.Errorf("%s on %s: %+v", st.Name, system, st)
			}
			slashes := strings.NewReplacer(`\\`, "/", `\`, "/") // which a hook's command has on Windows too
			if !st.registry && !strings.Contains(slashes.Replace(h.read(st.Path)), slashes.Replace(h.binary)) {
				t.Errorf("%s on %s: %s", st.Name, system, h.read(st.Path))
			}
		}
		h.uninstall()
		for path := range moved {
			if strings.Contains(path, "moved") {
				before[path] = moved[path]
			}
		}
		h.same(before)
	}
}

func TestWhatWasChangedSinceIsLeft(t *testing.T) {
	h := newFakeHome(t, "windows")
	h.browser(&products[0])
	for _, i := range []int{1, 4, 5} { // Cursor, Codex, Gemini CLI
		h.agent(&agents()[i])
	}
	h.install()
	manifest := `C:\Users\me\tidemark\` + ManifestFile
	h.write(manifest, "{}", 0o644)
	key := `Software\Google\Chrome\NativeMessagingHosts\dev.tidemark.host`
	h.keys[key] = "theirs"
	cursor, codex, gemini := fileOf(h, 1), fileOf(h, 4), fileOf(h, 5)
	h.write(cursor, strings.Replace(h.read(cursor), `"mcp"`, `"mcp", "--origin", "http://localhost"`, 1), 0o600)
	h.write(codex, "", 0o600)
	for _, i := range []int{1, 4} {
		h.write(agents()[i].settings[1].file(h.System), `{"hooks": {}}`, 0o600)
	}
	h.write(gemini, `{"mcpServers": {"tidemark": {"command": "`+strconv.Quote(h.binary)[1:], 0o600)
	before := h.all()
	steps := h.uninstall()
	h.same(before)
	var text strings.Builder
	for _, st := range steps {
		if st.Problem != nil {
			st.Note = st.Problem.Error()
		}
		fmt.Fprintf(&text, "%s: %s\n  %s\n", st.Name, st.Path, st.Note)
	}
	golden(t, "changed.golden", text.String())
	if len(h.record.Written) != 1 || h.record.Written[0].Path != gemini {
		t.Errorf("the record holds %+v", h.record.Written)
	}
}

func TestWhatOthersAddedStaysWhenAFileIsTakenBack(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.agent(&agents()[1])
	h.install()
	path := fileOf(h, 1)
	h.write(path, strings.Replace(h.read(path), "{\n", "{\n  \"theirs\": 1,\n", 1), 0o600)
	h.uninstall()
	if got := h.read(path); got != "{\n  \"theirs\": 1\n}\n" {
		t.Errorf("%q", got)
	}
}

func TestAFileThatChangesWhileSomebodyIsAskedIsLeft(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.agent(&agents()[2])
	path := fileOf(h, 2)
	for _, removal := range []bool{false, true} {
		steps := h.plan(Options{})
		if removal {
			h.install()
			steps = h.PlanRemoval(h.record)
		}
		h.write(path, `{"new": 1}`, 0o600)
		before := h.all()
		if err := h.Apply(&steps[0], h.record); err == nil || !strings.Contains(err.Error(), "changed in the meantime") {
			t.Errorf("%v", err)
		}
		h.same(before)
		if err := os.Remove(h.disk(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatCannotBeWrittenLeavesNothing: neither a half of it nor a record of it, whether it was known before or not.
func TestWhatCannotBeWrittenLeavesNothing(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.browser(&products[0])
	h.write("/home/me/.config/x", "", 0o644)
	planned := h.plan(Options{})
	if err := os.Symlink("gone", h.disk("/home/me/.config/google-chrome")); err != nil {
		t.Fatal(err)
	}
	before := h.all()
	for _, steps := range [][]Step{planned, h.plan(Options{})} {
		err := steps[0].Problem
		if err == nil {
			err = h.Apply(&steps[0], h.record)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "cannot read "+steps[0].Path+": ") || !strings.Contains(err.Error(), "google-chrome is a link to") {
			t.Errorf("%v", err)
		}
		h.same(before)
		if h.readRecord(); len(h.record.Written) != 0 {
			t.Errorf("%+v", h.record.Written)
		}
	}
}

// TestLinksThatChangedSinceThePlanAreNotFollowed, whether they are of the file or of its directory. What the user has seen is
// what is written.
func TestLinksThatChangedSinceThePlanAreNotFollowed(t *testing.T) {
	for _, swapped := range []string{"/home/me/.cursor", "/home/me/.cursor/mcp.json"} {
		for _, settings := range []string{"", "{\n}\n"} {
			h := newFakeHome(t, "linux")
			h.agent(&agents()[1])
			path := "/home/me/.cursor/mcp.json"
			if settings != "" {
				h.write(path, settings, 0o600)
			}
			if swapped == path && settings == "" {
				continue
			}
			steps := h.plan(Options{})
			h.write("/elsewhere/mcp.json", settings, 0o600)
			if settings == "" {
				if err := os.Remove(h.disk("/elsewhere/mcp.json")); err != nil {
					t.Fatal(err)
				}
			}
			to := "/elsewhere"
			if swapped == path {
				to = "/elsewhere/mcp.json"
			}
			if err := errors.Join(os.Rename(h.disk(swapped), h.disk("/moved")), os.Symlink(h.disk(to), h.disk(swapped))); err != nil {
				t.Fatal(err)
			}
			before := h.all()
			i := slices.IndexFunc(steps, func(st Step) bool { return st.Path == path })
			if err := h.Apply(&steps[i], h.record); err == nil || !strings.Contains(err.Error(), "run this again") {
				t.Errorf("%s, %q: %v", swapped, settings, err)
			}
			h.same(before)
		}
	}
}

func TestOnlyWhatWasAskedForIsServed(t *testing.T) {
	h := newFakeHome(t, "linux")
	for i := range products[:3] {
		h.browser(&products[i])
	}
	for i := range agents() {
		h.agent(&agents()[i])
	}
	var served []string
	for _, st := range h.plan(Options{Browsers: []string{"edge", "opera"}, Agents: []string{"codex"}}) {
		served = append(served, fmt.Sprint(st.ID, " ", st.Problem))
	}
	if want := []string{"edge <nil>", "opera not found on this machine", "codex <nil>", "codex <nil>"}; !slices.Equal(served, want) {
		t.Errorf("%q", served)
	}
}

func TestBrowsersThatLookInOnePlaceShareAManifest(t *testing.T) {
	h := newFakeHome(t, "linux")
	for _, id := range []string{"chrome", "opera"} {
		h.browser(&products[slices.IndexFunc(products, func(p product) bool { return p.id == id })])
	}
	if steps := h.install(); len(steps) != 1 || steps[0].Name != "Chrome, Opera" {
		t.Errorf("%+v", steps)
	}
}

func TestALostRecordIsMadeUpFor(t *testing.T) {
	h := newFakeHome(t, "linux")
	h.browser(&products[0])
	before := h.all()
	h.install()
	h.record = &Record{Format: recordFormat, path: h.record.path}
	steps := h.plan(Options{})
	if err := h.record.Adopt(&steps[0]); err != nil {
		t.Fatal(err)
	}
	h.uninstall()
	before[h.disk("/home/me/.config")], before[h.disk("/home/me/.config/google-chrome")] = "", ""
	if _, err := os.Stat(h.disk(steps[0].Path)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestWhatIsPlainlyTidemarksIsFoundWithoutARecord: on every system, in files of its own and in others', and
// nothing that somebody made or changed.
func TestWhatIsPlainlyTidemarksIsFoundWithoutARecord(t *testing.T) {
	for _, system := range systems {
		for _, there := range []string{"", "{}\n", "{\n  \"theirs\": 1,\n  \"version\": 1\n}\n"} {
			h := newFakeHome(t, system)
			h.browser(&products[0])
			for i := range agents() {
				h.agent(&agents()[i])
				for _, set := range agents()[i].settings {
					if there != "" && set.format == settings.Format(settings.JSON{}) {
						h.write(set.file(h.System), there, 0o600)
					} else if there == "{}\n" && set.content == nil {
						h.write(set.file(h.System), "", 0o600)
					} else if there != "" && set.content == nil {
						h.write(set.file(h.System), "theirs = 1\n", 0o600)
					}
				}
			}
			before := h.all()
			installed := h.install()
			h.record = &Record{Format: recordFormat, path: h.record.path}
			steps := h.PlanUnrecorded(h.record, h.join(h.Home, "tidemark"))
			if len(steps) != len(installed) {
				t.Errorf("%s: %d of %d are found", system, len(steps), len(installed))
			}
			for i := range steps {
				if err := h.Apply(&steps[i], h.record); err != nil || steps[i].Left != nil {
					t.Errorf("%s: %v, %+v", system, err, steps[i])
				}
			}
			after := h.all()
			for path, was := range before { // nobody knows who made a file that has nothing else
				is, ok := after[path]
				_, content, _ := strings.Cut(is, " ") // behind the mode
				nothing := there == "{}\n" && emptyOrVersion[strings.Join(strings.Fields(content), "")]
				if (!ok || is != was && !nothing) && filepath.Base(path) != "tidemark.json" {
					t.Errorf("%s: %s was %q and is %q, %v", system, path, was, is, ok)
				}
			}
			for path, is := range after {
				if strings.Contains(is, filepath.Base(h.binary)+" ") || strings.HasSuffix(path, ManifestFile) {
					t.Errorf("%s: %s is %q", system, path, is)
				}
			}
			if again := h.PlanUnrecorded(h.record, h.join(h.Home, "tidemark")); len(again) != 0 {
				t.Errorf("%+v", again)
			}
		}
	}
	h := newFakeHome(t, "linux")
	h.browser(&products[0])
	h.write("/home/me/.config/google-chrome/NativeMessagingHosts/"+ManifestFile, `{"name":"dev.tidemark.host","allowed_origins":["chrome-extension://other/"]}`, 0o644)
	h.write("/home/me/.claude.json", `{"mcpServers": {"tidemark": {"type": "stdio", "command": "/x/tidemark", "args": ["mcp", "--origin", "http://localhost"]}}}`, 0o600)
	h.write("/home/me/.cursor/mcp.json", `{"mcpServers": {"tidemark": {"command": "tidemark", "args": ["mcp"]}}}`, 0o600)
	h.write("/home/me/.claude/settings.json", `{"hooks": {"Stop": [{"hooks": [{"command": "tidemark hook"}, {"command": "/x/tidemark hook --bash"}, {"command": "/x/other hook"}]}]}}`, 0o600)
	h.write("/home/me/.gemini/settings.json", `{"mcpServers": `, 0o600)
	if steps := h.PlanUnrecorded(h.record, ""); len(steps) != 0 {
		t.Errorf("%+v", steps)
	}
}

// emptyOrVersion are settings without an entry, and with what entries need beside them.
var emptyOrVersion = map[string]bool{"": true, "{}": true, `{"version":1}`: true}

func TestARecordThatCannotBeReadIsAnErrorInWords(t *testing.T) {
	h := newFakeHome(t, "linux")
	for text, want := range map[string]string{"{": "run this again without TIDEMARK_HOME", "null": "damaged", `{"format": 2}`: "another version"} {
		h.write("/record/install.json", text, 0o600)
		if _, err := ReadRecord(h.record.path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSeveralEntriesInOneFileAreOneStep: a server and items of lists, as agents' hooks are.
func TestSeveralEntriesInOneFileAreOneStep(t *testing.T) {
	file := func(s *System) string { return s.join(s.Home, "settings.json") }
	hook := func(event string) setting {
		return setting{
			file: file, format: settings.JSON{}, path: []string{"hooks", event, settings.ListItem},
			entry: func(binary, _ string) any { return map[string]any{"command": binary + " hook", "timeout": 5} },
			ours:  func(entry any) bool { return strings.Contains(fmt.Sprint(entry), "tidemark hook") },
		}
	}
	a := &agent{id: "a", name: "A", settings: []setting{mcpServer(file, settings.JSON{}, "mcpServers", ""), hook("after"), hook("stop")}}
	for _, old := range []string{
		"", "{}", "{\n  // mine\n  \"hooks\": {\n    \"stop\": [\n      {\"command\": \"bell\"}, // rings\n    ],\n  },\n}\n", `{"hooks":{"after":[],"stop":[{"a":[1]}]}}`,
	} {
		h := newFakeHome(t, "linux")
		path := file(h.System)
		if old != "" {
			h.write(path, old, 0o600)
		} else {
			h.write("/home/me/x", "", 0o600)
		}
		before := h.all()
		for _, binary := range []string{h.binary, h.binary, "/usr/bin/tidemark"} {
			steps := h.planAgent(a, Options{Binary: binary, Record: h.record})
			if len(steps) != 1 || steps[0].Problem != nil {
				t.Fatalf("%+v", steps)
			}
			if err := h.Apply(&steps[0], h.record); err != nil {
				t.Fatal(err)
			}
			h.readRecord()
			if text := h.read(path); strings.Count(text, binary) != 3 || strings.Count(text, "tidemark hook") != 2 {
				t.Errorf("%s", text)
			}
		}
		if steps := h.planAgent(a, Options{Binary: "/usr/bin/tidemark", Record: h.record}); steps[0].Changes() {
			t.Errorf("%s", steps[0].Diff())
		}
		h.uninstall()
		h.same(before)
	}
	// One made by hand is not added to, and one that was changed since is left.
	h := newFakeHome(t, "linux")
	h.write(file(h.System), `{"hooks": {"stop": [{"command": "tidemark hook --quiet"}]}}`, 0o600)
	steps := h.planAgent(a, Options{Binary: h.binary, Record: h.record})
	if err := h.Apply(&steps[0], h.record); err != nil {
		t.Fatal(err)
	}
	if text := h.read(file(h.System)); strings.Count(text, "tidemark hook") != 2 || strings.Count(text, h.binary) != 2 {
		t.Errorf("%s", text)
	}
}

// TestAHookThatSomebodyChangedIsTakenOutAlone: of what they made of it, all but Tidemark's command stays.
func TestAHookThatSomebodyChangedIsTakenOutAlone(t *testing.T) {
	const file = "/home/me/.claude/settings.json"
	mine := map[string]any{"type": "command", "command": "mine"}
	of := func(settings map[string]any, event string) map[string]any {
		return settings["hooks"].(map[string]any)[event].([]any)[0].(map[string]any)
	}
	for name, c := range map[string]struct {
		change func(settings map[string]any)
		want   string
	}{
		"a command beside it": {func(s map[string]any) {
			g := of(s, "Stop")
			g["hooks"] = append(g["hooks"].([]any), mine)
		}, `{"hooks":{"Stop":[{"hooks":[{"command":"mine","type":"command"}]}]}}`},
		"a command before it": {func(s map[string]any) {
			g := of(s, "SessionStart")
			g["hooks"] = append([]any{mine}, g["hooks"].([]any)...)
		}, `{"hooks":{"SessionStart":[{"hooks":[{"command":"mine","type":"command"}]}]}}`},
		"a matcher": {func(s map[string]any) { of(s, "PostToolUse")["matcher"] = "Edit|Write" }, ""},
		"a timeout and a flag": {func(s map[string]any) {
			one := of(s, "PostToolUse")["hooks"].([]any)[0].(map[string]any)
			one["timeout"], one["command"] = 30, one["command"].(string)+" --bash"
		}, ""},
		"another group": {func(s map[string]any) {
			of(s, "Stop")["matcher"] = "x"
			hooks := s["hooks"].(map[string]any)
			hooks["Stop"] = append(hooks["Stop"].([]any), map[string]any{"hooks": []any{mine}})
		}, `{"hooks":{"Stop":[{"hooks":[{"command":"mine","type":"command"}]}]}}`},
		"all of them": {func(s map[string]any) {
			for _, event := range []string{"SessionStart", "PostToolUse", "Stop"} {
				of(s, event)["hooks"].([]any)[0].(map[string]any)["timeout"] = 20
			}
			s["theme"] = "dark"
		}, `{"theme":"dark"}`},
	} {
		for _, indent := range []string{"", "    "} {
			for _, moved := range []bool{false, true} {
				h := newFakeHome(t, "linux")
				h.agent(&agents()[0])
				h.install()
				var settings map[string]any
				if err := json.Unmarshal([]byte(h.read(file)), &settings); err != nil {
					t.Fatal(err)
				}
				c.change(settings)
				text, err := json.MarshalIndent(settings, "", indent)
				if indent == "" {
					text, err = json.Marshal(settings)
				}
				if err != nil {
					t.Fatal(err)
				}
				h.write(file, string(text), 0o600)
				if moved {
					want := strings.ReplaceAll(string(text), h.binary, "/usr/bin/tidemark")
					h.binary = "/usr/bin/tidemark"
					for _, again := range []bool{false, true} {
						for _, st := range h.install() {
							if st.Problem != nil || st.Changes() == again || again && st.Note != Registered {
								t.Errorf("%s: %+v", name, st)
							}
						}
					}
					if got := h.read(file); got != want {
						t.Errorf("%s moved is:\n%s", name, got)
					}
				}
				for _, st := range h.uninstall() {
					if st.Problem != nil || st.Left != nil || st.Note != "" || !st.Changes() {
						t.Errorf("%s: %+v", name, st)
					}
				}
				if c.want == "" {
					if h.exists(file) {
						t.Errorf("%s left %s", name, h.read(file))
					}
					continue
				}
				standard, err := hujson.Standardize([]byte(h.read(file)))
				var now any
				if err == nil {
					err = json.Unmarshal(standard, &now)
				}
				if err != nil {
					t.Fatalf("%s: %v in %s", name, err, h.read(file))
				}
				if got, _ := json.Marshal(now); string(got) != c.want {
					t.Errorf("%s left %s", name, h.read(file))
				}
				if len(h.record.Written) != 0 {
					t.Errorf("%s: %+v", name, h.record.Written)
				}
			}
		}
	}
}

// TestAHookThatCannotBeTakenOutIsTold: with what to do, and again until it is done.
func TestAHookThatCannotBeTakenOutIsTold(t *testing.T) {
	const file = "/home/me/.claude/settings.json"
	h := newFakeHome(t, "linux")
	h.agent(&agents()[0])
	h.install()
	h.write(file, strings.Replace(h.read(file), `"`+h.binary+` hook"`, `"nice `+h.binary+` hook"`, 1), 0o600)
	for range 2 {
		steps := h.uninstall()
		if left := steps[0].Left; left == nil || !strings.Contains(left.Error(), "remove it by hand") || !strings.Contains(left.Error(), h.binary+" hook") {
			t.Errorf("%+v", steps[0])
		}
	}
	if text := h.read(file); strings.Count(text, "tidemark hook") != 1 {
		t.Errorf("%s", text)
	}
	h.write(file, "{}", 0o600)
	h.uninstall()
	if len(h.record.Written) != 0 {
		t.Errorf("%+v", h.record.Written)
	}
}

// TestTheHomeOfAnInstallationIsThatOfItsAgents: an agent may start servers without its own environment, and a second daemon would run.
func TestTheHomeOfAnInstallationIsThatOfItsAgents(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		var text strings.Builder
		for i := range agents() {
			a := &agents()[i]
			h := newFakeHome(t, system)
			h.agent(a)
			before := h.all()
			h.install() // with the usual home
			home := h.join(h.Home, `my "$x" home`)
			if system == "windows" {
				home = `D:\my home`
			}
			for _, again := range []bool{false, true} {
				for _, st := range h.plan(Options{Home: home}) {
					if st.Problem != nil || again && st.Changes() {
						t.Errorf("%s on %s, again %t: %+v", a.id, system, again, st)
					}
					if !again && strings.HasSuffix(st.Path, pluginFile) {
						if !settings.IsPlugin(st.After) || !strings.Contains(string(st.After), `["hook", "--home", `) {
							t.Errorf("the plugin is %s", st.After)
						}
					} else if !again {
						fmt.Fprintf(&text, "%s:\n%s\n%s\n", a.id, st.Path, st.After)
					}
					if err := h.Apply(&st, h.record); err != nil {
						t.Fatal(err)
					}
				}
				h.readRecord()
			}
			checks, starts := h.CheckAgents(h.record)
			if slices.ContainsFunc(checks, func(c Check) bool { return c.State != OK }) || len(starts) != 1 || starts[0].Home != home {
				t.Errorf("%s on %s: %+v, %+v", a.id, system, checks, starts)
			}
			installed := h.record
			h.record = &Record{path: filepath.Join(h.Root, "record", "none.json")}
			for _, st := range h.PlanUnrecorded(h.record, h.join(h.Home, "tidemark")) {
				if st.Problem != nil || strings.Contains(string(st.After), "tidemark") {
					t.Errorf("%s on %s, without a record: %+v leaves %s", a.id, system, st, st.After)
				}
			}
			h.record = installed
			h.uninstall()
			h.same(before)
		}
		golden(t, "home-"+system+".golden", text.String())
	}
}
