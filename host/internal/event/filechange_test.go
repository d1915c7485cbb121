package event_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/event"
)

func TestAPathIsRecordedWithoutHiddenCharacters(t *testing.T) {
	for path, want := range map[string]string{
		"src/cart.ts": "src/cart.ts", "Größe/日本.md": "Größe/日本.md", "a\x1b[2Jb": `a\x1b[2Jb`, "gnp\u202eexe": `gnp\u202eexe`,
		"a\nb\tc": `a\x0ab\x09c`, "a\u200b": `a\u200b`, `a\u200b`: `a\\u200b`, "\xff\xfe": `\xff\xfe`, "\ufffd": "\ufffd", "x\U000e0001": `x\U000e0001`,
		"one\u2028line": `one\u2028line`,
	} {
		if got := event.FilePath(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

// TestAPathCanBeReadBack: so no two paths are recorded as one.
func TestAPathCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "/", `\`, `\x1b`, "\x1b", "\u200b", "u200b", "\xff", "\xe2\x80", "\n", "日", `"`, "\ufffd", "\U000e0041"})).Draw(t, "path"), "")
		recorded := event.FilePath(path)
		if event.Clean(recorded) != recorded || strings.ContainsAny(recorded, "\n\t\u2028\u2029") {
			t.Fatalf("%q has hidden characters", recorded)
		}
		if back := event.PlainPath(recorded); back != path {
			t.Fatalf("%q is recorded as %q and reads back as %q", path, recorded, back)
		}
	})
}
