package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestACancelledCallAdvancesNothing: its answer was not received, so the next one must contain it.
func TestACancelledCallAdvancesNothing(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	if _, err := w.Engine.Observer.Changes(t.Context(), c, observe.ChangesParams{}); err != nil {
		t.Fatal(err)
	}
	w.Log("error", "the cart is broken")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // whichever of its waits notices first
		if _, err := w.Engine.Observer.Changes(cancelled, c, observe.ChangesParams{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call was answered: %v", err)
		}
	}
	r, err := w.Engine.Observer.Changes(t.Context(), c, observe.ChangesParams{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Console.NewErrors) != 1 || !strings.Contains(r.Console.NewErrors[0].Message, "the cart is broken") {
		t.Errorf("after a cancelled call the error is missing: %+v", r.Console)
	}
}
