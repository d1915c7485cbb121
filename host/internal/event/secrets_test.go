package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// plant makes the event that carries a text in its channel, and says where to read it again.
func plant(t *testing.T, p testbed.Planted) (raw string, read func(Event) string) {
	t.Helper()
	fields := map[string]any{"at": 1, "tab": 1}
	set := func(kind string, more map[string]any) {
		fields["kind"] = kind
		for k, v := range more {
			fields[k] = v
		}
	}
	request := map[string]any{"id": "r", "method": "POST", "url": "http://localhost/", "resource": "fetch", "status": 200, "started": 1, "duration": 1}
	network := func(name string, value any) {
		set("network", request)
		fields[name] = value
	}
	name, value, _ := strings.Cut(p.Text, ": ")
	switch p.Channel {
	case "request_header":
		network("request_headers", map[string]string{name: value})
		read = func(e Event) string { return name + ": " + e.(*Network).RequestHeaders[name] }
	case "response_header":
		network("response_headers", map[string]string{name: value})
		read = func(e Event) string { return name + ": " + e.(*Network).ResponseHeaders[name] }
	case "json_body":
		network("response_body", p.Text)
		read = func(e Event) string { return e.(*Network).ResponseBody }
	case "form_body":
		network("request_body", p.Text)
		read = func(e Event) string { return e.(*Network).RequestBody }
	case "query":
		network("url", "http://localhost"+p.Text)
		read = func(e Event) string { return strings.TrimPrefix(e.(*Network).URL, "http://localhost") }
	case "websocket_frame":
		set("websocket", map[string]any{"id": "s", "url": "ws://localhost/", "op": "sent", "text": p.Text})
		read = func(e Event) string { return e.(*WebSocket).Text }
	case "console_text", "console_object":
		text := p.Text
		if p.Channel == "console_object" {
			text = preview(text)
		}
		set("console", map[string]any{"level": "log", "via": "console", "text": text})
		read = func(e Event) string { return e.(*Console).Text }
	case "input_value":
		set("action", map[string]any{"action": "type", "target": `textbox "Notes"`, "value": p.Text})
		read = func(e Event) string { return e.(*Action).Value }
	case "url":
		set("navigation", map[string]any{"how": "history", "url": "http://localhost" + p.Text})
		read = func(e Event) string { return strings.TrimPrefix(e.(*Navigation).URL, "http://localhost") }
	case "error_element":
		set("element", map[string]any{"op": "appeared", "frame": 0, "document": "d", "id": 1, "selector": "div.error", "text": p.Text})
		read = func(e Event) string { return e.(*Element).Text }
	default:
		t.Fatalf("%s: the channel %q is not known", p.ID, p.Channel)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), read
}

// preview is how the extension writes an object that was logged (capture/console/format.ts).
func preview(object string) string {
	var fields []string
	gjson.Parse(object).ForEach(func(k, v gjson.Result) bool {
		text := v.Raw
		switch {
		case v.Type == gjson.String:
			text = "'" + v.Str + "'"
		case v.IsArray():
			text = fmt.Sprintf("Array(%d)", len(v.Array()))
		case v.IsObject():
			text = "{…}"
		}
		fields = append(fields, k.Str+": "+text)
		return true
	})
	return "{" + strings.Join(fields, ", ") + "}"
}

// TestNoPlantedSecretIsInAnEvent: the host masks by itself, whatever the extension did.
func TestNoPlantedSecretIsInAnEvent(t *testing.T) {
	secrets, _, err := testbed.PlantedTexts()
	if err != nil || len(secrets) < 60 {
		t.Fatalf("only %d secrets (%v)", len(secrets), err)
	}
	for _, p := range secrets {
		t.Run(p.ID, func(t *testing.T) {
			raw, read := plant(t, p)
			if !strings.Contains(p.Text, p.Secret) {
				t.Fatalf("%q is not in %q", p.Secret, p.Text)
			}
			ev := decodeOne(t, raw)
			decoded, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			quoted, _ := json.Marshal(p.Secret)
			if all := fmt.Sprintf("%+v %s", ev, decoded); strings.Contains(all, p.Secret) || strings.Contains(all, strings.Trim(string(quoted), `"`)) {
				t.Errorf("it is told: %s", all)
			}
			if ev.Header().Masked == 0 || !strings.Contains(read(ev), "[masked]") {
				t.Errorf("masked %d, %q", ev.Header().Masked, read(ev))
			}
		})
	}
}

func TestPlantedInnocentsStayReadable(t *testing.T) {
	_, innocent, err := testbed.PlantedTexts()
	if err != nil || len(innocent) < 60 {
		t.Fatalf("only %d innocent texts (%v)", len(innocent), err)
	}
	for _, p := range innocent {
		t.Run(p.ID, func(t *testing.T) {
			raw, read := plant(t, p)
			want := Clean(p.Text) // without its carriage returns
			if p.Channel == "console_object" {
				want = preview(want)
			}
			ev := decodeOne(t, raw)
			if got := read(ev); got != want || ev.Header().Masked != 0 {
				t.Errorf("masked %d: %q, want %q", ev.Header().Masked, got, want)
			}
		})
	}
}
