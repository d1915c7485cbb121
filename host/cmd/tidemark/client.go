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

// client calls the daemon's control socket, and starts the daemon when there is none.
type client struct {
	home home.Home
	// origins are the scope of the project.
	origins []string
	// project is the path of its settings file, "" for none.
	project string
	// dial connects to a socket of the daemon; nil: [daemon.Home.Dial], which starts one.
	dial func(ctx context.Context, socket string) (net.Conn, error)
	// patience is how long the daemon may not answer anything; 0: [silence].
	patience time.Duration
}

// silence is how long a daemon may not answer anything at all until it is taken for frozen.
const silence = 10 * time.Second

// errFrozen ends a call to a daemon that answers nothing.
var errFrozen = errors.New("the daemon answers nothing")

// watch ends a call when the daemon answers neither it nor anything else. It looks until answered is closed.
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
		frozen := !c.home.Answers(asked) && asked.Err() != nil // one that cannot be reached is being started
		cancel()
		if frozen {
			end(errFrozen)
			return
		}
	}
}

// newClient is the client of the project in the working directory.
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
	if c.dial == nil { // (a hook has a time of its own)
		watched, end := context.WithCancelCause(ctx)
		answered := make(chan struct{})
		defer close(answered)
		go c.watch(watched, end, answered)
		ctx = watched // which goes on while the answer is read
	}
	resp, err := send()
	if err != nil && !errors.Is(err, home.ErrUnreachable) && ctx.Err() == nil {
		resp, err = send() // to the next daemon: this one was reached, and ended before it answered
	}
	if errors.Is(context.Cause(ctx), errFrozen) {
		if err == nil {
			_ = resp.Body.Close()
		}
		pid := c.home.PID()
		if pid == 0 { // it did not write down which it is
			return nil, fmt.Errorf("%w: it does not answer; end the process `tidemark serve`", home.ErrUnreachable)
		}
		return nil, fmt.Errorf("%w: it (process %d) does not answer; %s, and the next command starts another, with all that was captured", home.ErrUnreachable, pid, home.EndByHand(pid))
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
		return nil, fmt.Errorf("the daemon answered %s", resp.Status)
	}
	return nil, &usererr.Error{Kind: p.Code, Message: p.Message}
}

// call sends a request and decodes its answer into out (nil: it is thrown away; *json.RawMessage: as
// it came).
func (c *client) call(ctx context.Context, method, path string, args, out any) error {
	resp, err := c.open(ctx, method, path, args)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("the daemon's answer broke off: %w", err)
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
			return fmt.Errorf("%w: it has ended", home.ErrUnreachable)
		}
		if err := each(bytes.TrimSpace(line)); err != nil {
			return err
		}
	}
}
