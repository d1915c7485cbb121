package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// client calls the daemon's control socket and starts the daemon when none runs.
type client struct {
	home home.Home
	// origins is the scope of the project.
	origins []string
	// project is the path of the project's settings file, "" without one.
	project string
	// dial connects to a socket of the daemon. Nil means [home.Home.Dial], which starts the daemon.
	dial func(ctx context.Context, socket string) (net.Conn, error)
	// patience is how long the daemon may stay silent. 0 means [silence].
	patience time.Duration
}

// silence is how long a daemon may answer nothing before it counts as frozen.
const silence = 10 * time.Second

// errFrozen ends a call to a daemon that does not respond.
var errFrozen = errors.New("the daemon does not respond")

// watch ends a call when the daemon responds neither to it nor to a probe. It returns when answered is closed.
func (c *client) watch(ctx context.Context, end context.CancelCauseFunc, answered <-chan struct{}) {
	patience := c.patience
	if patience == 0 {
		patience = silence
	}
	probe := patience * 3 / 10
	tick := time.NewTicker(patience - probe)
	defer tick.Stop()
	for {
		select {
		case <-answered:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, cancel := context.WithTimeout(ctx, probe)
		frozen := !c.home.Answers(asked) && asked.Err() != nil // an unreachable daemon is just starting
		cancel()
		if frozen {
			end(errFrozen)
			return
		}
	}
}

// newClient returns a client for the project in the working directory.
func newClient() (*client, error) {
	home, err := home.Find(version)
	if err != nil {
		return nil, err
	}
	origins, err := projectOrigins()
	if err != nil {
		return nil, err
	}
	return &client{home: home, origins: origins, project: findProject()}, nil
}

func (c *client) http() *http.Client {
	dial := c.dial
	if dial == nil {
		dial = c.home.Dial
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, home.ControlSocket) },
	}}
}

func (c *client) open(ctx context.Context, method, path string, args any) (*http.Response, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	query := url.Values{"client": {"cli"}, "origin": c.origins, "project": {c.project}}
	send := func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, "http://tidemark"+path+"?"+query.Encode(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return c.http().Do(req)
	}
	if c.dial == nil { // a hook has its own time limit
		watched, end := context.WithCancelCause(ctx)
		answered := make(chan struct{})
		defer close(answered)
		go c.watch(watched, end, answered)
		ctx = watched // it stays in use while the answer is read
	}
	resp, err := send()
	if err != nil && !errors.Is(err, home.ErrUnreachable) && ctx.Err() == nil {
		resp, err = send() // to the next daemon, because this one exited before it answered
	}
	if errors.Is(context.Cause(ctx), errFrozen) {
		if err == nil {
			_ = resp.Body.Close()
		}
		pid := c.home.PID()
		if pid == 0 { // the daemon did not record its process ID
			return nil, fmt.Errorf("%w: it does not respond. End the process `tidemark serve`.", home.ErrUnreachable)
		}
		return nil, fmt.Errorf("%w: process %d does not respond. Run `%s`. The next command starts a new daemon with all captured data.", home.ErrUnreachable, pid, home.EndByHand(pid))
	}
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		if errors.Is(err, home.ErrUnreachable) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", home.ErrUnreachable, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	var p api.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		return nil, fmt.Errorf("the daemon answered with status %s", resp.Status)
	}
	return nil, &usererr.Error{Kind: p.Code, Message: inCommands.Replace(p.Message)}
}

// call sends a request and decodes the answer into out. A nil out discards the answer, and a
// *json.RawMessage receives it unchanged.
func (c *client) call(ctx context.Context, method, path string, args, out any) error {
	resp, err := c.open(ctx, method, path, args)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("the daemon's answer was cut off: %w", err)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*out = data
		return nil
	default:
		return json.Unmarshal(data, out)
	}
}

// tool calls a tool.
func (c *client) tool(ctx context.Context, name string, args, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/tools/"+name, args, out)
}

// stream calls each with every line of a streamed answer.
func (c *client) stream(ctx context.Context, path string, args any, each func([]byte) error) error {
	resp, err := c.open(ctx, http.MethodPost, path, args)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	r := bufio.NewReader(resp.Body)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("%w: it exited", home.ErrUnreachable)
		}
		if err := each(bytes.TrimSpace(line)); err != nil {
			return err
		}
	}
}
