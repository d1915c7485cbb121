package event_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
)

// TestAPendingRequestKeepsItsNote: only the address is written as one word.
func TestAPendingRequestKeepsItsNote(t *testing.T) {
	d := event.NewDecoder(redact.Default())
	r, err := d.Act([]byte(`{"waiting":["GET /api/nd json (answered, body not read)","GET /api/a (b)","the next page"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"GET /api/nd%20json (answered, body not read)", "GET /api/a%20(b)", "the next page"} {
		if r.Waiting[i] != want {
			t.Errorf("%q, want %q", r.Waiting[i], want)
		}
	}
}
