package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

// benchPage is the origin of the synthetic page.
const benchPage = "http://localhost:5173"

// round is what is new before each call: a page at work, with the errors and failures of a bad edit;
// or, at worst, nothing but errors and failures, no two of which are alike.
func round(now time.Time, worst bool) []protocol.Event {
	at := now.UnixMilli()
	head := func(kind string) protocol.EventHead { return protocol.EventHead{Kind: kind, At: at, Tab: 1} }
	var events []protocol.Event
	for i := range newConsole {
		e := protocol.ConsoleEvent{EventHead: head(protocol.KindConsole), Level: "log", Via: "console", Text: fmt.Sprintf("[store] state changed: items=%d at %s", i, now.Format(time.RFC3339)), URL: benchPage + "/src/store.ts", Line: 40}
		switch {
		case worst:
			e.Level, e.Text = "error", fmt.Sprintf("TypeError: Cannot read properties of undefined (reading '%s') of item %d at %s", word(i), 100000+i, now.Format(time.RFC3339))
		case i%50 == 0:
			e.Level, e.Text, e.URL, e.Line = "error", fmt.Sprintf("TypeError: Cannot read properties of undefined (reading 'id') of item %d", 100000+i), benchPage+"/src/cart.ts", 42
		case i%20 == 0:
			e.Level, e.Text = "warning", fmt.Sprintf("Each child in a list should have a unique key, see row %d", 100000+i)
		}
		events = append(events, e)
	}
	for i := range newNetwork {
		e := protocol.NetworkEvent{
			EventHead: head(protocol.KindNetwork), ID: fmt.Sprintf("%d.%d", at, i), Method: "GET", URL: fmt.Sprintf("%s/api/items/%d?page=%d", benchPage, i, i),
			Resource: "fetch", Status: 200, Started: at, Duration: 20, Mime: "application/json",
			ResponseHeaders: map[string]string{"content-type": "application/json", "cache-control": "no-store"},
			ResponseBody:    fmt.Sprintf(`{"id":%d,"name":"Harbour kettle","price":68,"tags":["enamel","steel"],"stock":%d}`, i, i%7),
		}
		switch {
		case worst:
			e.URL, e.Status = fmt.Sprintf("%s/api/%s/items/%d?page=%d", benchPage, word(i), i, i), 500
		case i%25 == 0:
			e.Method, e.URL, e.Status = "POST", benchPage+"/api/orders", 500
		}
		events = append(events, e)
	}
	for i := range newSockets {
		e := protocol.WebSocketEvent{EventHead: head(protocol.KindWebSocket), ID: "w1", URL: "ws://localhost:5173/live", Op: "received", Text: fmt.Sprintf(`{"type":"stock","id":%d,"stock":%d}`, i, i%9), Size: 36}
		if worst {
			e.Text = fmt.Sprintf(`{"type":"error","message":"%s of %d is gone"}`, word(i), 100000+i)
		}
		events = append(events, e)
	}
	for i := range newActions {
		events = append(events, protocol.ActionEvent{EventHead: head(protocol.KindAction), Type: "click", Target: fmt.Sprintf(`button "Add item %d"`, i), Selector: "button.add"})
	}
	return events
}

// word is the i-th of many different words.
func word(i int) string {
	return string([]byte{'a' + byte(i/26/26%26), 'a' + byte(i/26%26), 'a' + byte(i%26)}) + "Thing"
}

// feed gives events to a store, as the daemon would.
type feed struct {
	store   *capture.Store
	decoder *event.Decoder
	next    int64
}

// newFeed makes a store that a browser is connected to.
func newFeed(now time.Time) *feed {
	f := &feed{capture.New(capture.DefaultLimits(), noise.Default(), now), event.NewDecoder(redact.Default()), 1}
	f.store.Hello(&protocol.Hello{Instance: "i", Stream: "s", First: f.next}, now)
	f.store.SetTabs("i", []protocol.Tab{{ID: 1, URL: benchPage + "/", Watched: true, Capture: "debugger", DOM: true}}, now)
	return f
}

func (f *feed) give(raws []protocol.Event, now time.Time) {
	var events []event.Event
	for _, raw := range raws {
		data, err := json.Marshal(raw)
		if err != nil {
			panic(err) // plain values
		}
		ev, bad := f.decoder.Decode(gjson.ParseBytes(data))
		if bad != nil {
			panic(bad.Message)
		}
		events = append(events, ev)
	}
	next, bad := f.store.Apply("i", "s", f.next, events, now)
	if bad != nil {
		panic(bad.Message)
	}
	f.next = next
}
