package viewer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// surface is one way to a session: what it lists, and a view of a moment's files.
type surface struct {
	list func() timelineList
	seek func(moment string) (mount string)
}

type timelineList struct {
	SessionID string
	Moments   []struct {
		ID, Label, Kind, At string
		FsSnapshot          any
	}
	FsSnapshots []struct {
		ID, Provider string
		Changed      int
	}
}

// TestTheViewerMeansWhatEverySurfaceMeans: list, moment, snapshot, seek and branch mean the same in the viewer, by the command
// line, the live API and MCP. The popup adds moments too.
func TestTheViewerMeansWhatEverySurfaceMeans(t *testing.T) {
	w := e2etest.SharedWorld(t)
	p, _ := newProject(t, w, "--grant", "agents-branch")
	agent := w.NewAgent(t, "--tools", "timetravel", "--workspace", p.dir)
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`
await until(() => document.querySelector('#tab-moments'), 'the viewer');
document.querySelector('#tab-moments').click();
const { token } = JSON.parse(sessionStorage.getItem('tidemark.session'));
globalThis.rest = async (path, body) => {
	const answer = await fetch('/api/v1/sessions/' + path, { method: body ? 'POST' : 'GET', headers: { Authorization: 'Bearer ' + token, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
	if (!answer.ok) throw new Error(await answer.text());
	return await answer.text();
};
globalThis.row = (id) => [...document.querySelectorAll('.moment')].find((one) => one.querySelector('.moment-id').textContent === id);
globalThis.session = () => document.querySelector('.moments-head select').value;`)
	decode := func(text string, answer any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	awaited := func(js string) string {
		t.Helper()
		v.JS(`globalThis.got = await (` + js + `)`)
		return v.Text(`globalThis.got`)
	}
	others := map[string]surface{
		"cli": {
			func() (l timelineList) { decode(p.run("timeline", "list", "--json"), &l); return l },
			func(m string) string {
				var s struct{ Mount string }
				decode(p.run("timeline", "seek", m, "--json"), &s)
				return s.Mount
			},
		},
		"rest": {
			func() (l timelineList) { decode(awaited(`rest(session() + '/timeline')`), &l); return l },
			func(m string) string {
				var s struct{ Mount string }
				decode(awaited(fmt.Sprintf(`rest(session() + '/seek', { moment: %q })`, m)), &s)
				return s.Mount
			},
		},
		"mcp": {
			func() (l timelineList) { agent.Call("timeline_list", nil, &l); return l },
			func(m string) string {
				var s struct{ Mount string }
				agent.Call("timeline_seek", map[string]any{"to": m}, &s)
				return s.Mount
			},
		},
	}

	// Moments are added in each way, each after an edit.
	for i, way := range []string{"cli", "rest", "mcp", "viewer", "popup"} {
		p.write("way.txt", way+"\n")
		switch way {
		case "cli":
			p.run("timeline", "moment", "add", "--label", "by cli")
		case "rest":
			v.JS(`await until(() => document.querySelector('.moments-head select')?.value.startsWith('shop'), 'the session'); await rest(session() + '/moments', { label: 'by rest' })`)
		case "mcp":
			agent.Call("moment_add", map[string]any{"label": "by mcp"}, &struct{}{})
		case "viewer", "popup":
			page := v
			if way == "popup" {
				page = &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
			}
			page.JS(fmt.Sprintf(`
await until(() => document.querySelector('.add-moment input') && !document.querySelector('.add-moment input').disabled, 'the form');
document.querySelector('.add-moment summary').click();
fill(document.querySelector('.add-moment input'), 'by %s');
await press('Add', document.querySelector('.add-moment'));
await until(() => says('Added m%d in'), 'the moment');`, way, i+2))
		}
		v.JS(fmt.Sprintf(`await until(() => row('m%d')?.textContent.includes('by %s'), 'the moment by %s')`, i+2, way, way))
	}

	var shown []struct{ ID, Label, Kind, At, Files string }
	decode(v.Text(`JSON.stringify([...document.querySelectorAll('.moment')].map((one) => ({
	ID: one.querySelector('.moment-id').textContent, Label: one.querySelector('.moment-label').textContent, Kind: one.querySelector('.moment-kind').textContent,
	At: one.querySelector('time').dateTime, Files: one.querySelector('.moment-files')?.textContent ?? '' })))`), &shown)
	var first timelineList
	for way, s := range others {
		l := s.list()
		if first.SessionID == "" {
			first = l
		}
		if !reflect.DeepEqual(l, first) || len(l.Moments) != 6 || len(l.Moments) != len(shown) {
			t.Fatalf("the list by %s is %+v; another is %+v; the viewer shows %+v", way, l, first, shown)
		}
		for i, m := range l.Moments {
			if v := shown[i]; v.ID != m.ID || v.Label != m.Label || v.Kind != m.Kind || v.At != m.At {
				t.Errorf("the moment by %s is %+v; the viewer shows %+v", way, m, v)
			}
			if i > 0 && (m.Kind != "manual" || m.FsSnapshot != l.FsSnapshots[i].ID || !strings.HasPrefix(shown[i].Files, fmt.Sprintf("%d change", l.FsSnapshots[i].Changed))) {
				t.Errorf("the moment by %s is %+v with %+v; the viewer shows %+v", way, m, l.FsSnapshots[i], shown[i])
			}
		}
	}

	// What the viewer shows of a moment is the difference of the files that the others mount.
	for i, want := range []string{"rest", "mcp", "viewer", "popup"} {
		was, is := first.Moments[i+1].ID, first.Moments[i+2].ID
		diff := awaited(fmt.Sprintf(`(async () => { row(%q).querySelector('.moment-head').click(); await until(() => row(%q).querySelector('.moment-diff'), 'a diff'); return row(%q).querySelector('.moment-diff').textContent; })()`, is, is, is))
		if strings.TrimSpace(diff) == "" || !strings.Contains(p.run("timeline", "diff", was, is), strings.TrimSpace(diff)) || !strings.Contains(diff, "+"+want) {
			t.Errorf("%s in the viewer is\n%s\nby the command line\n%s", is, diff, p.run("timeline", "diff", was, is))
		}
		for way, s := range others {
			if text, err := os.ReadFile(filepath.Join(s.seek(is), "way.txt")); err != nil || string(text) != want+"\n" {
				t.Errorf("%s by %s has %q, %v", is, way, text, err)
			}
		}
	}

	// A branch of one moment, in each way.
	from := first.Moments[3]
	var branch struct {
		SessionID, Workspace, InjectedMessage string
		SessionBranchOf                       struct{ SessionID, FsSnapshotID string }
	}
	for _, way := range []string{"cli", "rest", "mcp", "viewer"} {
		name := "by-" + way
		switch way {
		case "cli":
			if r := w.RunIn(p.dir, "timeline", "session-branch", "--moment", from.ID, "--name", name, "--message", "go on"); r.Code != 5 { // no agent is known
				t.Fatalf("%+v", r)
			}
		case "rest":
			v.JS(fmt.Sprintf(`await rest(%q + '/session-branch', { fsSnapshotId: %q, name: %q, injectedMessage: 'go on' })`, first.SessionID, from.FsSnapshot, name))
		case "mcp":
			agent.Call("timeline_branch", map[string]any{"from": from.ID, "name": name, "message": "go on"}, &struct{}{})
		case "viewer":
			v.JS(fmt.Sprintf(`
pick(document.querySelector('.moments-head select'), %q);
await until(() => row(%q)?.textContent.includes('by mcp'), 'the session of the moment');
if (!button('Branch', row(%q))) row(%q).querySelector('.moment-head').click();
await press('Branch', row(%q));
const form = row(%q).querySelector('form');
fill(form.querySelector('input'), %q);
fill(form.querySelector('textarea'), 'go on');
await press('Create branch', form);
await until(() => says('Branch %s created in'), 'the branch');`, first.SessionID, from.ID, from.ID, from.ID, from.ID, from.ID, name, name))
		}
		var all struct {
			Sessions []struct{ SessionID, Name string }
		}
		decode(p.run("session", "list", "--all", "--json"), &all)
		id := ""
		for _, s := range all.Sessions {
			if strings.HasPrefix(s.SessionID, name) {
				id = s.SessionID
			}
		}
		decode(p.run("timeline", "list", id, "--json"), &branch)
		text, err := os.ReadFile(filepath.Join(branch.Workspace, "way.txt"))
		if branch.SessionBranchOf.SessionID != first.SessionID || branch.SessionBranchOf.FsSnapshotID != from.FsSnapshot || branch.InjectedMessage != "go on" || string(text) != "mcp\n" {
			t.Errorf("the branch by %s is %+v with %q, %v", way, branch, text, err)
		}
	}
}
