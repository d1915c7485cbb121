package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/seed"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer/safefile"
)

const (
	// corruptEnv is how many stores are damaged, and a sixteenth as many homes. Without it, these are 20 and 10.
	corruptEnv = "TIDEMARK_CORRUPT"
	// answersWithin is how long a daemon may take for one answer. A longer one counts as none.
	answersWithin = 10 * time.Second
	// mostMemory bounds the address space of a daemon, in KiB, so that one that grows without end ends itself and not the machine.
	mostMemory = 6 << 20
	page       = 4096
)

// cases returns how many cases a test tries: so many of a large number, or a few.
func cases(few, share int) int {
	n, err := strconv.Atoi(os.Getenv(corruptEnv))
	if err != nil {
		return few
	}
	return n / share
}

// wholeHome is a home with a journal, a timeline with file snapshots, decisions, noise rules and a token. It returns the files by
// their paths in it.
func wholeHome(t *testing.T) (files map[string][]byte, project string) {
	t.Helper()
	w := e2etest.LoggedWorld(t)
	project = t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if r := w.RunIn(project, args...); r.Code != 0 {
			t.Fatalf("%q: %s", args, r.Err)
		}
	}
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	for round := range 20 { // several commits give the trees several pages
		for i := range 100 {
			s.Push(testbed.Log("error", fmt.Sprintf("event %d", round*100+i)))
		}
		if err := s.Send(); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitForAll(); err != nil {
			t.Fatal(err)
		}
	}
	run("checkpoint", "add", "session_start")
	run("project", "allow")
	run("session", "start")
	for i := range 8 {
		if err := os.WriteFile(filepath.Join(project, "file"), fmt.Appendln(nil, "line", i), 0o600); err != nil {
			t.Fatal(err)
		}
		run("timeline", "moment", "add", "--label", fmt.Sprint("moment ", i))
	}
	run("noise", "add", "chatter")
	s.Close()
	run("stop")
	files = map[string][]byte{}
	for path := range e2etest.Written(t, w) {
		name, err := filepath.Rel(w.Home, path)
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"journal.db", "timeline.db"} {
		if len(files[name]) < 8*page {
			t.Fatalf("%s has only %d bytes", name, len(files[name]))
		}
	}
	return files, project
}

// damage changes a file as a failing disk, a killed copy or an attacker may.
func damage(r *rand.Rand, data []byte) ([]byte, string) {
	data = bytes.Clone(data)
	if len(data) == 0 {
		return []byte("x"), "no longer empty"
	}
	pages := max(1, len(data)/page)
	at := r.IntN(pages) * page
	switch kind := r.IntN(7); {
	case kind == 0:
		return data[:r.IntN(len(data))], "cut off"
	case kind == 1 || len(data) < 2*page:
		for range 1 + r.IntN(40) {
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		}
		return data, "bytes changed"
	case kind == 2:
		copy(data[at:at+page], data[r.IntN(pages)*page:])
		return data, "a page in place of another"
	case kind == 3:
		clear(data[at : at+page])
		return data, "a page cleared"
	case kind == 4: // the head of a page: its number, kind, count and overflow
		binary.LittleEndian.PutUint16(data[at+8+2*r.IntN(4):], uint16(r.IntN(300)))
		return data, "the head of a page changed"
	case kind == 5: // the pages that a page refers to, which may be those above it
		for range 1 + r.IntN(4) {
			binary.LittleEndian.PutUint64(data[at+16+8*r.IntN(30):], uint64(r.IntN(pages)))
		}
		return data, "references of a page changed"
	default:
		for range 1 + r.IntN(8) {
			binary.LittleEndian.PutUint32(data[at+16+4*r.IntN(60):], uint32(r.IntN(1<<r.IntN(31))))
		}
		return data, "numbers of a page changed"
	}
}

// corrupted is a daemon of a damaged home.
type corrupted struct {
	t       *testing.T
	home    string
	exited  chan error
	stderr  bytes.Buffer
	client  http.Client
	process *os.Process
}

// serveHome starts a daemon in a home.
func serveHome(t *testing.T, home string) *corrupted {
	t.Helper()
	c := &corrupted{t: t, home: home, exited: make(chan error, 1)}
	c.client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(home, "run", "control.sock"))
	}}
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" serve`, mostMemory), e2etest.Binary())
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+home)
	cmd.Stderr = &c.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process = cmd.Process
	go func() { c.exited <- cmd.Wait() }()
	return c
}

// ask requests a path. Without an answer the text is "", and a daemon that ended says why in err.
func (c *corrupted) ask(method, path, body string) (text string, err error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), answersWithin)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, method, "http://tidemark"+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		resp, err := c.client.Do(req)
		if err == nil {
			data, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			return string(data), err
		}
		select {
		case <-ctx.Done():
			return "", err
		case ended := <-c.exited:
			c.exited <- ended
			return "", fmt.Errorf("the daemon exited: %w", errOr(ended, io.EOF))
		case <-time.After(2 * time.Millisecond): // it has not opened its socket yet
		}
	}
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// end stops the daemon, and returns what it wrote.
func (c *corrupted) end() string {
	_, _ = c.ask(http.MethodPost, "/v1/stop", "")
	select {
	case err := <-c.exited:
		if err != nil {
			c.t.Errorf("the daemon exits with %v", err)
		}
	case <-time.After(2 * answersWithin):
		c.t.Errorf("the daemon does not end")
		_ = c.process.Kill()
		c.t.Log(<-c.exited)
	}
	return c.stderr.String()
}

var crashed = regexp.MustCompile(`(?m)^(?:panic: |fatal error: |goroutine \d+ \[|runtime: |signal: |unexpected fault)`)

// sentence fails unless a text is one line of at most 600 bytes that says something.
func sentence(t *testing.T, what, text string) {
	t.Helper()
	text = strings.TrimSpace(text)
	if text == "" || strings.Contains(text, "\n") || len(text) > 600 {
		t.Errorf("%s is not explained in one sentence: %q", what, text)
	}
}

// held is what a daemon has of a home.
type held struct {
	entries, moments int
	checkpoint       bool
	// notices are all explanations of what is missing.
	notices []string
}

// lookAt starts a daemon in a home, asks for everything and ends it.
func lookAt(t *testing.T, home, project string) (h held) {
	t.Helper()
	c := serveHome(t, home)
	// Failures are answers, too: they say why.
	ask := func(method, path, body string, into any) {
		t.Helper()
		text, err := c.ask(method, path, body)
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, c.stderr.String()[:min(c.stderr.Len(), 2000)])
			return
		}
		var failure struct{ Message, Code string }
		if err := json.Unmarshal([]byte(text), &failure); err == nil && failure.Code != "" {
			h.notices = append(h.notices, failure.Message)
			return
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Errorf("%s answers %s: %v", path, text[:min(len(text), 500)], err)
		}
	}
	var logs struct{ Entries []struct{ Count int } }
	ask(http.MethodPost, "/v1/tools/get_browser_logs", `{"limit":1000}`, &logs)
	h.entries = len(logs.Entries)
	var moments struct{ Moments []struct{ Label string } }
	ask(http.MethodPost, "/v1/tools/timeline_list?dir="+project, `{}`, &moments)
	for _, m := range moments.Moments {
		if strings.HasPrefix(m.Label, "moment ") {
			h.moments++
		}
	}
	var checkpoints struct{ Checkpoints []struct{ Name string } }
	ask(http.MethodPost, "/v1/tools/checkpoint_list", `{}`, &checkpoints)
	for _, named := range checkpoints.Checkpoints {
		h.checkpoint = h.checkpoint || named.Name == "session_start"
	}
	var report struct {
		Coverage struct{ Gaps []struct{ Reason string } }
	}
	ask(http.MethodPost, "/v1/tools/get_changes_since", `{"checkpoint":"start"}`, &report)
	for _, g := range report.Coverage.Gaps {
		h.notices = append(h.notices, "gap: "+g.Reason)
	}
	ask(http.MethodPost, "/v1/tools/moment_add?dir="+project, `{"label":"after"}`, &struct{}{})
	var status struct {
		Journal struct {
			Problem string
			Notices []string
		}
	}
	ask(http.MethodGet, "/v1/status", "", &status)
	h.notices = append(h.notices, status.Journal.Notices...)
	if status.Journal.Problem != "" {
		h.notices = append(h.notices, status.Journal.Problem)
	}
	if out := c.end(); crashed.MatchString(out) {
		t.Errorf("it crashed: %s", out[:min(len(out), 2000)])
	}
	return h
}

// TestCorruptedStoresAreExplained damages the journal and the timeline. The daemon starts, answers everything in time and ends, and
// what is missing is explained.
func TestCorruptedStoresAreExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many daemons")
	}
	whole, project := wholeHome(t)
	seed := seed.For(t)
	home := shortDir(t)
	for file, data := range whole {
		put(t, filepath.Join(home, file), data)
	}
	want := lookAt(t, home, project)
	if want.entries < 1 || want.moments != 8 || !want.checkpoint || len(want.notices) > 0 {
		t.Fatalf("the whole home has %+v", want)
	}
	explained, missing := 0, 0
	for i := range cases(20, 1) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		name := []string{"journal.db", "timeline.db"}[r.IntN(2)]
		broken, how := damage(r, whole[name])
		t.Run(fmt.Sprint(i, " ", name, " ", how), func(t *testing.T) {
			home := shortDir(t)
			for file, data := range whole {
				if file == name {
					data = broken
				}
				put(t, filepath.Join(home, file), data)
			}
			got := lookAt(t, home, project)
			for _, notice := range got.notices {
				sentence(t, "what is damaged", notice)
			}
			lost := got.entries < want.entries || got.moments < want.moments || !got.checkpoint
			if lost && len(got.notices) == 0 {
				t.Errorf("something is missing and nothing is explained: %+v, want %+v", got, want)
			}
			explained += min(1, len(got.notices))
			if lost {
				missing++
			}
		})
	}
	t.Logf("%d damages were explained, in %d cases something was missing", explained, missing)
}

// TestCorruptedHomesAreExplained damages any file of a home, or puts something else in its place. Each command ends in time, and
// either works or says in one sentence what to do.
func TestCorruptedHomesAreExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many daemons")
	}
	whole, project := wholeHome(t)
	whole["config.toml"] = []byte("[journal]\nmib = 64\n")
	whole["run/daemon.json"] = []byte(`{"version":"0.1.0","pid":1}`)
	names := slices.Sorted(maps.Keys(whole))
	seed := seed.For(t)
	for i := range cases(10, 16) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		home := shortDir(t)
		for file, data := range whole {
			put(t, filepath.Join(home, file), data)
		}
		name := names[r.IntN(len(names))]
		path, how := filepath.Join(home, name), ""
		switch r.IntN(8) {
		case 0:
			how = "a directory"
			must(t, os.Remove(path), os.Mkdir(path, 0o700))
		case 1:
			how = "a link to itself"
			must(t, os.Remove(path), os.Symlink(path, path))
		case 2:
			how = "a link to a device"
			must(t, os.Remove(path), os.Symlink("/dev/zero", path))
		case 3:
			how = "for others to write"
			must(t, os.Chmod(path, 0o666))
		default:
			var broken []byte
			broken, how = damage(r, whole[name])
			put(t, path, broken)
		}
		t.Run(fmt.Sprint(i, " ", strings.ReplaceAll(name, "/", "_"), " ", how), func(t *testing.T) {
			w := &testbed.World{Binary: e2etest.Binary(), Home: home}
			for _, args := range [][]string{{"status"}, {"changes", "--since", "start"}, {"logs"}, {"checkpoint", "list"}, {"noise", "list"}, {"timeline", "list"}, {"project", "show"}, {"recordings", "list"}, {"redact", "x"}, {"stop"}} {
				ctx, cancel := context.WithTimeout(t.Context(), 3*answersWithin)
				cmd := w.Command(args...)
				limited := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
				limited.Env, limited.Dir = cmd.Env, project
				var out, errOut bytes.Buffer
				limited.Stdout, limited.Stderr = &out, &errOut
				err := limited.Run()
				cancel()
				switch {
				case ctx.Err() == context.DeadlineExceeded:
					t.Errorf("%q does not end", args)
				case crashed.Match(errOut.Bytes()):
					t.Errorf("%q crashed: %s", args, errOut.String())
				case err != nil:
					sentence(t, fmt.Sprintf("%q", args), errOut.String())
				}
			}
			log, err := safefile.Read(filepath.Join(home, "daemon.log"), 64<<20) // it may be a link to a device
			if err == nil && crashed.Match(log) {
				t.Errorf("the daemon crashed: %s", log[:min(len(log), 3000)])
			}
		})
	}
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// shortDir is a directory whose path is short enough for sockets. It is removed at the end of the test.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tmh")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}
