package screen

import (
	"strconv"
	"strings"
)

// passive are the modes of DEC and xterm that change what programs are sent, or what the user's terminal does, but not what
// is shown: they are kept for the dump. By number: the cursor's keys, reverse video, blinking, the mouse, focus, pasting,
// synchronized output.
var passive = map[int]bool{
	1: true, 5: true, 9: true, 12: true, 1000: true, 1002: true, 1003: true, 1004: true, 1005: true, 1006: true, 1007: true,
	1015: true, 1016: true, 2004: true, 2026: true, 2031: true,
}

// params are those of a control sequence, each with its parts. What is missing is -1.
type params [][]int

func paramsOf(raw string) params {
	if raw == "" {
		return nil
	}
	var ps params
	for field := range strings.SplitSeq(raw, ";") {
		if len(ps) == maxParams {
			break
		}
		var parts []int
		for part := range strings.SplitSeq(field, ":") {
			n, err := strconv.Atoi(part)
			if err != nil {
				if n = -1; part != "" {
					n = maxParam
				}
			}
			parts = append(parts, min(n, maxParam))
		}
		ps = append(ps, parts)
	}
	return ps
}

// at returns a parameter. One that is missing or 0 is other.
func (p params) at(i, other int) int {
	if i >= len(p) || p[i][0] <= 0 {
		return other
	}
	return p[i][0]
}

// sequence takes a control sequence.
func (t *Terminal) sequence(raw string, final byte) {
	switch {
	case raw != "" && raw[0] == '?':
		if final == 'h' || final == 'l' {
			for _, p := range paramsOf(raw[1:]) {
				t.mode(p[0], final == 'h')
			}
		}
		return
	case final == 'p' && raw == "!":
		t.softReset()
		return
	case final == 'q' && strings.HasSuffix(raw, " "):
		if t.shape = paramsOf(strings.TrimSuffix(raw, " ")).at(0, 0); t.shape > 6 {
			t.shape = 0
		}
		return
	case strings.ContainsAny(raw, "<=>? !\"#$%&'()*+,-./"):
		return
	}
	p := paramsOf(raw)
	n := p.at(0, 1)
	switch final {
	case '@', 'P', 'X', 'L', 'M', 'S', 'T', 'J', 'K', 'b':
		t.edit(final, p, n)
	case 'm':
		t.pen.style(p)
	case 'h', 'l':
		for _, mode := range p {
			switch mode[0] {
			case 4:
				t.insert = final == 'h'
			case 20:
				t.newline = final == 'h'
			}
		}
	case 'r':
		top, bottom := n-1, min(p.at(1, t.rows), t.rows)-1
		if top < bottom {
			t.top, t.bottom = top, bottom
			t.home()
		}
	case 's':
		t.save()
	case 'u':
		t.restore()
	case 'g':
		switch p.at(0, 0) {
		case 0:
			if t.x < t.cols {
				t.tabs[t.x] = false
			}
		case 3:
			clear(t.tabs)
		}
	default:
		t.move(final, p, n)
	}
}

// move takes a control sequence that moves the cursor.
func (t *Terminal) move(final byte, p params, n int) {
	x := min(t.x, t.cols-1)
	switch final {
	case 'A', 'F':
		limit := 0
		if t.y >= t.top {
			limit = t.top
		}
		t.y = max(t.y-n, limit)
	case 'B', 'E', 'e':
		limit := t.rows - 1
		if t.y <= t.bottom {
			limit = t.bottom
		}
		t.y = min(t.y+n, limit)
	case 'C', 'a':
		x = min(x+n, t.cols-1)
	case 'D':
		x = max(x-n, 0)
	case 'G', '`':
		x = min(n, t.cols) - 1
	case 'd':
		t.row(n - 1)
	case 'H', 'f':
		x = min(p.at(1, 1), t.cols) - 1
		t.row(n - 1)
	case 'I':
		t.tab(n)
		return
	case 'Z':
		t.tab(-n)
		return
	default:
		return
	}
	if final == 'E' || final == 'F' {
		x = 0
	}
	t.x = x
}

// row moves the cursor to a row, counted from the top margin in origin mode.
func (t *Terminal) row(y int) {
	if t.origin {
		t.y = min(t.top+y, t.bottom)
	} else {
		t.y = min(y, t.rows-1)
	}
}

func (t *Terminal) home() {
	t.x = 0
	t.row(0)
}

// edit takes a control sequence that changes cells.
func (t *Terminal) edit(final byte, p params, n int) {
	inside := t.y >= t.top && t.y <= t.bottom
	switch final {
	case '@':
		t.x = min(t.x, t.cols-1)
		t.insertCells(n)
	case 'P':
		t.x = min(t.x, t.cols-1)
		t.deleteCells(n)
	case 'X':
		t.x = min(t.x, t.cols-1)
		t.erase(t.x, t.x+n)
	case 'L', 'M':
		if final == 'L' {
			n = -n
		}
		if inside {
			t.scroll(t.y, t.bottom, n)
			t.x = 0
		}
	case 'S':
		t.scroll(t.top, t.bottom, n)
	case 'T':
		if len(p) <= 1 { // with more, it is for the mouse
			t.scroll(t.top, t.bottom, -n)
		}
	case 'J':
		switch p.at(0, 0) {
		case 0:
			t.erase(t.x, t.cols)
			t.eraseLines(t.y+1, t.rows)
		case 1:
			t.erase(0, t.x+1)
			t.eraseLines(0, t.y)
		case 2:
			t.eraseLines(0, t.rows)
		}
	case 'K':
		switch p.at(0, 0) {
		case 0:
			t.erase(t.x, t.cols)
		case 1:
			t.erase(0, t.x+1)
		case 2:
			t.erase(0, t.cols)
		}
	case 'b':
		t.repeat(n)
	}
}

// repeat repeats the character before the cursor.
func (t *Terminal) repeat(n int) {
	at := t.x - 1
	if at > 0 && t.lines[t.y][at].width == 0 {
		at--
	}
	if at < 0 {
		return
	}
	r := t.lines[t.y][at].r
	graphics := t.graphics
	t.graphics = [2]bool{} // it is translated already
	for range min(n, t.cols*t.rows) {
		t.print(r)
	}
	t.graphics = graphics
}

// mode sets or resets a mode of DEC or xterm.
func (t *Terminal) mode(n int, set bool) {
	switch n {
	case 6:
		t.origin = set
		t.home()
	case 7:
		t.noWrap = !set
	case 25:
		t.hidden = !set
	case 47, 1047:
		t.show(set)
	case 1048:
		if set {
			t.save()
		} else {
			t.restore()
		}
	case 1049:
		if set {
			t.save()
		}
		t.show(set)
		if !set {
			t.restore()
		}
	default:
		if set && passive[n] {
			t.modes[n] = true
		} else {
			delete(t.modes, n)
		}
	}
}

// softReset is DECSTR.
func (t *Terminal) softReset() {
	t.hidden, t.insert, t.origin, t.keypad = false, false, false, false
	t.top, t.bottom = 0, t.rows-1
	t.pen = pen{}
	t.graphics, t.shifted = [2]bool{}, false
	t.saved[t.screen()] = context{}
	delete(t.modes, 1)
}

// on and off are the attributes that SGR sets and resets.
var (
	on  = map[int]uint16{1: bold, 2: faint, 3: italic, 5: blink, 6: blink, 7: inverse, 8: hidden, 9: struck, 53: overlined}
	off = map[int]uint16{22: bold | faint, 23: italic, 25: blink, 27: inverse, 28: hidden, 29: struck, 55: overlined}
)

// style takes SGR.
func (p *pen) style(ps params) {
	if len(ps) == 0 {
		*p = pen{}
	}
	for i := 0; i < len(ps); i++ {
		switch n := max(ps[i][0], 0); {
		case n == 0:
			*p = pen{}
		case on[n] != 0:
			p.attrs |= on[n]
		case off[n] != 0:
			p.attrs &^= off[n]
		case n == 4:
			p.underline = 1
			if len(ps[i]) > 1 {
				p.underline = uint8(min(max(ps[i][1], 0), 5))
			}
		case n == 21:
			p.underline = 2
		case n == 24:
			p.underline = 0
		case n >= 30 && n <= 37:
			p.fg = Color(n - 30 + 1)
		case n >= 90 && n <= 97:
			p.fg = Color(n - 90 + 9)
		case n >= 40 && n <= 47:
			p.bg = Color(n - 40 + 1)
		case n >= 100 && n <= 107:
			p.bg = Color(n - 100 + 9)
		case n == 39:
			p.fg = 0
		case n == 49:
			p.bg = 0
		case n == 59:
			p.line = 0
		case n == 38 || n == 48 || n == 58:
			c, used, ok := colorOf(ps[i:])
			i += used
			if ok {
				*map[int]*Color{38: &p.fg, 48: &p.bg, 58: &p.line}[n] = c
			}
		}
	}
}

// colorOf reads a color of the palette or of 24 bits, with parts or with further parameters, of which it used some.
func colorOf(p params) (c Color, used int, ok bool) {
	parts := p[0][1:]
	if len(parts) == 0 {
		for _, next := range p[1:] {
			parts = append(parts, next[0])
		}
		switch {
		case len(parts) > 0 && parts[0] == 5:
			used = min(2, len(parts))
		case len(parts) > 0 && parts[0] == 2:
			used = min(4, len(parts))
		default:
			return 0, min(1, len(parts)), false
		}
		parts = parts[:used]
	} else if parts[0] == 2 && len(parts) > 4 {
		parts = append([]int{2}, parts[2:5]...) // the color space is left out
	}
	for _, n := range parts {
		if n > 255 {
			return 0, used, false
		}
	}
	switch {
	case len(parts) >= 2 && parts[0] == 5:
		return Color(max(parts[1], 0) + 1), used, true
	case len(parts) >= 4 && parts[0] == 2:
		return rgb | Color(max(parts[1], 0)<<16|max(parts[2], 0)<<8|max(parts[3], 0)), used, true
	}
	return 0, used, false
}
