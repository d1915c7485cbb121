package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// What is new before each call, as the first specification's budgets have it.
const (
	newConsole = 1000
	newNetwork = 100
	newSockets = 500
	newActions = 50
)

// mostOfStub is how long a state check may take, in times of the stub of the same run.
const mostOfStub = 1.4

// latency compares get_changes_since with a stub tool that returns the same bytes, and with the raw
// reads, in turn. The stub is asked first in every other round: whoever comes second finds the client's code and
// the machine's caches warm.
func (r *run) latency() (err error) {
	w, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if ran := w.Run("status"); ran.Code != 0 { // starts the daemon
		return fmt.Errorf("status: %s", ran.Err)
	}
	fake, err := connectFake(filepath.Join(w.Home, "run", "relay.sock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fake.conn.Close()) }()
	agent, err := dialMCP(filepath.Join(w.Home, "run", "mcp.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = agent.Close() }()
	reader, err := dialMCP(filepath.Join(w.Home, "run", "mcp.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	stub, err := startStub(filepath.Join(w.Home, "stub.sock"))
	if err != nil {
		return err
	}
	defer stub.stop()

	rounds, warmUp := r.third(200), 30
	var diffs, stubs, raws []time.Duration
	size, answer := 0, ""
	for i := range rounds + warmUp {
		progress("latency: round %d of %d", i+1, rounds+warmUp)
		if err := fake.fill(); err != nil {
			return err
		}
		var took, tookStub time.Duration
		check := func() (err error) {
			took, err = timed(func() (err error) {
				answer, err = agent.Text("get_changes_since", nil)
				return err
			})
			return err
		}
		repeat := func() (err error) {
			tookStub, err = timed(func() error {
				_, err := stub.agent.Text("stub", nil)
				return err
			})
			return err
		}
		order := []func() error{check, func() error { return stub.set(answer) }, repeat}
		if i%2 == 1 { // by the answer of the round before, which has as many bytes but for the digits of its times
			order = []func() error{repeat, check}
		}
		for _, do := range order {
			if err := do(); err != nil {
				return err
			}
		}
		tookRaw, err := timed(func() error {
			for _, tool := range []string{"get_browser_logs", "get_network_bodies", "get_websocket_events", "get_enhanced_actions"} {
				if _, err := reader.Text(tool, testbed.Raw(map[string]any{"limit": 1000})); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if i >= warmUp {
			diffs, stubs, raws = append(diffs, took), append(stubs, tookStub), append(raws, tookRaw)
			size = len(answer)
		}
	}
	s := r.sheet(fmt.Sprintf("Latency: %d console, %d network, %d WebSocket, %d action entries new; an answer of %d bytes", newConsole, newNetwork, newSockets, newActions, size))
	d50, s50, r50 := quantile(diffs, .5), quantile(stubs, .5), quantile(raws, .5)
	s.figure("get_changes_since, p50 (p95)", ms(d50)+" ("+ms(quantile(diffs, .95))+")")
	s.figure("stub tool, same bytes, p50 (p95)", ms(s50)+" ("+ms(quantile(stubs, .95))+")")
	s.row("get_changes_since / stub, p50", fmt.Sprintf("%.2f times (%s, %s)", float64(d50)/float64(s50), ms(d50), ms(s50)),
		fmt.Sprintf("at most %s times", plain(mostOfStub)), float64(d50) <= mostOfStub*float64(s50))
	s.figure("four raw reads, p50 (p95)", ms(r50)+" ("+ms(quantile(raws, .95))+")")
	s.row("raw reads / get_changes_since", fmt.Sprintf("%.1f times", float64(r50)/float64(d50)), "at least 20 times", r50 >= 20*d50)
	return s.print()
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

func dialMCP(socket string) (*testbed.Agent, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).
		Connect(context.Background(), &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
	if err != nil {
		return nil, err
	}
	return &testbed.Agent{ClientSession: session}, nil
}

// fakeExtension sends events as the extension does, through the relay's socket.
type fakeExtension struct {
	conn net.Conn
	r    *wire.Reader
	w    *wire.Writer
	next int64
}

func connectFake(socket string) (*fakeExtension, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	f := &fakeExtension{conn: conn, r: wire.NewReader(conn, 0), w: wire.NewWriter(conn, protocol.MaxToHost), next: 1}
	hello := protocol.Hello{Type: protocol.TypeHello, Protocol: protocol.Version, Extension: "bench", Browser: "bench", Instance: "bench", Stream: "bench", First: 1}
	tabs := protocol.Tabs{Type: protocol.TypeTabs, Tabs: []protocol.Tab{{ID: 1, URL: benchPage + "/", Watched: true, Capture: "debugger", DOM: true}}}
	return f, errors.Join(f.send(hello), f.send(tabs))
}

func (f *fakeExtension) send(msg any) error {
	data, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	return f.w.Write(data)
}

// fill sends what is to be new, 200 events a frame, and waits until all is acknowledged.
func (f *fakeExtension) fill() error {
	events := round(time.Now(), false)
	for len(events) > 0 {
		n := min(200, len(events))
		if err := f.send(protocol.Events{Type: protocol.TypeEvents, Stream: "bench", First: f.next, Events: events[:n]}); err != nil {
			return err
		}
		events, f.next = events[n:], f.next+int64(n)
	}
	for {
		frame, err := f.r.Read()
		if err != nil {
			return err
		}
		var ack protocol.Ack
		if json.Unmarshal(frame, &ack) == nil && ack.Type == protocol.TypeAck && ack.Next == f.next {
			return nil
		}
	}
}

// The stub is a server of the same make whose only tool returns bytes that it was given.

type stubServer struct {
	agent *testbed.Agent
	file  string
	cmd   *exec.Cmd
}

func startStub(socket string) (*stubServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &stubServer{file: socket + ".answer", cmd: exec.Command(self, "-stub", socket)}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	err = testbed.Eventually(context.Background(), func() (bool, error) {
		s.agent, err = dialMCP(socket)
		return err == nil, err
	})
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// set gives the stub its next answer, before the clock runs.
func (s *stubServer) set(answer string) error {
	if err := os.WriteFile(s.file, []byte(answer), 0o600); err != nil {
		return err
	}
	_, err := s.agent.Text("load", nil)
	return err
}

func (s *stubServer) stop() {
	if s.agent != nil {
		_ = s.agent.Close()
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func serveStub(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	var answer []byte
	server := mcp.NewServer(&mcp.Implementation{Name: "stub", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "load", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var err error
		answer, err = os.ReadFile(socket + ".answer")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}}}, err
	})
	server.AddTool(&mcp.Tool{Name: "stub", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}, StructuredContent: json.RawMessage(answer)}, nil
	})
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		if _, err := server.Connect(context.Background(), &mcp.IOTransport{Reader: conn, Writer: conn}, nil); err != nil {
			return err
		}
	}
}
