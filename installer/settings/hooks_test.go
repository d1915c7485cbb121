package settings_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/installer/settings"
)

// settingsOf are an agent's settings with the hooks and nothing else.
func settingsOf(t *testing.T, agent, binary string) string {
	t.Helper()
	events := map[string][]settings.HookEntry{}
	for _, h := range settings.HooksOf(agent, binary, "") {
		if !slices.Equal(h.Path(), []string{"hooks", h.Event, "-"}) {
			t.Errorf("%s is at %q", h.Event, h.Path())
		}
		events[h.Event] = append(events[h.Event], h.Entry)
	}
	all := map[string]any{"hooks": events}
	if agent == "copilot" || agent == "cursor" {
		all["version"] = 1
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheManualShowsTheHooksThatAreSetUp(t *testing.T) {
	manual, err := os.ReadFile("../../docs/HOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"claude-code", "gemini", "codex", "copilot", "cursor"} {
		var shown, want any
		if err := json.Unmarshal([]byte(settingsOf(t, agent, "tidemark")), &want); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, block := range strings.Split(string(manual), "```json\n")[1:] {
			text, _, _ := strings.Cut(block, "```")
			shown = nil
			if err := json.Unmarshal([]byte(text), &shown); err != nil {
				t.Errorf("%v in %s", err, text)
			}
			a, _ := json.Marshal(shown)
			b, _ := json.Marshal(want)
			found = found || string(a) == string(b)
		}
		if !found {
			t.Errorf("docs/HOOKS.md does not show, for %s:\n%s", agent, settingsOf(t, agent, "tidemark"))
		}
	}
	if hooks := settings.HooksOf("claude-desktop", "tidemark", ""); hooks != nil {
		t.Errorf("an agent without hooks: %v", hooks)
	}
}

func TestTheCommandOfAHookIsWhatAShellUnderstands(t *testing.T) {
	for binary, want := range map[string]string{
		"/usr/local/bin/tidemark":              "/usr/local/bin/tidemark hook",
		"/Users/a b/tidemark":                  `"/Users/a b/tidemark" hook`,
		`C:\Users\me\tidemark.exe`:             "C:/Users/me/tidemark.exe hook",
		`C:\Program Files\tide\tidemark.exe`:   `"C:/Program Files/tide/tidemark.exe" hook`,
		`\\server\tools\tidemark.exe`:          "//server/tools/tidemark.exe hook",
		"/tmp/$HOME`x`\"y\\z/tidemark":         "\"/tmp/\\$HOME\\`x\\`\\\"y\\\\z/tidemark\" hook",
		"/home/müller/tidemark":                `"/home/müller/tidemark" hook`,
		"/opt/tidemark-0.1.0_linux+1/tidemark": "/opt/tidemark-0.1.0_linux+1/tidemark hook",
	} {
		if got := settings.HooksOf("claude-code", binary, "")[0].Entry.Hooks[0].Command; got != want {
			t.Errorf("%s: %s, want %s", binary, got, want)
		}
	}
}

func TestTheCommandOfAHookStartsTheProgramWhateverItsPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the shell of Git may not be there")
	}
	dir := filepath.Join(t.TempDir(), "a 'b' \"c\" $HOME `d` \\e;f&(g)")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "tidemark")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho \"ran $*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", settings.HooksOf("claude-code", binary, "")[0].Entry.Hooks[0].Command).CombinedOutput()
	if err != nil || string(out) != "ran hook\n" {
		t.Errorf("%s, %v", out, err)
	}
}

func TestTidemarksHooksAreToldFromOthers(t *testing.T) {
	for command, want := range map[string]bool{
		"tidemark hook": true, "/usr/bin/tidemark hook": true, `"/a b/tidemark" hook --bash`: true, `'/a b/tidemark-0.2' hook`: true,
		`"C:/Program Files/tidemark.exe" hook`: true, `& "C:\tide\tidemark.exe" hook`: true, "  tidemark hook  ": true,
		"tidemark": false, "tidemark changes": false, "tidemark hooks": false, "echo tidemark hook": false, "/usr/bin/other hook": false,
		"cd tidemark && npm run hook": false, "": false,
	} {
		entry := map[string]any{"matcher": "Edit", "hooks": []any{map[string]any{"type": "command", "command": "npx prettier"}, map[string]any{"type": "command", "command": command}}}
		if got := settings.IsHook(entry); got != want {
			t.Errorf("%q: %t", command, got)
		}
	}
	for _, entry := range []any{nil, "tidemark hook", []any{}, map[string]any{}, map[string]any{"hooks": "tidemark hook"}, map[string]any{"hooks": []any{"tidemark hook", map[string]any{"command": 7}}}} {
		if settings.IsHook(entry) {
			t.Errorf("%v", entry)
		}
	}
	for _, agent := range []string{"claude-code", "gemini"} {
		for _, h := range settings.HooksOf(agent, "/a $b/tidemark", "") {
			var decoded any
			data, err := json.Marshal(h.Entry)
			if err == nil {
				err = json.Unmarshal(data, &decoded)
			}
			if err != nil || !settings.IsHook(decoded) {
				t.Errorf("%s, %v", data, err)
			}
		}
	}
}
