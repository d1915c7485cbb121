package render_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/render"
)

// A terminal's rows fit into it, because one column is cut. Elsewhere everything is whole.
func TestOneColumnIsCutToTheTerminal(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("änderung ", 30))
	for _, c := range []struct {
		width int
		want  []string
	}{
		{0, []string{"  m1   prompt" + strings.Repeat(" ", len([]rune(long))-len("prompt")) + "  1 changed", "  m12  " + long}},
		{60, []string{"  m1   prompt" + strings.Repeat(" ", 38) + "1 changed", "  m12  änderung änderung änderung änderung änder…"}},
		{10, []string{"  m1   prompt            1 changed", "  m12  änderung änderu…"}},
	} {
		table := render.Table{Indent: "  ", Width: c.width, Cut: 1}
		table.Row("m1", "prompt", "1 changed")
		table.Row("m12", long, "")
		var b strings.Builder
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for i, want := range c.want {
			if got[i] != want {
				t.Errorf("in %d columns:\n%q, want\n%q", c.width, got[i], want)
			}
		}
	}
}

// The rows of `tidemark recordings list` fit into a terminal, and the end of a path says more than its beginning.
func TestAPathIsCutAtItsBeginning(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "2026-11-29 20:00  opencode-0123456789  /home/me/projects/größe/shop  120 prompts, 10000 calls, 1.2 MiB"},
		{100, "2026-11-29 20:00  opencode-0123456789  …rojects/größe/shop  120 prompts, 10000 calls, 1.2 MiB"},
		{84, "2026-11-29 20:00  opencode-0123456789  …ße/shop  120 prompts, 10000 calls, 1.2 MiB"},
		{20, "2026-11-29 20:00  opencode-0123456789  …ße/shop  120 prompts, 10000 calls, 1.2 MiB"},
	} {
		table := render.Table{Width: c.width, Cut: 2, Paths: true}
		table.Row("2026-11-29 20:00", "opencode-0123456789", "/home/me/projects/größe/shop", "120 prompts, 10000 calls, 1.2 MiB")
		table.Row("2026-11-29 19:00", "claude-0123456789", "/shop", strings.Repeat("a problem ", 20))
		var b strings.Builder
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(b.String(), "\n"); got != c.want {
			t.Errorf("in %d columns:\n%q, want\n%q", c.width, got, c.want)
		}
	}
}
