package main

import (
	"bufio"
	"cmp"
	"context"
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

// branches measures branches on filesystems that clone files or snapshots, and on the disk of this machine, where they are mounted.
func branches(r *run, top string) error {
	files := r.third(filesSmall)
	s := r.sheet(fmt.Sprintf("Branches of %d files, with a transcript of %s and the start of the agent", files, mib(transcriptSize)))
	plain := func(dir string) error { return os.Mkdir(dir, 0o700) }
	disk := filepath.Join(top, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		return err
	}
	if err := branching(r, s, "the disk", disk, files, plain); err != nil {
		return err
	}
	for _, on := range []struct {
		kind   string
		create func(string) error
	}{{"btrfs", subvolume.Create}, {"xfs", plain}} {
		dir, end, err := mountImage(top, on.kind)
		if err != nil {
			s.note(on.kind + " is not measured: " + err.Error())
			continue
		}
		if err := errors.Join(branching(r, s, on.kind, dir, files, on.create), end()); err != nil {
			return err
		}
	}
	return s.print()
}

// branching measures a branch as its user waits for it: `tidemark timeline session-branch` with the conversation of Claude Code,
// until it prints what it made. The agent that it starts ends at once. The project and Tidemark's home are in a directory of a
// filesystem. Create makes the directory of the project.
func branching(r *run, s *sheet, on, dir string, files int, create func(string) error) (err error) {
	top := filepath.Join(dir, "branching")
	if err := errors.Join(os.Mkdir(top, 0o700), create(filepath.Join(top, "workspace"))); err != nil {
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
	if err := os.Remove(world.Home); err != nil {
		return err
	}
	defer func() { // what is in the home ends with the filesystem, where snapshots cannot be removed as files can
		if ran := world.Run("stop"); ran.Code != 0 {
			err = errors.Join(err, fmt.Errorf("stop: %s", ran.Err))
		}
	}()
	if world.Home = filepath.Join(dir, "home"); os.Mkdir(world.Home, 0o700) != nil {
		return fmt.Errorf("cannot make %s", world.Home)
	}
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
	for _, args := range [][]string{{"project", "allow", "--confirm", w.dir}, {"session", "start"}, {"timeline", "fs-snapshot", "add"}} { // a hook does not wait for the first snapshot
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
	if out, err := hook.CombinedOutput(); err != nil || !strings.Contains(string(out), "was recorded") && !strings.Contains(string(out), "is still being recorded") {
		return fmt.Errorf("the hook: %w: %s", cmp.Or(err, errors.New("no moment was recorded")), out)
	}
	var from string
	if err := testbed.Eventually(context.Background(), func() (bool, error) { // a hook waits for no moment for long
		list, err := run("timeline", "list", "--json")
		if err != nil {
			return false, err
		}
		var moments timelineanswers.List
		if err := json.Unmarshal([]byte(list), &moments); err != nil || len(moments.Moments) == 0 {
			return false, fmt.Errorf("the list is %s: %w", list, err)
		}
		last := moments.Moments[len(moments.Moments)-1]
		from = last.ID
		return last.Anchor != nil && last.Anchor.Message == call, nil
	}); err != nil {
		return fmt.Errorf("no moment of the edit: %w", err)
	}
	var took []time.Duration
	form := ""
	for i := range r.third(30) {
		progress("filesystems: branch %d on %s …", i+1, on)
		var out string
		one, err := timed(func() (err error) {
			out, err = run("timeline", "session-branch", "--moment", from, "--name", fmt.Sprintf("b%d", i), "--message", "another way", "--json")
			return err
		})
		var made timelineanswers.Branched
		if err = errors.Join(err, json.Unmarshal([]byte(out), &made)); err != nil || made.Agent == nil || made.Agent.Method != "transcript" || made.Agent.Problem != "" {
			return fmt.Errorf("the branch is %s: %w", out, err)
		}
		took, form = append(took, one), made.Form
		if _, err := run("branch", "rm", "--force", made.Name); err != nil {
			return err
		}
	}
	s.note(on + ": " + cmp.Or(form, "made by the filesystem"))
	s.within("on "+on+", p50", quantile(took, .5), budgetBranched, r.byLoop(), "")
	s.within("on "+on+", p95", quantile(took, .95), budgetBranchedSlow, r.byLoop(), "")
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
