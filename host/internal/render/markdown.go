package render

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"tidemark.dev/tidemark/host/internal/report"
)

// Markdown writes a report as CommonMark, for pull requests, notes and agents. Times are UTC. Text of pages is in code
// spans that it cannot end, on one line, without control and format characters. So it cannot create links, mentions,
// images, HTML or headings.
func Markdown(w io.Writer, r *report.Report) error {
	var b strings.Builder
	mark, how, what := standing(r.Severity, r.Summary)
	fmt.Fprintf(&b, "## %s %s: %s\n\n", mark, how, escape(what))
	fmt.Fprintf(&b, "%s to %s UTC (%s)", r.From.UTC().Format("2006-01-02 15:04:05"), endTime(r.From, r.To), Duration(r.DurationMs))
	if r.Checkpoint != "" {
		fmt.Fprintf(&b, ", since %s", code(r.Checkpoint))
	}
	b.WriteString("\n")
	for _, s := range sections(r, utcClock) {
		fmt.Fprintf(&b, "\n### %s", s.title)
		if s.count != "" {
			fmt.Fprintf(&b, " (%s)", s.count)
		}
		b.WriteString("\n\n")
		for _, r := range s.rows {
			fmt.Fprintf(&b, "- %s %s", bullet(r.sign), marked(r.head, " "))
			if tail := marked(r.tail, ", "); tail != "" {
				b.WriteString(" (" + tail + ")")
			}
			b.WriteString("\n")
		}
		if s.omitted > 0 {
			fmt.Fprintf(&b, "- and %d more\n", s.omitted)
		}
	}
	if list := remarks(r, utcClock); len(list) > 0 {
		b.WriteString("\n### Remarks\n\n")
		for _, r := range list {
			mark := ""
			if r.grave {
				mark = string(warned) + " "
			}
			fmt.Fprintf(&b, "- %s%s\n", mark, marked(r.words, " "))
			for _, below := range r.below {
				fmt.Fprintf(&b, "  - %s\n", marked(below, ", "))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func utcClock(t report.Time) string { return t.UTC().Format("15:04:05") }

// endTime omits the date if it is that of the beginning.
func endTime(from, to report.Time) string {
	if from.UTC().Format("2006-01-02") == to.UTC().Format("2006-01-02") {
		return utcClock(to)
	}
	return to.UTC().Format("2006-01-02 15:04:05")
}

// bullet returns a sign, escaped so that it does not begin a list.
func bullet(s sign) string {
	if s == added {
		return `\+`
	}
	return string(s)
}

// marked joins words: quoted ones as code, others as text.
func marked(words []word, by string) string {
	var said []string
	for _, w := range words {
		text := escape(w.text)
		if w.quoted {
			text = code(w.text)
		}
		if text != "" {
			said = append(said, w.before+text+w.mark)
		}
	}
	return strings.Join(said, by)
}

// code returns text as a code span. Its fence is longer than any run of backticks in it (CommonMark 0.31, 6.1).
func code(s string) string {
	s = oneLine(printable(s))
	if s == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		s = " " + s + " " // CommonMark strips one space on each side
	}
	return fence + s + fence
}

// escape returns text with all Markdown escaped.
func escape(s string) string {
	var b strings.Builder
	for _, r := range oneLine(printable(s)) {
		if strings.ContainsRune("\\`*_{}[]<>#|~&@$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	s = b.String()
	s = strings.ReplaceAll(s, "://", `\://`) // prevents GitHub's autolinks
	return strings.ReplaceAll(s, "www.", `www\.`)
}

// printable removes characters that are invisible or change the direction of text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
}
