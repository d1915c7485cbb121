//go:build unix

package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// placed is a moment with its place in the recording of a terminal.
type placed struct {
	ID, Label, Source string
	Terminal          *struct {
		Recording string
		Offset    uint64
	}
}

// TestAgentsInARecordedTerminalHaveTheirPlace: each moment of an agent's hook has the offset in the recording at which it happened,
// and the frame there has what was shown before the hook, and nothing of what followed. Output without an end of a line counts.
func TestAgentsInARecordedTerminalHaveTheirPlace(t *testing.T) {
	s := newSurfaces(t, "")
	w, dir := s.w, s.dir
	s.cli(nil, "project", "allow", "--grant", "terminal")
	const hooks = 8
	script := &strings.Builder{}
	fmt.Fprintf(script, "stty -echo\nhook() { printf '%%s' \"$1\" | '%s' hook --debug --patience 1ms 2>>hooks.txt; }\n", w.Binary)
	for n := range hooks {
		event := fmt.Sprintf(`{"session_id":"s1","transcript_path":"/x/projects/y","cwd":"%s","hook_event_name":"UserPromptSubmit","prompt":"p%d","prompt_id":"%d"}`, dir, n, n)
		fmt.Fprintf(script, "echo before %d\nprintf 'part %d'\nread shown\nhook '%s'\necho ' rest %d'\n", n, n, event, n)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := w.Command("record", "--name", "agent", "--", "sh", "agent.sh")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shown := &answerer{of: "part ", in: in}
	cmd.Stdout = shown
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, shown.all)
	}
	prompts := s.prompts(hooks)
	var recording string
	last, n := uint64(0), 0
	for _, m := range prompts {
		if m.Terminal.Offset <= last || recording != "" && m.Terminal.Recording != recording {
			t.Errorf("%s is at %+v, after %d", m.ID, *m.Terminal, last)
		}
		last, recording = m.Terminal.Offset, m.Terminal.Recording
		r := w.RunIn(dir, "timeline", "show", "--ts", m.ID, "--json")
		var frame struct{ Lines []string }
		if err := json.Unmarshal([]byte(r.Out), &frame); r.Code != 0 || err != nil {
			t.Fatalf("%s: %v", r.Err, err)
		}
		screen := strings.TrimRight(strings.Join(frame.Lines, "\n"), "\n ")
		if !strings.HasSuffix(screen, fmt.Sprintf("before %d\npart %d", n, n)) {
			t.Errorf("at %s the terminal showed\n%s", m.ID, screen)
		}
		if r := w.RunIn(dir, "timeline", "show", m.ID); !strings.Contains(r.Out, fmt.Sprintf("--ts %s --session %s (recording %s, byte %d)", m.ID, s.session, recording, last)) {
			t.Errorf("%s %s", r.Out, r.Err)
		}
		n++
	}
	var session struct {
		Recordings []struct{ ID, Name string }
		Moments    []placed
	}
	s.rest(&session, s.session+"/timeline", nil)
	if len(session.Recordings) != 1 || session.Recordings[0].ID != recording || session.Recordings[0].Name != "agent" {
		t.Errorf("the recordings of the session are %+v", session.Recordings)
	}
	if m := session.Moments[len(session.Moments)-1]; m.Terminal == nil || m.Terminal.Offset != last {
		t.Errorf("the API has %+v", m)
	}
}

// prompts waits until the session has so many moments of prompts with a place in a recording, and returns those of prompts.
func (s *surfaces) prompts(inside int) (prompts []placed) {
	s.t.Helper()
	if err := testbed.Eventually(s.t.Context(), func() (bool, error) {
		var list struct{ Moments []placed }
		s.cli(&list, "timeline", "list", "--json")
		prompts = slices.DeleteFunc(list.Moments, func(m placed) bool { return m.Source != "prompt" })
		n := 0
		for _, m := range prompts {
			if m.Terminal != nil {
				n++
			}
		}
		return n == inside, nil
	}); err != nil {
		said, _ := os.ReadFile(filepath.Join(s.dir, "hooks.txt"))
		s.t.Fatalf("%v: %+v\n%s", err, prompts, said)
	}
	return prompts
}

// answerer types a line each time that a program has shown a text: what it shows after that was not on the screen before.
type answerer struct {
	of  string
	in  io.Writer
	all []byte
	n   int
}

func (a *answerer) Write(b []byte) (int, error) {
	a.all = append(a.all, b...)
	for ; a.n < bytes.Count(a.all, []byte(a.of)); a.n++ {
		if _, err := io.WriteString(a.in, "\n"); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// TestNoOtherRecordingGivesAPlace: hooks in a terminal name a recording that is not theirs, in each way in which one can.
func TestNoOtherRecordingGivesAPlace(t *testing.T) {
	s := newSurfaces(t, "")
	s.cli(nil, "project", "allow", "--grant", "terminal")
	elsewhere := t.TempDir() // without the grant
	s.cli(nil, "project", "allow", "--grant", "workspace", elsewhere)
	record := func(args ...string) *exec.Cmd {
		t.Helper()
		cmd := s.w.Command(append([]string{"record", "-q", "--"}, args...)...)
		cmd.Dir = s.dir
		return cmd
	}
	// One that runs meanwhile, in the same directory, and one that has ended: each leaves its variables in a file.
	const keep = `env | grep ^TIDEMARK_RECORDING >%s.txt; mv %s.txt %s.env`
	if out, err := record("sh", "-c", strings.ReplaceAll(keep, "%s", "ended")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	other := record("sh", "-c", strings.ReplaceAll(keep, "%s", "other")+"; read line")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = in.Write([]byte("\n"))
		_ = in.Close()
		_ = other.Wait()
	}()
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		_, err := os.Stat(filepath.Join(s.dir, "other.env"))
		return err == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	script := &strings.Builder{}
	fmt.Fprintf(script, `n=0
hook() { n=$((n+1)); printf '{"session_id":"s1","cwd":"%%s","hook_event_name":"UserPromptSubmit","prompt":"p","prompt_id":"%%s"}' "$1" $n | '%s' hook --debug --patience 1ms 2>>hooks.txt; }
own=$TIDEMARK_RECORDING key=$TIDEMARK_RECORDING_KEY
of() { sed -n "s/^$2=//p" $1.env; }
as() { TIDEMARK_RECORDING=$1 TIDEMARK_RECORDING_KEY=$2; export TIDEMARK_RECORDING TIDEMARK_RECORDING_KEY; hook "$3"; }
as $(of ended TIDEMARK_RECORDING) $(of ended TIDEMARK_RECORDING_KEY) "$PWD"
as $(of ended TIDEMARK_RECORDING) $key "$PWD"
as $(of other TIDEMARK_RECORDING) $key "$PWD"
as $own $(of other TIDEMARK_RECORDING_KEY) "$PWD"
as $own "" "$PWD"
as "" $key "$PWD"
as t20260101-000000-0000 $key "$PWD"
as ../terminals/$own $key "$PWD"
as $own $key '%s'
as $own $key "$PWD"
as $(of other TIDEMARK_RECORDING) $(of other TIDEMARK_RECORDING_KEY) "$PWD"
`, s.w.Binary, elsewhere)
	if err := os.WriteFile(filepath.Join(s.dir, "forge.sh"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := record("sh", "forge.sh").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The last one has the variables of the other terminal, and so counts as one of it: only its programs have them.
	var got []bool
	for _, m := range s.prompts(2) {
		got = append(got, m.Terminal != nil)
	}
	if want := []bool{false, false, false, false, false, false, false, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("moments have a place: %v, want %v", got, want)
	}
}
