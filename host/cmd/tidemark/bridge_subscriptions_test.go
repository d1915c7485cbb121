package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// TestTheNextDaemonRenewsSubscriptions: an agent's subscriptions survive the daemon, except ended and refused ones.
func TestTheNextDaemonRenewsSubscriptions(t *testing.T) {
	toAgent, out := io.Pipe()
	in, fromAgent := io.Pipe()
	heard := make(chan string, 100) // by the daemons
	var daemon net.Conn
	b := &bridge{in: in, out: out, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		daemon = theirs
		go func() {
			for lines := bufio.NewScanner(theirs); lines.Scan(); {
				heard <- lines.Text()
				_, id, isRequest := strings.Cut(lines.Text(), `"id":`)
				answer := `"result":{}`
				if strings.Contains(lines.Text(), "nowhere") {
					answer = `"error":{"code":-32002,"message":"Resource not found"}`
				}
				if isRequest && !strings.Contains(lines.Text(), "listen") {
					_, _ = fmt.Fprintf(theirs, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", id[:strings.IndexByte(id, ',')], answer)
				}
			}
		}()
		return ours, nil
	}}
	done := make(chan error, 1)
	go func() { done <- b.run(t.Context()) }()
	answers := bufio.NewReader(toAgent)
	read := func() string {
		t.Helper()
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	say := func(line string) {
		t.Helper()
		if _, err := io.WriteString(fromAgent, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	subscribe := func(id int, method, uri string) {
		t.Helper()
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":%q}}`, id, method, uri))
		if got := read(); !strings.Contains(got, fmt.Sprintf(`"id":%d,`, id)) {
			t.Fatal(got)
		}
		<-heard
	}
	listen := `{"jsonrpc":"2.0","id":"listening","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["tidemark://diff/a/now"]}}}`
	subscribe(1, "subscribe", "tidemark://changes")
	subscribe(2, "subscribe", "tidemark://checkpoints")
	subscribe(3, "unsubscribe", "tidemark://checkpoints")
	subscribe(5, "subscribe", "tidemark://nowhere")
	say(listen)
	if got := <-heard; got != listen {
		t.Error(got)
	}
	_ = daemon.Close() // an agent that asks nothing starts no other
	say(`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{}}`)
	var told []string
	for range 3 {
		told = append(told, strings.TrimSpace(read()))
	}
	if want := []string{
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"tidemark://changes"}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listening"},"uri":"tidemark://diff/a/now"}}`,
		`{"jsonrpc":"2.0","id":4,"result":{}}`,
	}; fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("the agent hears\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	for _, want := range []string{`"method":"resources/subscribe","params":{"uri":"tidemark://changes"}`, `"subscriptions/listen"`, `"tools/list"`} {
		if got := <-heard; !strings.Contains(got, want) {
			t.Errorf("the daemon hears %s, want %s", got, want)
		}
	}
	_ = fromAgent.Close() // a long-lived request does not block the end
	if err := <-done; err != nil {
		t.Error(err)
	}
}
