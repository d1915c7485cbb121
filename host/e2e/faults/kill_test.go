package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/seed"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// lines are the texts of the console entries held, by number.
func heldLines(t *testing.T, w *testbed.World) map[int]int {
	t.Helper()
	held := map[int]int{}
	after := "0"
	for {
		r := w.Run("logs", "--json", "--limit", "1000", "--after", after)
		var page struct {
			Entries []struct{ Message string }
			Next    int
		}
		if err := json.Unmarshal([]byte(r.Out), &page); err != nil {
			t.Fatalf("%s%s: %v", r.Out, r.Err, err)
		}
		for _, e := range page.Entries {
			if n, err := strconv.Atoi(strings.TrimPrefix(e.Message, "event ")); err == nil {
				held[n]++
			}
		}
		if page.Next == 0 {
			return held
		}
		after = strconv.Itoa(page.Next)
	}
}

// TestWhateverIsKilledEveryAcknowledgedEventIsThere kills the daemon, the relay, or the daemon and the
// extension's worker together, at random instants of a numbered stream.
func TestWhateverIsKilledEveryAcknowledgedEventIsThere(t *testing.T) {
	w := e2etest.LoggedWorld(t)
	random := rand.New(rand.NewPCG(seed.For(t), 0))
	number, life := 0, 0
	when := map[int]time.Time{}
	lost := map[int]bool{} // numbers that died with a worker before they were acknowledged
	first := 1             // the number of the present stream's first event
	s := w.NewStream("profile", "life", "stream 0")
	connect := func() {
		t.Helper()
		if err := testbed.Eventually(context.Background(), func() (bool, error) {
			err := s.Connect()
			return err == nil, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	connect()
	defer func() { s.Close() }()
	for range killtest.Count(20, 20) {
		for range 1 + random.IntN(30) {
			for range 1 + random.IntN(20) {
				number++
				when[number] = time.Now().Truncate(time.Millisecond)
				s.Push(testbed.Log("log", fmt.Sprintf("event %d", number)))
			}
			if s.Send() != nil {
				break
			}
			if random.IntN(10) == 0 && s.WaitForAll() != nil {
				break
			}
			time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // so that the kill falls anywhere
		}
		switch random.IntN(3) {
		case 0:
			s.KillRelay()
		case 1:
			e2etest.KillDaemon(t, w)
			s.Close()
		case 2:
			e2etest.KillDaemon(t, w)
			s.Close()
			// What was acknowledged is there without anybody's help.
			acknowledged := first + int(s.Acknowledged()) - 2
			held := heldLines(t, w)
			for n := first; n <= acknowledged; n++ {
				if held[n] != 1 {
					t.Fatalf("event %d was acknowledged and is there %d times", n, held[n])
				}
			}
			for n := acknowledged + 1; n <= number; n++ {
				if held[n] == 0 {
					lost[n] = true
				}
			}
			life++
			first = number + 1
			s = w.NewStream("profile", fmt.Sprint("life ", life), fmt.Sprint("stream ", life))
		}
		connect()
	}
	if err := s.WaitForAll(); err != nil {
		t.Fatal(err)
	}
	held := heldLines(t, w)
	for n := 1; n <= number; n++ {
		if held[n] != 1 && (!lost[n] || held[n] != 0) {
			t.Errorf("event %d is there %d times", n, held[n])
		}
	}
	r := e2etest.ChangesOf(t, w)
	if len(lost) > 0 && r.Coverage == nil {
		t.Fatalf("%d events were lost and no gap tells of it: %s", len(lost), e2etest.Show(r))
	}
	if life <= 10 { // as many gaps as an answer lists
		for n := range lost {
			told := false
			for _, g := range r.Coverage.Gaps {
				told = told || !when[n].Before(g.From.Time) && (g.To == nil || !when[n].After(g.To.Time))
			}
			if !told {
				t.Errorf("event %d of %s is lost and lies in no gap: %s", n, when[n].UTC().Format(time.RFC3339Nano), e2etest.Show(r))
			}
		}
	}
	if life == 0 && r.Coverage != nil {
		t.Errorf("nothing was lost: %s", e2etest.Show(r))
	}
	t.Logf("%d events, %d lost with %d workers", number, len(lost), life)
}

// TestAnAgentOutlivesTheDaemon: the MCP client's session, its place and the checkpoints go on when the
// daemon was killed or stopped, and calls that were under way are answered.
func TestAnAgentOutlivesTheDaemon(t *testing.T) {
	w := e2etest.LoggedWorld(t)
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	a, err := w.Agent()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	ask := func(args map[string]any) *report.Report {
		t.Helper()
		text, err := a.Text("get_changes_since", args)
		if err != nil {
			t.Fatal(err)
		}
		var r report.Report
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		return &r
	}
	tell := func(text string) {
		t.Helper()
		s.Push(testbed.Log("error", text))
		if err := s.Send(); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitForAll(); err != nil {
			t.Fatal(err)
		}
	}
	tell("before")
	if r := ask(nil); len(r.Console.NewErrors) != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
	ask(nil) // whoever asks again has heard the answer before, and a checkpoint is on disk with all that came before it
	if _, err := a.Text("checkpoint_create", map[string]any{"name": "session_start"}); err != nil {
		t.Fatal(err)
	}
	for i, end := range []func(){
		func() { e2etest.KillDaemon(t, w) },
		func() {
			if r := w.Run("stop"); r.Code != 0 {
				t.Fatal(r.Err)
			}
		},
	} {
		end()
		s.Close()
		if err := s.Connect(); err != nil {
			t.Fatal(err)
		}
		tell(fmt.Sprintf("after %c", 'a'+i))
		r := ask(nil)
		if len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Message != fmt.Sprintf("after %c", 'a'+i) || r.Coverage != nil {
			t.Errorf("%d: %s", i, e2etest.Show(r))
		}
		if r := ask(map[string]any{"checkpoint": "session_start"}); len(r.Console.NewErrors) != i+1 {
			t.Errorf("%d: %s", i, e2etest.Show(r))
		}
	}
	// A call that is under way while the daemon is killed, or is sent while it ends, is answered by the next one.
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := a.Text("get_changes_since", map[string]any{"wait": "reload", "timeout_ms": 1500})
		answered <- answer{text, err}
	}()
	if r := w.Run("status"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	e2etest.KillDaemon(t, w)
	if last := <-answered; last.err != nil || !strings.Contains(last.text, `"settled":false`) {
		t.Errorf("%s, %v", last.text, last.err)
	}
}
