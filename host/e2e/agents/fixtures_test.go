package agents

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// keepFixture writes what the agent sent to its hooks and to its transcripts to the fixtures of package conversation, if
// TIDEMARK_RECORD_AGENTS is set.
func (w *world) keepFixture(name, transcripts string) {
	w.Helper()
	if os.Getenv("TIDEMARK_RECORD_AGENTS") == "" {
		return
	}
	dir := e2etest.Repository("host/internal/conversation/testdata")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	w.keep(filepath.Join(dir, name+".hooks.jsonl"), w.hooks)
	err := filepath.WalkDir(transcripts, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			kind := ".transcript.jsonl"
			if strings.Contains(path, "subagents") {
				kind = ".subagent.jsonl"
			}
			w.keep(filepath.Join(dir, name+kind), path)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// own are the fields of the lines that have no event, beside which a fixture keeps nothing: the rest is the agent's own text.
var own = []string{"type", "subtype", "timestamp"}

func (w *world) keep(to, from string) {
	w.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		w.Fatal(err)
	}
	// The name of a project's directory is in that of its transcripts.
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, w.project)
	text := strings.NewReplacer(w.Binary, "tidemark", w.project, "/home/me/shop", w.home, "/home/me", plain, "-home-me-shop", secret, "TOKEN").Replace(string(data))
	var out bytes.Buffer
	for line := range strings.Lines(strings.ReplaceAll(text, "}{", "}\n{")) { // hooks send no end of a line
		if strings.TrimSpace(line) == "" {
			continue
		}
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &m) != nil {
			w.Fatalf("%s has %s", from, line)
		}
		kind := strings.Trim(string(m["type"]), `"`)
		if len(line) > 3000 || kind == "attachment" || strings.HasPrefix(kind, "api-request") || kind == "session_meta" || kind == "world_state" {
			for key := range m {
				keep := false
				for _, k := range own {
					keep = keep || k == key
				}
				if !keep {
					delete(m, key)
				}
			}
		}
		short, err := json.Marshal(m)
		if err != nil {
			w.Fatal(err)
		}
		out.Write(append(short, '\n'))
	}
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		w.Fatal(err)
	}
}
