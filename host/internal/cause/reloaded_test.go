package cause_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestALoadRunsWhatAHotUpdateReplaced: a module is edited that asks for data, a hot update replaces it, and the page fails with the
// next load, in what another file makes of the same answer.
func TestALoadRunsWhatAHotUpdateReplaced(t *testing.T) {
	const ordered = "src/api.js:3 [order]"
	api := event.EndpointKey{Path: "/api/items"}
	answer := func(began, size int64) cause.Answer {
		return cause.Answer{Request: &event.Network{}, Span: cause.Span{Began: began, Ended: began + 150}, Endpoint: api, Content: cause.Content{Size: size}}
	}
	for name, c := range map[string]struct {
		also   []cause.Edit
		change func(s *cause.Symptom, h *cause.History)
		want   string
	}{
		"with the same answer":  {nil, nil, ordered},
		"as the server writes":  {[]cause.Edit{edit(".next/dev/cache/1.sst", 4000), edit(".next/dev/logs/a.log", 7990)}, nil, ordered},
		"the same file, before": {[]cause.Edit{edit("src/api.js", 2100, at(3))}, nil, ordered},
		"another file, before the first load": {
			[]cause.Edit{edit("src/b.js", 500, at(3))}, nil, ordered,
		},
		"another file": {[]cause.Edit{edit("src/b.js", 2100, at(3))}, nil, cause.NoEvidence},
		"another file, which the first load may not have had": {[]cause.Edit{edit("src/b.js", 900, at(3))}, nil, cause.NoEvidence},
		"another file, after the load":                        {[]cause.Edit{edit("src/b.js", 7500, at(3))}, nil, cause.NoEvidence},
		"with another answer":                                 {nil, func(_ *cause.Symptom, h *cause.History) { h.Answers[1].Content.Size++ }, cause.NoEvidence},
		"with an answer of unknown content": {nil, func(_ *cause.Symptom, h *cause.History) {
			h.Answers[0].Content.Size, h.Answers[1].Content.Size = 0, 0
		}, cause.NoEvidence},
		"with one more answer": {nil, func(_ *cause.Symptom, h *cause.History) {
			h.Answers = append(h.Answers, cause.Answer{Span: cause.Span{Began: 7500, Ended: 7900}, Endpoint: event.EndpointKey{Path: "/api/user"}, Content: cause.Content{Size: 10}})
		}, cause.NoEvidence},
		"which other code asked for": {nil, func(_ *cause.Symptom, h *cause.History) {
			h.Frames = func(*event.Network) []cause.Frame { return frames("src/b.js", 2) }
		}, cause.NoEvidence},
		"of another page":                {nil, func(_ *cause.Symptom, h *cause.History) { h.Visits[1].Page = "/b" }, cause.NoEvidence},
		"after a click":                  {nil, func(_ *cause.Symptom, h *cause.History) { h.Inputs = []int64{5000} }, cause.NoEvidence},
		"of a server that started again": {nil, func(_ *cause.Symptom, h *cause.History) { h.Lost = []int64{5000} }, cause.NoEvidence},
		"with the first load too":        {nil, func(s *cause.Symptom, _ *cause.History) { s.Earlier = []int64{1400} }, cause.NoEvidence},
		"without a load before":          {nil, func(_ *cause.Symptom, h *cause.History) { h.Loads = h.Loads[1:] }, cause.NoEvidence},
		"long after the load":            {nil, func(s *cause.Symptom, _ *cause.History) { s.At = 20_000 }, cause.NoEvidence},
		"edited before the answer":       {nil, func(_ *cause.Symptom, h *cause.History) { h.Answers[0].Ended = 1900 }, cause.NoEvidence},
	} {
		s := cause.Symptom{At: 8000, Frames: frames("src/App.jsx", 21)}
		h := cause.History{
			Updates: []int64{1000, 2130, 7200, 7250}, Loads: []int64{1000, 7250}, Lost: []int64{7240}, Modules: []cause.Module{{At: 2130, File: "[project]/src/api.js"}},
			Visits:  []cause.Visit{{At: 1000, Page: "/"}, {At: 7250, Page: "/"}},
			Answers: []cause.Answer{answer(1100, 220), answer(7800, 220)},
			Frames:  func(*event.Network) []cause.Frame { return frames("src/api.js", 2, "src/App.jsx", 12) },
		}
		if c.change != nil {
			c.change(&s, &h)
		}
		changed := edit("src/api.js", 2000, at(3))
		f := cause.Finder{Edits: append([]cause.Edit{changed}, c.also...)}
		if got := told(f.Find(s, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
