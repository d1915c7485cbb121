package viewer

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestCommandsOfATerminalInTheViewer: commands of a recorded shell are a lane, by their exit status, and moments that say how
// they ended. What an agent does in it is a moment with its place in the recording.
func TestCommandsOfATerminalInTheViewer(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	w := e2etest.SharedWorld(t)
	p, _ := newProject(t, w, "--grant", "workspace,terminal")
	cmd := w.Command("record", "--", bash)
	cmd.Dir = p.dir
	hook := fmt.Sprintf(`printf '{"session_id":"s","cwd":"%%s","hook_event_name":"UserPromptSubmit","prompt":"p","prompt_id":"1"}' "$PWD" | '%s' hook`, w.Binary)
	cmd.Stdin = strings.NewReader("echo built >out.txt\nsh -c 'exit 3'\n" + hook + "\nexit\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`
await press('Moments');
const row = (label) => [...document.querySelectorAll('.moment')].find((one) => one.textContent.includes(label));
await until(() => row('echo built') && row("sh -c 'exit 3' (exit 3)"), 'the commands');
await until(() => button('Terminal', document.querySelector('.timeline')), 'the lane');
row("sh -c 'exit 3'").querySelector('.moment-head').click();
await until(() => /exit 3 · .*s/.test(row("sh -c 'exit 3'").querySelector('.moment-whole')?.textContent ?? ''), 'how it ended');
await until(() => row('prompt'), 'what an agent did in the terminal');
row('prompt').querySelector('.moment-head').click();
await until(() => /at byte [0-9]+ of .* · t[0-9]+-/.test(row('prompt').querySelector('.moment-whole')?.textContent ?? ''), 'where that was');
row('echo built').querySelector('.moment-head').click();
await until(() => row('echo built').querySelector('.moment-diff')?.textContent.includes('+built'), 'what it changed');`)
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		takeInto(t, shots, "panel-terminal", v.Tab, 1180, 760)
	}
}
