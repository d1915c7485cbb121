package faults

import (
	"bytes"
	native "encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// frame is bytes as a native message.
func frame(text string) []byte {
	return append(native.NativeEndian.AppendUint32(nil, uint32(len(text))), text...)
}

const badHello = `{"type":"hello","protocol":1,"extension":"1","browser":"Bad 1","instance":"bad","session":"s","stream":"bad","first":1}`

func badEvents(first int, events ...string) string {
	return fmt.Sprintf(`{"type":"events","stream":"bad","first":%d,"events":[%s]}`, first, strings.Join(events, ","))
}

func badLog(text string) string {
	return fmt.Sprintf(`{"kind":"console","at":%d,"tab":1,"level":"log","via":"console","text":%q}`, time.Now().UnixMilli(), text)
}

// TestBadInput: each row is a clear error, and the daemon goes on with nothing lost of what it has taken in.
func TestBadInput(t *testing.T) {
	w := e2etest.LoggedWorld(t)
	good := w.NewStream("good", "life", "stream")
	if err := good.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { good.Close() }()
	number := 0
	pid := e2etest.DaemonPID(t, w)
	for _, c := range []struct {
		name  string
		bytes [][]byte
		// code is the error's, "" where there is none to give; words are part of its message.
		code, words string
	}{
		{"no JSON", [][]byte{frame("hello?")}, protocol.CodeMalformed, "not JSON"},
		{"nothing at all", [][]byte{frame("")}, protocol.CodeMalformed, "not JSON"},
		{"no object", [][]byte{frame(`[1,2]`)}, protocol.CodeMalformed, "not a JSON object"},
		{"no type", [][]byte{frame(`{}`)}, protocol.CodeMalformed, "type must be a string"},
		{"a type that is not known", [][]byte{frame(`{"type":"dance"}`)}, protocol.CodeUnknown, `unknown message type "dance"`},
		{"invalid UTF-8", [][]byte{frame(badHello), frame(badEvents(1, `{"kind":"console","at":1,"tab":1,"level":"log","via":"console","text":"`+"\xff\xfe"+`"}`))}, "", ""},
		{"nested a hundred thousand times", [][]byte{frame(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000))}, protocol.CodeMalformed, "not a JSON object"},
		{"nested and never closed", [][]byte{frame(`{"type":"events","events":` + strings.Repeat("[", 100_000))}, protocol.CodeMalformed, "not JSON"},
		{"a length of four gigabytes", [][]byte{{0xff, 0xff, 0xff, 0xff}, []byte("x")}, protocol.CodeTooLarge, "exceeds the limit"},
		{"one byte more than may be", [][]byte{native.NativeEndian.AppendUint32(nil, protocol.MaxToHost+1)}, protocol.CodeTooLarge, "exceeds the limit"},
		{"cut off in the length", [][]byte{{1, 0}}, "", ""},
		{"cut off in the middle", [][]byte{frame(badHello)[:40]}, "", ""},
		{"cut off after a hello", [][]byte{frame(badHello), frame(badEvents(1, badLog("a")))[:50]}, "", ""},
		{"sixty megabytes", [][]byte{frame(badHello), frame(badEvents(1, badLog(strings.Repeat("x", 60<<20))))}, "", ""},
		{"events before hello", [][]byte{frame(badEvents(1, badLog("a")))}, protocol.CodeOutOfOrder, "first message must be hello"},
		{"hello twice", [][]byte{frame(badHello), frame(badHello)}, protocol.CodeOutOfOrder, "already has a hello"},
		{"another version", [][]byte{frame(strings.Replace(badHello, `"protocol":1`, `"protocol":99`, 1))}, protocol.CodeVersion, "update the older"},
		{"a hello without a stream", [][]byte{frame(strings.Replace(badHello, `"stream":"bad",`, "", 1))}, protocol.CodeMalformed, "stream must be a string"},
		{"a number that is text", [][]byte{frame(strings.Replace(badHello, `"first":1`, `"first":"1"`, 1))}, protocol.CodeMalformed, "first must be a whole number"},
		{"a number below zero", [][]byte{frame(strings.Replace(badHello, `"first":1`, `"first":-1`, 1))}, protocol.CodeMalformed, "first must be a whole number"},
		{"a number beyond all", [][]byte{frame(strings.Replace(badHello, `"first":1`, `"first":1e308`, 1))}, protocol.CodeMalformed, "first must be a whole number"},
		{"another stream's events", [][]byte{frame(badHello), frame(strings.Replace(badEvents(1, badLog("a")), `"bad"`, `"other"`, 1))}, protocol.CodeOutOfOrder, "before the hello that starts it"},
		{"an event of no kind", [][]byte{frame(badHello), frame(badEvents(1, `{"at":1,"tab":1}`))}, protocol.CodeMalformed, "kind must be a string"},
		{"an event of a kind that is not known", [][]byte{frame(badHello), frame(badEvents(1, `{"kind":"smell","at":1,"tab":1}`))}, protocol.CodeUnknown, `unknown event kind "smell"`},
		{"an event that is a number", [][]byte{frame(badHello), frame(badEvents(1, `7`))}, protocol.CodeMalformed, "not a JSON object"},
		{"an event without a time", [][]byte{frame(badHello), frame(badEvents(1, `{"kind":"console","tab":1,"level":"log","via":"console","text":"a"}`))}, protocol.CodeMalformed, "at must be"},
		{"a level that there is not", [][]byte{frame(badHello), frame(badEvents(1, strings.Replace(badLog("a"), `"log"`, `"shout"`, 1)))}, protocol.CodeMalformed, "level must be one of"},
		{"a duration beyond all", [][]byte{frame(badHello), frame(badEvents(1, `{"kind":"network","at":1,"tab":1,"id":"a","method":"GET","url":"/","resource":"fetch","status":200,"started":1,"duration":-1}`))}, protocol.CodeMalformed, "duration must be"},
		{"events once more", [][]byte{frame(badHello), frame(badEvents(1, badLog("a"))), frame(badEvents(1, badLog("a"))), frame(badEvents(1, badLog("a"), badLog("b")))}, "", ""},
		{"numbers that are missing", [][]byte{frame(badHello), frame(badEvents(1, badLog("a"))), frame(badEvents(50, badLog("b")))}, "", ""},
		{"a number of long ago", [][]byte{frame(strings.Replace(badHello, `"first":1`, `"first":900`, 1)), frame(badEvents(5, badLog("b")))}, "", ""},
		{"an answer to no question", [][]byte{frame(badHello), frame(`{"type":"response","id":77,"result":{}}`)}, "", ""},
		{"a question that nobody answers", [][]byte{frame(badHello), frame(`{"type":"request","id":1,"method":"dance"}`)}, "", ""},
		{"tabs that are none", [][]byte{frame(badHello), frame(`{"type":"tabs","tabs":[{"id":-5}]}`)}, protocol.CodeMalformed, "id must be a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sendRaw(t, w, c.bytes, c.code != "")
			if c.code != "" && (got.Code != c.code || !strings.Contains(got.Message, c.words)) {
				t.Errorf("%+v, want %s with %q", got, c.code, c.words)
			}
			if c.code == "" && got.Code != "" {
				t.Errorf("refused: %+v", got)
			}
			number++
			good.Push(testbed.Log("log", fmt.Sprintf("event %d", number)))
			if err := good.Send(); err != nil {
				t.Fatal(err)
			}
			if err := good.WaitForAll(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("two connections of one browser, interleaved", func(t *testing.T) {
		a := w.NewStream("twice", "life", "one")
		b := w.NewStream("twice", "life", "two")
		for _, s := range []*testbed.Stream{a, b} {
			if err := s.Connect(); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
		}
		for range 5 { // the older stream is refused, and says so; the newer goes on
			a.Push(testbed.Log("log", "of the older"))
			_ = a.Send()
			b.Push(testbed.Log("log", "of the newer"))
			if err := b.Send(); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.WaitForAll(); err != nil {
			t.Fatal(err)
		}
		if len(b.Errors()) > 0 {
			t.Errorf("%+v", b.Errors())
		}
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			return len(a.Errors()) > 0 && a.Errors()[0].Code == protocol.CodeOutOfOrder, nil
		}); err != nil {
			t.Errorf("%v: %+v", err, a.Errors())
		}
	})
	t.Run("another extension", func(t *testing.T) {
		for _, origin := range []string{"chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/", "chrome-extension://" + protocol.ExtensionID, "chrome-extension://"} {
			cmd := w.Command(origin)
			cmd.Stdin = bytes.NewReader(frame(badHello))
			out, err := cmd.Output()
			exit, failed := err.(*exec.ExitError) //nolint:errorlint // exec.Cmd returns it as it is
			if !failed || len(out) > 0 || !strings.Contains(string(exit.Stderr), "only Tidemark's own extension") {
				t.Errorf("%s: %q, %v", origin, out, err)
			}
		}
	})
	t.Run("the clock is set back", func(t *testing.T) {
		number++
		e := testbed.Log("error", fmt.Sprintf("event %d", number)).(protocol.ConsoleEvent)
		e.At -= time.Hour.Milliseconds()
		good.Push(e)
		number++
		e = testbed.Log("error", fmt.Sprintf("event %d", number)).(protocol.ConsoleEvent)
		e.At += time.Hour.Milliseconds()
		good.Push(e)
		if err := good.Send(); err != nil {
			t.Fatal(err)
		}
		if err := good.WaitForAll(); err != nil {
			t.Fatal(err)
		}
		r := e2etest.ChangesOf(t, w)
		if n := len(r.Console.NewErrors); n != 2 && r.Console.NewErrors[0].Count != 2 || r.DurationMs < 0 || r.From.After(r.To.Time) {
			t.Errorf("%s", e2etest.Show(r))
		}
		if r := e2etest.ChangesOf(t, w); r.Console.TotalNewEntries != 0 {
			t.Errorf("told twice: %s", e2etest.Show(r))
		}
	})
	held := heldLines(t, w)
	for n := 1; n <= number; n++ {
		if held[n] != 1 {
			t.Errorf("event %d is there %d times", n, held[n])
		}
	}
	if now := e2etest.DaemonPID(t, w); now != pid {
		t.Errorf("the daemon was replaced")
	}
}

// sendRaw sends bytes straight to the daemon and returns the first error that it answers, waiting for one
// where one is wanted; the connection is half closed then, as when a relay is killed.
func sendRaw(t *testing.T, w *testbed.World, parts [][]byte, wanted bool) protocol.Error {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(w.Home, "run", "relay.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(testbed.Patience)); err != nil {
		t.Fatal(err)
	}
	go func() {
		for _, p := range parts {
			if _, err := conn.Write(p); err != nil {
				return // refused before all was sent
			}
		}
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	r := wire.NewReader(conn, protocol.MaxToExtension)
	for {
		data, err := r.Read()
		if err != nil {
			if wanted {
				t.Errorf("the connection ended without a word: %v", err)
			}
			return protocol.Error{}
		}
		var m protocol.ErrorMessage
		if json.Unmarshal(data, &m) == nil && m.Type == protocol.TypeError {
			return m.Error
		}
	}
}
