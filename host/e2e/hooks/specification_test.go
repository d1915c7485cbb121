package hooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// shape returns the fields of a JSON object and of the objects in it: "id", "moments[].id", "snapshot.id".
func shape(of object, under string) (fields []string) {
	for name, value := range of {
		fields = append(fields, under+name)
		switch value := value.(type) {
		case object:
			fields = append(fields, shape(value, under+name+".")...)
		case []any:
			for _, each := range value {
				if each, ok := each.(object); ok {
					fields = append(fields, shape(each, under+name+"[].")...)
				}
			}
		}
	}
	return fields
}

// TestTheSpecification takes the specification of time travel by its sentences: requests, events, commands, the data model and
// failures. The names of requests, parameters and fields are the specification's; `aw` is `tidemark`.
//
// What needs other conditions has its own tests. In host/internal/timeline: TestASnapshotThatFailsLeavesAMomentAndCanBeRetried. In
// its moments: TestAProviderThatIsDegradedIsOnTheTimeline, TestMomentsOfABurstShareASnapshot. In
// host/internal/workspace/provider: TestCountAndAge, TestTheBudgetIsHard.
func TestTheSpecification(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it records a terminal")
	}
	s := newSurfaces(t, "")
	s.cli(nil, "project", "allow", "--grant", "terminal", s.dir)
	next := s.events("")
	next()
	if r := s.w.RunIn(s.dir, "record", "--", "sh", "-c", "echo recorded"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	s.write("two")
	s.cli(nil, "timeline", "moment", "add", s.session, "--label", "git clone")

	post := func(t *testing.T, path string, body object) (answer object) {
		t.Helper()
		if status, text := s.rest(nil, s.session+"/"+path, body); status/100 != 2 || json.Unmarshal([]byte(text), &answer) != nil {
			t.Fatalf("POST %s %v: %d %s", path, body, status, text)
		}
		return answer
	}
	get := func(t *testing.T, path string) (answer object) {
		t.Helper()
		s.rest(&answer, s.session+path, nil)
		return answer
	}
	has := func(t *testing.T, of object, fields ...string) {
		t.Helper()
		there := shape(of, "")
		for _, field := range fields {
			if !slices.Contains(there, field) {
				t.Errorf("%s is missing: %v", field, of)
			}
		}
	}
	held := func(t *testing.T, dir any, want string) {
		t.Helper()
		if text, err := os.ReadFile(filepath.Join(fmt.Sprint(dir), "a")); err != nil || string(text) != want {
			t.Errorf("%v has %q, %v; want %q", dir, text, err, want)
		}
	}
	refused := func(t *testing.T, path string, body any, status int, part string) {
		t.Helper()
		if got, text := s.rest(nil, s.session+path, body); got != status || !strings.Contains(text, part) {
			t.Errorf("%s %v: %d %s; want %d with %q", path, body, got, text, status, part)
		}
	}

	// A time of less than 0.1 s ago means now.
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return get(t, "/timeline")["durationSec"].(float64) > .2, nil }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sentence string
		holds    func(t *testing.T)
	}{
		{"GET /api/v1/sessions/{id}/timeline: Returns SessionMoments and FsSnapshots ordered by time", func(t *testing.T) {
			list := get(t, "/timeline")
			has(t, list, "sessionId", "durationSec", "recording.format", "recording.uri", "moments[].id", "moments[].ts", "moments[].label", "moments[].kind",
				"fsSnapshots[].id", "fsSnapshots[].ts", "fsSnapshots[].label", "fsSnapshots[].provider", "fsSnapshots[].snapshot.id")
			for _, kind := range []string{"moments", "fsSnapshots"} {
				last := -1.0
				for _, each := range list[kind].([]any) {
					if ts := each.(object)["ts"].(float64); ts < last {
						t.Errorf("%s are not ordered by time: %v", kind, list[kind])
					} else {
						last = ts
					}
				}
			}
		}},
		{"POST /api/v1/sessions/{id}/fs-snapshots: Create a manual FsSnapshot near a timestamp; returns snapshot ref", func(t *testing.T) {
			now := post(t, "fs-snapshots", object{"label": "by hand"})
			has(t, now, "id", "ts", "label", "provider", "snapshot.id")
			if early := post(t, "fs-snapshots", object{"ts": 0}); early["id"] != "s1" || early["id"] == now["id"] {
				t.Errorf("near the start there is %v", early)
			}
		}},
		{"POST /api/v1/sessions/{id}/moments: Create a manual SessionMoment at/near a timestamp", func(t *testing.T) {
			if m := post(t, "moments", object{"ts": 0.01, "label": "here"}); m["kind"] != "manual" || m["ts"] != 0.01 || m["label"] != "here" || m["fsSnapshot"] != "s1" {
				t.Errorf("the moment is %v", m)
			}
		}},
		{"POST /api/v1/sessions/{id}/seek: Parameters: ts, or fsSnapshotId. Returns a short-lived read-only mount (host path)", func(t *testing.T) {
			for _, body := range []object{{"ts": 0}, {"fsSnapshotId": "s1"}} {
				view := post(t, "seek", body)
				held(t, view["mount"], "one")
				info, err := os.Stat(filepath.Join(view["mount"].(string), "a"))
				if err != nil || info.Mode().Perm()&0o222 != 0 {
					t.Errorf("it is not read-only: %v %v", info, err)
				}
			}
			if mount := get(t, "/timeline")["fsSnapshots"].([]any)[0].(object)["snapshot"].(object)["mount"]; mount == nil {
				t.Error("the list does not say where the snapshot is mounted")
			}
		}},
		{"POST /api/v1/sessions/{id}/session-branch: Parameters: fromTs or fsSnapshotId, name, optional injectedMessage. " +
			"Creates a new session with a writable workspace. Response includes new sessionId and workspace mount info", func(t *testing.T) {
			for name, body := range map[string]object{"from-ts": {"fromTs": 0}, "from-snapshot": {"fsSnapshotId": "s1", "injectedMessage": "use a map"}} {
				body["name"] = name
				b := post(t, "session-branch", body)
				held(t, b["workspace"], "one")
				if err := os.WriteFile(filepath.Join(b["workspace"].(string), "a"), []byte("branched"), 0o600); err != nil || b["sessionId"] == s.session || b["name"] != name {
					t.Errorf("the branch is %v, %v", b, err)
				}
			}
			held(t, s.dir, "two") // "original session remains immutable"
		}},
		{"GET /api/v1/sessions/{id}/fs-snapshots: Lists underlying provider snapshots/checkpoints with metadata", func(t *testing.T) {
			has(t, get(t, "/fs-snapshots"), "fsSnapshots[].id", "fsSnapshots[].provider", "fsSnapshots[].snapshot.id", "fsSnapshots[].moments")
		}},
		{"SSE on /sessions/{id}/events: timeline.sessionMoment, timeline.fsSnapshot.created, timeline.sessionBranch.created", func(*testing.T) {
			missing := map[string]bool{"timeline.sessionMoment": true, "timeline.fsSnapshot.created": true, "timeline.sessionBranch.created": true}
			for len(missing) > 0 {
				if name, ok := strings.CutPrefix(next(), "event: "); ok {
					delete(missing, name)
				}
			}
		}},
		{"aw timeline list <SESSION_ID>: Show SessionMoments and FsSnapshots", func(t *testing.T) {
			if r := s.w.RunIn(t.TempDir(), "timeline", "list", s.session); r.Code != 0 || !strings.Contains(r.Out, "  m1  ") || !strings.Contains(r.Out, "  s1  ") {
				t.Errorf("%d %s%s", r.Code, r.Out, r.Err)
			}
		}},
		{"aw timeline fs-snapshot add <SESSION_ID> [--ts <sec>] [--label <str>]: Create manual FsSnapshot", func(t *testing.T) {
			var made object
			s.cli(&made, "timeline", "fs-snapshot", "add", s.session, "--ts", "0", "--label", "the first", "--json")
			if made["id"] != "s1" {
				t.Errorf("it is %v", made)
			}
		}},
		{"aw timeline moment add <SESSION_ID> [--ts <sec>] [--label <str>]: Create manual SessionMoment", func(t *testing.T) {
			var made object
			s.cli(&made, "timeline", "moment", "add", s.session, "--ts", "0.02", "--label", "halfway", "--json")
			if made["ts"] != 0.02 || made["kind"] != "manual" || made["label"] != "halfway" {
				t.Errorf("it is %v", made)
			}
		}},
		{"aw timeline seek <SESSION_ID> (--ts <sec> | --fs-snapshot <ID>) [--open-ide]: Mount read-only view; optionally open IDE", func(t *testing.T) {
			opened := filepath.Join(t.TempDir(), "opened")
			t.Setenv("VISUAL", "cp -r -t '"+opened+"'")
			if err := os.Mkdir(opened, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"--ts", "0"}, {"--fs-snapshot", "s1"}, {"--fs-snapshot", "s1", "--open-ide"}} {
				var view object
				s.cli(&view, append([]string{"timeline", "seek", s.session, "--json"}, args...)...)
				held(t, view["mount"], "one")
			}
			if all, err := os.ReadDir(opened); err != nil || len(all) != 1 { // the editor got the view
				t.Errorf("%v, %v", all, err)
			}
		}},
		{"aw timeline session-branch <SESSION_ID> (--ts <sec> | --fs-snapshot <ID>) --name <branch-name> [--message <chat>]: " +
			"Start a new SessionBranch from that point", func(t *testing.T) {
			for name, from := range map[string][]string{"cli-ts": {"--ts", "0"}, "cli-snapshot": {"--fs-snapshot", "s1", "--message", "use a list", "--agent", "none"}} {
				var b object
				s.cli(&b, append([]string{"timeline", "session-branch", s.session, "--name", name, "--json"}, from...)...)
				held(t, b["workspace"], "one")
			}
		}},
		{"recording: { format: cast|ttyrec, uri, width, height, hasInput }", func(t *testing.T) {
			r, _ := get(t, "")["recording"].(object)
			has(t, r, "format", "uri", "width", "height", "hasInput")
			if r["format"] != "cast" || r["hasInput"] != false {
				t.Errorf("it is %v", r)
			}
			if status, text := s.rest(nil, strings.TrimPrefix(fmt.Sprint(r["uri"]), "/api/v1/sessions/"), nil); status != http.StatusOK || !strings.Contains(text, "recorded") {
				t.Errorf("%v: %d %s", r["uri"], status, text)
			}
		}},
		{"sessionTimeline: { durationSec, moments, fsSnapshots }", func(t *testing.T) {
			has(t, get(t, ""), "sessionTimeline.durationSec", "sessionTimeline.moments[].id", "sessionTimeline.fsSnapshots[].id")
		}},
		{"fsSnapshots[*]: { id, ts, label, provider, snapshot: { id, mount?, details? } }", func(t *testing.T) {
			has(t, get(t, ""), "sessionTimeline.fsSnapshots[].ts", "sessionTimeline.fsSnapshots[].label", "sessionTimeline.fsSnapshots[].provider",
				"sessionTimeline.fsSnapshots[].snapshot.id", "sessionTimeline.fsSnapshots[].snapshot.mount")
		}},
		{"sessionBranchOf (optional): parent session id and fsSnapshot id when branched", func(t *testing.T) {
			if whole := get(t, ""); whole["sessionBranchOf"] != nil {
				t.Errorf("a session that is no branch has %v", whole["sessionBranchOf"])
			}
			b := post(t, "session-branch", object{"fsSnapshotId": "s1", "name": "with-parent"})
			var of object
			s.rest(&of, b["sessionId"].(string), nil)
			if of := of["sessionBranchOf"].(object); of["sessionId"] != s.session || of["fsSnapshotId"] != "s1" {
				t.Errorf("it is of %v", of)
			}
		}},
		{"Seek Failure: Report provider error and suggest nearest valid FsSnapshot", func(t *testing.T) {
			refused(t, "/seek", object{"fsSnapshotId": "s99"}, http.StatusNotFound, "the nearest one is s")
			if r := s.w.RunIn(s.dir, "timeline", "seek", s.session, "--fs-snapshot", "s99"); r.Code == 0 || !strings.Contains(r.Err, "the nearest one is s") {
				t.Errorf("%d %s", r.Code, r.Err)
			}
		}},
		{"Snapshot Creation Fails: Create a SessionMoment with fsSnapshot=false and reason; allow manual retry", func(t *testing.T) {
			settings := filepath.Join(s.dir, ".tidemark.toml")
			if err := os.WriteFile(settings, []byte("[files\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if m := post(t, "moments", object{"label": "fails"}); m["fsSnapshot"] != false || !strings.Contains(fmt.Sprint(m["reason"]), "cannot read which files to leave out") {
				t.Errorf("the moment is %v", m)
			}
			refused(t, "/fs-snapshots", object{}, http.StatusInternalServerError, "was added without one. To try again, repeat the command.")
			all := get(t, "/timeline")["moments"].([]any)
			if m := all[len(all)-2].(object); m["label"] != "fails" || m["fsSnapshot"] != false {
				t.Errorf("the list has %v", all)
			}
			if err := os.Remove(settings); err != nil {
				t.Fatal(err)
			}
			if again := post(t, "fs-snapshots", object{"label": "again"}); again["id"] == nil {
				t.Errorf("again: %v", again)
			}
		}},
		{"SessionTimeline/seek/SessionBranch require the same permissions as session access", func(t *testing.T) {
			token := s.token
			defer func() { s.token = token }()
			s.token = "another"
			for path, body := range map[string]any{"": nil, "/timeline": nil, "/fs-snapshots": nil, "/events": nil, "/seek": object{"ts": 0}, "/session-branch": object{"fromTs": 0, "name": "x"}} {
				refused(t, path, body, http.StatusUnauthorized, "")
			}
		}},
	} {
		t.Run(c.sentence, c.holds)
	}
}
