package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// publishedFile is where the figures are published, from the project's top folder.
const publishedFile = "docs/bench.json"

// quotations are the files that quote some of them, each with what it says between the two lines below.
var quotations = []struct {
	file   string
	quotes func(*results) (string, error)
}{{"README.md", quotes}, {"docs/CAPTURE.md", captureQuotes}}

const (
	quotesBegin = "<!-- figures of the last `make bench`, written by it -->\n"
	quotesEnd   = "<!-- end of the figures -->\n"
)

// quoted are the figures that README.md has, and the line that each is in.
var quoted = []struct{ part, what, line string }{
	{"signal", "regressions detected, cause named", "Regressions reported with their cause: %s."},
	{"signal", "false alarms in healthy runs", "False alarms on healthy pages: %s."},
	{"latency", "get_changes_since, p50 (p95)", "State check (`get_changes_since`), median (95th percentile): %s."},
	{"latency", "get_changes_since / stub, p50", "State check compared with a stub MCP tool that returns the same bytes: %s."},
	{"tokens", "an answer, median (largest)", "An answer after an edit, median (largest): %s."},
	{"daemon", "anonymous memory, all buffers full", "Memory with full buffers: %s."},
}

// publish writes the figures of a run in which nothing was left out of its parts. Those of other parts stay as they
// were published last.
func (r *results) publish(whole bool) error {
	if !whole {
		return errors.New("only whole parts are published: leave out -quick and -match")
	}
	for _, t := range r.Tables {
		t.At = r.At
	}
	if data, err := os.ReadFile(publishedFile); err == nil {
		var last results
		if err := json.Unmarshal(data, &last); err != nil {
			return fmt.Errorf("%s: %w", publishedFile, err)
		}
		r.keep(&last)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(publishedFile, append(data, '\n'), 0o644); err != nil { //nolint:gosec // a file of the project
		return err
	}
	for _, q := range quotations {
		text, err := os.ReadFile(q.file)
		if err != nil {
			return err
		}
		now, err := requote(string(text), r, q.quotes)
		if err != nil {
			return fmt.Errorf("%s: %w", q.file, err)
		}
		if err := os.WriteFile(filepath.Clean(q.file), []byte(now), 0o644); err != nil { //nolint:gosec // a file of the project
			return err
		}
	}
	return nil
}

// keep takes over the tables of the parts that this run did not measure. A part may have several.
func (r *results) keep(last *results) {
	measured := slices.Clone(r.Tables)
	for _, t := range last.Tables {
		if !slices.ContainsFunc(measured, func(mine *table) bool { return mine.Part == t.Part }) {
			r.Tables = append(r.Tables, t)
		}
	}
	order := func(t *table) int { return slices.IndexFunc(parts, func(p part) bool { return p.name == t.Part }) }
	slices.SortStableFunc(r.Tables, func(a, b *table) int { return order(a) - order(b) })
	r.Missed = 0
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if !row.Met {
				r.Missed++
			}
		}
	}
}

// requote is a text with the figures of a report in place of those between the marks.
func requote(text string, r *results, quotes func(*results) (string, error)) (string, error) {
	before, rest, ok := strings.Cut(text, quotesBegin)
	_, after, ended := strings.Cut(rest, quotesEnd)
	if !ok || !ended {
		return "", fmt.Errorf("there are no lines %q and %q to put the figures between", strings.TrimSpace(quotesBegin), strings.TrimSpace(quotesEnd))
	}
	lines, err := quotes(r)
	return before + quotesBegin + lines + quotesEnd + after, err
}

// quotes are the lines that README.md has of a report.
func quotes(r *results) (string, error) {
	var b strings.Builder
	oldest, targets, missed := r.At, 0, 0
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if row.Target != "" {
				targets++
			}
			if !row.Met {
				missed++
			}
		}
	}
	for _, q := range quoted {
		measured, at, err := r.measured(q.part, q.what)
		if err != nil {
			return "", err
		}
		if at.Before(oldest) {
			oldest = at
		}
		fmt.Fprintf(&b, "- "+q.line+"\n", measured)
	}
	fmt.Fprintf(&b, "- Targets missed, of those in [docs/bench.json](docs/bench.json), which dates each part: %d of %d.\n", missed, targets)
	return fmt.Sprintf("Measured on %s (%s/%s, %d CPUs):\n\n", oldest.Format("2 January 2006"), r.OS, r.Arch, r.CPUs) + b.String(), nil
}

// measured is a figure of a part, and when it was measured.
func (r *results) measured(part, what string) (string, time.Time, error) {
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if t.Part == part && row.What == what {
				return row.Measured, t.At, nil
			}
		}
	}
	return "", time.Time{}, fmt.Errorf("part %s measured no %q", part, what)
}

// captureQuotes are the lines that docs/CAPTURE.md has of a report.
func captureQuotes(r *results) (string, error) {
	var b strings.Builder
	var day time.Time
	for i, q := range captureQuoted {
		measured, at, err := r.measured("capture", q.what)
		if err != nil {
			return "", err
		}
		day = at
		if q.line != "" {
			if captureQuoted[i-1].line == "" {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, q.line+"\n", measured)
			continue
		}
		cells := strings.Split(measured, ", ")
		for i, way := range []string{" without", " quiet", " debugger"} {
			cells[i] = "`" + strings.Replace(strings.Replace(cells[i], way, "", 1), " more", " µs more", 1) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", q.what, strings.Join(cells, " | "))
	}
	return fmt.Sprintf("Measured on %s (%s/%s, %d CPUs):\n\n| | page alone | quiet | debugger |\n|---|--:|--:|--:|\n", day.Format("2 January 2006"), r.OS, r.Arch, r.CPUs) + b.String(), nil
}

// captureQuoted are the figures that docs/CAPTURE.md has: rows of its table, and then lines.
var captureQuoted = []struct{ what, line string }{
	{"50,000 console lines", ""},
	{"1,000 fetches of JSON", ""},
	{"10,000 WebSocket frames", ""},
	{"a console.log", ""},
	{"a console.log of an object", ""},
	{"a console.warn", ""},
	{"a console.error", ""},
	{"quiet: regressions told, cause named", "- Regressions reported with their cause, by quiet capture: %s."},
	{"quiet: false alarms", "- False alarms on healthy visits, by quiet capture: %s."},
}
