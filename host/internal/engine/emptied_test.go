package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestAnActionReportsThatThePageBecameEmpty: the page's code fails and leaves nothing, which the page reports a while later.
func TestAnActionReportsThatThePageBecameEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		throws bool
		want   string
		took   time.Duration
	}{
		"an error":                   {true, `error: "TypeError: no price", the page is empty`, 300 * time.Millisecond},
		"no error, as at a sign out": {false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewLive(t, nil)
				version, empty := 0, false
				w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) {
					r := pageWith("Blank")
					f := &r.Frames[0]
					version++
					if f.Version = version; empty {
						f.Nodes = []protocol.AriaNode{{ID: 1, Role: "document"}}
					}
					return r, nil
				}
				w.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
					if c.throws {
						w.Log("error", "TypeError: no price")
					}
					empty = true
					time.AfterFunc(300*time.Millisecond, func() { w.Send("element", `"op":"emptied","frame":0,"document":"d","id":0`) })
					return &protocol.ActResult{Done: len(p.Steps)}, nil
				}
				a := w.Agent()
				ref := strings.Trim(reference.FindString(snapshot(t, w, a, pages.SnapshotParams{}).Snapshot), "[]")
				w.Changes(a, params{})
				time.Sleep(time.Second)
				began := time.Now()
				answer, err := w.Engine.Actor.Click(t.Context(), a, act.ClickParams{Ref: ref, Tab: 1})
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				var texts []string
				for _, e := range answer.Broke {
					text, _, _ := strings.Cut(e.Text, " (")
					texts = append(texts, text)
				}
				if got := strings.Join(texts, ", "); got != c.want || took != c.took {
					t.Errorf("%s after %s", got, took)
				}
				time.Sleep(time.Second)
			})
		})
	}
}
