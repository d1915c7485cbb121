package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Dump returns output that puts a new terminal of the same size into the state of this one.
func (t *Terminal) Dump() string {
	var b strings.Builder
	main, alternate := t.lines, t.other
	if t.alternate {
		main, alternate = alternate, main
	}
	dumpLines(&b, main)
	if !slices.Equal(t.tabs, tabsOf(t.cols)) {
		b.WriteString("\x1b[3g")
		for x, set := range t.tabs {
			if set {
				fmt.Fprintf(&b, "\x1b[%dG\x1bH", x+1)
			}
		}
	}
	t.saved[0].dump(&b)
	if t.alternate || t.saved[1] != (context{}) {
		b.WriteString("\x1b[?1047h")
		if t.alternate {
			dumpLines(&b, alternate)
		}
		t.saved[1].dump(&b)
		if !t.alternate {
			b.WriteString("\x1b[?1047l")
		}
	}
	if t.top > 0 || t.bottom < t.rows-1 {
		fmt.Fprintf(&b, "\x1b[%d;%dr", t.top+1, t.bottom+1)
	}
	y := t.y
	if t.origin {
		b.WriteString("\x1b[?6h")
		y -= t.top
	}
	dumpCursor(t, &b, y)
	b.WriteString(t.pen.sgr())
	for i, set := range t.graphics {
		if set {
			b.WriteString([]string{"\x1b(0", "\x1b)0"}[i])
		}
	}
	for _, m := range []struct {
		set bool
		as  string
	}{
		{t.shifted, "\x0e"},
		{t.insert, "\x1b[4h"},
		{t.newline, "\x1b[20h"},
		{t.noWrap, "\x1b[?7l"},
		{t.hidden, "\x1b[?25l"},
		{t.keypad, "\x1b="},
		{t.shape > 0, fmt.Sprintf("\x1b[%d q", t.shape)},
		{t.title != "", "\x1b]2;" + t.title + "\a"},
	} {
		if m.set {
			b.WriteString(m.as)
		}
	}
	modes := make([]int, 0, len(t.modes))
	for n := range t.modes {
		modes = append(modes, n)
	}
	slices.Sort(modes)
	for _, n := range modes {
		fmt.Fprintf(&b, "\x1b[?%dh", n)
	}
	b.WriteString(t.unfinished())
	return b.String()
}

// dumpCursor puts the cursor into its place. Only a character in the last column puts it behind that.
func dumpCursor(t *Terminal, b *strings.Builder, y int) {
	x := t.x
	if x == t.cols {
		x--
		if t.lines[t.y][x].width == 0 {
			x--
		}
	}
	fmt.Fprintf(b, "\x1b[%d;%dH", y+1, x+1)
	if t.x == t.cols {
		c := t.lines[t.y][x]
		b.WriteString(c.pen.sgr() + string(c.r) + c.more)
	}
}

// dump saves a context in a terminal without margins, whose other state is the first.
func (c context) dump(b *strings.Builder) {
	if c == (context{}) {
		return
	}
	if c.origin {
		b.WriteString("\x1b[?6h")
	}
	if c.noWrap {
		b.WriteString("\x1b[?7l")
	}
	if c.graphics[0] {
		b.WriteString("\x1b(0")
	}
	if c.graphics[1] {
		b.WriteString("\x1b)0")
	}
	if c.shifted {
		b.WriteByte(0x0e)
	}
	fmt.Fprintf(b, "\x1b[%d;%dH%s\x1b7\x1b[0m\x1b[?6l\x1b[?7h\x1b(B\x1b)B\x0f", c.y+1, c.x+1, c.pen.sgr())
}

// dumpLines writes lines that are not blank.
func dumpLines(b *strings.Builder, lines [][]cell) {
	now := pen{}
	for y, line := range lines {
		end := len(line)
		for end > 0 && line[end-1] == blank(pen{}) {
			end--
		}
		if end == 0 {
			continue
		}
		fmt.Fprintf(b, "\x1b[%d;1H", y+1)
		for _, c := range line[:end] {
			if c.width == 0 {
				continue
			}
			if c.pen != now {
				now = c.pen
				b.WriteString(now.sgr())
			}
			b.WriteRune(c.r)
			b.WriteString(c.more)
		}
	}
	if now != (pen{}) {
		b.WriteString("\x1b[0m")
	}
}

// sgr returns the control sequence that selects a style, from any other.
func (p pen) sgr() string {
	var b strings.Builder
	b.WriteString("\x1b[0")
	for _, n := range []int{1, 2, 3, 5, 7, 8, 9, 53} {
		if p.attrs&on[n] != 0 {
			fmt.Fprintf(&b, ";%d", n)
		}
	}
	if p.underline == 1 {
		b.WriteString(";4")
	} else if p.underline > 1 {
		fmt.Fprintf(&b, ";4:%d", p.underline)
	}
	p.fg.sgr(&b, 30)
	p.bg.sgr(&b, 40)
	if p.line != 0 {
		p.line.extended(&b, 58)
	}
	return b.String() + "m"
}

// sgr writes the parameters that select a color, where those of the palette begin at base.
func (c Color) sgr(b *strings.Builder, base int) {
	switch {
	case c == 0:
	case c <= 8:
		fmt.Fprintf(b, ";%d", base+int(c)-1)
	case c <= 16:
		fmt.Fprintf(b, ";%d", base+60+int(c)-9)
	default:
		c.extended(b, base+8)
	}
}

func (c Color) extended(b *strings.Builder, code int) {
	if c&rgb == 0 {
		fmt.Fprintf(b, ";%d;5;%d", code, c-1)
	} else {
		fmt.Fprintf(b, ";%d;2;%d;%d;%d", code, c>>16&0xff, c>>8&0xff, c&0xff)
	}
}

// Pending returns the first bytes of a character, with which [Terminal.Dump] ends.
func (t *Terminal) Pending() []byte { return append([]byte(nil), t.pending...) }

// Text returns what the screen shows, one string a line, without spaces at the ends of lines. It has no control characters, nor
// those that change the direction of text.
func (t *Terminal) Text() []string { return textOf(t, false) }

// Styled is [Terminal.Text] with the control sequences of colors and styles.
func (t *Terminal) Styled() []string { return textOf(t, true) }

// textOf returns the lines that are shown.
func textOf(t *Terminal, styled bool) []string {
	lines := make([]string, t.rows)
	for y, line := range t.lines {
		end := len(line)
		for end > 0 && (line[end-1] == blank(pen{}) || !styled && line[end-1] == blank(line[end-1].pen)) {
			end--
		}
		var b strings.Builder
		now := pen{}
		for _, c := range line[:end] {
			if styled && c.width > 0 && c.pen != now {
				now = c.pen
				b.WriteString(now.sgr())
			}
			switch {
			case c.width == 0:
			case c.pen.attrs&hidden != 0:
				b.WriteString(strings.Repeat(" ", int(c.width)))
			default:
				b.WriteString(strings.Map(visible, string(c.r)+c.more))
			}
		}
		if now != (pen{}) {
			b.WriteString("\x1b[0m")
		}
		lines[y] = b.String()
		if !styled {
			lines[y] = strings.TrimRight(lines[y], " ")
		}
	}
	return lines
}

// visible leaves out characters that change others than themselves, except for the joiner of emoji.
func visible(r rune) rune {
	if r != 0x200d && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
		return -1
	}
	return r
}

// Cursor returns the place of the cursor, counted from 0, and whether it is shown.
func (t *Terminal) Cursor() (x, y int, shown bool) { return min(t.x, t.cols-1), t.y, !t.hidden }

// Alternate reports whether the alternate screen is shown.
func (t *Terminal) Alternate() bool { return t.alternate }
