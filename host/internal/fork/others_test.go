package fork

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
)

// chat are the lines of a chat of Gemini CLI 0.61: two calls in one message, recorded together after both.
var chat = []string{
	`{"sessionId":"` + session + `","projectHash":"h","startTime":"2026-11-26T02:00:00.000Z","lastUpdated":"2026-11-26T02:00:00.000Z","kind":"main"}`,
	`{"$set":{"messages":[{"id":"c","timestamp":"2026-11-26T02:00:00.000Z","type":"user","content":[{"text":"<session_context>/shop</session_context>"}]}],"lastUpdated":"2026-11-26T02:00:00.000Z"}}`,
	`{"id":"u","timestamp":"2026-11-26T02:00:01.000Z","type":"user","content":[{"text":"<hook_context>note</hook_context>\n\nlook at /shop/a.js"}]}`,
	`{"$set":{"lastUpdated":"2026-11-26T02:00:01.000Z"}}`,
	`{"id":"g","timestamp":"2026-11-26T02:00:02.000Z","type":"gemini","content":"I look."}`,
	`{"id":"g","timestamp":"2026-11-26T02:00:02.000Z","type":"gemini","content":"I look.","toolCalls":[{"id":"x","name":"read","args":{"p":"/shop/a.js"},"result":[],"timestamp":"2026-11-26T02:00:04.000Z"},{"id":"y","name":"write","args":{"p":"b"},"result":[],"timestamp":"2026-11-26T02:00:04.000Z"}]}`,
	`{"id":"r","timestamp":"2026-11-26T02:00:04.000Z","type":"user","content":[{"functionResponse":{"id":"x","name":"read"}},{"functionResponse":{"id":"y","name":"write"}}]}`,
	`{"id":"e","timestamp":"2026-11-26T02:00:05.000Z","type":"gemini","content":"Done."}`,
}

// gemini writes a chat and a program that has or lacks the flag of an import.
func gemini(t *testing.T, flag string, lines ...string) (Point, Place, Program) {
	t.Helper()
	dir := t.TempDir()
	p := Point{Agent: "gemini", Session: session, Transcript: filepath.Join(dir, "session-2026-11-26T02-00-"+session[:8]+".jsonl"), At: time.Date(2026, 11, 26, 2, 0, 9, 0, time.UTC)}
	agent := filepath.Join(dir, "gemini")
	if err := errors.Join(os.WriteFile(p.Transcript, []byte(strings.Join(lines, "\n")+"\n"), 0o600), os.WriteFile(agent, []byte("#!/bin/sh\necho '  "+flag+"  x'\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return p, Place{From: "/shop", To: filepath.Join(dir, "branch"), Title: "branch"}, Program{Line: []string{agent}}
}

func TestAChatOfGeminiIsCut(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2026, 11, 26, 2, 0, seconds, 500_000_000, time.UTC) }
	first := conversation.LooseID("read", json.RawMessage(`{"p":"/shop/a.js"}`), "n")
	for _, c := range []struct {
		name       string
		at         time.Time
		call       string
		has, lacks []string
		messages   int
	}{
		{"at the end", at(9), "", []string{`"x"`, `"y"`, "Done."}, nil, 4},
		{"after a call of two", at(2), first, []string{`"x"`, "I look."}, []string{`"y"`, "Done."}, 2},
		{"between text and calls", at(3), "", []string{"I look."}, []string{`"x"`, `"y"`}, 2},
		{"after the prompt", at(1), "", []string{"look at"}, []string{"I look."}, 1},
	} {
		p, place, program := gemini(t, "--session-file", chat...)
		p.At, p.Call = c.at, c.call
		got, err := Gemini(t.Context(), p, place, program)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		data, err := os.ReadFile(got.Path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, want := range append(c.has, place.To, `{"summary":"branch"}`, `"look at `+place.To+`/a.js"`) {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the copy lacks %q:\n%s", c.name, want, text)
			}
		}
		for _, not := range append(c.lacks, "/shop", "hook_context", "functionResponse") {
			if strings.Contains(text, not) {
				t.Errorf("%s: the copy has %q:\n%s", c.name, not, text)
			}
		}
		if info, _ := os.Stat(got.Path); info.Mode().Perm() != 0o600 || got.Session != "" || got.Messages != c.messages {
			t.Errorf("%s: the copy is %+v", c.name, got)
		}
	}
}

func TestAChatThatIsNotKnownIsNotCopied(t *testing.T) {
	for name, lines := range map[string][]string{
		"type":         append(chat[:3:3], `{"id":"z","timestamp":"2026-11-26T02:00:02.000Z","type":"robot","content":"x"}`),
		"form":         append(chat[:3:3], `{"of":"the future"}`),
		"no time":      append(chat[:3:3], `{"id":"z","type":"user","content":"x"}`),
		"not JSON":     append(chat[:3:3], `{"id":`),
		"no beginning": chat[1:],
		"a subagent's": append([]string{strings.Replace(chat[0], `"main"`, `"subagent"`, 1)}, chat[1:]...),
		"nothing":      nil,
	} {
		p, place, program := gemini(t, "--session-file", lines...)
		_, err := Gemini(t.Context(), p, place, program)
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, place, program := gemini(t, "--resume", chat...)
	var unknown *UnknownError
	if _, err := Gemini(t.Context(), p, place, program); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "--session-file") {
		t.Errorf("an older version: %v", err)
	}
	p.At = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := Gemini(t.Context(), p, place, program); !errors.Is(err, ErrEmpty) {
		t.Errorf("before the first message: %v", err)
	}
	if left, _ := filepath.Glob(place.To + "*"); len(left) != 0 {
		t.Errorf("there is %q", left)
	}
}

// A step of opencode is in the copy if all of it had ended.
func TestStepsOfOpenCodeAreWhole(t *testing.T) {
	step := func(id, role string, created, completed float64, calls ...string) (e openEntry) {
		text := fmt.Sprintf(`{"info":{"id":%q,"role":%q,"time":{"created":%g,"completed":%g}},"parts":[{"type":"text"}`, id, role, created, completed)
		for _, c := range calls {
			call, end, _ := strings.Cut(c, " ")
			status := "completed"
			if end == "0" {
				status = "running"
			}
			text += fmt.Sprintf(`,{"type":"tool","callID":%q,"state":{"status":%q,"time":{"start":1,"end":%s}}}`, call, status, end)
		}
		if err := json.Unmarshal([]byte(text+"]}"), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	all := []openEntry{
		step("msg_1", "user", 1000, 0),
		step("msg_2", "assistant", 1100, 1500, "a 1200", "b 1400"),
		step("msg_3", "assistant", 1600, 1800, "c 1700"),
		step("msg_4", "user", 2000, 0),
		step("msg_5", "assistant", 2100, 0, "d 0"),
	}
	for name, c := range map[string]struct {
		p    Point
		at   int64
		end  int
		note bool
	}{
		"the last call of a step":   {Point{Call: "b"}, 1400, 2, false},
		"another call of it":        {Point{Call: "a"}, 1200, 1, true},
		"a call that runs":          {Point{Call: "d"}, 2200, 4, true},
		"the prompt":                {Point{Turn: "msg_1", Asking: true}, 1000, 0, false},
		"the second prompt":         {Point{Turn: "msg_4", Asking: true}, 2000, 3, false},
		"the end of an answer":      {Point{Turn: "msg_1", Ended: true}, 1900, 3, false},
		"an answer that runs":       {Point{Turn: "msg_4", Ended: true}, 2300, 4, true},
		"a time in a step":          {Point{}, 1300, 1, true},
		"a time between steps":      {Point{}, 1550, 2, false},
		"a call of another session": {Point{Call: "z"}, 1650, 2, true},
		"before all":                {Point{}, 1, 0, false},
	} {
		c.p.At = time.UnixMilli(c.at)
		if end, note := endOfOpen(all, c.p); end != c.end || (note != "") != c.note {
			t.Errorf("%s: %d messages, %q", name, end, note)
		}
	}
}
