package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDocumentsQuoteTheLastBench compares the figures in documents with those of docs/bench.json.
func TestDocumentsQuoteTheLastBench(t *testing.T) {
	top := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(top, publishedFile))
	if err != nil {
		t.Fatal(err)
	}
	var last results
	if err := json.Unmarshal(data, &last); err != nil {
		t.Fatal(err)
	}
	for _, q := range quotations {
		text, err := os.ReadFile(filepath.Join(top, q.file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := requote(string(text), &last, q.quotes)
		if err != nil {
			t.Fatalf("%s: %v", q.file, err)
		}
		if string(text) != want {
			t.Errorf("%s does not have the figures of %s; `make bench` writes both", q.file, publishedFile)
		}
	}
}

func TestRequoteNeedsItsMarksAndEveryFigure(t *testing.T) {
	r := &results{At: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), OS: "linux", Arch: "amd64", CPUs: 2}
	text := "before\n" + quotesBegin + "old\n" + quotesEnd + "after\n"
	if _, err := requote(text, r, quotes); err == nil || !strings.Contains(err.Error(), quoted[0].what) {
		t.Errorf("a report without figures was quoted: %v", err)
	}
	for _, q := range quoted {
		r.Tables = append(r.Tables, &table{Part: q.part, At: r.At, Rows: []row{{What: q.what, Measured: "7 of 7"}}})
	}
	got, err := requote(text, r, quotes)
	if err != nil || strings.Contains(got, "old") || strings.Count(got, "7 of 7") != len(quoted) || !strings.Contains(got, "22 November 2026 (linux/amd64, 2 CPUs)") {
		t.Errorf("got %q, %v", got, err)
	}
	if again, err := requote(got, r, quotes); err != nil || again != got {
		t.Errorf("quoting twice is not the same as once: %q, %v", again, err)
	}
	if _, err := requote("no marks", r, quotes); err == nil {
		t.Error("a text without marks was quoted")
	}
	if err := r.publish(false); err == nil {
		t.Error("a part of a run was published")
	}
}

func TestWhatWasNotMeasuredStaysAsItWasPublished(t *testing.T) {
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	last := &results{Tables: []*table{{Part: "hook", At: day, Rows: []row{{What: "old", Met: false}}}, {Part: "latency", At: day, Rows: []row{{What: "old", Met: false}}}}}
	r := &results{Tables: []*table{{Part: "hook", At: day.AddDate(0, 0, 1), Rows: []row{{What: "new", Met: true}}}}}
	r.keep(last)
	if len(r.Tables) != 2 || r.Tables[0].Part != "latency" || r.Tables[1].Rows[0].What != "new" || r.Missed != 1 {
		t.Errorf("got %+v, %d missed", r.Tables, r.Missed)
	}
}

func TestTheSummaryListsWhatWasMissedAndWhatWasNot(t *testing.T) {
	r := &run{machine: machine{LoopMs: 2 * referenceLoopMs}, part: "hook"}
	s := r.sheet("title")
	s.within("in time", 19*time.Millisecond, 10*time.Millisecond, r.byLoop(), "")
	s.within("late", 21*time.Millisecond, 10*time.Millisecond, r.byLoop(), "")
	s.ratio("twice", 2*time.Second, time.Second, 1.5)
	r.results.Tables, r.results.Unmeasured = []*table{s.table}, []string{"flood"}
	var b strings.Builder
	r.results.summary(&b)
	for _, want := range []string{"could not be measured: flood\n", "2 target(s) MISSED", "MISSED hook: late: 21.000 ms, wanted at most 20.000 ms (10 × 2.00 by the loop)", "MISSED hook: twice: 2.00 times (2000.000 ms, 1000.000 ms), wanted at most 1.5 times"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "in time") {
		t.Errorf("the summary lists what was met:\n%s", b.String())
	}
}

func TestFiguresAreComparedByTheNumberThatTheyBeginWith(t *testing.T) {
	f := newFigures()
	f.add(&results{Tables: []*table{{Rows: []row{{What: "a", Measured: "1.50 ms (2.00 ms)"}, {What: "b", Measured: "12 of 14"}, {What: "c", Measured: "all"}}}}})
	f.add(&results{Tables: []*table{{Rows: []row{{What: "a", Measured: "2.50 ms"}}}}})
	if got := f.values["a"]; len(got) != 2 || got[0] != 1.5 || got[1] != 2.5 || f.values["b"][0] != 12 || len(f.values["c"]) != 0 {
		t.Errorf("got %v", f.values)
	}
}

func TestRatiosAreOfWhatWasMeasuredInTurn(t *testing.T) {
	if got := pairwise([]float64{2, 300, 6}, []float64{1, 100, 4}); got != 2 {
		t.Errorf("got %v, want the middle of 2, 3 and 1.5", got)
	}
}

// A part has several tables. A run of other parts keeps them all, and a run of this part keeps none.
func TestAllTablesOfAPartThatWasNotMeasuredAreKept(t *testing.T) {
	last := &results{Tables: []*table{{Part: "hook", Title: "one"}, {Part: "hook", Title: "two"}, {Part: "tokens", Title: "old"}}}
	r := &results{Tables: []*table{{Part: "tokens", Title: "new"}}}
	r.keep(last)
	var titles []string
	for _, table := range r.Tables {
		titles = append(titles, table.Title)
	}
	if got := strings.Join(titles, " "); got != "one two new" {
		t.Errorf("the tables are %q", got)
	}
}
