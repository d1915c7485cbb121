package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/protocol"
)

// probeTimeout bounds a request to a running program. startTimeout bounds a check that starts programs, which
// can take seconds each on a busy machine.
const (
	probeTimeout = 5 * time.Second
	startTimeout = 30 * time.Second
)

// checkDaemon checks that a running daemon responds, and returns false when it does not. A daemon that is not
// running is fine, because commands start it when needed.
func checkDaemon(ctx context.Context, h home.Home) (installer.Check, bool) {
	c := installer.Check{Link: "daemon", State: installer.Broken}
	running, err := h.Running()
	if err != nil {
		c.Detail, c.Fix = err.Error(), "make "+h.Run+" a directory that you can read and write"
		return c, false
	}
	if !running {
		return c, true
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	asked := clientOf(h)
	asked.Dial = h.DialRunning
	err = asked.Status(ctx, nil)
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return c, true // the other checks report other problems
	}
	pid := h.PID()
	c.Detail = fmt.Sprintf("%s did not respond within %s", home.Named(pid), probeTimeout)
	end := home.EndByHand(pid)
	c.Fix = strings.ToLower(end[:1]) + end[1:] + ". The next command starts a new daemon. " + h.Log() + " may show the cause"
	return c, false
}

// peer talks to a relay process as the extension does through a browser.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *wire.Reader
	to  *wire.Writer
	// said is the relay's standard error. Read it only after the process has exited.
	said bytes.Buffer
}

// startRelay starts a program as a browser does and adds env to its environment.
func startRelay(ctx context.Context, program string, env ...string) (*peer, error) {
	p := &peer{cmd: exec.CommandContext(ctx, program, installer.Origin)}
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = append(os.Environ(), env...), &p.said, probeTimeout
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out, p.to = in, wire.NewReader(out, protocol.MaxToExtension), wire.NewWriter(in, protocol.MaxToHost)
	return p, p.cmd.Start()
}

func (p *peer) send(msgs ...any) error {
	for _, m := range msgs {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if err := p.to.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// fromHost is any message from the host.
type fromHost struct {
	Type  string          `json:"type"`
	Host  string          `json:"host"`
	Next  int64           `json:"next"`
	ID    int64           `json:"id"`
	Error *protocol.Error `json:"error"`
}

// receive reads up to a message of type kind, and answers the host's requests before it.
func (p *peer) receive(kind string) (*fromHost, error) {
	for {
		frame, err := p.out.Read()
		if err != nil {
			return nil, err
		}
		var m fromHost
		if err := json.Unmarshal(frame, &m); err != nil {
			return nil, err
		}
		switch m.Type {
		case kind:
			return &m, nil
		case protocol.TypeError:
			return nil, m.Error
		case protocol.TypeRequest:
			if err := p.send(protocol.Response{Type: protocol.TypeResponse, ID: m.ID, Result: protocol.SyncResult{}}); err != nil {
				return nil, err
			}
		}
	}
}

// close ends the relay as a browser does. It prefers the relay's own message as the error.
func (p *peer) close(err error) error {
	_ = p.in.Close()
	werr := p.cmd.Wait()
	if line := strings.TrimPrefix(strings.TrimSpace(p.said.String()), "tidemark: "); err != nil && line != "" {
		return errors.New(line)
	}
	if err != nil {
		return errors.Join(err, werr)
	}
	return nil
}

func probeHello() protocol.Hello {
	return protocol.Hello{
		Type: protocol.TypeHello, Protocol: protocol.Version, Extension: version, Browser: "tidemark doctor",
		Instance: "doctor", Stream: "doctor", First: 1,
	}
}

// checkRelay starts a program as a browser does and exchanges a hello with the daemon through it.
func checkRelay(ctx context.Context, program string) installer.Check {
	c := installer.Check{Link: "relay", Subject: program, State: installer.Broken, Fix: "run `tidemark install` to register this program. The daemon's log may show the cause"}
	began := time.Now()
	host, err := probe(ctx, program)
	switch {
	case err != nil:
		c.Detail = fmt.Sprintf("%s cannot reach the daemon: %v", program, err)
	case host != version:
		c.Detail = fmt.Sprintf("%s reaches daemon version %s, but this program has version %s", program, host, version)
		c.Fix = "run `tidemark stop`, then `tidemark install` with the newer version"
	default:
		c.State, c.Fix = installer.OK, ""
		c.Detail = fmt.Sprintf("%d ms to the daemon (%s) through %s", time.Since(began).Milliseconds(), host, program)
	}
	return c
}

// A daemon that was just killed can still accept a connection and reset it. Like the extension, the check then starts another
// relay, which starts the next daemon.
const (
	probeTries = 3
	probeAgain = 100 * time.Millisecond
)

// probe returns the version of the daemon that a relay reaches.
func probe(ctx context.Context, program string) (host string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if host, err = probeOnce(ctx, program); err == nil || try == probeTries {
			return host, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(probeAgain):
		}
	}
}

// probeOnce is [probe] with one relay.
func probeOnce(ctx context.Context, program string) (string, error) {
	p, err := startRelay(ctx, program)
	if err != nil {
		return "", err
	}
	hello := probeHello()
	hello.Probe = true
	var welcome *fromHost
	if err = p.send(hello); err == nil {
		welcome, err = p.receive(protocol.TypeWelcome)
	}
	if err := p.close(err); err != nil {
		return "", err
	}
	return welcome.Host, nil
}

// checkEvent sends a test event end to end: from a relay through a daemon to an agent.
func checkEvent(ctx context.Context, program string) installer.Check {
	began := time.Now()
	if err := sendEvent(ctx, program); err != nil {
		return installer.Check{
			Link: "test event", Subject: program, State: installer.Broken, Detail: "did not reach the agent: " + err.Error(),
			Fix: "reinstall Tidemark. If that does not help, report a bug",
		}
	}
	return installer.Check{
		Link: "test event", Subject: program, State: installer.OK,
		Detail: fmt.Sprintf("%d ms from a relay to an agent", time.Since(began).Milliseconds()),
	}
}

// sendEvent sends a console error through a relay and a daemon in a temporary home, so that no agent receives
// it, and looks for it as an agent would.
func sendEvent(ctx context.Context, program string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "tmd")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env := home.Env + "=" + dir
	p, err := startRelay(ctx, program, env)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
		defer cancel()
		stop := exec.CommandContext(ctx, program, "stop")
		stop.Env = append(os.Environ(), env)
		err = errors.Join(err, stop.Run())
	}()
	text := "tidemark doctor " + rand.Text()
	const tab, url = 1, "http://localhost/"
	event := protocol.ConsoleEvent{
		EventHead: protocol.EventHead{Kind: protocol.KindConsole, At: time.Now().UnixMilli(), Tab: tab},
		Level:     "error", Via: "console", Text: text, URL: url,
	}
	err = p.send(probeHello())
	if err == nil {
		_, err = p.receive(protocol.TypeWelcome)
	}
	if err == nil {
		err = p.send(
			protocol.Tabs{Type: protocol.TypeTabs, Tabs: []protocol.Tab{{ID: tab, URL: url, Title: "doctor", Watched: true, Capture: "debugger"}}},
			protocol.Events{Type: protocol.TypeEvents, Stream: "doctor", First: 1, Events: []protocol.Event{event}},
		)
	}
	if err == nil {
		_, err = p.receive(protocol.TypeAck) // the daemon has the event
	}
	if err := p.close(err); err != nil {
		return err
	}
	return asAgent(ctx, installer.Start{Command: program, Args: []string{"mcp"}}, func(s *mcp.ClientSession) error {
		answer, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "get_browser_logs"})
		if err != nil {
			return err
		}
		data, err := json.Marshal(answer.Content)
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte(text)) {
			return errors.New("the agent did not receive it")
		}
		return nil
	}, env)
}

// checkMCP starts an MCP server as agents start it and lists its tools.
func checkMCP(ctx context.Context, start installer.Start) installer.Check {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	line := strings.Join(append([]string{start.Command}, start.Args...), " ")
	tools, began := 0, time.Now()
	err := asAgent(ctx, start, func(s *mcp.ClientSession) error {
		list, err := s.ListTools(ctx, nil)
		if err == nil {
			tools = len(list.Tools)
		}
		return err
	})
	if err != nil {
		return installer.Check{
			Link: "mcp", Subject: line, State: installer.Broken, Detail: fmt.Sprintf("`%s` does not work as an MCP server: %v", line, err),
			Fix: "run it in a terminal to see its error, or run `tidemark install` to register this program",
		}
	}
	return installer.Check{Link: "mcp", Subject: line, State: installer.OK, Detail: fmt.Sprintf("%d tools in %d ms, from `%s`", tools, time.Since(began).Milliseconds(), line)}
}

// asAgent starts an MCP server and talks to it as an agent.
func asAgent(ctx context.Context, start installer.Start, talk func(*mcp.ClientSession) error, env ...string) error {
	cmd := exec.CommandContext(ctx, start.Command, start.Args...)
	cmd.Env = append(os.Environ(), env...)
	if start.Home != "" {
		cmd.Env = append(cmd.Env, home.Env+"="+start.Home)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	c := mcp.NewClient(&mcp.Implementation{Name: "tidemark doctor", Version: version}, nil)
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: probeTimeout}, nil)
	if err != nil {
		if line := strings.TrimPrefix(strings.TrimSpace(said.String()), "tidemark: "); line != "" {
			return errors.New(line)
		}
		return err
	}
	err = talk(session)
	return errors.Join(err, session.Close())
}
