package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

// benchPage is the origin of the synthetic page.
const benchPage = "http://localhost:5173"

// round is what is new before each call: a page at work, with the errors and failures of a bad edit.
func round(now time.Time) []protocol.Event {
	at := now.UnixMilli()
	head := func(kind string) protocol.EventHead { return protocol.EventHead{Kind: kind, At: at, Tab: 1} }
	var events []protocol.Event
	for i := range newConsole {
		e := protocol.ConsoleEvent{EventHead: head(protocol.KindConsole), Level: "log", Via: "console", Text: fmt.Sprintf("[store] state changed: items=%d at %s", i, now.Format(time.RFC3339)), URL: benchPage + "/src/store.ts", Line: 40}
		switch {
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
		if i%25 == 0 {
			e.Method, e.URL, e.Status = "POST", benchPage+"/api/orders", 500
		}
		events = append(events, e)
	}
	for i := range newSockets {
		events = append(events, protocol.WebSocketEvent{EventHead: head(protocol.KindWebSocket), ID: "w1", URL: "ws://localhost:5173/live", Op: "received", Text: fmt.Sprintf(`{"type":"stock","id":%d,"stock":%d}`, i, i%9), Size: 36})
	}
	for i := range newActions {
		events = append(events, protocol.ActionEvent{EventHead: head(protocol.KindAction), Action: "click", Target: fmt.Sprintf(`button "Add item %d"`, i), Selector: "button.add"})
	}
	return events
}

// applyRound gives a round to a store, as the daemon would.
func applyRound(store *capture.Store, now time.Time) {
	decoder := event.NewDecoder(redact.Default())
	var events []event.Event
	for _, raw := range round(now) {
		data, err := json.Marshal(raw)
		if err != nil {
			panic(err) // plain values
		}
		ev, bad := decoder.Decode(gjson.ParseBytes(data))
		if bad != nil {
			panic(bad.Message)
		}
		events = append(events, ev)
	}
	if _, bad := store.Apply("i", "s", 1, events, now); bad != nil {
		panic(bad.Message)
	}
}
