package viewer

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestCommandsOfATerminalInTheViewer: commands of a recorded shell are a lane, by their exit status, and moments that say how
// they ended.
func TestCommandsOfATerminalInTheViewer(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	w := e2etest.SharedWorld(t)
	p, _ := newProject(t, w, "--grant", "workspace,terminal")
	cmd := w.Command("record", "--", bash)
	cmd.Dir = p.dir
	cmd.Stdin = strings.NewReader("echo built >out.txt\nsh -c 'exit 3'\nexit\n")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 3 {
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
row('echo built').querySelector('.moment-head').click();
await until(() => row('echo built').querySelector('.moment-diff')?.textContent.includes('+built'), 'what it changed');`)
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		takeInto(t, shots, "panel-terminal", v.Tab, 1180, 760)
	}
}
