package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// world is a store with an allowed directory.
type world struct {
	*testing.T
	store  *conversation.Store
	o      conversation.Options
	root   string
	denied bool
	grants *grants.Store
	clock  atomic.Int64 // in nanoseconds: a transcript is read while a test sets it
}

func (w *world) now() time.Time { return time.Unix(0, w.clock.Load()).UTC() }

func (w *world) set(now time.Time) { w.clock.Store(now.UnixNano()) }

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: root}
	w.set(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	dir := t.TempDir()
	w.grants = &grants.Store{File: filepath.Join(dir, "grants.json"), Lock: lock(&sync.Mutex{}), Clock: w.now}
	w.o = conversation.Options{
		Dir: filepath.Join(dir, "recordings"), Redactor: redact.Default(), Clock: w.now, Age: retention.Wall(time.Now), Log: slog.New(slog.DiscardHandler),
		Root: func(dir string, needed ...string) (string, error) {
			if w.denied || !slices.Contains(needed, grants.Conversation) || !event.Within(dir, root) {
				return "", usererr.New(usererr.NotAllowed, "not allowed")
			}
			return root, nil
		},
		Decided: func(path string) grants.Decision {
			d, err := w.grants.LookupFormer(path)
			if err != nil {
				t.Error(err)
			}
			return d
		},
		Spool: &conversation.Spool{Path: filepath.Join(dir, "spool"), Lock: lock(&sync.Mutex{})},
	}
	w.open()
	t.Cleanup(func() { w.store.Close() })
	return w
}

func lock(mu *sync.Mutex) func(context.Context) (func(), error) {
	return func(context.Context) (func(), error) {
		mu.Lock()
		return mu.Unlock, nil
	}
}

func (w *world) open() {
	w.Helper()
	s, err := conversation.Open(w.o)
	if err != nil {
		w.Fatal(err)
	}
	w.store = s
}

func (w *world) reopen() {
	w.Helper()
	w.store.Close()
	w.open()
}

// event returns an event of Claude's session one.
func (w *world) event(kind conversation.Kind, change func(*conversation.Event)) conversation.Event {
	w.pass(time.Second)
	e := conversation.Event{Kind: kind, Agent: "claude", Session: "one", Dir: w.root, Turn: "t1"}
	if change != nil {
		change(&e)
	}
	e.Describe()
	return e
}

func (w *world) record(kind conversation.Kind, change func(*conversation.Event)) {
	w.Helper()
	if err := w.store.Record(w.event(kind, change)); err != nil {
		w.Fatal(err)
	}
}

// edit records a call that edits a file, from its hooks before and after.
func (w *world) edit(id, file string) {
	w.Helper()
	fill := func(e *conversation.Event) {
		e.Call, e.Tool = id, "Edit"
		e.Input, _ = json.Marshal(map[string]string{"file_path": filepath.Join(w.root, file)})
	}
	w.record(conversation.Call, fill)
	w.record(conversation.Result, func(e *conversation.Event) {
		fill(e)
		e.Outcome, e.DurationMs = conversation.OK, 1000
		e.Output = json.RawMessage(`{"filePath":"x"}`)
	})
}

func (w *world) show() *conversation.Shown {
	w.Helper()
	list := w.list()
	if len(list) != 1 {
		w.Fatalf("there are %d recordings", len(list))
	}
	a, err := w.store.Show(w.Context(), nil, conversation.ShowParams{ID: list[0].ID})
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func (w *world) list() []conversation.Info {
	w.Helper()
	a, err := w.store.List(w.Context(), nil, conversation.ListParams{})
	if err != nil {
		w.Fatal(err)
	}
	return a.Recordings
}

// stored returns all bytes below the directory of the store and its spool.
func (w *world) stored() string {
	w.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Dir(w.o.Dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm() != 0o600 {
			w.Errorf("%s has mode %v", path, info.Mode())
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return all.String()
}

func (w *world) session() {
	w.Helper()
	w.record(conversation.SessionStart, nil)
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Text = "show cents" })
	w.edit("c1", "src/a.js")
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Call, e.Tool, e.Input, e.Outcome, e.DurationMs = "c2", "Bash", json.RawMessage(`{"command":"npm test"}`), conversation.Failed, 300
	})
	w.record(conversation.Stop, func(e *conversation.Event) { e.Text = "done" })
}

func TestAConversationIsAsItWasAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.session()
	w.reopen()
	a := w.show()
	if len(a.Turns) != 1 || a.Turns[0].Prompt != "show cents" || a.Turns[0].Said != "done" || a.Turns[0].Ended == nil {
		t.Fatalf("the turns are %+v", a.Turns)
	}
	calls := a.Turns[0].Calls
	if len(calls) != 2 || a.Calls != 2 || a.Prompts != 1 {
		t.Fatalf("there are %d calls, counted %d and %d prompts", len(calls), a.Calls, a.Prompts)
	}
	if c := calls[0]; c.Title() != "Edit src/a.js" || c.Outcome != conversation.OK || c.Source != "hook" || c.Ended.Sub(c.Started.Time) != time.Second {
		t.Errorf("the edit is %+v", c)
	}
	if c := calls[1]; c.Title() != "$ npm test" || c.Outcome != conversation.Failed || c.Ended.Sub(c.Started.Time) != 300*time.Millisecond {
		t.Errorf("the command is %+v", c)
	}
	call, err := w.store.Show(t.Context(), nil, conversation.ShowParams{ID: "one", Call: "c1"})
	if err != nil || !strings.Contains(string(call.Input), "src/a.js") || string(call.Output) != `{"filePath":"x"}` {
		t.Errorf("the call has %s and %s, %v", call.Input, call.Output, err)
	}
}

// TestAMessageDuringATurn begins a turn of its own, with the calls that were asked for after it: Claude Code gives it the turn's ID.
func TestAMessageDuringATurn(t *testing.T) {
	w := newWorld(t)
	call := func(kind conversation.Kind, id string) {
		w.record(kind, func(e *conversation.Event) {
			e.Call, e.Tool, e.Input = id, "Bash", json.RawMessage(`{"command":"sleep 6"}`)
		})
	}
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Text = "start queue" })
	w.edit("c1", "a.ts")
	call(conversation.Call, "c2")
	call(conversation.Call, "c3")
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Text = "also rename please" })
	call(conversation.Result, "c2")
	call(conversation.Result, "c3")
	w.edit("c4", "b.ts")
	w.record(conversation.Stop, func(e *conversation.Event) { e.Text = "renamed" })
	for range 2 {
		a := w.show()
		var got []string
		for _, turn := range a.Turns {
			line := turn.Prompt + ":"
			for _, c := range turn.Calls {
				line += " " + c.ID
			}
			got = append(got, line+" "+turn.Said)
		}
		if want := []string{"start queue: c1 c2 c3 ", "also rename please: c4 renamed"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		w.reopen()
	}
}

// TestWhatClaudeCodeAnnouncesIsNoPrompt, although it stands in the place of one.
func TestWhatClaudeCodeAnnouncesIsNoPrompt(t *testing.T) {
	for text, prompt := range map[string]bool{
		"[Request interrupted by user]":              false,
		"[Request interrupted by user for tool use]": false,
		"<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>": false,
		"[Request interrupted by user] was what I saw. Why?":                                           true,
		"Explain <task-notification>":                                                                  true,
	} {
		for _, content := range []any{text, []map[string]string{{"type": "text", "text": text}}} {
			line, err := json.Marshal(map[string]any{"type": "user", "promptId": "t1", "message": map[string]any{"role": "user", "content": content}})
			if err != nil {
				t.Fatal(err)
			}
			events, known, err := conversation.Parsers["claude"](line)
			if !known || err != nil || len(events) == 1 != prompt {
				t.Errorf("%s: %+v %v %v", line, events, known, err)
			}
		}
	}
}

func TestNothingIsRecordedWithoutTheGrant(t *testing.T) {
	w := newWorld(t)
	w.denied = true
	err := w.store.Record(w.event(conversation.Prompt, func(e *conversation.Event) { e.Text = "hello" }))
	if usererr.CodeOf(err) != usererr.NotAllowed || len(w.list()) != 0 || w.stored() != "" {
		t.Errorf("%v, %q", err, w.stored())
	}
}

// TestAFileInADeniedDirectoryIsNotStored, although the agent works in an allowed one.
func TestAFileInADeniedDirectoryIsNotStored(t *testing.T) {
	w := newWorld(t)
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(w.root, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(private, filepath.Join(w.root, "link")); err != nil {
		t.Fatal(err)
	}
	_, err = w.grants.Allow(t.Context(), w.root, []string{grants.Conversation}, nil)
	for _, dir := range []string{private, other} {
		_, denied := w.grants.Deny(t.Context(), dir)
		err = errors.Join(err, denied)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, tool := range []string{"Read", "Write", "Edit", "Grep"} {
		for j, file := range []string{filepath.Join(private, "a.js"), filepath.Join(other, "new", "a.js"), "private/b.js", "link/c.js", "mine.js"} {
			key := "file_path"
			if tool == "Grep" {
				key = "path"
			}
			e := w.event(conversation.Result, func(e *conversation.Event) {
				e.At, e.Call, e.Tool = w.now().UnixMilli(), fmt.Sprint("c", i, j), tool
				e.Input, _ = json.Marshal(map[string]string{key: file, "content": "content-of-" + filepath.Base(file)})
				e.Output, _ = json.Marshal("content-of-" + filepath.Base(file))
			})
			if err := w.store.Record(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	stored := w.stored()
	for _, name := range []string{"a.js", "b.js", "c.js"} {
		if strings.Contains(stored, "content-of-"+name) {
			t.Errorf("the content of %s is on disk", name)
		}
	}
	if strings.Count(stored, "content-of-mine.js") != 8 {
		t.Errorf("of the file in the allowed directory is stored: %s", stored)
	}
}

func TestAnEventIsRecordedOnce(t *testing.T) {
	w := newWorld(t)
	w.session()
	before := w.stored()
	stop := w.event(conversation.Stop, func(e *conversation.Event) { e.Nonce = "n1" })
	for range 2 { // the hook did not hear the daemon's answer
		if err := w.store.Record(stop); err != nil {
			t.Fatal(err)
		}
	}
	w.edit("c1", "src/a.js")
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Text = "show  cents" })
	w.reopen()
	w.edit("c1", "src/a.js")
	if more := strings.Count(w.stored(), "\n") - strings.Count(before, "\n"); more != 1 {
		t.Errorf("%d events were added", more)
	}
}

func TestALineThatACrashCutOffIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.session()
	w.store.Close()
	path := filepath.Join(w.o.Dir, w.list1()+".conversation")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{1, 7, 30} {
		if err := os.WriteFile(path, append(slices.Clone(whole), whole[len(whole)-100:len(whole)-cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		w.open()
		w.edit(fmt.Sprintf("after-%d", cut), "b.js")
		a := w.show()
		if n := len(a.Turns[0].Calls); n != 3 || a.Coverage.Damaged != 0 {
			t.Errorf("cut at %d: %d calls, %d lines are damaged", cut, n, a.Coverage.Damaged)
		}
		w.store.Close()
	}
}

// list1 returns the name of the only recording.
func (w *world) list1() string {
	w.Helper()
	entries, err := os.ReadDir(w.o.Dir)
	if err != nil || len(entries) != 1 {
		w.Fatalf("there are %d files, %v", len(entries), err)
	}
	return strings.TrimSuffix(entries[0].Name(), ".conversation")
}

func TestAFileWithoutItsFirstLineIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.session()
	w.store.Close()
	path := filepath.Join(w.o.Dir, w.list1()+".conversation")
	if err := os.Truncate(path, 0); err != nil { // a crash at its creation
		t.Fatal(err)
	}
	w.open()
	w.session()
	if a := w.show(); a.Calls != 2 {
		t.Errorf("%+v", a)
	}
}

// TestAFileThatEndsWithinAnEventSaysSo, also where only its first line is whole.
func TestAFileThatEndsWithinAnEventSaysSo(t *testing.T) {
	for _, less := range []int64{0, 1, 40, -10} {
		w := newWorld(t)
		w.session()
		w.store.Close()
		path := filepath.Join(w.o.Dir, w.list1()+".conversation")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(data)) - less
		if less < 0 {
			size = int64(strings.Index(string(data), "\n")) - less
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		w.open()
		if all := w.list(); len(all) != 1 || all[0].Cut != (less != 0) {
			t.Errorf("without %d bytes: %+v", less, all)
		}
		if a := w.show(); a.Cut != (less != 0) || a.Coverage.Damaged != 0 {
			t.Errorf("without %d bytes: %+v", less, a)
		}
	}
}

func TestADamagedLineIsCountedAndTheOthersAreRead(t *testing.T) {
	w := newWorld(t)
	w.session()
	w.store.Close()
	path := filepath.Join(w.o.Dir, w.list1()+".conversation")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), "npm test", "npm best", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open()
	if a := w.show(); a.Coverage.Damaged != 1 || len(a.Turns[0].Calls) != 1 {
		t.Errorf("%d lines are damaged, %d calls are there", a.Coverage.Damaged, len(a.Turns[0].Calls))
	}
}

func TestAFileOfANewerFormatIsLeftAsItIs(t *testing.T) {
	w := newWorld(t)
	w.session()
	w.store.Close()
	path := filepath.Join(w.o.Dir, w.list1()+".conversation")
	newer := `{"format":2,"agent":"claude"}` + "\nwhat it means is not known\n"
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open()
	if err := w.store.Record(w.event(conversation.Prompt, nil)); err == nil || !strings.Contains(err.Error(), "Use the program that wrote it") {
		t.Errorf("the event of another format: %v", err)
	}
	if list := w.list(); len(list) != 1 || list[0].Problem == "" {
		t.Errorf("the list is %+v", list)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != newer {
		t.Errorf("the file is %q, %v", data, err)
	}
}

func TestSubagentsAreBelowTheCallThatStartedThem(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Text = "delegate" })
	w.record(conversation.Call, func(e *conversation.Event) { e.Call, e.Tool = "task", "Agent" })
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Call, e.Tool, e.Sub, e.Outcome = "inner", "Write", "s1", conversation.OK
	})
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Call, e.Tool, e.Spawned, e.Outcome = "task", "Agent", "s1", conversation.OK
	})
	calls := w.show().Turns[0].Calls
	if len(calls) != 1 || calls[0].ID != "task" || len(calls[0].Calls) != 1 || calls[0].Calls[0].ID != "inner" {
		t.Errorf("the calls are %+v", calls)
	}
}

func TestAFileChangeNamesItsCalls(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.Prompt, func(e *conversation.Event) { e.Text = "change it" })
	w.edit("c1", "src/a.js")
	edited := w.now()
	run := func(id string) {
		w.record(conversation.Result, func(e *conversation.Event) {
			e.Call, e.Tool, e.Input, e.DurationMs, e.Outcome = id, "Bash", json.RawMessage(`{"command":"sed -i s/a/b/ src/b.js"}`), 3000, conversation.OK
		})
	}
	run("c2")
	run("c3") // in parallel with the one before
	patch, _ := json.Marshal("*** Begin Patch\n*** Update File: src/d.js\n*** Move to: src/e.js\n*** End Patch\n")
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Call, e.Tool, e.Input, e.DurationMs = "c4", "apply_patch", patch, 100
	})
	o := &w.show().Outline
	for _, c := range []struct {
		name, path string
		at         time.Time
		want       string
	}{
		{"an edit names its file", "src/a.js", edited.Add(-100 * time.Millisecond), "c1"},
		{"a command has a window, and two overlap", "src/b.js", w.now().Add(-2 * time.Second), "c2 c3"},
		{"a patch names its files", "src/e.js", w.now(), "c4"},
		{"before every call", "src/a.js", edited.Add(-time.Minute), ""},
	} {
		change := &event.FileChange{Head: event.Head{At: c.at.UnixMilli(), Subject: event.Subject{Place: w.root}}, Path: c.path, Edited: c.at.UnixMilli()}
		var ids []string
		for _, m := range conversation.MakersOf([]*conversation.Outline{o}, change) {
			if ids = append(ids, m.Call.ID); m.Turn.Prompt != "change it" {
				t.Errorf("%s: the prompt is %q", c.name, m.Turn.Prompt)
			}
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatHooksSpooledIsRecordedByTheNextDaemon(t *testing.T) {
	w := newWorld(t)
	w.store.Close()
	for i := range 3 {
		e := w.event(conversation.Prompt, func(e *conversation.Event) {
			e.At, e.Text = w.now().UnixMilli(), fmt.Sprintf("prompt %d, password: spooled-pw", i)
		})
		if err := w.o.Spool.Add(t.Context(), e, w.o.Redactor); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(w.stored(), "spooled-pw") {
		t.Error("a secret is in the spool")
	}
	f, err := os.OpenFile(w.o.Spool.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("what is no event\n"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	w.open()
	w.store.Drain()
	if a := w.show(); len(a.Turns) != 3 || !strings.HasPrefix(a.Turns[2].Prompt, "prompt 2") {
		t.Errorf("the turns are %+v", a.Turns)
	}
	if _, err := os.Stat(w.o.Spool.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the spool is still there: %v", err)
	}
}

// TestAnEventThatIsRecordedAndSpooledIsThereOnce: its hook did not hear the daemon's answer in time.
func TestAnEventThatIsRecordedAndSpooledIsThereOnce(t *testing.T) {
	w := newWorld(t)
	const text = "--b\r\nContent-Disposition: form-data; name=\"otp\"\r\n\r\ncut part 101\n-----BEGIN PRIVATE " + "KEY-----\nMIIEplanted96\n-----END PRIVATE " + "KEY-----"
	once := &conversation.Event{Text: text}
	once.Clean(w.o.Redactor)
	twice := *once
	if twice.Clean(w.o.Redactor); twice.Text == once.Text {
		t.Fatalf("masked again, this text is the same: %q", once.Text)
	}
	for _, kind := range []conversation.Kind{conversation.Prompt, conversation.Result, conversation.Stop} {
		e := w.event(kind, func(e *conversation.Event) {
			e.At, e.Turn, e.Nonce, e.Text = w.now().UnixMilli(), "t1", "n1", text
			if kind == conversation.Result {
				e.Call = "c1"
			}
		})
		if err := w.store.Record(e); err != nil {
			t.Fatal(err)
		}
		before := w.stored()
		if err := w.o.Spool.Add(t.Context(), e, w.o.Redactor); err != nil {
			t.Fatal(err)
		}
		w.store.Drain()
		if after := w.stored(); after != before {
			t.Errorf("%c is recorded twice:\n%s", kind, after)
		}
	}
}

func TestWhatFindsTheSpoolFullIsCounted(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.SessionStart, nil)
	const sent = 2000
	spooled := 0
	for i := range sent {
		e := w.event(conversation.Prompt, func(e *conversation.Event) {
			e.At, e.Text = w.now().UnixMilli(), fmt.Sprint(i, strings.Repeat(" word", 5_000))
		})
		if err := w.o.Spool.Add(t.Context(), e, w.o.Redactor); err == nil {
			spooled++
		} else if !strings.Contains(err.Error(), "the spool is full") {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(w.o.Spool.Path); err != nil || info.Size() > conversation.MaxSpool+64<<10 {
		t.Fatalf("the spool is %+v, %v", info, err)
	}
	w.store.Drain()
	a := w.show()
	if len(a.Turns) != spooled || a.Coverage.Lost < 200 || a.Coverage.Lost > sent-spooled || a.Coverage.Damaged != 0 {
		t.Errorf("%d turns of %d; %+v", len(a.Turns), spooled, a.Coverage)
	}
	w.reopen()
	if again := w.show(); again.Coverage.Lost != a.Coverage.Lost {
		t.Errorf("%+v after a restart", again.Coverage)
	}
}

func TestASpoolThatACrashLeftIsRead(t *testing.T) {
	w := newWorld(t)
	w.store.Close()
	for i, path := range []string{w.o.Spool.Path + ".taken", w.o.Spool.Path} {
		e := w.event(conversation.Prompt, func(e *conversation.Event) { e.At, e.Turn, e.Text = w.now().UnixMilli(), fmt.Sprint(i), "spooled" })
		if err := w.o.Spool.Add(t.Context(), e, w.o.Redactor); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.o.Spool.Path, path); err != nil {
			t.Fatal(err)
		}
	}
	w.store.Drain() // what a closed store does not record stays
	w.open()
	w.store.Drain()
	if a := w.show(); len(a.Turns) != 2 || strings.Contains(w.stored(), "hooks") {
		t.Errorf("the turns are %+v", a.Turns)
	}
	entries, err := os.ReadDir(filepath.Dir(w.o.Spool.Path))
	if err != nil || len(entries) != 1 { // the directory of recordings
		t.Errorf("%v, %v", entries, err)
	}
}

func TestACallWithManyTextsIsCut(t *testing.T) {
	w := newWorld(t)
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = strings.Repeat("<a&b>", 1000)
	}
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Call, e.Tool = "many", "Odd"
		e.Input, _ = json.Marshal(texts)
		e.Output = json.RawMessage(`"` + strings.Repeat(`\u0001\n<`, 50_000) + `"`)
		e.Trim()
	})
	if a := w.show(); a.Calls != 1 || a.Bytes > 1<<20 {
		t.Errorf("%d calls, %d bytes", a.Calls, a.Bytes)
	}
}

func TestTheSpoolIsBounded(t *testing.T) {
	w := newWorld(t)
	w.store.Close()
	text := strings.Repeat("word ", 10000)
	for range 100 {
		err := w.o.Spool.Add(t.Context(), w.event(conversation.Prompt, func(e *conversation.Event) { e.Text = text }), w.o.Redactor)
		if err == nil {
			continue
		}
		if info, serr := os.Stat(w.o.Spool.Path); serr != nil || info.Size() > conversation.MaxSpool || !strings.Contains(err.Error(), "full") {
			t.Errorf("%v, %v", err, serr)
		}
		return
	}
	t.Error("the spool was never full")
}

func TestOldConversationsAreDeleted(t *testing.T) {
	w := newWorld(t)
	w.o.Clock = time.Now
	w.reopen()
	w.set(time.Now())
	w.session()
	other := w.event(conversation.Prompt, func(e *conversation.Event) { e.Session = "two" })
	if err := w.store.Record(other); err != nil {
		t.Fatal(err)
	}
	list := w.list()
	if len(list) != 2 {
		t.Fatalf("the list is %+v", list)
	}
	old := time.Now().Add(-8 * 24 * time.Hour)
	path := filepath.Join(w.o.Dir, list[0].ID+".conversation")
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	a, err := w.store.Prune(t.Context(), nil, conversation.PruneParams{})
	if err != nil || !slices.Equal(a.IDs, []string{list[0].ID}) || a.FreedBytes == 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := w.store.Remove(t.Context(), nil, conversation.RemoveParams{IDs: []string{list[1].ID}}); err != nil {
		t.Fatal(err)
	}
	if w.stored() != "" || len(w.list()) != 0 {
		t.Errorf("%d recordings remain: %q", len(w.list()), w.stored())
	}
	w.session() // it begins again
	if len(w.list()) != 1 {
		t.Error("a removed conversation does not continue")
	}
}

func TestARecordingMayNotTakeMoreThanAll(t *testing.T) {
	w := newWorld(t)
	w.o.Settings.MiB = 1
	w.reopen()
	text := strings.Repeat("word ", 12000)
	for i := range 100 {
		err := w.store.Record(w.event(conversation.Prompt, func(e *conversation.Event) { e.Text, e.Turn = text, fmt.Sprint(i) }))
		if err != nil {
			if !strings.Contains(err.Error(), "tidemark recordings rm") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("it is not bounded")
}

// writeCalls writes the recording of a conversation with many calls, as a daemon would.
func writeCalls(tb testing.TB, dir, root string, n int) {
	tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"format":1,"agent":"claude","session":"long","workspace":%q,"started":1}`+"\n", root)
	filler := strings.Repeat("a line of output\n", 60)
	for i := range n {
		e := conversation.Event{Kind: conversation.Result, At: int64(1000 + i*10), Agent: "claude", Session: "long", Dir: root, Turn: fmt.Sprint(i / 50), Call: fmt.Sprint("c", i), Tool: "Bash", Outcome: conversation.OK}
		e.Input, _ = json.Marshal(map[string]string{"command": fmt.Sprint("make part", i)})
		e.Output, _ = json.Marshal(map[string]string{"stdout": filler})
		if i%50 == 0 {
			p := conversation.Event{Kind: conversation.Prompt, At: e.At - 1, Agent: "claude", Session: "long", Dir: root, Turn: e.Turn, Text: "next"}
			b.Write(conversation.LineOf(tb, &p))
		}
		e.Describe()
		b.Write(conversation.LineOf(tb, &e))
	}
	if err := os.WriteFile(filepath.Join(dir, "claude-0000000000.conversation"), []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func TestALongConversationIsListedWithoutDecodingIt(t *testing.T) {
	w := newWorld(t)
	w.store.Close()
	writeCalls(t, w.o.Dir, w.root, 10_000)
	w.open()
	began := time.Now()
	list := w.list()
	first := time.Since(began)
	if len(list) != 1 || list[0].Calls != 10_000 || list[0].Prompts != 200 {
		t.Fatalf("the list is %+v", list)
	}
	began = time.Now()
	w.list()
	again := time.Since(began)
	a, err := w.store.Show(t.Context(), nil, conversation.ShowParams{ID: "long"})
	if err != nil || len(a.Turns) != 200 {
		t.Fatalf("%v", err)
	}
	t.Logf("list: %s, again %s; show: %s; %d bytes", first, again, time.Since(began)-again, list[0].Bytes)
	if again > 50*time.Millisecond { // the first one reads the file, which the race detector makes slow
		t.Errorf("it takes %s", again)
	}
}
