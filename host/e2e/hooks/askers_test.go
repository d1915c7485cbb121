package hooks

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// A report between moments of a session names the edits of its workspace, whoever asks: in the workspace, elsewhere, and by the
// live API that the dashboard uses, with a tab or without.
func TestAReportBetweenMomentsNamesTheSessionsEditsWhoeverAsks(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	w := e2etest.ConfiguredWorld(t, fmt.Sprintf("[http]\nport = %d\n", port))
	app := startVite(t)
	s := &session{t: t, w: w, id: "askers", dir: app.Dir}
	other := &session{t: t, w: w, id: "other", dir: t.TempDir()}
	s.records()
	other.records()
	p := w.Open(t, app.URL)
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	s.starts()
	moment := func(of *session, label string) (id, session string) {
		t.Helper()
		var m struct{ ID, SessionID string }
		r := w.RunIn(of.dir, "timeline", "moment", "add", "--label", label, "--json")
		if err := json.Unmarshal([]byte(r.Out), &m); r.Code != 0 || err != nil {
			t.Fatalf("%d %s %v", r.Code, r.Err, err)
		}
		return m.ID, m.SessionID
	}
	from, of := moment(s, "before")
	app.Edit("src/price.js", "(cents / 100)", "cents.value")
	if err := os.WriteFile(filepath.Join(other.dir, "notes.txt"), []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	moment(other, "notes")
	if said := s.edited("src/price.js"); !strings.Contains(said, "after src/price.js") {
		t.Fatalf("the hook says %q", said)
	}
	to, _ := moment(s, "after")
	names := func(who, changed, moment string) {
		t.Helper()
		found := introduced(t, changed)
		if len(found) == 0 {
			t.Errorf("%s: no edit is named", who)
		}
		for _, by := range found {
			if by.Path != "src/price.js" || strings.Contains(by.Moment, "@") != (moment != "") || !strings.HasSuffix(by.Moment, moment) {
				t.Errorf("%s: %+v", who, by)
			}
		}
	}
	inside := w.RunIn(app.Dir, "diff", from, to, "--json")
	if inside.Code != 0 {
		t.Fatalf("%+v", inside)
	}
	names("in the workspace", inside.Out, "")
	at := "@" + of
	outside := w.RunIn(t.TempDir(), "diff", from+at, to+at, "--json")
	if outside.Code != 0 {
		t.Fatalf("%+v", outside)
	}
	names("elsewhere", outside.Out, at)
	token, err := os.ReadFile(filepath.Join(w.Home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	var status struct {
		Browsers []struct {
			Tabs []struct {
				ID  int
				URL string
			}
		}
	}
	if err := json.Unmarshal([]byte(w.RunIn(app.Dir, "status", "--json").Out), &status); err != nil || len(status.Browsers) != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	tabs := []string{""}
	for _, tab := range status.Browsers[0].Tabs {
		if strings.HasPrefix(tab.URL, app.URL) {
			tabs = append(tabs, fmt.Sprint("&tab=", tab.ID))
		}
	}
	if len(tabs) != 2 {
		t.Errorf("the tabs are %+v", status)
	}
	for _, tab := range tabs {
		url := fmt.Sprintf("http://127.0.0.1:%d/api/report?from=%s&to=%s%s", port, from+at, to+at, tab)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var answer struct{ Report *report.Report }
		if err := json.Unmarshal(data, &answer); err != nil || answer.Report == nil {
			t.Fatalf("%s: %s %v", url, data, err)
		}
		changed, err2 := json.Marshal(answer.Report)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		names("the live API "+tab, string(changed), at)
	}
}
