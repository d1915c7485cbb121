package hooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/planted"
)

// TestNoPlantedSecretOfAWorkspaceIsShown plants the covered secrets in names and contents of files, in labels, commands, prompts and
// recorded terminals. None may be in an answer of any surface, in an export, in the log or in a file, but for the snapshots, which
// contain the files as they are.
func TestNoPlantedSecretOfAWorkspaceIsShown(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	s := newSurfaces(t, "")
	s.cli(nil, "project", "allow", "--grant", "agents-branch,agents-restore,conversation,terminal", s.dir)
	secrets := planted.InTexts(t)
	if len(secrets) < 350 {
		t.Fatalf("only %d secrets are planted", len(secrets))
	}
	told := map[string]string{}
	tell := func(where, text string) { told[where] += text + "\n" }
	run := func(args ...string) {
		t.Helper()
		r := s.w.RunIn(s.dir, args...)
		if r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
		tell("the output of "+strings.Join(args[:min(2, len(args))], " "), r.Out+r.Err)
	}
	ask := func(tool string, args object) {
		t.Helper()
		tell(tool, s.agent.Do(tool, args))
	}
	get := func(path string) {
		t.Helper()
		status, text := s.rest(nil, s.session+path, nil)
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		tell("the live API's "+path, text)
	}

	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"names", "moved"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	named := 0
	var contents []string
	for i, row := range secrets {
		if row.As == "text" && !strings.ContainsAny(row.Text, "/\n\r") && len(row.Text) < 200 {
			write("names/"+row.Text, fmt.Sprint("of its own ", i))
			named++
		}
		write(fmt.Sprintf("row%03d", i), row.Text+"\n")
		contents = append(contents, row.Text)
	}
	if named < 130 {
		t.Fatalf("only %d secrets are in names", named)
	}
	write("all.txt", strings.Join(contents, "\n\n"))
	ask("moment_add", object{"label": "planted"})
	for rows := range slices.Chunk(secrets, 20) {
		var label strings.Builder
		for _, row := range rows {
			label.WriteString(row.Text + " ")
		}
		run("timeline", "moment", "add", "--label", label.String())
	}
	for i := range secrets {
		if i%2 == 0 {
			write(fmt.Sprintf("row%03d", i), secrets[i].Text+" and more\n")
		}
	}
	write("all.txt", "first\n"+strings.Join(contents, "\n;\n"))
	if err := os.Rename(filepath.Join(s.dir, "names"), filepath.Join(s.dir, "moved", "names")); err != nil {
		t.Fatal(err)
	}
	ask("moment_add", object{"label": "changed"})

	hook := func(event string, fields object) {
		t.Helper()
		input := object{"session_id": "planted", "transcript_path": "/dev/null", "cwd": s.dir, "hook_event_name": event}
		maps.Copy(input, fields)
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		cmd := s.w.Command("hook", "--patience", "20s")
		cmd.Stdin = strings.NewReader(string(data))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		tell("the hook", string(out))
	}
	for i, row := range secrets {
		if i%10 == 0 { // package conversation tries each
			hook("UserPromptSubmit", object{"prompt": "use " + row.Text, "prompt_id": fmt.Sprint("p", i)})
			hook("PostToolUse", object{
				"tool_name": "Bash", "tool_use_id": fmt.Sprint("toolu_", i), "prompt_id": fmt.Sprint("p", i),
				"tool_input": object{"command": "echo '" + row.Text + "'"}, "tool_response": object{"stdout": row.Text},
			})
		}
	}

	// A shell that prints each, and whose commands have some of them.
	var commands strings.Builder
	for i, row := range secrets {
		if i%10 == 0 && !strings.ContainsAny(row.Text, "'\n\r") {
			fmt.Fprintf(&commands, "echo '%s'\n", row.Text)
		}
	}
	commands.WriteString("cat all.txt\nexit\n")
	shell := s.w.Command("record", "-q", "--name", "planted")
	shell.Dir, shell.Env = s.dir, append(shell.Env, "SHELL="+bash, "HOME="+t.TempDir())
	shell.Stdin = strings.NewReader(commands.String())
	if out, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(out), "and more") && !strings.Contains(string(out), "first") {
		t.Fatalf("%v: %s", err, out)
	}

	for _, args := range [][]string{
		{"timeline", "list"},
		{"timeline", "show"},
		{"timeline", "diff", "m2"},
		{"timeline", "blame", "all.txt"},
		{"timeline", "op", "log"},
		{"timeline", "check"},
		{"session", "list"},
		{"recordings", "list"},
		{"du"},
		{"project", "show"},
		{"status"},
		{"changes", "--since", "m1", "--include", "files"},
	} {
		run(args...)
		run(append(args, "--json")...)
	}
	run("timeline", "export", "planted")
	run("timeline", "export", "--cast", "v2", "planted")
	run("timeline", "export", "--ttyrec", "planted")
	run("timeline", "show", "--ts", "end", "--recording", "planted")
	run("timeline", "restore", "m2", "--json")
	run("timeline", "find-regression")

	ask("timeline_list", object{"limit": 200})
	ask("timeline_diff", object{"from": "m2"})
	for i := range secrets {
		if i%10 == 0 {
			ask("timeline_diff", object{"from": "m1", "paths": []string{fmt.Sprintf("row%03d", i)}})
			text, err := s.agent.Text("timeline_blame", object{"path": fmt.Sprintf("row%03d", i), "line": 1})
			tell("timeline_blame", fmt.Sprint(text, err)) // of a private key it is refused
		}
	}
	ask("timeline_restore", object{"to": "m2"})
	ask("get_changes_since", object{"checkpoint": "m1", "include": []string{"files"}})
	ask("find_regression", object{})

	for _, path := range []string{
		"", "/timeline", "/tree", "/diff?from=m2", "/blame?path=all.txt&line=1&last=400", "/fs-snapshots", "/regression", "/../../../report?from=" + url.QueryEscape("m1@"+s.session), "/../../../timeline", "/../../../entries?lane=files",
	} {
		get(path)
	}

	_ = s.agent.Close()
	run("stop")
	for file, content := range e2etest.Written(t, s.w.World) {
		if !strings.HasPrefix(file, filepath.Join(s.w.Home, "workspaces")) {
			told["file "+file] = content
		}
	}
	planted.NotIn(t, secrets, told)
	for _, where := range []string{"timeline_list", "timeline_diff", "timeline_blame", "timeline_restore", "the live API's /tree", "file " + filepath.Join(s.w.Home, "timeline.db")} {
		if !strings.Contains(told[where], "[masked]") {
			t.Errorf("nothing that was planted is in %s", where)
		}
	}
}
