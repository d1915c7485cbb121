package event

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkDecode reads a message of 256 events of all kinds. Its unit is one message.
func BenchmarkDecode(b *testing.B) {
	var message struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(golden(b, "accept")["events-all-kinds.json"], &message); err != nil {
		b.Fatal(err)
	}
	var events []string
	for _, raw := range message.Events {
		var one bytes.Buffer
		if err := json.Compact(&one, raw); err != nil {
			b.Fatal(err)
		}
		events = append(events, one.String())
	}
	list := strings.Repeat(strings.Join(events, ",")+",", 256/len(events))
	data := []byte(`{"type":"events","stream":"7d4b4c5e","first":1,"events":[` + strings.TrimSuffix(list, ",") + `]}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		msg, err := DecodeMessage(data)
		if err != nil {
			b.Fatal(err)
		}
		known := addresses{}
		for _, raw := range msg.(*Batch).Events {
			if _, err := decoder.decode(raw, known); err != nil {
				b.Fatal(err)
			}
		}
	}
}
