package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/timeline"
)

// TestCommandsAreSentAgainUntilTheyHaveMoments has a daemon that cannot record for a while, as on a full disk.
func TestCommandsAreSentAgainUntilTheyHaveMoments(t *testing.T) {
	for _, c := range []struct {
		name     string
		failing  int // requests that fail first
		commands int
		want     string
		err      string
	}{
		{"at once", 0, 3, "m1 c0|m2 c1|m3 c2", ""},
		{"the second time", 1, 1, "m1 c0 late", ""},
		{"in their order", 2, 3, "m1 c0 late|m2 c1 late|m3 c2 late", ""},
		{"never", 1 << 20, 3, "", "commands without a moment: 3. no room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			requests := 0
			first := make(chan struct{}, 1<<10)
			daemonThat(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				requests++
				defer func() { first <- struct{}{} }()
				var p timeline.CommandParams
				if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
					t.Error(err)
				}
				if requests <= c.failing {
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = w.Write([]byte(`{"message":"no room","code":"internal"}`))
					return
				}
				id := fmt.Sprint("m", len(got)+1)
				text := id + " " + p.Label
				if !p.Happened.IsZero() {
					text += " late"
				}
				got = append(got, text)
				_, _ = fmt.Fprintf(w, `{"sessionId":"s-1","momentId":%q}`, id)
			})
			h, err := home.Find(version)
			if err != nil {
				t.Fatal(err)
			}
			m := newCommandMoments(h)
			var labels []<-chan string
			status := 0
			for n := range c.commands {
				labels = append(labels, m.add(recording.Command{Text: fmt.Sprint("c", n), Dir: "/", Status: &status}))
				if n == 0 && c.failing > 0 {
					<-first // the others find the first one waiting
				}
			}
			err = m.close()
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(got, "|") != c.want {
				t.Errorf("%q, want %q", strings.Join(got, "|"), c.want)
			}
			if err == nil && slices.ContainsFunc(labels, func(l <-chan string) bool { return !strings.HasPrefix(<-l, "m") }) {
				t.Error("a label is missing")
			}
		})
	}
}
