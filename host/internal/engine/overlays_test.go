package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

const (
	overlayAlone  = "Runtime Error – no items"
	overlayPlaced = overlayAlone + " – ./src/Shop.jsx:3:7"
)

func TestAnOverlayThatIsGivenItsPlaceLaterIsOne(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Element("appeared", 1, "nextjs-portal", overlayAlone)
	w.Pass(3 * time.Second)
	w.Element("gone", 1, "", "")
	w.Element("appeared", 2, "nextjs-portal", overlayPlaced)
	r := w.Changes(a, params{})
	expect(t, r.Summary == "1 new error overlay(s)" && len(r.DOM.NewErrorElements) == 1 && r.DOM.NewErrorElements[0].Source() == "Shop.jsx:3", r)
}

// TestAnOverlayThatIsGivenItsPlaceAfterAnAnswerIsRepeated with the place: for an agent that was given it, in a report since a
// checkpoint at which it was there, and in the answer of an action. In one since a time, it began before that.
func TestAnOverlayThatIsGivenItsPlaceAfterAnAnswerIsRepeated(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Element("appeared", 1, "nextjs-portal", overlayAlone)
	w.Changes(a, params{})
	if _, err := w.Call(a, "checkpoint_create", `{"name":"broken"}`); err != nil {
		t.Fatal(err)
	}
	since := w.Now.Format(time.RFC3339Nano)
	w.Pass(3 * time.Second)
	w.Element("gone", 1, "", "")
	w.Element("appeared", 2, "nextjs-portal", overlayPlaced)
	repeated := report.Repeated{Message: "error element " + overlayAlone, Count: 1, Initiator: "Shop.jsx:3"}
	for range 2 {
		for _, p := range []params{{}, {Checkpoint: "broken"}} {
			r := w.Changes(a, p)
			expect(t, r.Severity == report.Error && len(r.Repeated) == 1 && r.Repeated[0] == repeated && len(r.DOM.NewErrorElements)+len(r.DOM.DisappearedElements) == 0, r)
		}
	}
	r := w.Changes(w.Agent(), params{Checkpoint: since})
	expect(t, r.Severity == report.Clean && len(r.DOM.NewErrorElements)+len(r.DOM.DisappearedElements) == 0, r)
	w.Pass(10 * time.Second)
	w.Element("gone", 2, "", "")
	w.Changes(a, params{})
	w.Pass(10 * time.Second)
	w.Element("appeared", 3, "nextjs-portal", overlayPlaced)
	r = w.Changes(a, params{})
	expect(t, r.Summary == "1 new error overlay(s)" && len(r.Repeated) == 0, r)
}

// TestAnOverlayThatIsGivenItsPlaceAfterAMomentIsOfTheMomentBefore: the page has been broken since then.
func TestAnOverlayThatIsGivenItsPlaceAfterAMomentIsOfTheMomentBefore(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Pass(time.Second)
	w.Element("appeared", 1, "nextjs-portal", overlayAlone)
	broke := w.Now
	w.Pass(time.Second)
	moment := w.Now
	w.Pass(time.Second)
	w.Element("gone", 1, "", "")
	w.Element("appeared", 2, "nextjs-portal", overlayPlaced)
	w.Pass(time.Second)
	course := w.Engine.Regressions.Course(t.Context(), c, t.TempDir(), []time.Time{broke.Add(-time.Second), moment}, []time.Time{moment, {}})
	expect(t, course[0] == timeline.Stretch{Severity: report.Error} && course[1] == timeline.Stretch{Severity: report.Error, Since: broke.UTC()}, course)
}

// TestAnOverlayWithAPlaceThatFollowsAnotherIsNews: the one before was gone.
func TestAnOverlayWithAPlaceThatFollowsAnotherIsNews(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Element("appeared", 1, "nextjs-portal", overlayAlone)
	w.Changes(a, params{})
	w.Element("gone", 1, "", "")
	w.Pass(10 * time.Second)
	w.Element("appeared", 2, "nextjs-portal", overlayPlaced)
	r := w.Changes(a, params{})
	expect(t, r.Summary == "1 new error overlay(s)" && len(r.Repeated) == 0, r)
}

func TestAnOverlayThatIsBackAfterAFixIsNews(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	for range 2 {
		w.Element("appeared", 1, "nextjs-portal", overlayPlaced)
		r := w.Changes(a, params{})
		expect(t, r.Summary == "1 new error overlay(s)" && len(r.Repeated) == 0 && len(r.DOM.NewErrorElements) == 1, r)
		w.Pass(time.Second)
		w.Element("gone", 1, "", "")
		w.Changes(a, params{Severity: "errors_only"}) // does not list what is over
		w.Pass(time.Second)
	}
}

func TestAnOverlayThatStaysKeepsItsPlace(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Element("appeared", 1, "nextjs-portal", overlayPlaced)
	w.Changes(a, params{})
	r := w.Changes(a, params{})
	expect(t, r.Severity == report.Error && len(r.Repeated) == 1 &&
		r.Repeated[0] == report.Repeated{Message: "error element " + overlayAlone, Count: 1, Initiator: "Shop.jsx:3"}, r)
}

// TestAMendedBuildIsNoError of webpack, whose client takes the overlay back when the build works.
func TestAMendedBuildIsNoError(t *testing.T) {
	for text, want := range map[string]report.Severity{
		"Compiled with problems: ERROR in ./src/Shop.jsx 3:0-9 Module not found – ./src/Shop.jsx:3:0 (generated)": report.Clean,
		"Uncaught runtime errors: ERROR no items": report.Error,
	} {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		w.Changes(a, params{})
		w.Element("appeared", 1, "#webpack-dev-server-client-overlay", text)
		w.Pass(time.Second)
		w.Element("gone", 1, "", "")
		r := w.Changes(a, params{})
		expect(t, r.Severity == want && len(r.DOM.Flashes)+len(r.DOM.NewErrorElements) == 1, r)
	}
}

func TestDevelopmentServersLogWhatHasItsPlaceElsewhere(t *testing.T) {
	const (
		vite = enginetest.Page + "/@vite/client"
		next = "webpack-internal:///node_modules/next/src/next-devtools/userspace/app/errors/intercept-console-error.ts"
	)
	for _, c := range []struct {
		message, url, source string
		generated            bool
	}{
		{"./src/app/Shop.tsx:4:1\nError: Module not found: Can't resolve './util'", next, "Shop.tsx:4", false},
		{"./src/app/page.css:4:1\nError: Parsing CSS source code failed\n\nGenerated code of PostCSS transform of file content of src/app/page.css:", next, "page.css:4", true},
		{"Each child in a list should have a unique \"key\" prop.", next, "", false},
		{"[vite] Failed to reload /src/Shop.vue. This could be due to syntax errors", vite, "Shop.vue", false},
		{"[vite] SyntaxError: The requested module '/src/util.ts' does not provide an export named 'nope'", vite, "", false},
		{"src/app/Shop.tsx:4:1 is what the page says", enginetest.Page + "/src/app.tsx", "app.tsx:3", false},
	} {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		w.Changes(a, params{})
		w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":%q,"url":%q,"line":3,"column":7,"stack":[]`, c.message, c.url))
		r := w.Changes(a, params{})
		expect(t, len(r.Console.NewErrors) == 1 && r.Console.NewErrors[0].Source == c.source && r.Console.NewErrors[0].Generated == c.generated, r)
	}
}

// TestAnOverlayStandsForAnErrorWhosePlaceOnlyItKnows, such as one of a server's code.
func TestAnOverlayStandsForAnErrorWhosePlaceOnlyItKnows(t *testing.T) {
	for text, want := range map[string]string{
		"Runtime Error – action boom – src/app/actions.ts:4:9": "1 new error overlay(s)",
		"Runtime Error – action boom":                          "1 new console error(s)",
	} {
		w := enginetest.NewWithMaps(t, (&server{}).fetch)
		a := w.Agent()
		w.Changes(a, params{})
		w.Send("console", `"level":"error","via":"exception","text":"Error: action boom","url":"webpack-internal:///./src/app/actions.ts","line":12,"column":7`)
		w.Element("appeared", 1, "nextjs-portal", text)
		r := w.Changes(a, params{})
		expect(t, r.Summary == want && len(r.Console.NewErrors)+len(r.DOM.NewErrorElements) == 1, r)
	}
}

// TestAnOverlayFromBeforeStandsForNoError where the answer says nothing of it, as one since a time: an overlay that was there then,
// and that is closed and opened again with the error.
func TestAnOverlayFromBeforeStandsForNoError(t *testing.T) {
	const placed = "Console Error – picked – src/app/Shop.tsx:4:9"
	w := enginetest.NewWithMaps(t, (&server{}).fetch)
	a := w.Agent()
	w.Element("appeared", 1, "nextjs-portal", placed)
	w.Pass(10 * time.Second)
	w.Changes(a, params{})
	since := w.Now.Format(time.RFC3339Nano)
	w.Pass(time.Second)
	w.Send("console", `"level":"error","via":"console","text":"picked","url":"webpack-internal:///./src/app/Shop.tsx","line":12,"column":7`)
	w.Element("gone", 1, "", "")
	w.Element("appeared", 2, "nextjs-portal", "Console Error – picked")
	w.Pass(time.Second)
	w.Element("gone", 2, "", "")
	w.Element("appeared", 3, "nextjs-portal", placed)
	r := w.Changes(w.Agent(), params{Checkpoint: since})
	expect(t, r.Severity == report.Error && len(r.Console.NewErrors) == 1, r)
}

// TestOneOfTwoOverlaysAndTheirErrorIsListed: React Refresh and webpack's client both show what was thrown.
func TestOneOfTwoOverlaysAndTheirErrorIsListed(t *testing.T) {
	for place, want := range map[string]string{
		"main.js:12:7":    "1 new console error(s)", // the bundle's
		"src/App.jsx:9:3": "1 new error overlay(s)",
	} {
		w := enginetest.NewWithMaps(t, (&server{}).fetch)
		a := w.Agent()
		w.Changes(a, params{})
		w.Send("console", `"level":"error","via":"exception","text":"TypeError: list.map is not a function","url":"webpack-internal:///main.js","line":12,"column":7`)
		w.Element("appeared", 1, "#webpack-dev-server-client-overlay", "ERROR in Uncaught runtime error: list.map is not a function TypeError: list.map is not a function at App (main.js:12:7)")
		w.Element("appeared", 2, "#react-refresh-overlay", "TypeError list.map is not a function Call Stack App "+place+" – "+place)
		r := w.Changes(a, params{})
		expect(t, r.Summary == want && len(r.Console.NewErrors)+len(r.DOM.NewErrorElements) == 1, r)
	}
}
