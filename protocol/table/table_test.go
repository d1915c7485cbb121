package table_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/protocol/table"
)

var update = flag.Bool("update", false, "write the files that are made of the table")

const root = "../.."

func load(t testing.TB) *table.Table {
	t.Helper()
	messages, err := table.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// current compares a file with what it should be, or writes it.
func current(t *testing.T, path string, want []byte) {
	t.Helper()
	path = filepath.Join(root, path)
	got, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	if !*update {
		t.Errorf("%s differs from the table; run make generate", path)
	} else if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// between replaces the text between two marks, of which the first is a whole line.
func between(t *testing.T, file, begin, end, text string) string {
	t.Helper()
	before, rest, found := strings.Cut(file, begin+"\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the marks %q and %q are lost", begin, end)
	}
	return before + begin + "\n" + text + end + after
}

func TestTheDecoderIsCurrent(t *testing.T) {
	code, err := load(t).Go()
	if err != nil {
		t.Fatal(err)
	}
	current(t, "host/internal/event/messages.go", code)
}

func TestTheExtensionsRulesAreCurrent(t *testing.T) {
	messages := load(t)
	current(t, "extension/protocol-rules.ts", messages.TypeScript())
	const path = "protocol/tygo.yaml"
	const begin, end = "      // begin: written by make generate", "      // end"
	current(t, path, []byte(between(t, read(t, path), begin, end, messages.Unions())))
}

// TestTheCasesAreCurrent: package event and the extension's protocol-check.test.ts read the same cases.
func TestTheCasesAreCurrent(t *testing.T) {
	messages := load(t)
	cases := messages.Cases()
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		cases = append(cases, messages.Random(random))
	}
	var out bytes.Buffer
	for i, c := range cases {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0])
		out.Write(line)
	}
	out.WriteString("\n]\n")
	current(t, "protocol/testdata/cases.json", out.Bytes())
}

func TestTheDocumentationIsCurrent(t *testing.T) {
	const path = "protocol/PROTOCOL.md"
	messages := load(t)
	page := read(t, path)
	for name, text := range messages.Docs() {
		page = between(t, page, "<!-- "+name+": written by `make generate` -->", "<!-- end -->", text)
	}
	current(t, path, []byte(page))
	for _, m := range messages.Methods {
		if !strings.Contains(page, "`"+m.Value+"`") {
			t.Errorf("%s does not name the method %s", path, m.Value)
		}
	}
}
