package devservers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// outcome is what an edit and its repair showed.
type outcome struct {
	edit
	// told is true if the answer was what the page showed, and repaired if that to the repair was.
	told, repaired bool
	place          string
	tokens         []int
	// waits are from the moment from which the page showed an update to the answer of the wait for it, negative where that came first.
	waits []time.Duration
}

// How a place is named.
const right, generated = "right", "generated"

// prompt is how soon after an update a wait for it ends.
const prompt = 500 * time.Millisecond

// row is a server's part of the table.
type row struct {
	Server  string `json:"server"`
	Title   string `json:"title"`
	Version string `json:"version"`
	Date    string `json:"date"`
	Edits   int    `json:"edits"`
	Healthy share  `json:"healthy_clean"`
	Broken  share  `json:"breaking_reported"`
	// Right are places that are right, Marked those and the ones that are marked as generated.
	Right  share `json:"places_right"`
	Marked share `json:"places_right_or_generated"`
	Fixes  share `json:"fixes"`
	// Waits are those that ended within [prompt] of an update that can be seen. WaitMS is the median, SlowestMS the longest.
	Waits     share `json:"waits"`
	WaitMS    int64 `json:"wait_ms"`
	SlowestMS int64 `json:"slowest_wait_ms"`
	Tokens    int   `json:"median_tokens"`
}

// share is how many of all hold.
type share struct {
	Held int `json:"held"`
	Of   int `json:"of"`
}

func (s *share) count(held bool) {
	s.Of++
	if held {
		s.Held++
	}
}

func (s *share) add(other share) { s.Held, s.Of = s.Held+other.Held, s.Of+other.Of }

func (s share) String() string { return fmt.Sprintf("%d of %d", s.Held, s.Of) }

func (s share) percent() string {
	return fmt.Sprintf("%v (%.1f %%)", s, 100*float64(s.Held)/float64(max(s.Of, 1)))
}

// summary makes the row of a server.
func summary(s server, version string, date time.Time, seen []*outcome) row {
	out := row{Server: s.name, Title: s.title, Version: version, Date: date.Format(time.DateOnly), Edits: len(seen)}
	var tokens []int
	var waits []time.Duration
	for _, o := range seen {
		if o.healthy {
			out.Healthy.count(o.told)
		} else {
			out.Broken.count(o.told)
		}
		if o.placed {
			out.Right.count(o.place == right)
			out.Marked.count(o.place != "")
		}
		out.Fixes.count(o.repaired)
		for _, wait := range o.waits {
			out.Waits.count(0 <= wait && wait <= prompt)
		}
		tokens, waits = append(tokens, o.tokens...), append(waits, o.waits...)
	}
	out.Tokens, out.WaitMS = median(tokens), median(waits).Milliseconds()
	if len(waits) > 0 {
		out.SlowestMS = slices.Max(waits).Milliseconds()
	}
	return out
}

func median[T cmp.Ordered](of []T) (middle T) {
	if len(of) > 0 {
		slices.Sort(of)
		middle = of[len(of)/2]
	}
	return middle
}

// merge replaces a server's row and keeps those of others, in the order of [servers]. Rows of servers that there are no more are left out.
func merge(rows []row, made row) []row {
	var out []row
	for _, s := range servers {
		if s.name == made.Server {
			out = append(out, made)
		} else if i := slices.IndexFunc(rows, func(r row) bool { return r.Server == s.name }); i >= 0 {
			out = append(out, rows[i])
		}
	}
	return out
}

// Where the last run of each server is published.
const published, document = "docs/devservers.json", "docs/DEV_SERVERS.md"

const tableBegin, tableEnd = "<!-- made by `make dev-servers` -->\n", "<!-- end -->\n"

// table writes rows, and their sums below.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| server | version | healthy edits clean | breaking edits reported | places right | places right or generated | fixes | waits in time | median wait | longest wait | median tokens | date |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var all row
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %v | %v | %v | %v | %v | %v | %d ms | %d ms | %d | %s |\n",
			r.Title, r.Version, r.Healthy, r.Broken, r.Right, r.Marked, r.Fixes, r.Waits, r.WaitMS, r.SlowestMS, r.Tokens, r.Date)
		all.Edits += r.Edits
		all.Healthy.add(r.Healthy)
		all.Broken.add(r.Broken)
		all.Right.add(r.Right)
		all.Marked.add(r.Marked)
		all.Fixes.add(r.Fixes)
		all.Waits.add(r.Waits)
		all.Tokens = max(all.Tokens, r.Tokens)
	}
	fmt.Fprintf(&b, "\nAll %d servers, %d edits, each followed by its fix:\n\n", len(rows), all.Edits)
	fmt.Fprintf(&b, "- Healthy edits clean: %s; target 100 %%.\n", all.Healthy.percent())
	fmt.Fprintf(&b, "- Breaking edits reported: %s; target 100 %%.\n", all.Broken.percent())
	fmt.Fprintf(&b, "- Places right or marked as generated: %s; target 100 %%.\n", all.Marked.percent())
	fmt.Fprintf(&b, "- Places right: %s; target 95 %%.\n", all.Right.percent())
	fmt.Fprintf(&b, "- Fixes clean or recovered: %s; target 100 %%.\n", all.Fixes.percent())
	fmt.Fprintf(&b, "- Waits that end within %d ms after the update: %s.\n", prompt.Milliseconds(), all.Waits.percent())
	fmt.Fprintf(&b, "- Median answer of each server: at most %d tokens; target 180.\n", all.Tokens)
	return b.String()
}

// requote puts the table of rows into a document.
func requote(text string, rows []row) (string, error) {
	before, rest, ok := strings.Cut(text, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return "", errors.New("the document has no place for the table")
	}
	return before + tableBegin + table(rows) + tableEnd + after, nil
}

func lastRuns() (rows []row, err error) {
	data, err := os.ReadFile(e2etest.Repository(published))
	if err != nil {
		return nil, err
	}
	return rows, json.Unmarshal(data, &rows)
}

// publish writes a server's row. It is written where edits failed too.
func publish(t *testing.T, s server, seen []*outcome) {
	t.Helper()
	var versions struct{ Dependencies map[string]string }
	data, err := os.ReadFile(e2etest.Repository(filepath.Join("host/testing/devserver/testdata", s.name, "package.json")))
	if err == nil {
		err = json.Unmarshal(data, &versions)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows, err := lastRuns()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	made := summary(s, versions.Dependencies[s.of], time.Now(), seen)
	rows = merge(rows, made)
	var was []byte
	text := ""
	if data, err = json.MarshalIndent(rows, "", "  "); err == nil {
		was, err = os.ReadFile(e2etest.Repository(document))
	}
	if err == nil {
		text, err = requote(string(was), rows)
	}
	if err := errors.Join(err, os.WriteFile(e2etest.Repository(published), append(data, '\n'), 0o600), os.WriteFile(e2etest.Repository(document), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", s.title, table([]row{made}))
}

// TestTheTableIsThatOfTheLastRuns compares the document with what the last run of each server published.
func TestTheTableIsThatOfTheLastRuns(t *testing.T) {
	rows, err := lastRuns()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(e2etest.Repository(document))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := requote(string(data), rows); err != nil || want != string(data) {
		t.Errorf("%s does not have the figures of %s; `make dev-servers` writes both: %v", document, published, err)
	}
}

// TestARunOfOneServerKeepsTheRowsOfOthers: and it counts what did not hold.
func TestARunOfOneServerKeepsTheRowsOfOthers(t *testing.T) {
	first, second := servers[0], servers[1]
	seen := []*outcome{
		{edit: edit{healthy: true}, told: true, repaired: true, tokens: []int{100, 102}, waits: []time.Duration{301 * time.Millisecond, 501 * time.Millisecond}},
		{edit: edit{healthy: true}, repaired: true, tokens: []int{300, 101}, waits: []time.Duration{-time.Millisecond}},
		{edit: edit{placed: true}, told: true, place: generated, repaired: true, tokens: []int{90}},
		{edit: edit{placed: true}, told: true, place: right},
		{edit: edit{placed: true}},
	}
	made := summary(second, "2.0.0", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), seen)
	want := row{
		Server: second.name, Title: second.title, Version: "2.0.0", Date: "2026-01-02", Edits: 5, Healthy: share{1, 2}, Broken: share{2, 3}, Right: share{1, 3},
		Marked: share{2, 3}, Fixes: share{3, 5}, Waits: share{1, 3}, WaitMS: 301, SlowestMS: 501, Tokens: 101,
	}
	if made != want {
		t.Errorf("%+v, not %+v", made, want)
	}
	rows := merge([]row{{Server: second.name}, {Server: "none any more"}, {Server: first.name, Version: "1.0.0"}}, made)
	if len(rows) != 2 || rows[0].Version != "1.0.0" || rows[1] != want {
		t.Errorf("%+v", rows)
	}
}
