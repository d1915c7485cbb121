//go:build !windows

package engine_test

import (
	"errors"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

// An agent whose project file is unreadable still gets reports, with a notice that the rules are not used.
func TestAnOddProjectFileStopsNobody(t *testing.T) {
	oddfiles.Each(t, ".tidemark.toml", func(path string) error {
		w := enginetest.New(t, capture.Limits{})
		c := w.Agent()
		w.Engine.Clients.SetProject(c, path)
		w.Log("error", "it broke")
		r := w.Changes(c, observe.ChangesParams{})
		if r.Console == nil || len(r.Console.NewErrors) != 1 {
			t.Errorf("console: %+v", r.Console)
		}
		return errors.New(strings.Join(r.NoiseProblems, "\n"))
	})
}
