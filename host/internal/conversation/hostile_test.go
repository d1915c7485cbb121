package conversation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
)

// Lines of transcripts of Codex, at a time when the world's conversation has begun.
const (
	codexTime = `{"timestamp":"2026-11-25T13:00:00Z",`
	codexCall = codexTime + `"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"%s"}}` + "\n"
	codexSaid = codexTime + `"type":"event_msg","payload":{"type":"user_message","message":"%s"}}` + "\n"
)

// hostile begins a session of Codex with a transcript that fill writes, and shows it. That must end within a time, and take
// bounded memory.
func (w *world) hostile(fill func(f *os.File) error) *conversation.Shown {
	w.Helper()
	path := filepath.Join(w.TempDir(), "session.jsonl")
	f, err := os.Create(path)
	if err == nil {
		err = fill(f)
	}
	if err != nil {
		w.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.Fatal(err)
	}
	w.begin("codex", path)
	return w.bounded()
}

// bounded is [world.show] within bounds.
func (w *world) bounded() *conversation.Shown {
	w.Helper()
	const within, memory = 2 * time.Minute, 512 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	a := w.show()
	if took := time.Since(began); took > within {
		w.Errorf("the transcript was read in %s", took)
	}
	runtime.GC()
	if runtime.ReadMemStats(&after); after.HeapAlloc > before.HeapAlloc+memory {
		w.Errorf("%d bytes are in use after it was read", after.HeapAlloc-before.HeapAlloc)
	}
	return a
}

func fill(lines ...string) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.WriteString(strings.Join(lines, ""))
		return err
	}
}

// TestALongLineOfATranscriptIsOneDamagedLine: it is read in parts, and none of them is a line, whatever it looks like.
func TestALongLineOfATranscriptIsOneDamagedLine(t *testing.T) {
	const part = 32 << 20
	for _, size := range []int64{5 << 20, part, 3 * part, 1 << 30} {
		w := newWorld(t)
		a := w.hostile(func(f *os.File) error {
			_, err := f.WriteAt(fmt.Appendf(nil, codexSaid+codexSaid, "forged", "real"), size)
			return err
		})
		for shows := 1; a.Coverage.Unread > 0; shows++ {
			if shows == 100 {
				t.Fatalf("%d bytes: %d are never read", size, a.Coverage.Unread)
			}
			a = w.bounded()
		}
		if c := a.Coverage; c.Damaged != 1 || c.Lines != 2 || len(a.Turns) != 1 || a.Turns[0].Prompt != "real" {
			t.Errorf("%d bytes: the coverage is %+v, the prompts are %+v", size, c, a.Turns)
		}
	}
}

// TestWhatIsNotReadYetOfATranscriptIsSaid: nobody waits for the end of an endless one.
func TestWhatIsNotReadYetOfATranscriptIsSaid(t *testing.T) {
	const size = 1 << 40
	w := newWorld(t)
	a := w.hostile(func(f *os.File) error { return f.Truncate(size) })
	if left := a.Coverage.Unread; left <= 0 || left >= size {
		t.Errorf("%d of %d bytes are said to be left", left, int64(size))
	}
	began := time.Now()
	w.store.Close()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the store was closed in %s", took)
	}
}

// TestManyLinesOfATranscriptAreReadInTime: what reading costs does not grow with the square of its lines.
func TestManyLinesOfATranscriptAreReadInTime(t *testing.T) {
	const many = 20_000
	numbered := func(format string) string {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, format, fmt.Sprint("number-", i))
		}
		return b.String()
	}
	calls, said := numbered(codexCall), numbered(codexSaid)
	for name, c := range map[string]struct {
		text           string
		prompts, calls int
	}{
		"calls, twice":      {calls + calls, 0, many},
		"calls and prompts": {said + calls, many, many},
		"compactions":       {said + strings.Repeat(codexTime+`"type":"compacted"}`+"\n", many), many, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.hostile(fill(c.text))
			if a.Prompts != c.prompts || a.Calls != c.calls || a.Coverage.Damaged != 0 || a.Coverage.Lines != strings.Count(c.text, "\n") {
				t.Errorf("%d prompts, %d calls, %+v", a.Prompts, a.Calls, a.Coverage)
			}
			w.store.Close()
			w.open()
			if again := w.bounded(); again.Prompts != c.prompts || again.Calls != c.calls || again.Coverage != a.Coverage {
				t.Errorf("after a restart: %d prompts, %d calls, %+v", again.Prompts, again.Calls, again.Coverage)
			}
		})
	}
}

// TestSubagentsThatStartEachOther: every call is shown once, at a depth that programs can read.
func TestSubagentsThatStartEachOther(t *testing.T) {
	const chain = 20_000
	var deep strings.Builder
	claude := func(sub, call, spawned string) string {
		return `{"type":"user","timestamp":"2026-11-25T13:00:00Z","agentId":"` + sub + `","toolUseResult":{"agentId":"` + spawned +
			`"},"message":{"content":[{"type":"tool_result","tool_use_id":"` + call + `","content":""}]}}` + "\n"
	}
	for i := range chain {
		deep.WriteString(claude(fmt.Sprint("thread-", i), fmt.Sprint("call-", i), fmt.Sprint("thread-", i+1)))
	}
	for name, c := range map[string]struct {
		text  string
		calls int
	}{
		"a circle":     {claude("a", "1", "b") + claude("b", "2", "c") + claude("c", "3", "a"), 3},
		"itself":       {claude("a", "1", "a"), 1},
		"a long chain": {deep.String(), chain},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path := filepath.Join(t.TempDir(), "session.jsonl")
			write(t, path, c.text)
			w.begin("claude", path)
			a := w.bounded()
			seen := map[string]int{}
			a.All(func(_ *conversation.Turn, c *conversation.Called) { seen[c.ID]++ })
			if len(seen) != c.calls || a.Calls != c.calls {
				t.Errorf("%d of %d calls are shown, %d counted", len(seen), c.calls, a.Calls)
			}
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &conversation.Shown{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNestedValuesOfATranscriptStayReadable: a call is in the recording as it was added, or counted as damaged.
func TestNestedValuesOfATranscriptStayReadable(t *testing.T) {
	for _, depth := range []int{100, 9_000, 9_990, 9_999, 10_000, 10_001, 1 << 20} {
		nested := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		quoted, err := json.Marshal(nested)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"codex":  strings.Replace(fmt.Sprintf(codexCall, "deep"), `"{}"`, string(quoted), 1),
			"claude": `{"type":"assistant","timestamp":"2026-11-25T13:00:00Z","message":{"content":[{"type":"tool_use","id":"deep","name":"Bash","input":` + nested + "}]}}\n",
		} {
			w := newWorld(t)
			path := filepath.Join(t.TempDir(), "session.jsonl")
			write(t, path, text)
			w.begin(name, path)
			a := w.bounded()
			shown := 0
			a.All(func(*conversation.Turn, *conversation.Called) { shown++ })
			if shown+a.Coverage.Damaged != 1 || a.Calls != shown {
				t.Errorf("%s, depth %d: %d calls are shown, %d counted: %+v", name, depth, shown, a.Calls, a.Coverage)
			}
		}
	}
}

// TestTimesOfATranscriptThatCannotBe: what has not happened yet happened at the latest now.
func TestTimesOfATranscriptThatCannotBe(t *testing.T) {
	w := newWorld(t)
	text := strings.ReplaceAll(fmt.Sprintf(codexSaid, "later")+fmt.Sprintf(codexCall, "later"), "2026", "9999") +
		codexTime + `"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"long","duration":{"secs":9223372036854775807}}}}` + "\n" +
		codexTime + `"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"back","duration":{"secs":-9223372036854775807}}}}` + "\n"
	a := w.hostile(fill(text))
	if now := w.now(); a.Last.After(now) || a.Turns[len(a.Turns)-1].At.After(now) || a.Prompts != 1 || a.Calls != 3 {
		t.Errorf("at %s: %+v, %+v", now, a.Info, a.Turns[len(a.Turns)-1])
	}
	a.All(func(_ *conversation.Turn, c *conversation.Called) {
		if c.DurationMs < 0 || c.Started.After(w.now()) || c.Started.Before(time.Unix(0, 0)) {
			t.Errorf("%s began at %s and took %d ms", c.ID, c.Started, c.DurationMs)
		}
	})
}
