package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
)

const toldEdit = `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit"}`

// shortHook runs a hook that has a tenth of a second in all.
func shortHook(t *testing.T, in io.Reader) (out, errOut string) {
	t.Helper()
	var o, e strings.Builder
	began := time.Now()
	runHook(context.Background(), hookOptions{timeout: time.Second / 10, debug: true}, in, &o, &e)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	return o.String(), e.String()
}

func TestAnAgentThatNeverEndsItsInputDoesNotKeepTheHook(t *testing.T) {
	in, agent := io.Pipe()
	defer func() { _ = agent.Close() }()
	go func() { _, _ = io.WriteString(agent, toldEdit) }()
	if out, errOut := shortHook(t, in); out != "" || !strings.Contains(errOut, "deadline exceeded") {
		t.Errorf("%q, %q", out, errOut)
	}
}

func TestMoreThanAHookMayTellIsRefused(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"tool_input":"`), io.LimitReader(endless{}, 64<<20))
	var out, errOut strings.Builder
	runHook(context.Background(), hookOptions{timeout: time.Minute, debug: true}, in, &out, &errOut)
	if out.Len() > 0 || !strings.Contains(errOut.String(), "input exceeds") {
		t.Errorf("%q, %q", out.String(), errOut.String())
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// daemonThat has something answer at the socket of a home's daemon.
func daemonThat(t *testing.T, answers http.HandlerFunc) {
	t.Helper()
	home, err := os.MkdirTemp("", "tmh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	t.Setenv("TIDEMARK_HOME", home)
	if err := os.Mkdir(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(home, "run", "control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answers}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

func TestWhateverTheDaemonDoesTheAgentIsToldNothingWrong(t *testing.T) {
	for name, answers := range map[string]http.HandlerFunc{
		"it never answers": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"it is an older one":      http.NotFound,
		"it breaks off":           func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"it answers with no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"it fails": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"out of order"}`, http.StatusInternalServerError)
		},
	} {
		t.Run(name, func(t *testing.T) {
			daemonThat(t, answers)
			out, errOut := shortHook(t, strings.NewReader(toldEdit))
			if out != "" {
				t.Errorf("%q, %q", out, errOut)
			}
		})
	}
}

func TestAFrozenDaemonIsToldOfWithHowToEndIt(t *testing.T) {
	frozen := make(chan struct{})
	daemonThat(t, func(http.ResponseWriter, *http.Request) { <-frozen })
	t.Cleanup(func() { close(frozen) })
	h, err := home.Find("")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := clientOf(h)
	c.Patience = 300 * time.Millisecond
	err = c.Tool(t.Context(), "get_changes_since", struct{}{}, nil)
	if !errors.Is(err, home.ErrUnreachable) || !strings.Contains(fmt.Sprint(err), "does not respond. End the process") {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestADaemonThatIsBusyWithACallIsWaitedFor(t *testing.T) {
	daemonThat(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			time.Sleep(time.Second) // longer than it may be silent
		}
		_, _ = io.WriteString(w, "{}")
	})
	h, err := home.Find("")
	if err != nil {
		t.Fatal(err)
	}
	c := clientOf(h)
	c.Patience = 300 * time.Millisecond
	if err := c.Tool(t.Context(), "get_changes_since", struct{}{}, nil); err != nil {
		t.Error(err)
	}
}

func spoolOf(h home.Home) string { return filepath.Join(h.Recordings(), conversation.SpoolName) }

// recordable is an event that a recording gets, and that reports nothing.
func recordable(dir, session string) string {
	return fmt.Sprintf(`{"session_id":%q,"transcript_path":"/x/projects/y/z.jsonl","cwd":%q,"prompt_id":"p1","hook_event_name":"UserPromptSubmit","prompt":"password: spooled-pw"}`, session, dir)
}

// inTime runs a hook that has nothing to say until it takes no more than an agent may notice, and returns what it prints to
// debug. On a busy machine a run may take longer, but not each of them.
func inTime(t *testing.T, h home.Home, input func() string) string {
	t.Helper()
	const most, rounds = 100 * time.Millisecond, 20
	var took time.Duration
	for range rounds {
		_ = os.Remove(spoolOf(h)) // of the round before
		var out, errOut strings.Builder
		began := time.Now()
		runHook(t.Context(), hookOptions{patience: time.Second, timeout: 5 * time.Second, debug: true}, strings.NewReader(input()), &out, &errOut)
		took = time.Since(began)
		if out.Len() > 0 {
			t.Errorf("the agent gets %q", out.String())
		}
		if took <= most {
			t.Log(took)
			return errOut.String()
		}
	}
	t.Errorf("each of %d runs took more than %s, the last one %s", rounds, most, took)
	return ""
}

// An agent must not notice whatever its daemon does. What could not be recorded is in the spool, without secrets.
func TestWhatNoDaemonRecordsIsSpooledInTime(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for name, c := range map[string]struct {
		answers http.HandlerFunc
		input   func(dir string) string
	}{
		"it hangs":                       {hang, func(dir string) string { return recordable(dir, "s") }},
		"it hangs after an edit":         {hang, func(dir string) string { return strings.Replace(recordable(dir, "s"), "UserPromptSubmit", "Stop", 1) }},
		"it is an older one":             {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"problems":[]}`) }, func(dir string) string { return recordable(dir, "s") }},
		"it does not know the request":   {http.NotFound, func(dir string) string { return recordable(dir, "s") }},
		"it breaks off":                  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, func(dir string) string { return recordable(dir, "s") }},
		"there is none":                  {nil, func(dir string) string { return recordable(dir, "s") }},
		"it does not allow this project": {nil, func(string) string { return recordable(os.TempDir(), "s") }},
	} {
		t.Run(name, func(t *testing.T) {
			daemonThat(t, c.answers)
			h, err := home.Find("")
			if err != nil {
				t.Fatal(err)
			}
			if c.answers == nil {
				if err := os.Remove(h.Socket(home.ControlSocket)); err != nil {
					t.Fatal(err)
				}
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			decisions := &grants.Store{File: h.Grants(), Lock: h.LockGrants, Clock: time.Now}
			if _, err := decisions.Allow(t.Context(), dir, []string{grants.Conversation}, nil); err != nil {
				t.Fatal(err)
			}
			errOut := inTime(t, h, func() string { return c.input(dir) })
			data, err := os.ReadFile(spoolOf(h))
			if strings.Contains(name, "allow") {
				if err == nil {
					t.Errorf("the spool has %s", data)
				}
				return
			}
			if err != nil || strings.Count(string(data), "\n") != 1 || strings.Contains(string(data), "spooled-pw") || !strings.Contains(errOut, "next daemon") {
				t.Errorf("the spool has %q, %v: %s", data, err, errOut)
			}
			if info, err := os.Stat(spoolOf(h)); err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("the spool has mode %v", info.Mode())
			}
		})
	}
}

// A spool that is full, or that another process keeps, costs the event alone.
func TestASpoolThatCannotBeWrittenIsNoError(t *testing.T) {
	daemonThat(t, http.NotFound)
	h, err := home.Find("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	decisions := &grants.Store{File: h.Grants(), Lock: h.LockGrants, Clock: time.Now}
	if _, err := decisions.Allow(t.Context(), dir, []string{grants.Conversation}, nil); err != nil {
		t.Fatal(err)
	}
	try := func() string {
		var out, errOut strings.Builder
		runHook(t.Context(), hookOptions{patience: time.Second, timeout: 5 * time.Second, debug: true}, strings.NewReader(recordable(dir, "s")), &out, &errOut)
		return out.String() + errOut.String()
	}
	unlock, err := home.LockSpool(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if said := try(); !strings.Contains(said, "was not recorded: another process") {
		t.Error(said)
	}
	unlock()
	if err := os.MkdirAll(h.Recordings(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spoolOf(h), make([]byte, conversation.MaxSpool), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := try(); !strings.Contains(said, "the spool is full") {
		t.Error(said)
	}
	if err := os.Remove(spoolOf(h)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(spoolOf(h), 0o700); err != nil {
		t.Fatal(err)
	}
	if said := try(); !strings.Contains(said, "was not recorded") {
		t.Error(said)
	}
}
