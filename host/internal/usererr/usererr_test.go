package usererr_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/usererr"
)

var update = flag.Bool("update", false, "rewrite docs/ERRORS.md")

// TestTheCodesAreDocumented: docs/ERRORS.md has the table, in the order in which the codes were added.
func TestTheCodesAreDocumented(t *testing.T) {
	const path, begin, end = "../../../docs/ERRORS.md", "-update` -->\n", "<!-- end -->"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lost the comments around its table", path)
	}
	var table strings.Builder
	table.WriteString("\n| code | meaning | HTTP status | exit code |\n|---|---|---|---|\n")
	for _, e := range usererr.Codes {
		fmt.Fprintf(&table, "| `%s` | %s | %d | %d |\n", e.Code, e.Meaning, e.Status, e.Exit)
	}
	want := before + begin + table.String() + "\n" + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s differs from the code; run `go test ./host/internal/usererr -run %s -update`", path, t.Name())
	}
}

// TestCodesAreOnlyAdded: released codes keep their names and their order.
func TestCodesAreOnlyAdded(t *testing.T) {
	released := []usererr.Code{
		"invalid_argument", "not_found", "ambiguous", "already_exists", "limit_reached", "switched_off", "no_browser",
		"extension_outdated", "not_watched", "tab_closed", "page_unavailable", "page_paused", "page_running", "tab_in_use",
		"action_refused", "reference_gone", "agent_stopped", "agent_suspended", "not_saved", "internal",
	}
	seen := map[usererr.Code]bool{}
	for i, e := range usererr.Codes {
		if i < len(released) && e.Code != released[i] {
			t.Errorf("got %q in place of %q", e.Code, released[i])
		}
		if seen[e.Code] || e.Meaning == "" || e.Status < 400 || e.Exit < 1 || e.Exit > 3 {
			t.Errorf("%+v is incomplete or duplicated", e)
		}
		seen[e.Code] = true
	}
	if len(usererr.Codes) < len(released) {
		t.Error("a code was removed")
	}
}

type own struct{}

func (own) Error() string      { return "defined by another package" }
func (own) Code() usererr.Code { return usererr.Ambiguous }

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want usererr.Code
		is   bool
	}{
		{usererr.Invalid("depth is %d", 0), usererr.InvalidArgument, true},
		{fmt.Errorf("tab 3: %w", usererr.New(usererr.TabClosed, "closed")), usererr.TabClosed, true},
		{own{}, usererr.Ambiguous, true},
		{errors.New("the disk is full"), usererr.Internal, false},
		{nil, usererr.Internal, false},
	} {
		if got := usererr.CodeOf(c.err); got != c.want || usererr.Is(c.err) != c.is {
			t.Errorf("%v: %s, %v", c.err, got, usererr.Is(c.err))
		}
		if e := usererr.EntryOf(usererr.CodeOf(c.err)); e.Code != c.want {
			t.Errorf("%v: %+v", c.err, e)
		}
	}
	if e := usererr.EntryOf("made_up"); e.Code != usererr.Internal {
		t.Error(e)
	}
}
