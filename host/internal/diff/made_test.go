package diff_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/window"
)

// Changed files name the calls that made their newest changes, and the prompt behind the last one.
func TestChangedFilesNameTheCallsThatMadeThem(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_000)
	s := capture.New(capture.DefaultLimits(), noise.Default(), start)
	k := capture.NewSink(s, capture.Workspaces, time.Now)
	at := start.UnixMilli()
	change := func(path, by string, snapshot uint64) {
		t.Helper()
		at += 1000
		e := &event.FileChange{Head: event.Head{At: at, Subject: event.InWorkspace("/shop")}, Path: path, Change: event.FileModified, Added: 1, Counted: true, By: by, Snapshot: snapshot}
		if err := k.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	change("by-a-user.js", "", 1)
	change("by-moment.js", "npm run build", 2)
	change("known.js", "Bash", 3)
	change("known.js", "Bash", 4)
	for n := range uint64(6) {
		change("often.js", "Edit", 10+n)
	}
	change("mixed.js", "fence", 20)
	change("mixed.js", "Bash", 3)
	asked := 0
	made := func(e *event.FileChange) (string, string) {
		asked++
		switch e.Snapshot {
		case 3:
			return "Edit known.js", "first prompt"
		case 4:
			return "one of these calls: $ a; $ b", "second prompt"
		case 10, 11, 12, 13, 14, 15:
			return fmt.Sprintf("Edit %d", e.Snapshot), ""
		}
		return "", ""
	}
	v := s.View(time.UnixMilli(at + 1000))
	r := diff.Compute(v.MomentAt(start), v, window.Options{Noise: noise.Default(), Made: made})
	got := map[string]string{}
	for _, f := range r.Files.Changed {
		got[f.Path] = f.By + "|" + f.Prompt
	}
	for path, want := range map[string]string{
		"by-a-user.js": "|", "by-moment.js": "npm run build|", "known.js": "Edit known.js, one of these calls: $ a; $ b|second prompt",
		"often.js": "…, Edit 13, Edit 14, Edit 15|", "mixed.js": "fence, Edit known.js|first prompt",
	} {
		if got[path] != want {
			t.Errorf("%s: %q, want %q", path, got[path], want)
		}
	}
	if asked != 11 { // the newest five of six
		t.Errorf("asked %d times", asked)
	}
	if r := diff.Compute(v.MomentAt(start), v, window.Options{Noise: noise.Default()}); r.Files.Changed[2].By != "Bash" {
		t.Errorf("without conversations: %+v", r.Files.Changed)
	}
}
