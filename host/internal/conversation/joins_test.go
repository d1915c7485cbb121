package conversation_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
)

// ran is a call that an agent's hook reports at its end, a number of milliseconds after the start of a test.
type ran struct {
	session, id, tool, input string
	end, took                int
	background               bool
}

// at returns a time so many milliseconds after a start.
func at(start time.Time, ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// runs records calls after a prompt of each session.
func (w *world) runs(calls ...ran) (start time.Time) {
	w.Helper()
	start = w.now()
	w.pass(time.Hour)
	record := func(kind conversation.Kind, session string, ms int, change func(*conversation.Event)) {
		w.Helper()
		e := conversation.Event{Kind: kind, Agent: "claude", Session: session, Dir: w.root, Turn: "t-" + session, At: at(start, ms).UnixMilli()}
		change(&e)
		e.Describe()
		if err := w.store.Record(e); err != nil {
			w.Fatal(err)
		}
	}
	for _, c := range calls {
		record(conversation.Prompt, c.session, 0, func(e *conversation.Event) { e.Text = "the prompt of " + c.session })
		record(conversation.Result, c.session, c.end, func(e *conversation.Event) {
			e.Call, e.Tool, e.Input, e.DurationMs, e.Background = c.id, c.tool, json.RawMessage(c.input), c.took, c.background
		})
	}
	return start
}

func (w *world) change(start time.Time, path string, ms int, more func(*event.FileChange)) *event.FileChange {
	c := &event.FileChange{Head: event.Head{At: at(start, ms+50).UnixMilli(), Subject: event.Subject{Place: w.root}}, Path: path, Edited: at(start, ms).UnixMilli()}
	if more != nil {
		more(c)
	}
	return c
}

// A call that names the file is preferred to commands of other sessions, and its prompt alone is said.
func TestACallOfAnotherSessionIsNotBlamedForAFileThatACallNames(t *testing.T) {
	w := newWorld(t)
	start := w.runs(
		ran{session: "a", id: "w", tool: "Write", input: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, "src/a.ts")), end: 2000, took: 500},
		ran{session: "b", id: "b", tool: "Bash", input: `{"command":"echo 0 > src/b.ts"}`, end: 2100, took: 900},
		ran{session: "b", id: "o", tool: "Write", input: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, "src/other.ts")), end: 1900, took: 300},
		ran{session: "c", id: "c", tool: "Bash", input: `{"command":"sleep 1"}`, end: 2100, took: 800},
	)
	for _, c := range []struct{ path, from, call, prompt string }{
		{path: "src/a.ts", call: "Write src/a.ts", prompt: "the prompt of a"},
		{path: "src/a.ts.tmp.27278.19fae2c0b1d", call: "Write src/a.ts", prompt: "the prompt of a"},
		{path: "src/a.ts", from: "src/a.ts.tmp.27278.19fae2c0b1d", call: "Write src/a.ts", prompt: "the prompt of a"},
		{path: "src/a.ts", from: "src/other.ts.tmp.27278.19fae2c0b1e", call: "Write src/a.ts", prompt: "the prompt of a"},
		{path: "src/b.ts", call: "$ echo 0 > src/b.ts", prompt: "the prompt of b"},
		{path: "src/c.ts", call: "one of these calls: $ echo 0 > src/b.ts; $ sleep 1", prompt: "one of these prompts: the prompt of b; the prompt of c"},
	} {
		call, prompt := w.store.MadeBy(w.change(start, c.path, 1800, func(e *event.FileChange) { e.From = c.from }))
		if call != c.call || prompt != c.prompt {
			t.Errorf("%s from %q: %q for %q, want %q for %q", c.path, c.from, call, prompt, c.call, c.prompt)
		}
	}
}

// Calls of one message that ran one after another are told apart by their durations, with the times of hooks, which come late.
func TestCallsOfOneMessageThatRanOneAfterAnother(t *testing.T) {
	w := newWorld(t)
	start := w.runs(
		ran{session: "a", id: "c1", tool: "Bash", input: `{"command":"one"}`, end: 1400, took: 1300},
		ran{session: "a", id: "c2", tool: "Bash", input: `{"command":"two"}`, end: 2500, took: 1000},
		ran{session: "a", id: "c3", tool: "Bash", input: `{"command":"three"}`, end: 3600, took: 1000},
	)
	line := func(id, command string) string {
		return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"cwd":%q,"promptId":"t-a","message":{"content":[{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%q}}]}}`+"\n", at(start, 50).Format(time.RFC3339Nano), w.root, id, command)
	}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	write(t, path, line("c1", "one")+line("c2", "two")+line("c3", "three"))
	if err := w.store.Record(conversation.Event{Kind: conversation.Stop, Agent: "claude", Session: "a", Dir: w.root, At: at(start, 3700).UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	calls := w.show().Turns[0].Calls
	for i, want := range []int{100, 1500, 2600} {
		if got := calls[i].Started.Sub(start); got != time.Duration(want)*time.Millisecond || calls[i].Source != "both" {
			t.Errorf("%s began after %s, want %d ms (%s)", calls[i].ID, got, want, calls[i].Source)
		}
	}
	for ms, want := range map[int]string{1350: "$ one", 1430: "$ two", 2450: "$ two", 2530: "$ three", 3590: "$ three"} {
		if got, _ := w.store.MadeBy(w.change(start, "x", ms, nil)); got != want {
			t.Errorf("after %d ms: %q, want %q", ms, got, want)
		}
	}
}

// Edits without a duration, as of Gemini CLI, are told apart by their ends.
func TestEditsOfOneFileSoonAfterEachOther(t *testing.T) {
	w := newWorld(t)
	input := fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, "a.js"))
	start := w.runs(
		ran{session: "a", id: "c1", tool: "write_file", input: input, end: 1000},
		ran{session: "a", id: "c2", tool: "replace", input: input, end: 1150},
	)
	for ms, want := range map[int]string{960: "write_file a.js", 1120: "replace a.js"} {
		if got, _ := w.store.MadeBy(w.change(start, "a.js", ms, nil)); got != want {
			t.Errorf("after %d ms: %q, want %q", ms, got, want)
		}
	}
}

// A command in the background is a possible maker until it ends.
func TestACommandInTheBackgroundMayBeTheMaker(t *testing.T) {
	w := newWorld(t)
	start := w.runs(
		ran{session: "a", id: "late", tool: "Bash", input: `{"command":"late","run_in_background":true}`, end: 1000, took: 100},
		ran{session: "a", id: "c2", tool: "Bash", input: `{"command":"sleep"}`, end: 6000, took: 4000},
		ran{session: "a", id: "c3", tool: "Bash", input: `{"command":"next"}`, end: 9000, took: 1000},
	)
	made := func(ms int) string {
		call, _ := w.store.MadeBy(w.change(start, "x", ms, nil))
		return call
	}
	const either = "one of these calls: $ late; $ sleep"
	if got := made(4000); got != either {
		t.Errorf("while it runs: %q", got)
	}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	notice, _ := json.Marshal("<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>late</tool-use-id>\n<status>completed</status>\n</task-notification>")
	write(t, path, fmt.Sprintf(`{"type":"queue-operation","operation":"enqueue","timestamp":%q,"content":%s}`+"\n", at(start, 5000).Format(time.RFC3339Nano), notice))
	if err := w.store.Record(conversation.Event{Kind: conversation.Stop, Agent: "claude", Session: "a", Dir: w.root, At: at(start, 9100).UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	c := w.show().Turns[0].Calls[0]
	if c.Ended == nil || c.Ended.Sub(start) != 5*time.Second || c.Outcome != conversation.OK {
		t.Errorf("the command in the background is %+v", c)
	}
	if got := made(4000) + "|" + made(5500) + "|" + made(8500); got != either+"|$ sleep|$ next" {
		t.Errorf("after it ended: %q", got)
	}
}

// Without a word about its end, a command in the background may run until the session ends.
func TestACommandInTheBackgroundEndsWithItsSession(t *testing.T) {
	w := newWorld(t)
	start := w.runs(ran{session: "a", id: "late", tool: "Bash", input: `{"command":"late"}`, end: 1000, took: 100, background: true})
	if err := w.store.Record(conversation.Event{Kind: conversation.SessionEnd, Agent: "claude", Session: "a", Dir: w.root, At: at(start, 3000).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	for ms, want := range map[int]string{2900: "$ late", 3500: ""} {
		if got, _ := w.store.MadeBy(w.change(start, "x", ms, nil)); got != want {
			t.Errorf("after %d ms: %q, want %q", ms, got, want)
		}
	}
}

// A command of Codex that runs on is known by its output, and by the item of its end.
func TestACommandOfCodexThatRunsOn(t *testing.T) {
	w := newWorld(t)
	start := w.now()
	w.pass(time.Hour)
	line := func(ms int, payload string) string {
		return fmt.Sprintf(`{"timestamp":%q,%s}`+"\n", at(start, ms).Format(time.RFC3339Nano), payload)
	}
	call := func(ms int, id, command string) string {
		arguments, _ := json.Marshal(fmt.Sprintf(`{"cmd":%q}`, command))
		return line(ms, fmt.Sprintf(`"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":%q,"arguments":%s}`, id, arguments))
	}
	output := func(ms int, id, text string) string {
		quoted, _ := json.Marshal(text)
		return line(ms, fmt.Sprintf(`"type":"response_item","payload":{"type":"function_call_output","call_id":%q,"output":%s}`, id, quoted))
	}
	path := filepath.Join(t.TempDir(), "rollout-one.jsonl")
	text := line(10, `"type":"event_msg","payload":{"type":"user_message","message":"go"}`) +
		call(100, "late", "late") + output(700, "late", "Chunk ID: 92cf68\nWall time: 0.5 seconds\nProcess running with session ID 50365\nOutput:\n") +
		call(800, "sleep", "sleep 4")
	ended := line(3200, `"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"late","status":"completed","exit_code":0,"duration":{"secs":2,"nanos":910000000}}}`) +
		output(5000, "sleep", "Process exited with code 0\nOutput:\nProcess running with session ID 1\n")
	if err := w.store.Record(conversation.Event{Kind: conversation.SessionStart, Agent: "codex", Session: "a", Dir: w.root, At: start.UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	const either = "one of these calls: $ late; $ sleep 4"
	for _, c := range []struct{ text, late, after string }{{text, either, either}, {text + ended, either, "$ sleep 4"}} {
		write(t, path, c.text)
		list := w.show().Turns[0].Calls
		late, _ := w.store.MadeBy(w.change(start, "x", 3100, nil))
		after, _ := w.store.MadeBy(w.change(start, "x", 4500, nil))
		if late != c.late || after != c.after {
			t.Errorf("%q and then %q, want %q and %q; the calls are %+v", late, after, c.late, c.after, list[0])
		}
	}
}

// Codex's hooks report no durations. Its rollout has those of commands and of patches that were applied.
func TestDurationsOfCodexComeFromItsRollout(t *testing.T) {
	w := newWorld(t)
	start := w.now()
	w.pass(time.Hour)
	path := filepath.Join(t.TempDir(), "rollout-one.jsonl")
	item := func(ms int, more, item string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"item_completed"%s,"item":{"status":"completed",%s}}}`+"\n", at(start, ms).Format(time.RFC3339Nano), more, item)
	}
	write(t, path, item(2000, "", `"type":"CommandExecution","id":"slow","exit_code":0,"duration":{"secs":1,"nanos":500000000}`)+
		item(3000, "", `"type":"CommandExecution","id":"quick","exit_code":0,"duration":{"secs":0,"nanos":6222}`)+
		item(4000, `,"started_at_ms":1795900987187,"completed_at_ms":1795900987189`, `"type":"FileChange","id":"patch"`)+
		item(5000, `,"started_at_ms":1795900987187,"completed_at_ms":1795900987187`, `"type":"FileChange","id":"unknown"`))
	for i, id := range []string{"slow", "quick", "patch", "unknown"} {
		e := conversation.Event{Kind: conversation.Result, Agent: "codex", Session: "a", Dir: w.root, At: at(start, 2100+1000*i).UnixMilli(), Call: id, Tool: "exec_command", Outcome: conversation.OK}
		if err := w.store.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.store.Record(conversation.Event{Kind: conversation.Stop, Agent: "codex", Session: "a", Dir: w.root, At: at(start, 6000).UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var got []string
		for _, c := range w.show().Turns[0].Calls {
			got = append(got, fmt.Sprintf("%s %d %s", c.ID, c.DurationMs, c.Source))
		}
		if want := "slow 1500 both, quick 1 both, patch 2 both, unknown 0 both"; strings.Join(got, ", ") != want {
			t.Errorf("the calls are %q, want %q", got, want)
		}
		w.reopen()
	}
	if i := w.list()[0]; i.Calls != 4 {
		t.Errorf("%d calls are listed", i.Calls)
	}
}

// Without its hooks, commands of Codex that ran at once are not told apart by durations: they are counted from when it waits.
func TestDurationsOfCodexDoNotSayWhenACommandBegan(t *testing.T) {
	w := newWorld(t)
	start := w.now()
	w.pass(time.Hour)
	path := filepath.Join(t.TempDir(), "rollout-one.jsonl")
	text := ""
	for _, id := range []string{"one", "two"} {
		text += fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":%q,"arguments":"{\"cmd\":\"make\"}"}}`+"\n", at(start, 1000).Format(time.RFC3339Nano), id)
	}
	for i, id := range []string{"one", "two"} {
		text += fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"item_completed","item":{"status":"completed","type":"CommandExecution","id":%q,"exit_code":0,"duration":{"secs":0,"nanos":6222}}}}`+"\n", at(start, 2000+100*i).Format(time.RFC3339Nano), id)
	}
	write(t, path, text)
	if err := w.store.Record(conversation.Event{Kind: conversation.Stop, Agent: "codex", Session: "a", Dir: w.root, At: at(start, 6000).UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	if calls := w.show().Turns[0].Calls; len(calls) != 2 {
		t.Fatalf("%+v", calls)
	}
	if got, _ := w.store.MadeBy(w.change(start, "x", 1500, nil)); !strings.HasPrefix(got, "one of") {
		t.Errorf("what changed while both ran is of %q", got)
	}
}

// Between two looks at a file, a call that names it and a command have changed it.
func TestTwoChangesBetweenTwoLooks(t *testing.T) {
	w := newWorld(t)
	start := w.runs(
		ran{session: "a", id: "w", tool: "Write", input: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, "d.ts")), end: 2000, took: 20},
		ran{session: "a", id: "s", tool: "Bash", input: `{"command":"sed -i s/two/TWO/ d.ts"}`, end: 4000, took: 100},
	)
	for since, want := range map[int]string{500: "one of these calls: Write d.ts; $ sed -i s/two/TWO/ d.ts", 2100: "$ sed -i s/two/TWO/ d.ts", 2000: "$ sed -i s/two/TWO/ d.ts", 1995: "one of these calls: Write d.ts; $ sed -i s/two/TWO/ d.ts"} {
		got, _ := w.store.MadeBy(w.change(start, "d.ts", 3950, func(c *event.FileChange) { c.Since = at(start, since).UnixMilli() }))
		if got != want {
			t.Errorf("since %d: %q, want %q", since, got, want)
		}
	}
}

// Commands that name a file have all changed it between two looks. One that does not is named only if it ran when the file was written.
func TestSeveralCommandsBetweenTwoLooks(t *testing.T) {
	w := newWorld(t)
	run := func(id, command string, end int) ran {
		input, _ := json.Marshal(map[string]string{"command": command})
		return ran{session: "a", id: id, tool: "Bash", input: string(input), end: end, took: 100}
	}
	start := w.runs(run("1", "echo 1 > src/d.ts", 1000), run("2", "cat src/d.tsx bad.ts", 2000), run("3", "sed -i s/1/2/ src/d.ts", 3000), run("4", "make", 4000),
		ran{session: "a", id: "5", tool: "Write", input: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, "src/d.ts")), end: 5000, took: 20})
	for _, c := range []struct {
		since, edited int
		want          string
	}{
		{500, 2950, "one of these calls: $ echo 1 > src/d.ts; $ sed -i s/1/2/ src/d.ts"},
		{1500, 2950, "$ sed -i s/1/2/ src/d.ts"},
		{500, 3950, "one of these calls: $ echo 1 > src/d.ts; $ sed -i s/1/2/ src/d.ts; $ make"},
		{3500, 3950, "$ make"},
		{2500, 4990, "one of these calls: $ sed -i s/1/2/ src/d.ts; Write src/d.ts"},
	} {
		got, _ := w.store.MadeBy(w.change(start, "src/d.ts", c.edited, func(e *event.FileChange) { e.Since = at(start, c.since).UnixMilli() }))
		if got != c.want {
			t.Errorf("from %d to %d: %q, want %q", c.since, c.edited, got, c.want)
		}
	}
}

func TestAPatchOfCodexThatFails(t *testing.T) {
	w := newWorld(t)
	patch, _ := json.Marshal("*** Begin Patch\n*** Update File: a.js\n*** End Patch\n")
	var text strings.Builder
	fmt.Fprintf(&text, codexSaid, "go")
	for id, output := range map[string]string{"c1": "apply_patch verification failed: Failed to read file", "c2": "patch rejected: writing is blocked by read-only sandbox"} {
		quoted, _ := json.Marshal(output)
		fmt.Fprintf(&text, codexTime+`"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","call_id":%q,"input":%s}}`+"\n", id, patch)
		fmt.Fprintf(&text, codexTime+`"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":%q,"output":%s}}`+"\n", id, quoted)
	}
	a := w.hostile(fill(text.String()))
	n := 0
	a.All(func(_ *conversation.Turn, c *conversation.Called) {
		want := map[string]string{"c1": conversation.Failed, "c2": conversation.NotPermitted}[c.ID]
		if n++; c.Outcome != want || c.Title() != "apply_patch a.js" {
			t.Errorf("%s: %s, %q", c.ID, c.Title(), c.Outcome)
		}
	})
	if n != 2 {
		t.Errorf("there are %d calls", n)
	}
}

// After a daemon hung, events arrive in any order. The recording began with the first of them, whichever arrives first.
func TestTheFirstEventMayArriveLast(t *testing.T) {
	w := newWorld(t)
	start := w.now()
	w.pass(time.Hour)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	write(t, path, fmt.Sprintf(`{"type":"assistant","timestamp":%q,"cwd":%q,"message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"one"}}]}}`+"\n", at(start, 1000).Format(time.RFC3339Nano), w.root))
	first := conversation.Event{Kind: conversation.SessionStart, Agent: "claude", Session: "a", Dir: w.root, At: start.UnixMilli()}
	if err := w.o.Spool.Add(t.Context(), first, w.o.Redactor); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Record(conversation.Event{Kind: conversation.Stop, Agent: "claude", Session: "a", Dir: w.root, At: at(start, 60_000).UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	if got := summary(&w.show().Outline); got != "\nc1 $ one  transcript\n" {
		t.Errorf("the conversation is %q", got)
	}
}

// The transcript of a fork begins with a copy of its original's, with the times of the original.
func TestAForkHasOnlyItsOwnCalls(t *testing.T) {
	w := newWorld(t)
	file := func(name string) string { return fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, name)) }
	start := w.runs(ran{session: "a", id: "c1", tool: "Write", input: file("o.js"), end: 1000, took: 20})
	path := filepath.Join(t.TempDir(), "fork.jsonl")
	line := func(ms int, kind, content string) string {
		return fmt.Sprintf(`{"type":%q,"timestamp":%q,"cwd":%q,"promptId":"t-b","message":{"content":%s}}`+"\n", kind, at(start, ms).Format(time.RFC3339Nano), w.root, content)
	}
	call := func(ms int, id, name string) string {
		return line(ms, "assistant", fmt.Sprintf(`[{"type":"tool_use","id":%q,"name":"Write","input":%s}]`, id, file(name))) +
			line(ms+100, "user", fmt.Sprintf(`[{"type":"tool_result","tool_use_id":%q,"content":"ok"}]`, id))
	}
	write(t, path, line(0, "user", `"the prompt of a"`)+call(900, "c1", "o.js")+line(3050, "user", `"the prompt of b"`)+call(3100, "c2", "f.js"))
	record := func(kind conversation.Kind, ms int, text string) {
		t.Helper()
		if err := w.store.Record(conversation.Event{Kind: kind, Agent: "claude", Session: "b", Dir: w.root, At: at(start, ms).UnixMilli(), Text: text, Transcript: path}); err != nil {
			t.Fatal(err)
		}
	}
	record(conversation.SessionStart, 3000, "fork")
	w.reopen()
	record(conversation.Stop, 3300, "done")
	list := w.store.Outlines(w.root, start.UnixMilli(), at(start, 4000).UnixMilli())
	if got := summary(list[1]); len(list) != 2 || got != "the prompt of b\nc2 Write f.js ok transcript\n" {
		t.Errorf("of %d conversations, the fork has %q", len(list), got)
	}
	for name, want := range map[string]string{"o.js": "Write o.js for the prompt of a", "f.js": "Write f.js for the prompt of b"} {
		ms := map[string]int{"o.js": 990, "f.js": 3190}[name]
		if call, prompt := w.store.MadeBy(w.change(start, name, ms, nil)); call+" for "+prompt != want {
			t.Errorf("%s was made by %s for %s, want %s", name, call, prompt, want)
		}
	}
}

// Names that are recorded with escapes are those of calls too. A command that ran right after is not blamed.
func TestAFileWithAnOddNameIsJoinedWithItsCall(t *testing.T) {
	for _, name := range []string{"odd/nl\nname.js", "tab\tname.js", "zero\u200bwidth.js", "red\x1b[31m.js", "\u202eback.js", `back\slash.js`, `"quoted".js`, `x\x0a.js`} {
		if filepath.Separator == '\\' && strings.Contains(name, `\`) {
			continue
		}
		w := newWorld(t)
		input, err := json.Marshal(map[string]string{"file_path": filepath.Join(w.root, name), "content": "1"})
		if err != nil {
			t.Fatal(err)
		}
		start := w.runs(
			ran{session: "a", id: "w", tool: "Write", input: string(input), end: 2000, took: 500},
			ran{session: "a", id: "b", tool: "Bash", input: `{"command":"ls"}`, end: 2100, took: 95},
		)
		recorded := event.FilePath(name)
		if call, _ := w.store.MadeBy(w.change(start, recorded, 1999, nil)); call != "Write "+recorded {
			t.Errorf("%q was changed by %q", name, call)
		}
		w.reopen()
		if call, _ := w.store.MadeBy(w.change(start, recorded, 1999, nil)); call != "Write "+recorded {
			t.Errorf("%q was changed by %q, after a restart", name, call)
		}
	}
}

// Quick calls write one file, and a look at it may come while one of them runs: the next change has its line too.
func TestQuickCallsThatWriteOneFile(t *testing.T) {
	w := newWorld(t)
	var calls []ran
	for n := range 30 {
		calls = append(calls, ran{session: "a", id: fmt.Sprint("c", n), tool: "Bash", input: fmt.Sprintf(`{"command":"echo %d >> cnt.txt"}`, n), end: 1000 + 60*n, took: 5})
	}
	start := w.runs(calls...)
	wrote := func(n int) int { return 1000 + 60*n - 20 }
	for look := 900; look < 2000; look += 7 { // in milliseconds, and the next one 300 ms later
		first, last := -1, -1
		for n := range 30 {
			if wrote(n) > look && wrote(n) < look+300 {
				if last = n; first < 0 {
					first = n
				}
			}
		}
		got, _ := w.store.MadeBy(w.change(start, "cnt.txt", wrote(last), func(c *event.FileChange) {
			c.Since, c.At = at(start, look).UnixMilli(), at(start, look+300).UnixMilli()
		}))
		for n := first; n <= last; n++ {
			if !strings.Contains(got, fmt.Sprintf("$ echo %d >>", n)) {
				t.Errorf("of %d to %d, from %d ms: %q", first, last, look, got)
			}
		}
	}
}

// On a busy machine a hook may report a call late. A call that names the file has changed it, if the agent had wanted it by then.
func TestACallWhoseHookIsLate(t *testing.T) {
	w := newWorld(t)
	start := w.runs(
		ran{session: "a", id: "c1", tool: "Bash", input: `{"command":"echo 1 > one.txt"}`, end: 2000, took: 20},
		ran{session: "a", id: "c2", tool: "Bash", input: `{"command":"gen two.txt"}`, end: 2100, took: 20},
		ran{session: "a", id: "c3", tool: "Write", input: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(w.root, "three.txt")), end: 2200, took: 20},
		ran{session: "a", id: "c4", tool: "Bash", input: `{"command":"make"}`, end: 20_000, took: 17_000},
		ran{session: "a", id: "c5", tool: "Bash", input: `{"command":"echo 5 > five.txt"}`, end: 23_000, took: 20},
	)
	line := fmt.Sprintf(`{"type":"assistant","timestamp":%q,"cwd":%q,"promptId":"t-a","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"echo 1 > one.txt"}}]}}`+"\n", at(start, 1000).Format(time.RFC3339Nano), w.root)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	write(t, path, line)
	if err := w.store.Record(conversation.Event{Kind: conversation.Stop, Agent: "claude", Session: "a", Dir: w.root, At: at(start, 30_000).UnixMilli(), Transcript: path}); err != nil {
		t.Fatal(err)
	}
	w.show()
	for _, c := range []struct {
		file string
		ms   int
		want string
	}{
		{"one.txt", 1050, "$ echo 1 > one.txt"}, // a second before its hook
		{"one.txt", 900, ""},                    // the agent had not wanted it yet
		{"two.txt", 800, "$ gen two.txt"},
		{"three.txt", 700, "Write three.txt"},
		{"two.txt", -4000, ""},
		{"other.txt", 800, ""},
		{"five.txt", 19_900, "$ make"}, // nothing says when the agent wanted the other one
		{"one.txt", 19_900, "$ make"},
	} {
		if got, _ := w.store.MadeBy(w.change(start, c.file, c.ms, nil)); got != c.want {
			t.Errorf("%s after %d ms: %q, want %q", c.file, c.ms, got, c.want)
		}
	}
}
