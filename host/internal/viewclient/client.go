// Package viewclient requests from the daemon what a user's program in the terminal shows. It uses the daemon's control
// socket.
//
// It guarantees: the daemon is started when none runs, unless the caller dials; a daemon that does not respond ends the
// call with an error that says how to end the process.
package viewclient

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
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

// Client calls the daemon. It is safe for concurrent use.
type Client struct {
	Home home.Home
	// Name is the name of the client, whose cursor its calls use.
	Name string
	// Origins limit what it sees, to these origins; none: everything.
	Origins []string
	// Shift has the daemon add to their ports what the branch in Dir adds to those of its original.
	Shift bool
	// Project is the path of the project's settings file, "" without one.
	Project string
	// Dir is the absolute path of the directory that the program works in, "" if it works in none.
	Dir string
	// Dial connects to a socket of the daemon. Nil means [home.Home.Dial], which starts the daemon.
	Dial func(ctx context.Context, socket string) (net.Conn, error)
	// Patience is how long the daemon may stay silent. 0 means [silence].
	Patience time.Duration
	// Wording puts an error message of the daemon into the words of the program. Nil leaves it as it is.
	Wording func(string) string
}

// silence is how long a daemon may answer nothing before it counts as frozen.
const silence = 10 * time.Second

// maxLost is how often a request is sent, because the request itself may crash daemons.
const maxLost = 3

// errFrozen ends a call to a daemon that does not respond.
var errFrozen = errors.New("the daemon does not respond")

// ErrInterrupted ends a call that the user interrupted. It is a [context.Canceled].
var ErrInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string { return "interrupted before the daemon answered" }

func (interrupted) Is(err error) bool { return err == context.Canceled }

// watch ends a call when the daemon responds neither to it nor to a probe. It returns when answered is closed.
func (c *Client) watch(ctx context.Context, end context.CancelCauseFunc, answered <-chan struct{}) {
	patience := c.Patience
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
		frozen := !c.Home.Answers(asked) && asked.Err() != nil // an unreachable daemon is just starting
		cancel()
		if frozen {
			end(errFrozen)
			return
		}
	}
}

func (c *Client) http() *http.Client {
	dial := c.Dial
	if dial == nil {
		dial = c.Home.Dial
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, home.ControlSocket) },
	}}
}

func (c *Client) open(ctx context.Context, method, path string, args any) (*http.Response, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	query := url.Values{"client": {c.Name}, "origin": c.Origins, "project": {c.Project}, "dir": {c.Dir}, "call": {rand.Text()}}
	if c.Shift {
		query.Set("shift", "1")
	}
	asked := ctx
	send := func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, "http://tidemark"+path+"?"+query.Encode(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return c.http().Do(req)
	}
	if c.Dial == nil { // a hook has its own time limit
		watched, end := context.WithCancelCause(ctx)
		answered := make(chan struct{})
		defer close(answered)
		go c.watch(watched, end, answered)
		ctx = watched // it stays in use while the answer is read
	}
	resp, err := send()
	for lost := 1; lost < maxLost && err != nil && !errors.Is(err, home.ErrUnreachable) && ctx.Err() == nil; lost++ {
		if lost > 1 { // a daemon that ends still accepts connections, which break at once
			select {
			case <-time.After(home.Dying):
			case <-ctx.Done():
			}
		}
		resp, err = send() // to the next daemon, because this one exited before it answered
	}
	if errors.Is(context.Cause(ctx), errFrozen) {
		if err == nil {
			_ = resp.Body.Close()
		}
		pid := c.Home.PID()
		return nil, fmt.Errorf("%w: %s does not respond. %s. The next command starts a new daemon with all captured data.", home.ErrUnreachable, home.Named(pid), home.EndByHand(pid))
	}
	if err != nil && errors.Is(asked.Err(), context.Canceled) {
		return nil, ErrInterrupted
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
	if c.Wording != nil {
		p.Message = c.Wording(p.Message)
	}
	return nil, &usererr.Error{Kind: p.Code, Message: p.Message}
}

// call sends a request and decodes the answer into out.
func (c *Client) call(ctx context.Context, method, path string, args, out any) error {
	resp, err := c.open(ctx, method, path, args)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ErrInterrupted
	}
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

// stream calls each with every line of a streamed answer.
func (c *Client) stream(ctx context.Context, path string, args any, each func([]byte) error) error {
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
