package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// A browser whose connection ends while it is asked cannot be reached just now. That is no fault of Tidemark, and the
// answer says what to do.
func TestAConnectionThatEndsWhileItIsAsked(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	cut := errors.New("the browser's connection ended")
	w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) { return nil, cut }
	w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) { return nil, cut }
	w.Debugged = func(context.Context, string, any, any) error { return cut }
	c := w.Agent()
	for tool, call := range map[string]struct {
		err  func() error
		next string
	}{
		"browser_snapshot": {func() error {
			_, err := w.Engine.Pages.Snapshot(t.Context(), c, pages.SnapshotParams{Tab: 1})
			return err
		}, "Call it again"},
		"browser_screenshot": {func() error {
			_, err := w.Engine.Actor.Screenshot(t.Context(), c, act.ScreenshotParams{Tab: 1})
			return err
		}, "call browser_snapshot"},
		"debugger_pause": {func() error {
			_, err := w.Engine.Inspector.DebuggerPause(t.Context(), c, debugger.PauseParams{Where: debugger.Where{Tab: 1}})
			return err
		}, "Call it again"},
	} {
		if err := call.err(); usererr.CodeOf(err) != usererr.PageUnavailable || !strings.Contains(err.Error(), cut.Error()) || !strings.Contains(err.Error(), call.next) {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
