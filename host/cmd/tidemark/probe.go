package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// probeTimeout bounds a question to what runs already, startTimeout a check that starts programs: on a busy
// machine the start of each may take seconds.
const (
	probeTimeout = 5 * time.Second
	startTimeout = 30 * time.Second
)

// checkDaemon asks the daemon that runs whether it is there; false when it does not answer. That none runs is
// nothing to tell: what needs one starts it.
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
	asked := &client{home: h, dial: h.DialRunning}
	err = asked.call(ctx, http.MethodGet, "/v1/status", nil, nil)
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return c, true // what else may be wrong with it, the other checks tell
	}
	pid := h.PID()
	c.Detail = fmt.Sprintf("the daemon (process %d) runs and does not answer within %s", pid, probeTimeout)
	c.Fix = home.EndByHand(pid) + "; what needs it starts another. " + h.Log() + " may say more"
	return c, false
}

// peer speaks to a relay process as the extension does through a browser.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *wire.Reader
	to  *wire.Writer
	// said is what the relay complained of; read it when the process has ended.
	said bytes.Buffer
}

// startRelay starts a program as a browser does; env is added to the environment.
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

// fromHost is any message of the host.
type fromHost struct {
	Type  string          `json:"type"`
	Host  string          `json:"host"`
	Next  int64           `json:"next"`
	ID    int64           `json:"id"`
	Error *protocol.Error `json:"error"`
}

// receive reads up to a message of a type, and answers what the host asks on the way.
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

// close ends the relay as a browser does. What the relay itself said explains an error better.
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

// checkRelay starts a program as a browser does, and has it carry a hello to the daemon and its answer
// back.
func checkRelay(ctx context.Context, program string) installer.Check {
	c := installer.Check{Link: "relay", Subject: program, State: installer.Broken, Fix: "run `tidemark install` to register this program; the daemon's log may say more"}
	began := time.Now()
	host, err := probe(ctx, program)
	switch {
	case err != nil:
		c.Detail = fmt.Sprintf("%s does not reach the daemon: %v", program, err)
	case host != version:
		c.Detail = fmt.Sprintf("%s reaches a daemon of version %s; this program is %s", program, host, version)
		c.Fix = "`tidemark stop`, then `tidemark install` with the newer of the two"
	default:
		c.State, c.Fix = installer.OK, ""
		c.Detail = fmt.Sprintf("%d ms to the daemon (%s), through %s", time.Since(began).Milliseconds(), host, program)
	}
	return c
}

// probe is the version of the daemon that a relay reaches.
func probe(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
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

// checkEvent has a test event make the whole way: in at a relay, through a daemon, out at an agent's end.
func checkEvent(ctx context.Context, program string) installer.Check {
	began := time.Now()
	if err := sendEvent(ctx, program); err != nil {
		return installer.Check{
			Link: "test event", Subject: program, State: installer.Broken, Detail: "did not reach the agent's end: " + err.Error(),
			Fix: "install Tidemark anew; if that does not help, report this",
		}
	}
	return installer.Check{
		Link: "test event", Subject: program, State: installer.OK,
		Detail: fmt.Sprintf("%d ms from a relay's end to an agent's", time.Since(began).Milliseconds()),
	}
}

// sendEvent sends a console error through a relay and a daemon of their own home, so that nobody is told of
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
		_, err = p.receive(protocol.TypeAck) // it is in the daemon
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
			return errors.New("the agent was not told of it")
		}
		return nil
	}, env)
}

// checkMCP starts what agents start, and asks for its tools.
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
			Link: "mcp", Subject: line, State: installer.Broken, Detail: fmt.Sprintf("`%s` does not serve an agent: %v", line, err),
			Fix: "run it in a terminal to see what it says; `tidemark install` registers this program",
		}
	}
	return installer.Check{Link: "mcp", Subject: line, State: installer.OK, Detail: fmt.Sprintf("%d tools in %d ms, from `%s`", tools, time.Since(began).Milliseconds(), line)}
}

// asAgent starts an MCP server and speaks to it as an agent.
func asAgent(ctx context.Context, start installer.Start, talk func(*mcp.ClientSession) error, env ...string) error {
	cmd := exec.CommandContext(ctx, start.Command, start.Args...)
	cmd.Env = append(os.Environ(), env...)
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
