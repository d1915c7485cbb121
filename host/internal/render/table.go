package render

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Line writes one line, without colors if w does not support them. Pass text of pages through [Flat] first.
func Line(w io.Writer, format string, args ...any) error {
	_, err := lipgloss.Fprintf(w, format+"\n", args...)
	return err
}

// Faint returns text in the style for less important text.
func Faint(s string) string {
	if s == "" {
		return "" // without a style that would count as a cell
	}
	return faint.Render(s)
}

// Bold returns text in the style for important text.
func Bold(s string) string { return bold.Render(s) }

// Table aligns the columns of its rows, except for the last one.
type Table struct {
	// Indent is written before every row.
	Indent string
	// Width is the width of the terminal in columns, 0 where it does not matter. The cells of column Cut are cut so that
	// rows fit into it: to cutTo columns at least, and with room for lastRoom columns of the last column.
	Width, Cut int
	// Paths is true where column Cut has paths. They are cut at their beginning, to pathTo columns at least, and there is room for
	// figuresRoom columns of the last column.
	Paths bool
	rows  [][]string
}

const (
	cutTo       = 16
	lastRoom    = 20
	pathTo      = 8
	figuresRoom = 40
)

// Row adds a row. Line breaks in cells become spaces.
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = oneLine(c)
	}
	t.rows = append(t.rows, cells)
}

// Text adds a row that ends with a line of a text, which keeps its spaces.
func (t *Table) Text(line string, cells ...string) {
	t.Row(append(cells, "")...)
	row := t.rows[len(t.rows)-1]
	row[len(row)-1] = Flat(line)
}

// Write writes the table.
func (t *Table) Write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(c))
		}
	}
	t.cut(widths)
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, c := range row {
			line.WriteString(c)
			if i < len(row)-1 {
				fmt.Fprint(&line, strings.Repeat(" ", widths[i]-lipgloss.Width(c)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := lipgloss.Fprint(w, b.String())
	return err
}

// cut cuts the cells of a column, so that rows of these widths fit into the terminal.
func (t *Table) cut(widths []int) {
	if t.Width == 0 || t.Cut >= len(widths)-1 {
		return
	}
	least, last := cutTo, lastRoom
	if t.Paths {
		least, last = pathTo, figuresRoom
	}
	room := t.Width - lipgloss.Width(t.Indent) - min(widths[len(widths)-1], last)
	for i, width := range widths[:len(widths)-1] {
		if room -= 2; i != t.Cut {
			room -= width
		}
	}
	room = max(room, least)
	if widths[t.Cut] <= room {
		return
	}
	widths[t.Cut] = room
	for _, row := range t.rows {
		cell := row[t.Cut]
		if over := lipgloss.Width(cell) - room; t.Paths && over > 0 {
			row[t.Cut] = ansi.TruncateLeft(cell, over+1, "…")
			continue
		}
		row[t.Cut] = ansi.Truncate(cell, room, "…")
	}
}
