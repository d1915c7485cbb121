package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/internal/project"
)

func TestAProjectsFileIsReadAgainUntilItCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), project.FileName)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("origins = [\n")
	scope := &projectScope{file: file}
	_, _ = scope.look()
	var connected []string
	toAgent, out := io.Pipe()
	in, fromAgent := io.Pipe()
	b := &bridge{in: in, out: out, look: scope.look, dial: func(context.Context) (net.Conn, error) {
		connected = append(connected, strings.Join(scope.origins, " "))
		ours, theirs := net.Pipe()
		go echo(theirs)
		return ours, nil
	}}
	done := make(chan error, 1)
	go func() { done <- b.run(t.Context()) }()
	answers := bufio.NewReader(toAgent)
	call := func(id int, method string) string {
		t.Helper()
		if _, err := fmt.Fprintf(fromAgent, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q}\n", id, method); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := call(1, "initialize"); !strings.Contains(got, "from the daemon") {
		t.Error(got)
	}
	for _, text := range []string{"origins = [\n", "origins = 7", "origins = ['::']"} {
		write(text)
		if got := call(2, "tools/call"); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, file+":") {
			t.Errorf("%s: %s", text, got)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := call(3, "tools/call"); !strings.Contains(got, `"isError":true`) {
		t.Errorf("the file is gone: %s", got)
	}
	write("origins = ['localhost:5173']\n")
	if got := call(4, "tools/call"); !strings.Contains(got, "from the daemon") {
		t.Error(got)
	}
	write("origins = [\n") // the earlier content still applies
	if got := call(5, "tools/call"); !strings.Contains(got, "from the daemon") {
		t.Error(got)
	}
	_ = fromAgent.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := fmt.Sprintf("%q", connected); got != `["http://unreadable.invalid" "http://localhost:5173"]` {
		t.Error(got)
	}
}

// echo answers every request.
func echo(conn net.Conn) {
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		_, id, _ := strings.Cut(line, `"id":`)
		if _, err := fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"from the daemon\"}\n", id[:1]); err != nil {
			return
		}
	}
}

// TestALineThatIsNotJSONIsAnswered: the connection goes on.
func TestALineThatIsNotJSONIsAnswered(t *testing.T) {
	var out bytes.Buffer
	b := &bridge{in: strings.NewReader("{\"jsonrpc\":\nnot json\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"), out: &out, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go echo(theirs)
		return ours, nil
	}}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.String(), "\n")
	const refused = `{"error":{"code":-32700,"message":"Parse error: the line is not valid JSON"},"id":null,"jsonrpc":"2.0"}`
	if len(got) != 4 || got[0] != refused || got[1] != refused || !strings.Contains(got[2], "from the daemon") {
		t.Errorf("%q", got)
	}
}

// TestAnIDThatHasNoAnswerIsRefused: the daemon would end the connection, or answer under another ID.
func TestAnIDThatHasNoAnswerIsRefused(t *testing.T) {
	for id, valid := range map[string]bool{"1e400": false, "1.5": false, "null": false, "{}": false, "-0": false, "12345678901234567890": false, "0": true, "-7": true, `"a"`: true, "1786000000000": true} {
		var out bytes.Buffer
		b := &bridge{in: strings.NewReader(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"), out: &out, dial: func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go answerPings(theirs)
			return ours, nil
		}}
		if err := b.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(out.String(), "\n")
		if refused := strings.Contains(first, `"code":-32600`); refused == valid || valid && !strings.Contains(first, `"id":`+id) || !strings.Contains(rest, `"id":1,`) {
			t.Errorf("%s: %q", id, out.String())
		}
	}
}

// TestALineThatIsNoRequestIsRefused: the connection to the daemon stays.
func TestALineThatIsNoRequestIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":1,"method":"ping"}`:            `"id":1,`,
		`{"jsonrpc":"2.0","id":1,"method":5}`: "are texts",
		`{"jsonrpc":"1.0","method":"ping"}`:   `"id":null`,
		`[1]`:                                 "an object",
		"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                                                   "-32700",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}": "1000 deep",
	} {
		var out bytes.Buffer
		b := &bridge{in: strings.NewReader(line + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"), out: &out, dial: func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go answerPings(theirs)
			return ours, nil
		}}
		if err := b.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(out.String(), "\n")
		if !strings.Contains(first, `"code":-32`) || !strings.Contains(first, want) || !strings.Contains(rest, `"id":2,`) {
			t.Errorf("%.60s: %q, want %s", line, out.String(), want)
		}
	}
}

// answerPings answers requests under their IDs.
func answerPings(conn net.Conn) {
	for line := range lines(context.Background(), conn, 1<<20) {
		var m message
		if json.Unmarshal(line, &m) != nil {
			return
		}
		if _, err := fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", m.ID); err != nil {
			return
		}
	}
}

// TestAnEndlessLineIsRefused: its connection stays usable.
func TestAnEndlessLineIsRefused(t *testing.T) {
	var out bytes.Buffer
	b := &bridge{in: io.MultiReader(strings.NewReader(strings.Repeat("x", 100<<20)+"\n"), strings.NewReader("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")), out: &out, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go echo(theirs)
		return ours, nil
	}}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.SplitAfter(out.String(), "\n"); len(got) != 3 || got[0] != mcpserver.TooLong || !strings.Contains(got[1], "from the daemon") {
		t.Errorf("%q", got)
	}
}

// TestACancelledRequestIsForgotten: the daemon does not answer it, so the bridge neither waits for it nor repeats it.
func TestACancelledRequestIsForgotten(t *testing.T) {
	const (
		list   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		ping   = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	)
	daemons := 0
	var out bytes.Buffer
	b := &bridge{in: strings.NewReader(list + "\n" + cancel + "\n" + ping + "\n"), out: &out, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		if daemons++; daemons > 1 {
			go echo(theirs)
			return ours, nil
		}
		go func() {
			for read := bufio.NewScanner(theirs); read.Scan() && read.Text() != cancel; {
			}
			_ = theirs.Close()
		}()
		return ours, nil
	}}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != `{"jsonrpc":"2.0","id":2,"result":"from the daemon"}`+"\n" {
		t.Error(got)
	}
}

// TestAConnectionThatBreaksAtOnceIsMadeAgain: a daemon that ends still accepts connections.
func TestAConnectionThatBreaksAtOnceIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for broken, want := range map[string]string{
			"!!+":     "from the daemon",
			"+!!+":    "from the daemon",
			"!+!!+!+": "from the daemon",
			"+!!!":    "cannot reach the Tidemark daemon: io: read/write on closed pipe. Your next call tries again.",
		} {
			var out bytes.Buffer
			daemons, live := 0, net.Conn(nil)
			in, fromAgent := io.Pipe()
			b := &bridge{in: in, out: &out, preamble: func() ([]byte, error) { return []byte("preamble"), nil }, dial: func(context.Context) (net.Conn, error) {
				ours, theirs := net.Pipe()
				dies := broken[daemons] == '!'
				daemons++
				if dies {
					return ours, theirs.Close()
				}
				live = theirs
				go func() {
					if line, err := bufio.NewReader(io.LimitReader(theirs, 9)).ReadString('\n'); err == nil && line == "preamble\n" {
						echo(theirs)
					}
				}()
				return ours, nil
			}}
			done := make(chan error, 1)
			go func() { done <- b.run(t.Context()) }()
			for i := 1; daemons < len(broken); i++ {
				_, _ = fmt.Fprintf(fromAgent, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
				time.Sleep(time.Minute)
				_ = live.Close()
				time.Sleep(time.Minute)
			}
			_ = fromAgent.Close()
			if err := <-done; err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "error") && strings.Contains(want, "from") {
				t.Errorf("%s: %v, %s", broken, err, out.String())
			}
		}
	})
}

// A call that is repeated to the next daemon has the same ID, and each call has one of its own.
func TestARepeatedCallHasItsID(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":7}}}` + "\n"
	heard := make(chan string, 4)
	daemons := 0
	var out bytes.Buffer
	b := &bridge{in: strings.NewReader(fmt.Sprintf(call, 1) + fmt.Sprintf(call, 2)), out: &out, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		first := daemons == 0
		daemons++
		go func() {
			for read := bufio.NewScanner(theirs); read.Scan(); {
				heard <- read.Text()
				if first {
					break
				}
				echo := struct{ ID json.RawMessage }{}
				_ = json.Unmarshal(read.Bytes(), &echo)
				_, _ = fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,"result":1}`+"\n", echo.ID)
			}
			_ = theirs.Close()
		}()
		return ours, nil
	}}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(heard)
	ids := map[string]map[string]bool{}
	for line := range heard {
		var m struct {
			ID     json.RawMessage
			Params struct {
				Meta map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Params.Meta["progressToken"] != 7.0 {
			t.Errorf("%s: %v", line, err)
		}
		id, _ := m.Params.Meta[mcpserver.CallKey].(string)
		if ids[string(m.ID)] == nil {
			ids[string(m.ID)] = map[string]bool{}
		}
		ids[string(m.ID)][id] = true
	}
	if len(ids["1"]) != 1 || len(ids["2"]) != 1 || ids["1"][""] || reflect.DeepEqual(ids["1"], ids["2"]) || daemons != 2 {
		t.Errorf("%d daemons got %v", daemons, ids)
	}
}
