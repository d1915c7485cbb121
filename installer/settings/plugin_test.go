package settings_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/installer/settings"
)

func TestThePluginOfOpencode(t *testing.T) {
	for _, binary := range []string{"/opt/a b/tidemark", `C:\Program Files\tidemark.exe`, `/odd"$1/tidemark`} {
		text := settings.Plugin(binary, "")
		if got := settings.PluginProgram(text); got != binary || !settings.IsPlugin(text) {
			t.Errorf("the plugin runs %q, want %q", got, binary)
		}
		changed := []byte(strings.Replace(string(text), "hook_event_name", "hook_event", 1))
		if settings.IsPlugin(changed) {
			t.Error("a changed plugin passes for Tidemark's")
		}
	}
	if settings.IsPlugin(nil) || settings.PluginProgram(nil) != "" {
		t.Error("an empty file passes for a plugin")
	}
}
