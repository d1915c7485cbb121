package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// BenchmarkStateCheck is get_changes_since over 100 new entries, most of them of lines that the client was given before.
func BenchmarkStateCheck(b *testing.B) {
	w := enginetest.NewWithMaps(b, func(context.Context, sourcemap.Script) (string, []byte, error) {
		return "", nil, errors.New("there is none")
	})
	c := w.Agent()
	ask := func() {
		if _, err := w.Call(c, "get_changes_since", "{}"); err != nil {
			b.Fatal(err)
		}
	}
	page := func() {
		w.Pass(100 * time.Millisecond)
		var events []string
		for i := range 60 {
			level, text, file, line := "log", fmt.Sprintf("[store] state changed: items=%d", i), "/src/store.ts", 40
			switch {
			case i%50 == 0:
				level, text, file, line = "error", fmt.Sprintf("TypeError: Cannot read properties of undefined (reading 'id') of item %d", 100000+i), "/src/cart.ts", 42
			case i%20 == 0:
				level, text = "warning", fmt.Sprintf("Each child in a list should have a unique key, see row %d", 100000+i)
			}
			events = append(events, w.Event("console", fmt.Sprintf(`"level":%q,"via":"console","text":%q,"url":%q,"line":%d`, level, text, enginetest.Page+file, line)))
		}
		for i := range 40 {
			events = append(events, w.Event("action", fmt.Sprintf(`"action":"click","target":"button \"Add item %d\"","selector":"button.add"`, i)))
		}
		w.SendAll(events)
	}
	page()
	ask()
	for b.Loop() {
		b.StopTimer()
		page()
		b.StartTimer()
		ask()
	}
}
