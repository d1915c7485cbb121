package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// How many times `tidemark --version` may take what `tidemark hook` takes above a program that only sends the same
// bytes, for an event that reports nothing. Both mostly start the same program, so a slower machine slows both.
const (
	hookAbove    = 1.0 // at the median
	hookAboveP95 = 1.5
)

// sentPrompt is the input of a prompt's hook. Its ID has the length of all IDs of prompts, so that a captured request fits any.
func sentPrompt(dir string, n int) string {
	return fmt.Sprintf(`{"session_id":"bench","cwd":%q,"hook_event_name":"UserPromptSubmit","prompt_id":%q,"prompt":"change the color of the button"}`, dir, promptID(n))
}

func promptID(n int) string { return fmt.Sprintf("prompt-%06d", n) }

// hookSent measures the hook of a prompt that a daemon records, in turn with a program that sends the same bytes and with
// `tidemark --version`.
func (r *run) hookSent() (err error) {
	w, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	dir, err := os.MkdirTemp("", "tmb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	project := filepath.Join(dir, "project")
	sender := filepath.Join(dir, "sender")
	if err := os.Mkdir(project, 0o700); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", sender, "./host/bench/sender").CombinedOutput(); err != nil { //nolint:gosec // the benchmark's own
		return fmt.Errorf("cannot build the sender: %w: %s", err, out)
	}
	for _, args := range [][]string{{"project", "allow", "--grant", "conversation", project}, {"session", "start", project}} {
		if ran := w.RunIn(project, args...); ran.Code != 0 {
			return fmt.Errorf("%q: %s", args, ran.Err)
		}
	}
	hook := func(home string, n int) *exec.Cmd {
		cmd := w.Command("hook")
		cmd.Env = append(cmd.Env, "TIDEMARK_HOME="+home)
		cmd.Dir, cmd.Stdin = project, strings.NewReader(sentPrompt(project, n))
		return cmd
	}
	socket := filepath.Join(w.Home, "run", "control.sock")
	request, err := captured(dir, socket, func(home string) *exec.Cmd { return hook(home, 0) })
	if err != nil {
		return err
	}
	if bytes.Count(request, []byte(promptID(0))) == 0 {
		return fmt.Errorf("the hook does not send the prompt: %s", request)
	}

	rounds, warmUp := r.third(300), 10
	var hooks, sends, idle []time.Duration
	for i := range rounds + warmUp {
		progress("hook beside a sender: round %d of %d", i+1, rounds+warmUp)
		one := 2*i + 1
		tookHook, err := timed(func() error { return silent(hook(w.Home, one)) })
		if err != nil {
			return err
		}
		cmd := exec.Command(sender, socket)
		cmd.Stdin = bytes.NewReader(bytes.ReplaceAll(request, []byte(promptID(0)), []byte(promptID(one+1))))
		tookSend, err := timed(func() error { return silent(cmd) })
		if err != nil {
			return err
		}
		tookIdle, err := timed(w.Command("--version").Run)
		if err != nil {
			return err
		}
		if i >= warmUp {
			hooks, sends, idle = append(hooks, tookHook), append(sends, tookSend), append(idle, tookIdle)
		}
	}
	if ran := w.RunIn(project, "recordings", "show", "bench"); strings.Count(ran.Out, "change the color") != 2*(rounds+warmUp)+1 {
		return fmt.Errorf("%d of %d prompts were recorded: %s", strings.Count(ran.Out, "change the color"), 2*(rounds+warmUp)+1, ran.Err)
	}
	s := r.sheet("Hook: a recorded prompt, beside a small program that sends the same bytes")
	for _, q := range []struct {
		what     string
		at, most float64
	}{{"p50", .5, hookAbove}, {"p95", .95, hookAboveP95}} {
		hook, send := quantile(hooks, q.at), quantile(sends, q.at)
		s.figure("tidemark hook (the sender), "+q.what, fmt.Sprintf("%s (%s)", ms(hook), ms(send)))
		s.ratio("tidemark hook above the sender / tidemark --version, "+q.what, hook-send, quantile(idle, q.at), q.most)
	}
	return s.print()
}

// captured runs a hook whose daemon is reached through a socket in between, and returns what it sent.
func captured(dir, socket string, hook func(home string) *exec.Cmd) (sent []byte, err error) {
	home := filepath.Join(dir, "h")
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		return nil, err
	}
	between, err := net.Listen("unix", filepath.Join(home, "run", "control.sock"))
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(home, "run", "control.sock"), 0o600); err != nil {
		return nil, errors.Join(err, between.Close())
	}
	var all bytes.Buffer
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := between.Accept()
			if err != nil {
				return
			}
			daemon, err := net.Dial("unix", socket)
			if err != nil {
				_ = conn.Close()
				return
			}
			var both sync.WaitGroup
			both.Go(func() {
				_, _ = io.Copy(daemon, io.TeeReader(conn, &all))
				_ = daemon.Close()
			})
			_, _ = io.Copy(conn, daemon)
			_ = conn.Close()
			both.Wait()
		}
	})
	err = silent(hook(home))
	err = errors.Join(err, between.Close())
	done.Wait()
	return all.Bytes(), err
}

// silent runs a program that prints nothing.
func silent(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("it printed %s", out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
