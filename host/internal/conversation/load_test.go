package conversation

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoad reads a conversation of 10,000 calls, as the first list of a daemon does.
func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "claude-0123456789.conversation")
	out, err := create(path, head{Format: format, Agent: "claude", Session: "long", Workspace: "/shop", Started: 1})
	if err != nil {
		b.Fatal(err)
	}
	input, _ := json.Marshal(map[string]string{"file_path": "/shop/src/a.ts", "new_string": strings.Repeat("// a line of code\n", 20)})
	for i := range 10_000 {
		e := Event{Kind: Result, At: int64(i), Agent: "claude", Session: "long", Call: fmt.Sprintf("toolu_%d", i), Tool: "Edit", Input: input, Outcome: OK, Files: []string{"src/a.ts"}, Edits: true}
		e.identify()
		line, err := e.line()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f := &file{path: path}
		if err := f.load(); err != nil || f.runs != 10_000 {
			b.Fatal(f.runs, err)
		}
	}
}
