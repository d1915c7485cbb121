package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	timelineanswers "tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What a branch promises: files, conversation and the start of its agent.
const (
	budgetBranched     = 200 * time.Millisecond // p50
	budgetBranchedSlow = 500 * time.Millisecond // p95
	transcriptSize     = 10 << 20
)

// branching measures a branch as its user waits for it, in a subvolume of a Btrfs: `tidemark timeline session-branch` with the
// conversation of Claude Code, until it prints what it made. The agent that it starts ends at once.
func branching(r *run, s *sheet, dir string, files int) (err error) {
	top := filepath.Join(dir, "branching")
	if err := errors.Join(os.Mkdir(top, 0o700), subvolume.Create(filepath.Join(top, "workspace"))); err != nil {
		return err
	}
	w, err := newWorkspace(top, files)
	if err != nil {
		return err
	}
	world, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	if err := os.WriteFile(filepath.Join(world.Home, "config.toml"), []byte("[branches.commands]\nclaude = [\"true\"]\n"), 0o600); err != nil {
		return err
	}
	const session, call = "11111111-1111-4111-8111-111111111111", "toolu_last"
	path := filepath.Join(world.Home, "claude", "projects", "workspace", session+".jsonl")
	if err := writeTranscript(path, w.dir, session, call); err != nil {
		return err
	}
	run := func(args ...string) (string, error) {
		ran := world.RunIn(w.dir, args...)
		if ran.Code != 0 {
			return "", fmt.Errorf("%q: %s", args, ran.Err)
		}
		return ran.Out, nil
	}
	for _, args := range [][]string{{"project", "allow", "--confirm", w.dir}, {"session", "start"}} {
		if _, err := run(args...); err != nil {
			return err
		}
	}
	edited := filepath.Join(w.dir, "edited.ts")
	if err := os.WriteFile(edited, []byte("// edited\n"), 0o600); err != nil {
		return err
	}
	input, err := json.Marshal(map[string]any{
		"hook_event_name": "PostToolUse", "session_id": session, "cwd": w.dir, "tool_name": "Edit", "tool_use_id": call,
		"tool_input": map[string]any{"file_path": edited}, "transcript_path": path,
	})
	if err != nil {
		return err
	}
	hook := world.Command("hook", "--debug", "--timeout", "60s", "--patience", "60s")
	hook.Dir, hook.Stdin = w.dir, strings.NewReader(string(input))
	if out, err := hook.CombinedOutput(); err != nil || !strings.Contains(string(out), "was recorded") {
		return fmt.Errorf("the hook: %w: %s", err, out)
	}
	list, err := run("timeline", "list", "--json")
	if err != nil {
		return err
	}
	var moments timelineanswers.List
	if err := json.Unmarshal([]byte(list), &moments); err != nil || len(moments.Moments) == 0 {
		return fmt.Errorf("the list is %s: %w", list, err)
	}
	from := moments.Moments[len(moments.Moments)-1].ID
	var took []time.Duration
	for i := range r.third(30) {
		progress("filesystems: branch %d …", i+1)
		var out string
		one, err := timed(func() (err error) {
			out, err = run("timeline", "session-branch", "--moment", from, "--name", fmt.Sprintf("b%d", i), "--message", "another way", "--json")
			return err
		})
		var made timelineanswers.Branched
		if err = errors.Join(err, json.Unmarshal([]byte(out), &made)); err != nil || made.Agent == nil || made.Agent.Method != "transcript" || made.Agent.Problem != "" {
			return fmt.Errorf("the branch is %s: %w", out, err)
		}
		took = append(took, one)
		if _, err := run("branch", "rm", "--force", made.Name); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("a branch with its agent and a transcript of %s, ", mib(transcriptSize))
	s.within(what+"p50", quantile(took, .5), budgetBranched, r.byLoop(), "")
	s.within(what+"p95", quantile(took, .95), budgetBranchedSlow, r.byLoop(), "")
	return nil
}

// writeTranscript writes a conversation of Claude Code that ends with the result of a call.
func writeTranscript(path, dir, session, call string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	id := func(n int) string { return fmt.Sprintf("22222222-2222-4222-8222-%012d", n) }
	began := time.Now().Add(-time.Hour)
	result := strings.Repeat("const price = (cart) => cart.items.length;\n", 150)
	written, last := 0, false
	for n := 1; ; n++ {
		kind, content := "assistant", any([]any{map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n/2), "name": "Read", "input": map[string]any{"file_path": filepath.Join(dir, "edited.ts")}}})
		switch {
		case n == 1:
			kind, content = "user", "improve the cart"
		case last:
			kind, content = "user", []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": "ok"}}
		case n%2 == 1:
			kind, content = "user", []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprintf("toolu_%d", n/2), "content": result}}
		case written > transcriptSize:
			last = true
			content = []any{map[string]any{"type": "tool_use", "id": call, "name": "Edit", "input": map[string]any{"file_path": filepath.Join(dir, "edited.ts")}}}
		}
		line := map[string]any{
			"parentUuid": nil, "isSidechain": false, "cwd": dir, "sessionId": session, "version": "2.1.332", "type": kind, "uuid": id(n),
			"timestamp": began.Add(time.Duration(n) * 100 * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z"),
			"message":   map[string]any{"role": kind, "content": content},
		}
		if n > 1 {
			line["parentUuid"] = id(n - 1)
		}
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		written += len(data) + 1
		if _, err := out.Write(append(data, '\n')); err != nil {
			return err
		}
		if last && kind == "user" {
			return out.Flush()
		}
	}
}
