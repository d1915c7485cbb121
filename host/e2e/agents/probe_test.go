package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/testing/modelserver"
)

func TestProbe(t *testing.T) {
	which := os.Getenv("PROBE")
	home, project := t.TempDir(), t.TempDir()
	os.WriteFile(filepath.Join(project, "a.js"), []byte("let a = 1\nlet b = 2\n"), 0o600)
	log := filepath.Join(home, "hooks.jsonl")
	path := func(name string) string { return filepath.Join(project, name) }
	var turns []modelserver.Turn
	var args []string
	env := append(clean(os.Environ()), "HOME="+home)
	put := func(name, text string) {
		os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700)
		os.WriteFile(filepath.Join(home, name), []byte(text), 0o600)
	}
	hook := func(event string) string {
		return `"` + event + `":[{"hooks":[{"type":"command","command":"tee -a ` + log + `>/dev/null; echo >> ` + log + `","timeout":15000}]}]`
	}
	switch which {
	case "gemini":
		turns = []modelserver.Turn{
			{Text: "I look.", Calls: []modelserver.Call{call("g1", "read_file", map[string]any{"file_path": path("a.js")}), call("g2", "read_file", map[string]any{"file_path": path("a.js")})}},
			{Text: "I edit.", Calls: []modelserver.Call{call("g3", "replace", map[string]any{"file_path": path("a.js"), "instruction": "x", "old_string": "let a = 1", "new_string": "let a = 2"}), call("g4", "run_shell_command", map[string]any{"command": "echo b > b.txt; cat b.txt", "description": "x"})}},
			{Calls: []modelserver.Call{call("g5", "run_shell_command", map[string]any{"command": "false"}), call("g6", "write_file", map[string]any{"file_path": path("c.js"), "content": "c\n"})}},
			{Text: "All done."},
		}
		h := ""
		for _, e := range []string{"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "PreCompress", "Notification"} {
			if h != "" {
				h += ","
			}
			h += hook(e)
		}
		put(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"hooks":{`+h+`}}`)
		args = []string{"node", "/tmp/wt/i21-tmp/a/node_modules/.bin/gemini", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "Change a to 2"}
	case "opencode":
		turns = []modelserver.Turn{
			{Text: "I look.", Calls: []modelserver.Call{call("o1", "read", map[string]any{"filePath": path("a.js")}), call("o2", "read", map[string]any{"filePath": path("a.js")})}},
			{Text: "I edit.", Calls: []modelserver.Call{call("o3", "edit", map[string]any{"filePath": path("a.js"), "oldString": "let a = 1", "newString": "let a = 2"}), call("o4", "bash", map[string]any{"command": "echo b > b.txt; cat b.txt", "description": "x"})}},
			{Calls: []modelserver.Call{call("o5", "bash", map[string]any{"command": "false", "description": "x"}), call("o6", "write", map[string]any{"filePath": path("c.js"), "content": "c\n"})}},
			{Calls: []modelserver.Call{call("o7", "read", map[string]any{"filePath": path("nothing.js")})}},
			{Calls: []modelserver.Call{call("o8", "task", map[string]any{"description": "write d", "prompt": "write d.js", "subagent_type": "general"})}},
			{Calls: []modelserver.Call{call("o9", "write", map[string]any{"filePath": path("d.js"), "content": "d\n"})}},
			{Text: "d.js is written."},
			{Text: "All done."},
		}
		put(".config/opencode/plugins/probe.js", `import { appendFileSync } from "node:fs"
const log = (name, o) => appendFileSync("`+log+`", JSON.stringify({ name, ...o }) + "\n")
export const Probe = async (ctx) => {
  log("init", { keys: Object.keys(ctx), directory: ctx.directory, worktree: ctx.worktree })
  const h = {}
  for (const n of ["chat.message", "permission.ask", "tool.execute.before", "tool.execute.after", "command.execute.before", "experimental.session.compacting"]) h[n] = async (input, output) => log(n, { input, output })
  h.event = async ({ event }) => { if (!event.type.includes("delta")) log("event", { event }) }
  return h
}
`)
		env = append(env, "npm_config_registry=http://127.0.0.1:9/", "npm_config_fetch_retries=0", "npm_config_offline=true", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "XDG_CONFIG_HOME="+home+"/.config", "XDG_DATA_HOME="+home+"/data", "XDG_STATE_HOME="+home+"/state", "XDG_CACHE_HOME="+home+"/cache")
		args = []string{"/tmp/wt/i21-tmp/a/node_modules/opencode-linux-x64/bin/opencode", "run", "--print-logs", "--log-level", "INFO", "--model", "anthropic/claude-sonnet-4-5", "Change a to 2"}
	case "copilot":
		turns = []modelserver.Turn{
			{Text: "I look.", Calls: []modelserver.Call{call("c1", "view", map[string]any{"path": path("a.js")}), call("c2", "view", map[string]any{"path": path("a.js")})}},
			{Text: "I edit.", Calls: []modelserver.Call{call("c3", "edit", map[string]any{"path": path("a.js"), "old_str": "let a = 1", "new_str": "let a = 2"}), call("c4", "bash", map[string]any{"command": "echo b > b.txt; cat b.txt", "description": "x"})}},
			{Calls: []modelserver.Call{call("c5", "bash", map[string]any{"command": "false", "description": "x"}), call("c6", "create", map[string]any{"path": path("c.js"), "file_text": "c\n"})}},
			{Text: "All done."},
		}
		h := ""
		for _, e := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PermissionRequest", "ErrorOccurred"} {
			if h != "" {
				h += ","
			}
			h += hook(e)
		}
		put(".copilot/hooks/tidemark.json", `{"version":1,"hooks":{`+h+`}}`)
		args = []string{"/tmp/wt/i21-tmp/a/node_modules/.bin/copilot-linux-x64", "--no-auto-update", "--model", "claude-sonnet-4.5", "--allow-all-tools", "-p", "Change a to 2"}
	}
	server := modelserver.Start(t, turns...)
	switch which {
	case "gemini":
		env = append(env, "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL="+server.URL, "GEMINI_TELEMETRY_ENABLED=false", "GEMINI_CLI_TRUST_WORKSPACE=true")
	case "opencode":
		env = append(env, `OPENCODE_CONFIG_CONTENT={"share":"disabled","permission":"allow","autoupdate":false,"provider":{"anthropic":{"options":{"baseURL":"`+server.URL+`/v1","apiKey":"dummy"}}}}`)
	case "copilot":
		env = append(env, "COPILOT_HOME="+home+"/.copilot", "COPILOT_CACHE_HOME=/tmp/wt/i21-tmp/copilot-cache", "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL="+server.URL, "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=claude-sonnet-4.5")
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = project, env
	out, err := cmd.CombinedOutput()
	t.Logf("%v %s", err, out)
	t.Log(server.Requests(), server.Served())
	data, _ := os.ReadFile(log)
	os.WriteFile("/tmp/wt/i21-tmp/"+which+".log", data, 0o600)
	exec.Command("rm", "-rf", "/tmp/wt/i21-tmp/"+which+".home").Run()
	exec.Command("cp", "-r", home, "/tmp/wt/i21-tmp/"+which+".home").Run()
	if a := server.Asked(); len(a) > 0 {
		os.WriteFile("/tmp/wt/i21-tmp/"+which+".asked", []byte(a[len(a)-1]), 0o600)
	}
}
