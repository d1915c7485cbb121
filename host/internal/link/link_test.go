package link_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/link"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/protocol"
)

// peer is an extension at the other end of a connection.
type peer struct {
	t     *testing.T
	store *capture.Store
	hub   *link.Hub
	conn  net.Conn
	r     *wire.Reader
	w     *wire.Writer
	ended chan struct{} // closed when the hub serves it no more
}

func newHub(t *testing.T) (*link.Hub, *capture.Store) { return newHubOn(t, nil) }

// newHubOn makes a hub with the given disk.
func newHubOn(t *testing.T, disk func(context.Context) error) (*link.Hub, *capture.Store) {
	t.Helper()
	store := capture.New(capture.DefaultLimits(), noise.Default(), time.Now())
	return link.NewHub(link.Options{
		Store: store, Decoder: event.NewDecoder(redact.Default()), Disk: disk, Version: "0.0.0", Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		Handle: func(_ context.Context, instance, method string, params []byte) (any, error) {
			if method == "fail" {
				return nil, errors.New("it broke a rule")
			}
			return map[string]string{"instance": instance, "method": method, "params": string(params)}, nil
		},
	}), store
}

func connect(t *testing.T, hub *link.Hub, store *capture.Store) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = hub.Serve(ctx, ours, capture.NewSink(store, hub.Name(), time.Now))
	}()
	t.Cleanup(func() {
		_ = theirs.Close()
		cancel()
		<-done
	})
	return &peer{t, store, hub, theirs, wire.NewReader(theirs, 0), wire.NewWriter(theirs, protocol.MaxToHost), done}
}

func (p *peer) send(raw string) {
	p.t.Helper()
	if err := p.w.Write([]byte(raw)); err != nil {
		p.t.Fatal(err)
	}
}

// read returns the next message.
func (p *peer) read() map[string]any {
	p.t.Helper()
	if err := p.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		p.t.Fatal(err)
	}
	frame, err := p.r.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(frame, &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// expect reads a message and compares some of its fields.
func (p *peer) expect(kind string, fields map[string]any) map[string]any {
	p.t.Helper()
	m := p.read()
	for k, v := range fields {
		if m[k] != v {
			p.t.Errorf("%s is %v, want %v in %v", k, m[k], v, m)
		}
	}
	if m["type"] != kind {
		p.t.Errorf("got %v, want %s", m, kind)
	}
	return m
}

func (p *peer) refused(code string) {
	p.t.Helper()
	m := p.expect("error", nil)
	if e, _ := m["error"].(map[string]any); e["code"] != code || e["message"] == "" {
		p.t.Errorf("%v, want %s", m, code)
	}
}

const (
	hello  = `{"type":"hello","protocol":1,"extension":"1","browser":"Chromium 156","instance":"i","stream":"s","first":1}`
	events = `{"type":"events","stream":"s","first":1,"events":[{"kind":"console","at":1,"tab":7,"level":"error","via":"console","text":"one"},{"kind":"console","at":2,"tab":7,"level":"log","via":"console","text":"two"}]}`
)

func TestEventsAreAcknowledgedWhenTheStoreHasThem(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	hub, store := newHub(t)
	t.Run("first connection", func(t *testing.T) {
		p := connect(t, hub, store)
		p.send(hello)
		p.expect("welcome", map[string]any{"next": 1.0, "protocol": 1.0, "host": "0.0.0"})
		p.send(events)
		p.expect("ack", map[string]any{"next": 3.0, "stream": "s"})
		if n := store.View(time.Now()).Console().Len(); n != 2 {
			t.Errorf("%d entries", n)
		}
	})
	t.Run("it comes back and sends some of it again", func(t *testing.T) {
		p := connect(t, hub, store)
		p.send(hello)
		p.expect("welcome", map[string]any{"next": 3.0})
		p.send(events)
		p.expect("ack", map[string]any{"next": 3.0})
		if v := store.View(time.Now()); v.Console().Len() != 2 || len(v.Gaps) != 0 {
			t.Errorf("%d entries, gaps %+v", v.Console().Len(), v.Gaps)
		}
	})
}

func TestWhatCannotBeTakenIsRefusedAndTheConnectionGoesOn(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(events)
	p.refused(protocol.CodeOutOfOrder)
	p.send(`nonsense`)
	p.refused(protocol.CodeMalformed)
	p.send(hello)
	p.expect("welcome", nil)
	p.send(hello)
	p.refused(protocol.CodeOutOfOrder)
	p.send(`{"type":"surprise"}`)
	p.refused(protocol.CodeUnknown)
	p.send(`{"type":"events","stream":"other","first":1,"events":[]}`)
	p.refused(protocol.CodeOutOfOrder)
	p.send(`{"type":"events","stream":"s","first":1,"events":[{"kind":"console","at":1,"tab":7,"level":"loud","via":"console","text":"x"},{"kind":"console","at":1,"tab":7,"level":"log","via":"console","text":"good"}]}`)
	p.refused(protocol.CodeMalformed)
	p.expect("ack", map[string]any{"next": 3.0})
	v := store.View(time.Now())
	counted := slices.ContainsFunc(v.Gaps, func(g capture.Gap) bool { return g.Reason == protocol.GapMalformed && g.Dropped == 1 })
	if v.Console().Len() != 1 || !counted {
		t.Errorf("%d entries, gaps %+v", v.Console().Len(), v.Gaps)
	}
}

func TestAnotherVersionIsToldToUpdate(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(strings.Replace(hello, `"protocol":1`, `"protocol":9`, 1))
	p.refused(protocol.CodeVersion)
	if _, err := p.r.Read(); err == nil {
		t.Error("the connection goes on")
	}
}

func TestAFrameThatIsTooLargeEndsTheConnection(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	if _, err := p.conn.Write([]byte{0xff, 0xff, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	p.refused(protocol.CodeTooLarge)
}

func TestThePopupsRequestsAreAnswered(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(hello)
	p.expect("welcome", nil)
	p.send(`{"type":"request","id":4,"method":"overview","params":{"tab":7}}`)
	m := p.expect("response", map[string]any{"id": 4.0})
	if r, _ := m["result"].(map[string]any); r["method"] != "overview" || r["instance"] != "i" || r["params"] != `{"tab":7}` {
		t.Errorf("%v", m)
	}
	p.send(`{"type":"request","id":5,"method":"fail"}`)
	m = p.expect("response", map[string]any{"id": 5.0})
	if e, _ := m["error"].(map[string]any); e["code"] != protocol.CodeInvalid || e["message"] != "it broke a rule" {
		t.Errorf("%v", m)
	}
}

func TestSyncNamesTheTabsThatDidNotAnswer(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(hello)
	p.expect("welcome", nil)
	p.send(`{"type":"tabs","tabs":[{"id":70,"url":"http://localhost/","watched":true},{"id":71,"url":"http://localhost/b","watched":true}]}`)
	type answer struct{ noDOM, noCapture []int }
	answers := make(chan answer, 1)
	ask := func(timeout time.Duration) {
		go func() {
			noDOM, noCapture := hub.Sync(context.Background(), timeout)
			answers <- answer{noDOM, noCapture}
		}()
	}
	ask(5 * time.Second)
	m := p.expect("request", map[string]any{"method": "sync"})
	id, err := json.Marshal(m["id"])
	if err != nil {
		t.Fatal(err)
	}
	p.send(`{"type":"response","id":` + string(id) + `,"result":{"no_dom":[71]}}`)
	if a := <-answers; len(a.noDOM) != 1 || a.noDOM[0] != store.HostTab("i", 71) || a.noCapture != nil {
		t.Errorf("%+v", a)
	}
	// An extension that does not answer: its tabs are named once the time is over.
	ask(10 * time.Millisecond)
	p.expect("request", nil)
	if a := <-answers; len(a.noCapture) != 2 {
		t.Errorf("%+v", a)
	}
	// A browser that disconnects does not block the caller.
	ask(time.Minute)
	p.expect("request", nil)
	if err := p.conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-answers
}

// TestABrowserThatIsConnectedCanBeAsked: as soon as the store lists a browser, it can be asked, even while it is
// being saved to disk.
func TestABrowserThatIsConnectedCanBeAsked(t *testing.T) {
	writing, written := make(chan struct{}), make(chan struct{})
	hub, store := newHubOn(t, func(context.Context) error {
		close(writing)
		<-written
		return nil
	})
	p := connect(t, hub, store)
	p.send(hello)
	<-writing
	if v := store.View(time.Now()); len(v.Browsers) != 1 || !v.Browsers[0].Connected {
		t.Errorf("%+v", v.Browsers)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := hub.Ask(context.Background(), "i", "sync", nil, 5*time.Second)
		asked <- err
	}()
	p.expect("request", map[string]any{"method": "sync", "id": 1.0})
	close(written)
	p.expect("welcome", nil)
	p.send(`{"type":"response","id":1,"result":{}}`)
	if err := <-asked; err != nil {
		t.Error(err)
	}
}

// TestTheNewestConnectionIsAsked: requests never go to the old connection of an ended worker, and its end does not
// disconnect the browser.
func TestTheNewestConnectionIsAsked(t *testing.T) {
	hub, store := newHub(t)
	old := connect(t, hub, store)
	old.send(hello)
	old.expect("welcome", nil)
	p := connect(t, hub, store)
	p.send(`{"type":"hello","protocol":1,"extension":"1","browser":"Chromium 156","instance":"i","stream":"t","first":1}`)
	p.expect("welcome", nil)
	ask := func(id float64) {
		t.Helper()
		asked := make(chan error, 1)
		go func() {
			_, err := hub.Ask(context.Background(), "i", "look", nil, 5*time.Second)
			asked <- err
		}()
		p.expect("request", map[string]any{"method": "look", "id": id})
		p.send(fmt.Sprintf(`{"type":"response","id":%v,"result":{}}`, id))
		if err := <-asked; err != nil {
			t.Error(err)
		}
	}
	for id := range 8 { // (one of two would be asked by chance)
		ask(float64(id + 1))
	}
	if err := old.conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-old.ended
	ask(9)
}

func TestAProbeIsAnsweredAndNothingIsKeptOfIt(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(strings.TrimSuffix(hello, "}") + `,"probe":true}`)
	p.expect("welcome", map[string]any{"host": "0.0.0", "protocol": 1.0})
	p.send(events)
	p.refused(protocol.CodeOutOfOrder)
	if v := store.View(time.Now()); len(v.Browsers) != 0 || v.Console().Len() != 0 || len(v.Gaps) != 0 {
		t.Errorf("%+v", v)
	}
	if rounds := hub.Rounds(context.Background(), time.Second); len(rounds) != 0 {
		t.Errorf("%+v", rounds)
	}
}

func TestRoundsSayHowEachBrowserAnswers(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(hello)
	p.expect("welcome", nil)
	for answer, want := range map[string]link.Round{
		`"result":{}`: {},
		`"result":{"no_dom":[7],"no_capture":[7,8]}`:          {Silent: 3},
		`"error":{"code":"invalid","message":"broke a rule"}`: {Problem: "broke a rule"},
	} {
		rounds := make(chan []link.Round, 1)
		go func() { rounds <- hub.Rounds(context.Background(), 5*time.Second) }()
		id, err := json.Marshal(p.expect("request", map[string]any{"method": "sync"})["id"])
		if err != nil {
			t.Fatal(err)
		}
		p.send(`{"type":"response","id":` + string(id) + `,` + answer + `}`)
		got := <-rounds
		want.Browser, want.Extension = "Chromium 156", "1"
		if len(got) == 1 {
			want.Ms = got[0].Ms
		}
		if !slices.Equal(got, []link.Round{want}) {
			t.Errorf("%s: %+v", answer, got)
		}
	}
	// A browser that does not respond is reported after the time limit.
	if got := hub.Rounds(context.Background(), 10*time.Millisecond); len(got) != 1 || got[0].Problem == "" {
		t.Errorf("%+v", got)
	}
}
