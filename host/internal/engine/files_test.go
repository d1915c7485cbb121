package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// knownGood is an exported state: two endpoints that work, one that fails, one visible error.
func knownGood(t *testing.T, origin string) *checkpoint.File {
	t.Helper()
	w := enginetest.New(t, capture.Limits{})
	for range 3 {
		w.Request("GET", "/api/cart", 200, 20)
		w.Request("GET", "/api/user", 200, 50)
		w.Request("GET", "/api/ads", 500, 5)
		w.Request("GET", "https://api.test/v1", 200, 5)
	}
	w.Element("appeared", 1, ".error", "Ads are off")
	a := w.Agent()
	if _, err := w.Call(a, "checkpoint_create", `{"name":"known_good","note":"all well"}`); err != nil {
		t.Fatal(err)
	}
	f, err := w.Engine.Observer.Export(t.Context(), a, "known_good")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	// As if from another machine.
	f, err = checkpoint.ParseFile([]byte(strings.ReplaceAll(string(data), enginetest.Page, origin)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAnExportedStateIsComparedWithElsewhere(t *testing.T) {
	for _, origin := range []string{enginetest.Page, "http://127.0.0.1:41000"} { // the port may differ
		f := knownGood(t, origin)
		w := enginetest.New(t, capture.Limits{})
		w.Pass(24 * time.Hour)
		w.Request("GET", "/api/cart", 500, 20)
		w.Request("GET", "/api/user", 200, 400)
		w.Request("GET", "/api/ads", 500, 5)
		w.Request("GET", "/api/new", 200, 5)
		w.Request("GET", "https://api.test/v1", 200, 5)
		w.Element("appeared", 9, ".error", "Ads are off")
		w.Element("appeared", 10, ".error", "Cart is broken")
		w.Log("error", "boom")
		a := w.Agent()
		r, err := w.Engine.Observer.Compare(context.Background(), a, params{}, f)
		if err != nil {
			t.Fatal(err)
		}
		ok := r.Severity == report.Error && r.Coverage == nil && r.Checkpoint == "known_good" && len(r.Console.NewErrors) == 1 &&
			len(r.Network.Failures) == 1 && r.Network.Failures[0].URL == "/api/cart" && r.Network.Failures[0].PreviousStatus == 200 &&
			r.Network.StillFailing == 1 && len(r.Network.NewEndpoints) == 1 && r.Network.NewEndpoints[0].URL == "/api/new" &&
			len(r.Network.Degraded) == 1 && r.Network.Degraded[0].PreviousAvgMs == 50 &&
			len(r.DOM.NewErrorElements) == 1 && r.DOM.NewErrorElements[0].Text == "Cart is broken"
		if !ok {
			t.Errorf("%s: %s", origin, show(r))
		}
		// It moves no client's cursor.
		if r := w.Changes(a, params{}); len(r.Console.NewErrors) != 1 || r.Checkpoint != "auto_1" {
			t.Errorf("%s: %s", origin, show(r))
		}
	}
}

func TestAnImportedStateIsACheckpointOfWhatComesNext(t *testing.T) {
	f := knownGood(t, enginetest.Page)
	w := enginetest.New(t, capture.Limits{})
	w.Log("error", "before the import")
	a := w.Agent()
	made, err := w.Engine.Observer.Import(context.Background(), a, f, "")
	if err != nil || made.Name != "known_good" || made.Severity != report.Clean {
		t.Fatalf("%+v %v", made, err)
	}
	w.Request("GET", "/api/cart", 404, 20)
	r := w.Changes(a, params{Checkpoint: "known_good"})
	if len(r.Console.NewErrors) != 0 || len(r.Network.Failures) != 1 || r.Network.Failures[0].PreviousStatus != 200 {
		t.Errorf("%s", show(r))
	}
	if again, err := w.Engine.Observer.Import(context.Background(), a, f, ""); err != nil || again.Replaced == nil {
		t.Errorf("%+v %v", again, err)
	}
}

func TestAFileThatIsNoStateIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":            ``,
		"no object":          `[]`,
		"another kind":       `{"kind":"package","version":1}`,
		"a name with a date": `{"kind":"tidemark checkpoint","version":1,"name":"state_2026_01_23"}`,
		"an origin":          `{"kind":"tidemark checkpoint","version":1,"name":"a","origins":["file:///x"]}`,
		"a status":           `{"kind":"tidemark checkpoint","version":1,"name":"a","endpoints":[{"page":"","method":"GET","url":"/","status":-1}]}`,
		"two at once":        `{"kind":"tidemark checkpoint","version":1,"name":"a"} {}`,
		"another version":    `{"kind":"tidemark checkpoint","version":7,"name":"a"}`,
	} {
		if _, err := checkpoint.ParseFile([]byte(data)); err == nil || len(err.Error()) < 20 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
