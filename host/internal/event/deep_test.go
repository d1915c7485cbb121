package event_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// TestADeepMessageIsRefused: to read it would exhaust the stack, which ends the daemon.
func TestADeepMessageIsRefused(t *testing.T) {
	for _, part := range []string{"[", `{"a":`} {
		message := []byte(strings.Repeat(part, protocol.MaxToHost/len(part)))
		if _, err := event.DecodeMessage(message); err == nil || err.Code != protocol.CodeMalformed {
			t.Errorf("%q again and again: %v", part, err)
		}
	}
}
