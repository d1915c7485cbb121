package conversation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/grants"
)

// transcript writes a fixture as if its session was in the world's directory.
func (w *world) transcript(name string) (path string, lines []string) {
	w.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		w.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "/home/me/shop", w.root)
	lines = strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	return filepath.Join(w.TempDir(), "session.jsonl"), lines
}

// begin begins a session of an agent with a transcript, before its first line.
func (w *world) begin(agent, path string) {
	w.Helper()
	w.set(time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC))
	w.record(conversation.SessionStart, func(e *conversation.Event) { e.Agent, e.Transcript = agent, path })
	w.set(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// summary is a conversation in lines.
func summary(o *conversation.Outline) string {
	var b strings.Builder
	for _, turn := range o.Turns {
		fmt.Fprintf(&b, "%s\n", turn.Prompt)
	}
	o.All(func(_ *conversation.Turn, c *conversation.Called) {
		fmt.Fprintf(&b, "%s %s %s %s\n", c.ID, c.Title(), c.Outcome, c.Source)
	})
	return b.String()
}

const claudeSummary = `Change a to 2, with TOKEN
toolu_01 Read a.js ok transcript
toolu_02 Read .env ok transcript
toolu_03 Edit a.js ok transcript
toolu_04 $ echo 'password: [masked]' > b.txt; cat b.txt ok transcript
toolu_05 $ false failed transcript
toolu_06 Agent ok transcript
`

const codexSummary = `Change a to 2, with TOKEN
call_01 $ cat a.js ok transcript
call_02 apply_patch a.js ok transcript
call_03 $ false failed transcript
call_04 $ echo 'password: [masked]' > b.txt; cat b.txt ok transcript
`

func TestATranscriptIsReadAsItGrows(t *testing.T) {
	for name, want := range map[string]string{"claude-2.1.332": claudeSummary, "codex-0.169.0": codexSummary} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path, lines := w.transcript(name + ".transcript.jsonl")
			agent, _, _ := strings.Cut(name, "-")
			w.begin(agent, path)
			text := ""
			for i, line := range lines {
				write(t, path, text+line[:len(line)/2]) // the agent is still writing it
				before := w.show().Coverage
				if text += line; before.Lines != i || before.Damaged != 0 {
					t.Fatalf("%d lines were read of %d and a half, %d are damaged", before.Lines, i, before.Damaged)
				}
				write(t, path, text)
				if i%10 == 5 {
					w.reopen()
				}
				if c := w.show().Coverage; c.Lines != i+1 || c.Damaged+c.Unknown != 0 {
					t.Fatalf("the coverage after %d lines is %+v: %s", i+1, c, line)
				}
			}
			if got := summary(&w.show().Outline); got != want {
				t.Errorf("%s\nwant:\n%s", got, want)
			}
			write(t, path, text[:10]) // it was replaced by a shorter one, and then by itself
			w.show()
			write(t, path, text)
			if got := summary(&w.show().Outline); got != want {
				t.Errorf("once more:\n%s", got)
			}
			if err := os.Remove(path); err != nil { // agents delete old ones
				t.Fatal(err)
			}
			w.reopen()
			if got := summary(&w.show().Outline); got != want {
				t.Errorf("after the transcript was deleted:\n%s", got)
			}
		})
	}
}

func TestWhatOneSourceMissedIsTakenFromTheOther(t *testing.T) {
	w := newWorld(t)
	path, lines := w.transcript("codex-0.169.0.transcript.jsonl")
	write(t, path, strings.Join(lines, ""))
	w.set(time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC))
	codex := func(id string) func(e *conversation.Event) {
		return func(e *conversation.Event) {
			e.Agent, e.Call, e.Tool, e.Input = "codex", id, "Bash", []byte(`{"command":"cat a.js"}`)
			e.DurationMs = 5
		}
	}
	w.record(conversation.Result, codex("call_01"))
	w.record(conversation.Result, codex("call_99")) // not in the transcript
	w.set(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
	w.record(conversation.Stop, func(e *conversation.Event) { e.Agent, e.Transcript = "codex", path })
	for range 2 {
		a := w.show()
		got := summary(&a.Outline)
		for _, line := range []string{"call_01 $ cat a.js ok both\n", "call_99 $ cat a.js  hook\n", "call_02 apply_patch a.js ok transcript\n"} {
			if !strings.Contains(got, line) {
				t.Errorf("%s has not %s", got, line)
			}
		}
		// Three calls and the prompt.
		if c := a.Coverage; c.OnlyHook != 1 || c.OnlyTranscript != 4 {
			t.Errorf("the coverage is %+v", c)
		}
		w.reopen()
	}
}

func TestLinesThatAreNotUnderstoodAreCounted(t *testing.T) {
	w := newWorld(t)
	path, lines := w.transcript("claude-2.1.332.transcript.jsonl")
	w.begin("claude", path)
	odd := []string{
		"\n", "null\n", "[]\n", `{"type":"user","message":{"content":7}}` + "\n", `{"type":"from-the-future","timestamp":"soon"}` + "\n", "{\"type\":\n",
		`{"type":7}` + "\n", "\x00\xff\n", `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + strings.Repeat("x", 5<<20) + `"}]}}` + "\n",
		`{"type":"assistant","timestamp":"2026-11-25T13:00:00Z","message":{"content":[{"type":"tool_use","id":"odd id\nhere","name":"\u202eBash","input":"` + strings.Repeat("[", 100) + `"}]}}` + "\n",
	}
	write(t, path, strings.Join(odd, "")+strings.Join(lines, ""))
	a := w.show()
	if c := a.Coverage; c.Damaged != 7 || c.Unknown != 2 {
		t.Errorf("the coverage is %+v", c)
	}
	if got := summary(&a.Outline); !strings.Contains(got, "toolu_06 Agent ok transcript") || strings.Contains(got, "\u202e") {
		t.Errorf("the conversation is %s", got)
	}
}

func TestATranscriptThatIsNoFileIsNotRead(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	_, lines := w.transcript("claude-2.1.332.transcript.jsonl")
	write(t, filepath.Join(dir, "settings.json"), strings.Join(lines, ""))
	if err := os.Mkdir(filepath.Join(dir, "dir.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"relative.jsonl", filepath.Join(dir, "settings.json"), filepath.Join(dir, "dir.jsonl"), filepath.Join(dir, "missing.jsonl"), "/dev/zero"} {
		w.begin("claude", path)
		if a := w.show(); a.Coverage.Lines != 0 || a.Calls != 0 {
			t.Errorf("%s was read: %+v", path, a.Coverage)
		}
	}
}

func TestWhatWasBeforeTheRecordingOrElsewhereIsLeftOut(t *testing.T) {
	w := newWorld(t)
	path, lines := w.transcript("claude-2.1.332.transcript.jsonl")
	write(t, path, strings.Join(lines, ""))
	w.set(time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)) // it was allowed later
	w.record(conversation.Stop, func(e *conversation.Event) { e.Transcript = path })
	if a := w.show(); a.Calls != 0 || a.Coverage.Lines == 0 {
		t.Errorf("%+v", a)
	}
	w = newWorld(t)
	path, lines = w.transcript("claude-2.1.332.transcript.jsonl")
	write(t, path, strings.ReplaceAll(strings.Join(lines, ""), w.root, "/somewhere/else"))
	w.begin("claude", path)
	if a := w.show(); a.Calls != 0 || strings.Contains(w.stored(), "let a") {
		t.Errorf("%+v", a)
	}
}

// TestWhatWasWhileTheGrantWasRevokedIsLeftOut, although the transcript has it.
func TestWhatWasWhileTheGrantWasRevokedIsLeftOut(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	allow := func(grant, revoke []string) {
		t.Helper()
		if _, err := w.grants.Allow(t.Context(), w.root, grant, revoke); err != nil {
			t.Fatal(err)
		}
	}
	text := ""
	say := func(prompt string) {
		w.pass(time.Minute)
		text += fmt.Sprintf(`{"type":"user","promptId":%q,"timestamp":%q,"cwd":%q,"message":{"role":"user","content":%q}}`+"\n", prompt, w.now().Format(time.RFC3339Nano), w.root, prompt)
		write(t, path, text)
		w.pass(time.Minute)
	}
	allow([]string{grants.Conversation}, nil)
	w.record(conversation.SessionStart, func(e *conversation.Event) { e.Transcript = path })
	say("before")
	allow(nil, []string{grants.Conversation})
	say("between")
	allow([]string{grants.Conversation}, nil)
	allow([]string{grants.Fence}, nil) // changes nothing for this one
	say("after")
	var got []string
	for _, turn := range w.show().Turns {
		got = append(got, turn.Prompt)
	}
	if got = slices.DeleteFunc(got, func(s string) bool { return s == "before" }); !slices.Equal(got, []string{"after"}) { // it is read in time or not
		t.Errorf("%q", got)
	}
	if strings.Contains(w.stored(), "between") {
		t.Error("a prompt without the grant is on disk")
	}
}

func FuzzTranscripts(f *testing.F) {
	for _, name := range []string{"claude-2.1.332.transcript.jsonl", "claude-2.1.332.subagent.jsonl", "codex-0.169.0.transcript.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
	}
	f.Fuzz(func(_ *testing.T, line []byte) {
		for _, parse := range conversation.Parsers {
			events, _, _ := parse(line)
			for i := range events {
				events[i].Trim()
				events[i].Describe()
			}
		}
	})
}

// TestASubagentOfCodexIsBelowItsCall: its rollout has a name of its own, and nothing else says whose it is.
// TestASubagentIsBelowTheCallThatHooksReport: Codex 0.169 names it in the result of spawn_agent.
func TestASubagentIsBelowTheCallThatHooksReport(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Agent, e.Text = "codex", "start one" })
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Agent, e.Call, e.Tool, e.Output = "codex", "spawn", "spawn_agent", json.RawMessage(`"{\"agent_id\":\"sub1\",\"nickname\":\"Harvey\"}"`)
		e.Spawned, _ = conversation.LeftBy(e.Output)
	})
	w.record(conversation.SubagentStart, func(e *conversation.Event) { e.Agent, e.Turn, e.Sub, e.Text = "codex", "t2", "sub1", "write a file" })
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Agent, e.Turn, e.Sub, e.Call, e.Tool, e.Input = "codex", "t2", "sub1", "write", "Bash", json.RawMessage(`{"command":"echo > a"}`)
	})
	w.record(conversation.SubagentStop, func(e *conversation.Event) { e.Agent, e.Turn, e.Sub, e.Text = "codex", "t2", "sub1", "written" })
	w.record(conversation.Stop, func(e *conversation.Event) { e.Agent, e.Text = "codex", "all done" })
	w.record(conversation.SessionEnd, func(e *conversation.Event) { e.Agent, e.Turn, e.Text = "codex", "", "other" })
	a := w.show()
	if len(a.Turns) != 1 || a.Prompts != 1 || a.Turns[0].Said != "all done" {
		t.Fatalf("the turns are %+v", a.Turns)
	}
	if calls := a.Turns[0].Calls; len(calls) != 1 || len(calls[0].Calls) != 1 || calls[0].Calls[0].ID != "write" {
		t.Errorf("the calls are %+v", calls)
	}
}

func TestASubagentOfCodexIsBelowItsCall(t *testing.T) {
	const session, thread = "01a21820-6be0-7962-808e-8d926ed1d979", "01a21820-6ceb-7a30-9044-908c1f67989a"
	w := newWorld(t)
	rollout := func(id string, lines ...string) string {
		path := filepath.Join(t.TempDir(), "rollout-2026-11-26T13-51-47-"+id+".jsonl")
		text := ""
		for _, line := range lines {
			text += `{"timestamp":"2026-11-26T13:51:47.000Z",` + line + "}\n"
		}
		write(t, path, text)
		return path
	}
	root := rollout(session,
		`"type":"response_item","payload":{"type":"function_call","name":"spawn_agent","namespace":"collaboration","arguments":"{}","call_id":"spawn"}`,
		`"type":"event_msg","payload":{"type":"item_completed","item":{"type":"SubAgentActivity","id":"spawn","kind":"started","agent_thread_id":"`+thread+`","agent_path":"/root/files"}}`,
		`"type":"event_msg","payload":{"type":"item_completed","item":{"type":"SubAgentActivity","id":"other","kind":"completed","agent_thread_id":"`+thread+`"}}`)
	sub := rollout(thread, `"type":"inter_agent_communication_metadata","payload":{"trigger_turn":true}`,
		`"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"inner"}`)
	w.set(time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC))
	for _, path := range []string{root, sub} {
		w.record(conversation.SessionStart, func(e *conversation.Event) { e.Agent, e.Session, e.Transcript = "codex", session, path })
	}
	w.set(time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC))
	shown := w.show()
	if calls := shown.Turns[0].Calls; len(calls) != 1 || calls[0].ID != "spawn" || len(calls[0].Calls) != 1 || calls[0].Calls[0].ID != "inner" || shown.Coverage.Unknown != 0 {
		t.Errorf("the calls are %+v, the coverage %+v", calls, shown.Coverage)
	}
}

// An agent that sees its branch at the path of the original writes that path into its transcript. The calls are those of the branch.
func TestATranscriptHasThePathsThatItsAgentSees(t *testing.T) {
	w := newWorld(t)
	data, err := os.ReadFile(filepath.Join("testdata", "claude-2.1.332.transcript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	write(t, path, string(data)) // in /home/me/shop
	w.set(time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC))
	w.record(conversation.SessionStart, func(e *conversation.Event) { e.Agent, e.Transcript, e.Seen = "claude", path, "/home/me/shop" })
	w.set(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
	for range 2 {
		if got := summary(&w.show().Outline); got != claudeSummary {
			t.Errorf("%s\nwant:\n%s", got, claudeSummary)
		}
		w.reopen()
	}
}

// A call that was not permitted did not run: it is denied, not failed, and has changed no file.
func TestACallThatWasNotPermitted(t *testing.T) {
	for agent, lines := range map[string][]string{
		"claude": { // 2.1.332: a question that nobody answers, a hook that denies, and a command that fails
			`{"type":"assistant","timestamp":"2026-11-25T12:00:00Z","cwd":"ROOT","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"make > a.txt"}}]}}`,
			`{"type":"user","timestamp":"2026-11-25T12:00:01Z","cwd":"ROOT","message":{"content":[{"type":"tool_result","content":"Output redirection needs approval.","is_error":true,"tool_use_id":"c1"}]},"toolUseResult":"Error: Output redirection needs approval.","toolDenialKind":"user-rejected","permissionDecision":{"decision":"reject","source":"config","reasonCode":"unknown"}}`,
			`{"type":"assistant","timestamp":"2026-11-25T12:00:02Z","cwd":"ROOT","message":{"content":[{"type":"tool_use","id":"c2","name":"Bash","input":{"command":"make > b.txt"}}]}}`,
			`{"type":"user","timestamp":"2026-11-25T12:00:03Z","cwd":"ROOT","message":{"content":[{"type":"tool_result","content":"PreToolUse:Bash hook error: not here","is_error":true,"tool_use_id":"c2"}]},"toolUseResult":"Error: PreToolUse:Bash hook error: not here","toolDenialKind":"permission-rule","permissionDecision":{"decision":"reject","source":"hook","reasonType":"hook"}}`,
			`{"type":"assistant","timestamp":"2026-11-25T12:00:04Z","cwd":"ROOT","message":{"content":[{"type":"tool_use","id":"c3","name":"Bash","input":{"command":"make > c.txt"}}]}}`,
			`{"type":"user","timestamp":"2026-11-25T12:00:05Z","cwd":"ROOT","message":{"content":[{"type":"tool_result","content":"Exit code 2","is_error":true,"tool_use_id":"c3"}]},"toolUseResult":"Error: Exit code 2","permissionDecision":{"decision":"accept","source":"config"}}`,
		},
		"codex": { // 0.169.0 without a question, and as if the user declined
			`{"timestamp":"2026-11-25T12:00:00Z","type":"response_item","payload":{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{\"cmd\":\"make > a.txt\"}"}}`,
			`{"timestamp":"2026-11-25T12:00:01Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never"}}`,
			`{"timestamp":"2026-11-25T12:00:02Z","type":"response_item","payload":{"type":"function_call","call_id":"c2","name":"exec_command","arguments":"{\"cmd\":\"make > b.txt\"}"}}`,
			`{"timestamp":"2026-11-25T12:00:03Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c2","status":"declined"}}}`,
			`{"timestamp":"2026-11-25T12:00:04Z","type":"response_item","payload":{"type":"function_call","call_id":"c3","name":"exec_command","arguments":"{\"cmd\":\"make > c.txt\"}"}}`,
			`{"timestamp":"2026-11-25T12:00:05Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c3","status":"failed","exit_code":2}}}`,
		},
	} {
		t.Run(agent, func(t *testing.T) {
			w := newWorld(t)
			path := filepath.Join(t.TempDir(), "session.jsonl")
			w.begin(agent, path)
			write(t, path, strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "ROOT", w.root))
			o := &w.show().Outline
			if got, want := summary(o), "\nc1 $ make > a.txt denied transcript\nc2 $ make > b.txt denied transcript\nc3 $ make > c.txt failed transcript\n"; got != want {
				t.Errorf("%s\nwant:\n%s", got, want)
			}
			began := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
			for file, want := range map[string]int{"a.txt": 0, "c.txt": 1} {
				edited := map[string]int{"a.txt": 500, "c.txt": 4500}[file]
				if makers := conversation.MakersOf(w.store.Outlines(w.root, began.UnixMilli(), at(began, 6000).UnixMilli()), w.change(began, file, edited, nil)); len(makers) != want {
					t.Errorf("%s has %d makers, want %d", file, len(makers), want)
				}
			}
		})
	}
}
