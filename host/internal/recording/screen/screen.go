// Package screen is a terminal without a display: output goes in, and what the terminal shows comes out.
//
// Guarantees:
//   - The result does not depend on how the output is cut.
//   - What [Terminal.Dump] returns puts a new terminal of the same size into the same state, also in the middle of a
//     control sequence or of a character. It is made of control sequences that other terminals understand.
//   - Output of any kind ends in a state, in bounded memory. Nothing is answered, as to a query for the cursor.
//
// It follows xterm. The model of its buffers, of pending wraps and of dumps is that of asciinema's avt, in which exports
// are played. It has neither scrollback nor reflow: lines that leave the screen are gone, and a resize cuts lines.
package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Bounds of a size, in cells. Others are set to the nearest.
const (
	MaxCols = 1000
	MaxRows = 500
)

// maxTitle bounds what is kept of a title, and of another command to the terminal, in bytes.
const maxTitle = 1 << 10

// Color is a color: 0 is the default, 1 to 256 are those of the palette, and those with rgb are 24 bits.
type Color uint32

const rgb Color = 1 << 24

// Attributes of a cell.
const (
	bold uint16 = 1 << iota
	faint
	italic
	blink
	inverse
	hidden
	struck
	overlined
)

// pen is the style of a cell.
type pen struct {
	fg, bg, line Color
	attrs        uint16
	underline    uint8 // the style of the underline, as in SGR 4:n
}

// cell is a place of the screen. The second half of a wide character has the width 0.
type cell struct {
	r     rune
	more  string // combining characters
	width uint8
	pen   pen
}

// maxMore bounds the combining characters of a cell, in bytes.
const maxMore = 32

func blank(p pen) cell { return cell{r: ' ', width: 1, pen: pen{bg: p.bg}} }

// context is what a terminal saves with the cursor.
type context struct {
	x, y           int
	pen            pen
	origin, noWrap bool
	graphics       [2]bool
	shifted        bool
}

// Terminal is an emulated terminal. It is not safe for concurrent use.
type Terminal struct {
	cols, rows int
	// lines is the screen that is shown, and other the one that is not.
	lines, other [][]cell
	alternate    bool
	// x is the number of columns after a character in the last one: the next begins a line.
	x, y        int
	pen         pen
	top, bottom int
	// saved are the contexts of the main and the alternate screen.
	saved [2]context
	tabs  []bool
	// graphics are the character sets that draw lines, and shifted selects the second.
	graphics               [2]bool
	shifted                bool
	insert, newline        bool
	origin, noWrap, hidden bool
	keypad                 bool
	// modes are other modes that are set, of those in passive. shape is that of the cursor.
	modes map[int]bool
	shape int
	title string

	parser
}

// New returns a terminal of a size.
func New(cols, rows int) *Terminal {
	t := &Terminal{}
	t.cols, t.rows = sizes(cols, rows)
	t.reset()
	return t
}

func sizes(cols, rows int) (int, int) {
	return min(max(cols, 1), MaxCols), min(max(rows, 1), MaxRows)
}

// reset puts the terminal into its first state. It keeps the memory of its pages: a hostile program resets again and again.
func (t *Terminal) reset() {
	cols, rows, lines, other := t.cols, t.rows, t.lines, t.other
	if t.alternate {
		lines, other = other, lines
	}
	*t = Terminal{cols: cols, rows: rows, bottom: rows - 1, modes: map[int]bool{}, parser: parser{state: t.state, pending: t.pending}}
	t.tabs = tabsOf(cols)
	if lines == nil {
		t.lines, t.other = page(cols, rows), page(cols, rows)
		return
	}
	t.lines, t.other = lines, other // the alternate screen is erased when it is shown
	t.eraseLines(0, rows)
}

// page returns a blank screen.
func page(cols, rows int) [][]cell {
	lines := make([][]cell, rows)
	for i := range lines {
		lines[i] = make([]cell, cols)
		fill(lines[i], pen{})
	}
	return lines
}

func tabsOf(cols int) []bool {
	tabs := make([]bool, cols)
	for i := 8; i < cols; i += 8 {
		tabs[i] = true
	}
	return tabs
}

// Size returns the size in cells.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Title returns the title that a program gave the terminal, "" for none. It has no control characters, nor those that change
// the direction of text.
func (t *Terminal) Title() string { return strings.Map(visible, t.title) }

// Resize gives the terminal another size. It keeps the line of the cursor on the screen, and its margins become the screen.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = sizes(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	cut := max(0, t.y-rows+1)
	tabs := tabsOf(cols)
	copy(tabs, t.tabs)
	t.tabs = tabs
	t.cols, t.rows = cols, rows
	t.lines, t.other = t.fit(t.lines, cut), t.fit(t.other, cut)
	t.top, t.bottom = 0, rows-1
	t.y -= cut
	t.x = min(t.x, cols-1)
	for i := range t.saved {
		t.saved[i].x, t.saved[i].y = min(t.saved[i].x, cols-1), min(t.saved[i].y, rows-1)
	}
}

// fit returns lines in the terminal's size, without the first.
func (t *Terminal) fit(lines [][]cell, without int) [][]cell {
	fitted := page(t.cols, t.rows)
	for y := range min(t.rows, len(lines)-without) {
		line := fitted[y]
		n := copy(line, lines[y+without])
		if n > 0 && line[n-1].width == 2 {
			line[n-1] = blank(line[n-1].pen)
		}
	}
	return fitted
}

// widths are those of xterm, whatever the environment says.
var widths = &runewidth.Condition{}

// print shows a character at the cursor.
func (t *Terminal) print(r rune) {
	width := 1
	if r >= 0x7f {
		width = widths.RuneWidth(r)
	}
	if width == 0 {
		t.combine(r)
		return
	}
	if width > t.cols {
		return // one column has no place for it
	}
	set := 0
	if t.shifted {
		set = 1
	}
	if t.graphics[set] && r >= 0x60 && r <= 0x7e {
		r = graphic[r-0x60]
	}
	if t.x+width > t.cols {
		if t.noWrap {
			if width == 2 {
				return
			}
			t.x = t.cols - 1
		} else {
			if t.x < t.cols {
				t.erase(t.x, t.cols)
			}
			t.x = 0
			t.index()
		}
	}
	line := t.lines[t.y]
	if t.insert {
		t.insertCells(width)
	}
	t.split(t.x)
	t.split(t.x + width)
	line[t.x] = cell{r: r, width: uint8(width), pen: t.pen}
	if width == 2 {
		line[t.x+1] = cell{pen: t.pen}
	}
	if t.x += width; t.x == t.cols && t.noWrap {
		t.x--
	}
}

// combine adds a character without a width to the one before the cursor.
func (t *Terminal) combine(r rune) {
	at := t.x - 1
	if at < 0 {
		return
	}
	line := t.lines[t.y]
	if line[at].width == 0 && at > 0 {
		at--
	}
	if len(line[at].more)+utf8.RuneLen(r) <= maxMore {
		line[at].more += string(r)
	}
}

// split makes both halves of a wide character blank, if a column is its second half.
func (t *Terminal) split(x int) {
	if line := t.lines[t.y]; x > 0 && x < t.cols && line[x].width == 0 {
		line[x-1], line[x] = blank(t.pen), blank(t.pen)
	}
}

// fill makes cells blank. It copies what it has: a hostile program erases the whole screen with three bytes.
func fill(cells []cell, p pen) {
	if len(cells) == 0 {
		return
	}
	cells[0] = blank(p)
	for done := 1; done < len(cells); done *= 2 {
		copy(cells[done:], cells[:done])
	}
}

// erase makes cells of the cursor's line blank.
func (t *Terminal) erase(from, to int) {
	from, to = min(from, t.cols), min(to, t.cols)
	if from < to {
		t.split(from)
		t.split(to)
		fill(t.lines[t.y][from:to], t.pen)
	}
}

func (t *Terminal) eraseLines(from, to int) {
	for _, line := range t.lines[from:to] {
		fill(line, t.pen)
	}
}

// insertCells moves the cells at the cursor to the right.
func (t *Terminal) insertCells(n int) {
	t.split(t.x)
	line := t.lines[t.y]
	n = min(n, t.cols-t.x)
	copy(line[t.x+n:], line[t.x:])
	fill(line[t.x:t.x+n], t.pen)
	if last := &line[t.cols-1]; last.width == 2 {
		*last = blank(t.pen)
	}
}

// deleteCells moves the cells behind those at the cursor to the left.
func (t *Terminal) deleteCells(n int) {
	n = min(n, t.cols-t.x)
	t.split(t.x)
	t.split(t.x + n)
	line := t.lines[t.y]
	copy(line[t.x:], line[t.x+n:])
	fill(line[t.cols-n:], t.pen)
}

// scroll moves the lines from one to another up. A negative n moves them down.
func (t *Terminal) scroll(from, to, n int) {
	part := t.lines[from : to+1]
	n = max(-len(part), min(n, len(part)))
	freed := make([][]cell, 0, 4)
	if n > 0 {
		freed = append(freed, part[:n]...)
		copy(part, part[n:])
		copy(part[len(part)-n:], freed)
	} else {
		freed = append(freed, part[len(part)+n:]...)
		copy(part[-n:], part)
		copy(part, freed)
	}
	for _, line := range freed {
		fill(line, t.pen)
	}
}

// index moves the cursor down, and scrolls at the bottom margin.
func (t *Terminal) index() {
	if t.y == t.bottom {
		t.scroll(t.top, t.bottom, 1)
	} else if t.y < t.rows-1 {
		t.y++
	}
}

// graphic is the character set of DEC Special Graphics, from 0x60.
var graphic = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
