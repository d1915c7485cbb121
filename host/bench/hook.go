package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// hookOver is how many times as long as a process that does nothing a hook may take where nothing is watched.
const hookOver = 2

// hookInput is what an agent tells of an edit: it quotes what it edited.
var hookInput = fmt.Sprintf(`{"session_id":"bench","transcript_path":"/t.jsonl","cwd":"/","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/a.js","old_string":%q,"new_string":%q},"tool_response":{"filePath":"/a.js","originalFile":%q}}`,
	strings.Repeat("a", 2000), strings.Repeat("b", 2000), strings.Repeat("line of code\n", 3000))

// hook measures `tidemark hook` from the start of its process to its end, where nothing is watched: with
// no daemon, with one that has no browser, with a browser whose tab is not watched; in turn, beside a
// program that does nothing.
func (r *run) hook() (err error) {
	var worlds [3]*testbed.World
	for i := range worlds {
		w, bad := testbed.New(r.binary)
		if bad != nil {
			return bad
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		worlds[i] = w
		if i == 0 {
			continue
		}
		if ran := w.Run("status"); ran.Code != 0 { // starts the daemon
			return fmt.Errorf("status: %s", ran.Err)
		}
	}
	fake, err := connectFake(filepath.Join(worlds[2].Home, "run", "relay.sock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fake.conn.Close()) }()
	if err := fake.fill(); err != nil { // so that the buffers hold something
		return err
	}
	if err := fake.send(protocol.Tabs{Type: protocol.TypeTabs, Tabs: []protocol.Tab{{ID: 1, URL: benchPage + "/"}}}); err != nil {
		return err
	}

	rounds, warmUp := r.third(300), 10
	var idle []time.Duration
	var hooks [len(worlds)][]time.Duration
	for i := range rounds + warmUp {
		progress("hook: round %d of %d", i+1, rounds+warmUp)
		tookIdle, err := timed(worlds[0].Command("--version").Run)
		if err != nil {
			return err
		}
		for k, w := range worlds {
			took, err := timed(func() error { return silentHook(w.Command("hook")) })
			if err != nil {
				return err
			}
			if i >= warmUp {
				hooks[k] = append(hooks[k], took)
			}
		}
		if i >= warmUp {
			idle = append(idle, tookIdle)
		}
	}
	s := r.sheet("Hook: an edit where nothing is watched, a process a time")
	s.figure("tidemark --version, p50 (p95)", ms(quantile(idle, .5))+" ("+ms(quantile(idle, .95))+")")
	for k, what := range []string{"no daemon", "no browser", "no watched tab"} {
		p95 := quantile(hooks[k], .95)
		s.figure(what+", p50", ms(quantile(hooks[k], .5)))
		s.ratio(what+" / tidemark --version, p95", p95, quantile(idle, .95), hookOver)
	}
	return errors.Join(s.print(), r.hookSent())
}

// silentHook runs a hook that has nothing to say.
func silentHook(cmd *exec.Cmd) error {
	cmd.Stdin = strings.NewReader(hookInput)
	return silent(cmd)
}
