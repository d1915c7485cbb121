package redact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// False masks hide what is wrong. In ordinary logs, JSON and texts there is at most one in 10,000 words.
func TestOrdinaryTextsStay(t *testing.T) {
	r := Default()
	log, err := os.ReadFile("testdata/ordinary.log")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		for _, form := range []Form{FormText, FormJSON} {
			if _, found := r.Explain(line, form); len(found) > 0 && (form == FormText || line[0] == '{' || line[0] == '[') {
				t.Errorf("%s masks %q as %s in %s", found[0].Rule(), line[found[0].From:found[0].To], form, line)
			}
		}
	}
	words, masked := 0, 0
	for _, pattern := range []string{"package-lock.json", "docs/openapi.json", "go.sum", "docs/TOOLS.md", "docs/TIMELINE.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "installer/testdata/*.golden"} {
		paths, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no file, %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			form := FormText
			if strings.HasSuffix(path, ".json") {
				form = FormJSON
			}
			words += len(strings.Fields(string(text)))
			_, found := r.Explain(string(text), form)
			masked += len(found)
			for _, f := range found {
				t.Logf("%s: %s masks %q", path, f.Rule(), text[f.From:f.To])
			}
		}
	}
	if words < 40_000 || masked*10_000 > words {
		t.Errorf("%d masks in %d words", masked, words)
	}
}
