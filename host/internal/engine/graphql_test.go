package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// operation sends a GraphQL operation, which is refused with a message, or answered where that is "".
func operation(w *enginetest.World, name, refused string) {
	answer := `{"data":{"ok":true}}`
	if refused != "" {
		answer = fmt.Sprintf(`{"data":null,"errors":[{"message":%q,"path":["cart"]}]}`, refused)
	}
	w.Send("network", fmt.Sprintf(`"id":"g%d","method":"POST","url":"%s/graphql","resource":"fetch","status":200,"started":%d,"duration":20,"mime":"application/json","request_body":%q,"response_body":%q`,
		w.Now.UnixNano(), enginetest.Page, w.Now.UnixMilli(), fmt.Sprintf(`{"operationName":%q,"query":"mutation %s { x }"}`, name, name), answer))
	w.Pass(time.Millisecond)
}

// networkOf is the network section of a report as JSON without times.
func networkOf(t *testing.T, r *report.Report) string {
	t.Helper()
	data, err := report.Encode(r.Network)
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.Untimed(data)
}

const (
	refusedCart = `{"failures":[{"method":"POST","url":"/graphql","status":200,"previous_status":200,"error":"GraphQL error","detail":"qty must be positive","operation":"AddToCart"}],"total_new_requests":2}`
	fixedCart   = `{"recovered":[{"method":"POST","url":"/graphql","status":200,"previous_status":200,"previous_error":"GraphQL error","operation":"AddToCart"}],"total_new_requests":2}`
)

func TestAGraphQLOperationIsAnEndpointOfItsOwn(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	operation(w, "Me", "")
	operation(w, "AddToCart", "")
	w.Changes(a, params{})
	if _, err := w.Call(a, "checkpoint_create", `{"name":"known_good"}`); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ refused, want string }{
		{"qty must be positive", refusedCart},
		{"qty must be positive", `{"still_failing":1,"total_new_requests":2}`},
		{"", fixedCart},
		{"", `{"total_new_requests":2}`},
		{"qty must be positive", refusedCart},
	} {
		operation(w, "Me", "")
		operation(w, "AddToCart", step.refused)
		if got := networkOf(t, w.Changes(a, params{})); got != step.want {
			t.Errorf("\n got %s\nwant %s", got, step.want)
		}
	}
	if got := networkOf(t, w.Changes(a, params{Checkpoint: "known_good"})); !strings.Contains(got, `"previous_status":200`) || !strings.Contains(got, `"operation":"AddToCart"`) || strings.Contains(got, "Me") {
		t.Error(got)
	}
	bodies, err := w.Call(a, "get_network_bodies", `{"status_min":400}`)
	if err != nil || strings.Count(bodies, "qty must be positive") != 3 || strings.Contains(bodies, "query Me") {
		t.Errorf("%s %v", bodies, err)
	}
}

// TestABatchThatFailedRecovers: it is the same endpoint, whichever of its operations failed.
func TestABatchThatFailedRecovers(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	batch := func(second string) string {
		w.Send("network", fmt.Sprintf(`"id":"g%d","method":"POST","url":"%s/graphql","resource":"fetch","status":200,"started":%d,"duration":20,"mime":"application/json","request_body":%q,"response_body":%q`,
			w.Now.UnixNano(), enginetest.Page, w.Now.UnixMilli(), `[{"query":"query B1 { a }"},{"query":"query B2 { b }"}]`, `[{"data":{"a":1}},`+second+`]`))
		w.Pass(time.Millisecond)
		return networkOf(t, w.Changes(a, params{}))
	}
	batch(`{"data":{"b":1}}`)
	for range 2 {
		if got := batch(`{"errors":[{"message":"no such row"}]}`); got != `{"failures":[{"method":"POST","url":"/graphql","status":200,"previous_status":200,"error":"GraphQL error","detail":"no such row (B2)","operation":"B1+B2"}],"total_new_requests":1}` {
			t.Error(got)
		}
		if got := batch(`{"data":{"b":1}}`); got != `{"recovered":[{"method":"POST","url":"/graphql","status":200,"previous_status":200,"previous_error":"GraphQL error","operation":"B1+B2"}],"total_new_requests":1}` {
			t.Error(got)
		}
	}
}

func TestOneOperationThatSlowsDownIsNotHiddenByAnother(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	slow := func(name string, ms int) {
		w.Send("network", fmt.Sprintf(`"id":"g%d","method":"POST","url":"%s/graphql","resource":"fetch","status":200,"started":%d,"duration":%d,"request_body":%q`,
			w.Now.UnixNano(), enginetest.Page, w.Now.UnixMilli(), ms, fmt.Sprintf(`{"query":"query %s { x }"}`, name)))
		w.Pass(10 * time.Second)
	}
	for range 4 {
		slow("Quick", 10)
		slow("Report", 900)
	}
	w.Changes(a, params{})
	slow("Quick", 400)
	slow("Report", 900)
	if d := w.Changes(a, params{}).Network.Degraded; len(d) != 1 || d[0].Operation != "Quick" || d[0].PreviousAvgMs != 10 {
		t.Errorf("%+v", d)
	}
}

func TestAnExportedStateKeepsOperationsApart(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	operation(w, "Me", "not signed in")
	operation(w, "AddToCart", "")
	if _, err := w.Call(a, "checkpoint_create", `{"name":"known_good"}`); err != nil {
		t.Fatal(err)
	}
	f, err := w.Engine.Observer.Export(t.Context(), a, "known_good")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = checkpoint.ParseFile(data); err != nil {
		t.Fatal(err)
	}
	w = enginetest.New(t, capture.Limits{})
	operation(w, "Me", "not signed in")
	operation(w, "AddToCart", "qty must be positive")
	r, err := w.Engine.Observer.Compare(context.Background(), w.Agent(), params{}, f)
	want := strings.Replace(refusedCart, `"total`, `"known_failures":[{"method":"POST","url":"/graphql","status":200,"error":"GraphQL error","detail":"not signed in","operation":"Me"}],"still_failing":1,"total`, 1)
	if got := networkOf(t, r); err != nil || got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestAJournalKeepsOperationsApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	disk, _, err := store.Open(path, store.Limits{Bytes: 64 << 20, Age: 24 * time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := enginetest.NewKept(t, capture.Limits{}, nil)
	operation(w, "Me", "")
	operation(w, "AddToCart", "")
	from := w.Store.View(w.Now).Now()
	operation(w, "Me", "")
	operation(w, "AddToCart", "qty must be positive")
	named := []checkpoint.Checkpoint{{Name: "known_good", Moment: from}}
	state, err := store.EncodeCheckpoints(named)
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.Commit(w.Store.Drain(w.Now), map[string][]byte{store.CheckpointsKey: state}); err != nil {
		t.Fatal(err)
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	s, known, _, disk := reopened(t, path, w.Now)
	defer func() { _ = disk.Close() }()
	if got := networkOf(t, diff.Compute(known[0].Moment, s.View(w.Now), window.Options{})); got != refusedCart {
		t.Errorf("\n got %s\nwant %s", got, refusedCart)
	}
}

func TestARuleThatHidesARefusedOperationHidesNeitherTheGoodOneNorAnother(t *testing.T) {
	refused := func(name string) *event.Network {
		return &event.Network{Method: "POST", URL: "http://a/graphql", Status: 200, Refused: true, Operation: name}
	}
	good := &event.Network{Method: "POST", URL: "http://a/graphql", Status: 200, Operation: "AddToCart"}
	if folds := []string{window.Fold(refused("AddToCart")), window.Fold(refused("Me")), window.Fold(good)}; folds[0] != "POST http://a/graphql AddToCart GraphQL error" || folds[1] == folds[0] || folds[2] != "POST http://a/graphql AddToCart 200" {
		t.Error(folds)
	}
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	operation(w, "Me", "not signed in")
	w.Changes(a, params{})
	if _, err := w.Call(a, "configure_noise", `{"action":"add","kind":"network","level":"error","fingerprint":"POST http://localhost:5173/graphql Me GraphQL error"}`); err != nil {
		t.Fatal(err)
	}
	operation(w, "Me", "not signed in")
	operation(w, "AddToCart", "qty must be positive")
	r := w.Changes(a, params{})
	if len(r.Network.Failures) != 1 || r.Network.Failures[0].Operation != "AddToCart" || r.NoiseHidden != 1 {
		t.Errorf("%s", show(r))
	}
	operation(w, "Me", "the database is down")
	w.Send("network", fmt.Sprintf(`"id":"h","method":"POST","url":"%s/graphql","resource":"fetch","status":503,"started":%d,"duration":20,"request_body":"{\"query\":\"query Me { me }\"}"`, enginetest.Page, w.Now.UnixMilli()))
	if r := w.Changes(a, params{}); len(r.Network.Failures) != 1 || r.Network.Failures[0].Status != 503 {
		t.Errorf("failing in another way is news: %s", show(r))
	}
}

func TestARefusedConnectionIsTheFailureAndNotThePollsAfterIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	poll := func(status int, body string) {
		w.Send("network", fmt.Sprintf(`"id":"r%d","method":"GET","url":"%s/socket.io/?EIO=4&transport=polling&t=%d","resource":"xhr","status":%d,"started":%d,"duration":3,"mime":"text/plain","response_body":%q`,
			w.Now.UnixNano(), enginetest.Page, w.Now.UnixMilli(), status, w.Now.UnixMilli(), body))
		w.Pass(10 * time.Millisecond)
	}
	poll(200, `0{"pingInterval":25000}`)
	w.Changes(a, params{})
	poll(200, `44{"message":"token expired"}`)
	poll(400, `{"code":1,"message":"Session ID unknown"}`)
	r := w.Changes(a, params{})
	if len(r.Network.Failures) != 1 {
		t.Fatal(show(r))
	}
	f := r.Network.Failures[0]
	if f.Status != 200 || f.Error != "connection refused by Socket.IO" || f.Detail != "token expired" || f.Count != 2 || f.PreviousStatus != 200 || r.Severity != "error" {
		t.Error(show(r))
	}
}
