package main

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
)

// TestARecordingThatIsCutOffSaysSo, in the list too.
func TestARecordingThatIsCutOffSaysSo(t *testing.T) {
	info := conversation.Info{ID: "r1", Prompts: 1, Calls: 3, Cut: true}
	var shown, listed strings.Builder
	if err := showConversation(&shown, &conversation.Outline{Info: info}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(shown.String(), "The file is damaged: it ends within an event. 1 prompt and 3 calls before that are shown.") {
		t.Error(shown.String())
	}
	if err := showRecordings(&listed, &conversation.Listed{Recordings: []conversation.Info{info}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(listed.String(), "the file is cut off") {
		t.Error(listed.String())
	}
}
