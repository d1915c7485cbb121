package redact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// False masks hide what is wrong. In ordinary logs, JSON and texts there is at most one in 10,000 words. Texts of others have
// examples of secrets, which count.
func TestOrdinaryTextsStay(t *testing.T) {
	r := Default()
	log, err := os.ReadFile("testdata/ordinary.log")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("logs: none may be masked in %d words", len(strings.Fields(string(log))))
	for line := range strings.Lines(string(log)) {
		for _, form := range []Form{FormText, FormJSON} {
			if _, found := r.Explain(line, form); len(found) > 0 && (form == FormText || line[0] == '{' || line[0] == '[') {
				t.Errorf("%s masks %q as %s in %s", found[0].Rule(), line[found[0].From:found[0].To], form, line)
			}
		}
	}
	for kind, patterns := range map[string][]string{
		"of this repository": {"package-lock.json", "docs/openapi.json", "go.sum", "docs/TOOLS.md", "docs/TIMELINE.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "installer/testdata/*.golden"},
		"Markdown of others": {"node_modules/*/README.md", "node_modules/*/CHANGELOG.md", "node_modules/@*/*/README.md"},
		"JSON of others":     {"node_modules/*/package.json", "node_modules/*/tsconfig.json", "node_modules/mime-db/*.json"},
		"CSS of others":      {"node_modules/*/dist/*/*.css", "node_modules/@*/*/css/*.css"},
	} {
		words, masked := masksIn(t, r, patterns)
		if words == 0 && kind != "of this repository" {
			t.Logf("%s: without npm ci there is none", kind)
			continue
		}
		t.Logf("%s: %d masks in %d words, %.2f in 10,000", kind, masked, words, float64(masked)*10_000/float64(words))
		if words < 1_000 || masked*10_000 > words {
			t.Errorf("%s: more than one in 10,000 words, or too few words", kind)
		}
	}
}

// masksIn counts the words of files, and what is masked in them.
func masksIn(t *testing.T, r *Redactor, patterns []string) (words, masked int) {
	t.Helper()
	for _, pattern := range patterns {
		paths, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(paths) == 0 && !strings.HasPrefix(pattern, "node_modules/") {
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
	return words, masked
}
