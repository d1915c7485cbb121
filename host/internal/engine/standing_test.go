package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestThePopupAndTheViewerSayTheSame compares all tabs at every checkpoint and now, and each tab since the same
// moment. The popup is never clean while the viewer of a watched tab is not.
func TestThePopupAndTheViewerSayTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		origins := map[int]string{7: enginetest.Page, 8: "http://localhost:3000", 9: "http://localhost:3000"}
		for _, id := range []int{8, 9} {
			w.Open(id, origins[id]+"/")
		}
		clients := []*checkpoint.Client{w.Agent()}
		for _, scope := range [][]string{{"localhost:5173"}, {"localhost:3000"}, {"localhost:5173", "localhost:3000"}} {
			if rapid.Bool().Draw(rt, "connected") {
				clients = append(clients, w.Scoped(scope...))
			}
		}
		named := 0
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(t *rapid.T) {
				tab := rapid.SampledFrom([]int{7, 8, 9}).Draw(t, "tab")
				level := rapid.SampledFrom([]string{"error", "warning", "info"}).Draw(t, "level")
				w.Send("console", fmt.Sprintf(`"tab":%d,"level":%q,"via":"console","text":"said %d"`, tab, level, rapid.IntRange(1, 5).Draw(t, "what")))
			},
			"checkpoint": func(t *rapid.T) {
				named++
				w.Pass(time.Second)
				client := rapid.SampledFrom(clients).Draw(t, "client")
				if _, err := w.Call(client, "checkpoint_create", fmt.Sprintf(`{"name":"c_%c"}`, 'a'+named%4)); err != nil {
					t.Fatal(err)
				}
			},
			"watch": func(t *rapid.T) {
				id := rapid.SampledFrom([]int{7, 8, 9}).Draw(t, "tab")
				w.SetTab(protocol.Tab{ID: id, URL: origins[id] + "/", Watched: rapid.Bool().Draw(t, "on"), Capture: "debugger", DOM: true})
			},
			"pass": func(*rapid.T) { w.Pass(time.Second) },
			"":     func(rt *rapid.T) { agree(t, rt, w) },
		})
	})
}

// begins returns the time at which the reported state begins. Two checkpoints may share a name.
func begins(list protocol.ViewCheckpoints) int64 {
	for _, c := range list.Checkpoints {
		if c.Moment == list.Since {
			return c.At
		}
	}
	return 0
}

func agree(t *testing.T, rt *rapid.T, w *enginetest.World) {
	popup := overview(w)
	all := view[protocol.ViewCheckpoints](t, w, "view_checkpoints", protocol.ViewParams{})
	header := view[protocol.ViewOverview](t, w, "view_overview", protocol.ViewParams{})
	report := view[protocol.ViewReport](t, w, "view_report", protocol.ViewReportParams{})
	now := protocol.ViewSpan{Severity: popup.Severity, Summary: popup.Summary, Errors: popup.Errors, Warnings: popup.Warnings, NotObserved: popup.NotObserved != ""}
	if now != all.Now || popup.Since != header.Since || popup.Severity != header.Severity || popup.Errors != header.Errors || popup.Errors != report.Errors || popup.Warnings != report.Warnings || all.Since != report.From {
		rt.Fatalf("now: the popup says %+v since %q, the viewer %+v since %q, its report %d errors since %q", now, popup.Since, all.Now, header.Since, report.Errors, report.From)
	}
	if len(popup.Checkpoints) != len(all.Checkpoints) {
		rt.Fatalf("the popup has %d checkpoints, the viewer %d", len(popup.Checkpoints), len(all.Checkpoints))
	}
	for i, c := range all.Checkpoints {
		p := popup.Checkpoints[i]
		if p.Name != c.Moment || p.Severity != c.Since.Severity || p.Errors != c.Since.Errors || p.Warnings != c.Since.Warnings || p.NotObserved != c.Since.NotObserved {
			rt.Fatalf("%s: the popup says %+v, the viewer %+v", c.Moment, p, c.Since)
		}
	}
	rows := map[int]protocol.TabStanding{}
	for _, row := range popup.Tabs {
		rows[row.Tab] = row
	}
	for _, tab := range header.Tabs {
		row, there := rows[tab.BrowserID]
		if there != tab.Watched {
			rt.Fatalf("tab %d is watched: %v, and has a row: %v", tab.BrowserID, tab.Watched, there)
		}
		if !there {
			continue
		}
		// The viewer of one tab begins at the newest checkpoint of that tab's project, which is no older.
		own := view[protocol.ViewCheckpoints](t, w, "view_checkpoints", protocol.ViewParams{Tab: tab.ID})
		if begins(own) == begins(all) && (row.Severity != own.Now.Severity || row.Errors != own.Now.Errors || row.Warnings != own.Now.Warnings) {
			rt.Fatalf("tab %d: the popup says %+v, its viewer %+v", tab.BrowserID, row, own.Now)
		}
		if popup.Severity == "clean" && (row.Severity != "clean" || own.Now.Severity != "clean") {
			rt.Fatalf("the popup says clean, tab %d %+v, its viewer %+v since %s", tab.BrowserID, row, own.Now, own.Since)
		}
		// Since a later moment, fewer entries may be alike, so that more are listed; see alike.Few. None at all cannot become some.
		if own.Now.Errors > 0 && row.Errors == 0 || own.Now.Warnings > 0 && row.Warnings == 0 {
			rt.Fatalf("tab %d: the popup counts %+v, its viewer more, %+v since %s", tab.BrowserID, row, own.Now, own.Since)
		}
	}
}
