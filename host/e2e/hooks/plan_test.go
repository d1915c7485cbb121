package hooks

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/disktest"
)

// Where the filesystem shares no extents, a copy that takes long is not begun: the command line, REST and agents get its plan, and
// begin it when they confirm.
func TestALongCopyIsPlannedOnEverySurface(t *testing.T) {
	s := newSurfacesIn(t, disktest.Small(t, "64m"), "[branches]\nconfirm_seconds = 0.0\n") // tmpfs shares none
	if err := os.WriteFile(filepath.Join(s.dir, "big"), []byte(strings.Repeat("0123456789abcdef", 1<<16)), 0o600); err != nil {
		t.Fatal(err)
	}
	var taken object
	s.cli(&taken, "timeline", "fs-snapshot", "add", "--json")
	from := taken["id"].(string)
	ways := map[string]func(name string, confirm bool) object{
		"cli": func(name string, confirm bool) (b object) {
			args := []string{"timeline", "session-branch", "--fs-snapshot", from, "--name", name, "--json"}
			if confirm {
				args = append(args, "--yes")
			}
			s.cli(&b, args...)
			return b
		},
		"rest": func(name string, confirm bool) (b object) {
			want := http.StatusOK
			if confirm {
				want = http.StatusCreated
			}
			if status, text := s.rest(&b, s.session+"/session-branch", object{"fsSnapshotId": from, "name": name, "confirm": confirm}); status != want {
				t.Errorf("REST answers %d: %s", status, text)
			}
			return b
		},
		"mcp": func(name string, confirm bool) (b object) {
			s.agent.Call("timeline_branch", object{"from": from, "name": name, "confirm": confirm}, &b)
			return b
		},
	}
	plans := map[string]object{}
	for way, branch := range ways {
		a := branch(way, false)
		plan, _ := a["plan"].(object)
		if plan == nil || plan["files"] != 2.0 || plan["bytes"] != float64(1<<20+3) || plan["seconds"].(float64) <= 0 || !strings.Contains(plan["why"].(string), "files are copied") {
			t.Errorf("%s: the plan is %v", way, a)
		}
		if a["sessionId"] != "" || a["operation"] != "" {
			t.Errorf("%s: %v was made", way, a)
		}
		if _, err := os.Lstat(a["workspace"].(string)); !os.IsNotExist(err) {
			t.Errorf("%s: %s: %v", way, a["workspace"], err)
		}
		if left, _ := filepath.Glob(a["workspace"].(string) + "*"); len(left) != 0 {
			t.Errorf("%s: the plan leaves %q", way, left)
		}
		delete(plan, "seconds")
		plans[way] = plan
	}
	same(t, "the plan", plans)
	r := s.w.RunIn(s.dir, "timeline", "session-branch", "--fs-snapshot", from, "--name", "asked")
	if r.Code == 0 || !strings.Contains(r.Err, "Copying 2 files (1.0 MiB) takes about") || !strings.Contains(r.Err, "--yes") {
		t.Errorf("without an answer: %+v", r)
	}
	for way, branch := range ways {
		a := branch(way, true)
		if data, err := os.ReadFile(filepath.Join(a["workspace"].(string), "a")); a["plan"] != nil || err != nil || string(data) != "one" {
			t.Errorf("%s: %v has %q, %v", way, a, data, err)
		}
	}
}
