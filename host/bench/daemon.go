package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// Targets of the daemon.
const (
	ingestTarget = 1 // of what a bare copy takes in
	frameEvents  = 200
	memoryTarget = 64 << 20
	startTarget  = 4    // times tidemark --version, with an empty home
	fullTarget   = 4    // times the start with an empty home
	idleTarget   = .002 // of a core
	idleFor      = 20 * time.Second
	behind       = 1_000_000 // events before the comparison
	slowdown     = 1.2
)

// daemon measures the daemon as a process: what it takes in, journal included, its memory, its start, its
// idleness, and what a million events behind it cost.
func (r *run) daemon() (err error) {
	w, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	s := r.sheet("The daemon")
	var bare []time.Duration
	for range max(5, r.third(15)) {
		took, err := timed(w.Command("--version").Run)
		if err != nil {
			return err
		}
		bare = append(bare, took)
	}
	empty, err := r.starts(w)
	if err != nil {
		return err
	}
	s.ratio("start to first answer with an empty home / tidemark --version", empty, quantile(bare, .5), startTarget)
	copied, err := copyRate(w.Home, r.third(behind/2))
	if err != nil {
		return err
	}
	f, err := newFeeder(w)
	if err != nil {
		return err
	}
	defer func() { f.close() }()

	// What the daemon can take in, and what it takes to compare with that much behind it.
	before, err := cpuTime(f.pid)
	if err != nil {
		return err
	}
	rate, err := f.flood(r.third(behind))
	if err != nil {
		return err
	}
	after, err := cpuTime(f.pid)
	if err != nil {
		return err
	}
	s.figure(fmt.Sprintf("console events taken in and on disk, %d in frames of %d", r.third(behind), frameEvents), fmt.Sprintf("%.0f a second", rate))
	s.row("the same / a bare copy", fmt.Sprintf("%.2f times (%.0f a second)", rate/copied, copied), fmt.Sprintf("at least %s times", plain(ingestTarget)), rate >= ingestTarget*copied)
	s.figure("the same, processor time of the daemon", fmt.Sprintf("%.2f µs an event", float64((after-before).Microseconds())/float64(r.third(behind))))
	far, near, err := compareInTurn(r, f, r.third(90))
	if err != nil {
		return err
	}
	s.figure("get_changes_since over 100 new, nothing behind", ms(quantile(near, .5)))
	ratio := pairwise(far, near)
	s.row(fmt.Sprintf("the same, %d events behind / nothing behind", r.third(behind)), fmt.Sprintf("%.2f times (%s)", ratio, ms(quantile(far, .5))), fmt.Sprintf("at most %.1f times", slowdown), ratio <= slowdown)

	// Full buffers of every kind.
	if err := f.fill(); err != nil {
		return err
	}
	if runtime.GOOS == "linux" {
		memory, err := anonymous(f.pid)
		if err != nil {
			return err
		}
		s.row("anonymous memory, all buffers full", fmt.Sprintf("%.1f MiB", float64(memory)/(1<<20)), fmt.Sprintf("under %d MiB", memoryTarget>>20), memory < memoryTarget)
		before, err := cpuTime(f.pid)
		if err != nil {
			return err
		}
		wait := idleFor
		if r.quick {
			wait /= 3
		}
		time.Sleep(wait)
		after, err := cpuTime(f.pid)
		if err != nil {
			return err
		}
		share := (after - before).Seconds() / wait.Seconds()
		s.row("idle, with a browser connected", fmt.Sprintf("%.3f %% of a core", share*100), fmt.Sprintf("under %.1f %%", idleTarget*100), share < idleTarget)
	}
	f.close()
	if size, err := os.Stat(filepath.Join(w.Home, "journal.db")); err == nil {
		s.figure("the journal on disk", fmt.Sprintf("%.1f MiB", float64(size.Size())/(1<<20)))
	}
	full, err := r.starts(w)
	if err != nil {
		return err
	}
	s.ratio("start to first answer with full buffers / with an empty home", full, empty, fullTarget)
	return s.print()
}

// starts is the middle time from the daemon's start to its first answer.
func (r *run) starts(w *testbed.World) (time.Duration, error) {
	var list []time.Duration
	for range max(3, r.third(10)) {
		if ran := w.Run("stop"); ran.Code != 0 {
			return 0, errors.New(ran.Err)
		}
		began := time.Now()
		cmd := w.Command("serve")
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		client := controlOf(w)
		for {
			resp, err := client.Get("http://tidemark/v1/status")
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil {
				break
			}
			if time.Since(began) > testbed.Patience {
				return 0, err
			}
			time.Sleep(time.Millisecond)
		}
		list = append(list, time.Since(began))
		if ran := w.Run("stop"); ran.Code != 0 {
			return 0, errors.New(ran.Err)
		}
		if err := cmd.Wait(); err != nil {
			return 0, err
		}
	}
	return quantile(list, .5), nil
}

// copyRate is how many of the events of a flood a bare copy takes in, in a second.
func copyRate(dir string, n int) (rate float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	socket := filepath.Join(dir, "copy.sock")
	f := &feeder{cmd: exec.Command(self, "-copy", socket), acks: make(chan int64, 1024), next: 1}
	f.cmd.Stderr = os.Stderr
	if err := f.cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		if f.conn != nil {
			_ = f.conn.Close()
		}
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
	}()
	if err := f.dial(socket); err != nil {
		return 0, err
	}
	return f.flood(n)
}

// controlOf is a client of a world's control socket.
func controlOf(w *testbed.World) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(w.Home, "run", "control.sock"))
	}}}
}

// feeder is an extension that sends as fast as the daemon acknowledges, straight into its socket.
type feeder struct {
	w     *testbed.World
	cmd   *exec.Cmd
	pid   int
	conn  net.Conn
	out   *wire.Writer
	acks  chan int64
	next  int64
	round int
}

func newFeeder(w *testbed.World) (*feeder, error) {
	f := &feeder{w: w, cmd: w.Command("serve"), acks: make(chan int64, 1024), next: 1}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	f.pid = f.cmd.Process.Pid
	if err := f.dial(filepath.Join(w.Home, "run", "relay.sock")); err != nil {
		return nil, errors.Join(err, f.cmd.Process.Kill())
	}
	if err := f.send(protocol.Hello{
		Type: protocol.TypeHello, Protocol: protocol.Version, Extension: "1", Browser: "Bench 1", Instance: "bench", Session: "bench", Stream: feederStream, First: 1,
	}); err != nil {
		return nil, err
	}
	return f, f.send(protocol.Tabs{Type: protocol.TypeTabs, Tabs: []protocol.Tab{{ID: 1, URL: benchPage + "/", Watched: true, Capture: "debugger", DOM: true}}})
}

// dial connects to what takes the events, as soon as it listens.
func (f *feeder) dial(socket string) error {
	err := testbed.Eventually(context.Background(), func() (ok bool, err error) {
		f.conn, err = net.Dial("unix", socket)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	f.out = wire.NewWriter(f.conn, protocol.MaxToHost)
	go f.read() // ends with the connection
	return nil
}

func (f *feeder) close() {
	if f.conn == nil {
		return
	}
	_ = f.conn.Close()
	f.conn = nil
	_ = f.w.Run("stop")
	_ = f.cmd.Wait()
}

func (f *feeder) send(msg any) error {
	data, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	return f.out.Write(data)
}

func (f *feeder) read() {
	r := wire.NewReader(f.conn, protocol.MaxToExtension)
	defer close(f.acks)
	for {
		frame, err := r.Read()
		if err != nil {
			return
		}
		var msg struct {
			Type string `json:"type"`
			ID   int64  `json:"id"`
			Next int64  `json:"next"`
		}
		if json.Unmarshal(frame, &msg) != nil {
			continue
		}
		switch msg.Type {
		case protocol.TypeAck:
			f.acks <- msg.Next
		case protocol.TypeRequest: // for a source map, of which this page has none
			answer := protocol.Response{Type: protocol.TypeResponse, ID: msg.ID, Error: &protocol.Error{Code: protocol.CodeUnavailable, Message: "there is none"}}
			if f.send(answer) != nil {
				return
			}
		}
	}
}

// give sends events that are encoded already, with commas between them, and counts them.
func (f *feeder) give(events []byte, n int) error {
	frame := make([]byte, 0, len(events)+128)
	frame = fmt.Appendf(frame, `{"type":"events","stream":%q,"first":%d,"events":[`, feederStream, f.next)
	frame = append(append(frame, events...), "]}"...)
	f.next += int64(n)
	return f.out.Write(frame)
}

const feederStream = "bench"

// settle waits until everything is acknowledged.
func (f *feeder) settle() error {
	patience := time.NewTimer(testbed.Patience)
	defer patience.Stop()
	for {
		select {
		case next, ok := <-f.acks:
			if !ok {
				return io.ErrUnexpectedEOF
			}
			if next >= f.next {
				return nil
			}
			patience.Reset(testbed.Patience)
		case <-patience.C:
			return fmt.Errorf("nothing was acknowledged within %s", testbed.Patience)
		}
	}
}

// joined encodes events with commas between them.
func joined(events []protocol.Event) ([]byte, error) {
	var b bytes.Buffer
	for i, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(data)
	}
	return b.Bytes(), nil
}

// flood sends console events as fast as the daemon takes them, and returns how many a second were on disk
// and acknowledged.
func (f *feeder) flood(n int) (float64, error) {
	var frames [][]byte // made before: encoding is not the daemon's work
	for i := range 50 {
		var events []protocol.Event
		for j := range frameEvents {
			events = append(events, protocol.ConsoleEvent{
				EventHead: protocol.EventHead{Kind: protocol.KindConsole, At: time.Now().UnixMilli(), Tab: 1},
				Level:     "log", Via: "console", Text: fmt.Sprintf("row %d of table %d is %x", j, i, i*j*7919), URL: benchPage + "/src/table.ts", Line: 40 + j, Column: 9,
			})
		}
		frame, err := joined(events)
		if err != nil {
			return 0, err
		}
		frames = append(frames, frame)
	}
	began := time.Now()
	for i := range n / frameEvents {
		if err := f.give(frames[i%len(frames)], frameEvents); err != nil {
			return 0, err
		}
	}
	if err := f.settle(); err != nil {
		return 0, err
	}
	return float64(n/frameEvents*frameEvents) / time.Since(began).Seconds(), nil
}

// comparer asks one daemon for what changed, over its control socket.
type comparer struct {
	*feeder
	client *http.Client
}

// newComparer makes a comparer that has been told what was there before.
func newComparer(f *feeder) (*comparer, error) {
	c := &comparer{f, controlOf(f.w)}
	c.client.Transport.(*http.Transport).DisableKeepAlives = false
	_, err := c.ask()
	return c, err
}

func (c *comparer) close() { c.client.CloseIdleConnections() }

func (c *comparer) ask() (time.Duration, error) {
	began := time.Now()
	resp, err := c.client.Post("http://tidemark/v1/tools/get_changes_since?client=bench", "application/json", strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return time.Since(began), err
}

// compare is the time of get_changes_since over 100 new events.
func (c *comparer) compare() (time.Duration, error) {
	c.round++
	events := round(time.Now(), false)
	few, err := joined(append(events[:60:60], events[len(events)-40:]...))
	if err != nil {
		return 0, err
	}
	if err := errors.Join(c.give(few, 100), c.settle()); err != nil {
		return 0, err
	}
	return c.ask()
}

// compareInTurn compares in a daemon with much behind it and in a new one, in turn.
func compareInTurn(r *run, much *feeder, rounds int) (far, near []time.Duration, err error) {
	w, err := testbed.New(r.binary)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	nothing, err := newFeeder(w)
	if err != nil {
		return nil, nil, err
	}
	defer nothing.close()
	var both [2]*comparer
	for i, f := range []*feeder{much, nothing} {
		if both[i], err = newComparer(f); err != nil {
			return nil, nil, err
		}
		defer both[i].close()
	}
	var took [2][]time.Duration
	for i := range rounds {
		for k := range both {
			k ^= i % 2
			t, err := both[k].compare()
			if err != nil {
				return nil, nil, err
			}
			took[k] = append(took[k], t)
		}
	}
	return took[0], took[1], nil
}

// fill sends more of every kind than the buffers hold.
func (f *feeder) fill() error {
	body := strings.Repeat("A kettle of enamelled steel. ", 160)
	for i := range 130 {
		now := time.Now().UnixMilli()
		head := func(kind string) protocol.EventHead { return protocol.EventHead{Kind: kind, At: now, Tab: 1} }
		var events []protocol.Event
		for j := range 50 {
			events = append(events, protocol.NetworkEvent{
				EventHead: head(protocol.KindNetwork), ID: fmt.Sprintf("f%d.%d", i, j), Method: "GET", URL: fmt.Sprintf("%s/api/%s/%d", benchPage, word(j), i),
				Resource: "fetch", Status: 200, Started: now, Duration: 12, Mime: "application/json",
				ResponseHeaders: map[string]string{"content-type": "application/json"}, ResponseBody: fmt.Sprintf(`{"id":%d,"text":%q}`, j, body),
			})
		}
		for j := range 180 {
			events = append(events, protocol.WebSocketEvent{EventHead: head(protocol.KindWebSocket), ID: "w", URL: "ws://localhost:5173/live", Op: "received", Text: fmt.Sprintf(`{"type":"stock","id":%d,"note":%q}`, j, body[:300])})
		}
		for j := range 100 {
			events = append(events, protocol.ConsoleEvent{EventHead: head(protocol.KindConsole), Level: "log", Via: "console", Text: fmt.Sprintf("%d %s", j, body[:400])})
		}
		for j := range 20 {
			events = append(events,
				protocol.ActionEvent{EventHead: head(protocol.KindAction), Type: "click", Target: fmt.Sprintf("button %d of %s", j, body[:200])},
				protocol.ElementEvent{EventHead: head(protocol.KindElement), Op: []string{"appeared", "gone"}[i%2], Document: "d", ID: j, Selector: ".error", Text: body[:200]})
		}
		frame, err := joined(events)
		if err != nil {
			return err
		}
		if err := f.give(frame, len(events)); err != nil {
			return err
		}
	}
	return f.settle()
}

// anonymous is the memory of a process that no file stands behind, in bytes.
func anonymous(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the system does not tell a process's anonymous memory")
}

// cpuTime is what a process has computed so far.
func cpuTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick, err
}
