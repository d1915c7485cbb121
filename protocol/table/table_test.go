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

// between replaces the text between two marks of a file. A mark is a whole line.
func between(t *testing.T, path, begin, end, text string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin+"\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lost the marks %q and %q", path, begin, end)
	}
	return []byte(before + begin + "\n" + text + end + after)
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
	current(t, path, between(t, path, "      // begin: written by go test ./protocol/table -update", "      // end", messages.Unions()))
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
