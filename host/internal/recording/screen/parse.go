package screen

import (
	"strings"
	"unicode/utf8"
)

// state is that of the parser, after Paul Williams (https://vt100.net/emu/dec_ansi_parser).
type state uint8

const (
	ground state = iota
	escape
	escapeMore // after an intermediate character
	csi
	csiIgnored
	osc
	text // of a command that is ignored: DCS, SOS, PM, APC
)

const (
	maxParams = 32
	maxParam  = 1<<16 - 1
	// maxSequence bounds a control sequence. A longer one is ignored.
	maxSequence = 256
)

// parser is the state of reading output.
type parser struct {
	state state
	// raw is the control sequence so far, without its introducer.
	raw []byte
	// pending are the first bytes of a character.
	pending []byte
}

// Write takes output. It never fails.
func (t *Terminal) Write(data []byte) (int, error) {
	n := len(data)
	if len(t.pending) > 0 {
		data = append(t.pending, data...)
		t.pending = nil
	}
	for len(data) > 0 {
		if c := data[0]; c < utf8.RuneSelf {
			if t.state == ground && c >= 0x20 && c != 0x7f {
				t.print(rune(c))
			} else {
				t.take(rune(c))
			}
			data = data[1:]
			continue
		}
		if !utf8.FullRune(data) {
			t.pending = append([]byte(nil), data...)
			break
		}
		r, size := utf8.DecodeRune(data)
		t.take(r)
		data = data[size:]
	}
	return n, nil
}

// take takes a character.
func (t *Terminal) take(r rune) {
	switch {
	case r == 0x1b:
		if t.state == osc {
			t.command()
		}
		t.begin(escape)
		return
	case r == 0x18 || r == 0x1a:
		t.begin(ground)
		return
	case r >= 0x80 && r < 0xa0:
		if t.state == osc && r == 0x9c {
			t.command()
		}
		t.begin(escape)
		t.escaped(byte(r - 0x40))
		return
	}
	switch t.state {
	case osc:
		if r == '\a' {
			t.command()
			t.begin(ground)
		} else if r >= 0x20 && len(t.raw) < maxTitle {
			t.raw = utf8.AppendRune(t.raw, r)
		}
		return
	case text:
		return
	}
	if r < 0x20 {
		t.control(byte(r))
		return
	}
	if r == 0x7f {
		return
	}
	if t.state != ground && r > 0x7f { // it is an error in a control sequence
		if t.state != csiIgnored {
			t.begin(ground)
		}
		return
	}
	switch t.state {
	case ground:
		t.print(r)
	case escape:
		if r <= 0x2f {
			t.state = escapeMore
			t.raw = append(t.raw, byte(r))
			return
		}
		t.escaped(byte(r))
	case escapeMore:
		if r <= 0x2f {
			if len(t.raw) < maxSequence {
				t.raw = append(t.raw, byte(r))
			}
			return
		}
		raw := string(t.raw)
		t.begin(ground)
		t.designate(raw, byte(r))
	case csi:
		if r >= 0x40 {
			raw := string(t.raw)
			t.begin(ground)
			t.sequence(raw, byte(r))
			return
		}
		// A parameter cannot follow an intermediate character, and a prefix can only be the first.
		if last := lastOf(t.raw); len(t.raw) >= maxSequence || r >= 0x30 && last >= 0x20 && last < 0x30 || r >= 0x3c && last != 0 {
			t.begin(csiIgnored)
			return
		}
		t.raw = append(t.raw, byte(r))
	case csiIgnored:
		if r >= 0x40 {
			t.begin(ground)
		}
	}
}

func lastOf(raw []byte) byte {
	if len(raw) == 0 {
		return 0
	}
	return raw[len(raw)-1]
}

func (p *parser) begin(s state) {
	p.state, p.raw = s, p.raw[:0]
}

// unfinished returns output that leads to the parser's state.
func (p *parser) unfinished() string {
	start := map[state]string{escape: "\x1b", escapeMore: "\x1b", csi: "\x1b[", csiIgnored: "\x1b[0<", osc: "\x1b]", text: "\x1bX"}[p.state]
	return start + string(p.raw) + string(p.pending)
}

// escaped takes the character after an escape.
func (t *Terminal) escaped(c byte) {
	t.begin(ground)
	switch c {
	case '[':
		t.begin(csi)
	case ']':
		t.begin(osc)
	case 'P', 'X', '^', '_':
		t.begin(text)
	case 'D':
		t.lineFeed()
	case 'E':
		t.lineFeed()
		t.x = 0
	case 'H':
		if t.x < t.cols {
			t.tabs[t.x] = true
		}
	case 'M':
		t.x = min(t.x, t.cols-1)
		if t.y == t.top {
			t.scroll(t.top, t.bottom, -1)
		} else if t.y > 0 {
			t.y--
		}
	case '7':
		t.save()
	case '8':
		t.restore()
	case 'c':
		t.reset()
	case '=', '>':
		t.keypad = c == '='
	}
}

// designate takes a sequence of an escape, an intermediate and a final character.
func (t *Terminal) designate(raw string, final byte) {
	switch raw {
	case "(":
		t.graphics[0] = final == '0'
	case ")":
		t.graphics[1] = final == '0'
	case "#":
		if final == '8' {
			t.top, t.bottom, t.x, t.y = 0, t.rows-1, 0, 0
			for _, line := range t.lines {
				for x := range line {
					line[x] = cell{r: 'E', width: 1}
				}
			}
		}
	}
}

// control takes a control character.
func (t *Terminal) control(c byte) {
	switch c {
	case '\b':
		t.x = max(0, min(t.x, t.cols-1)-1)
	case '\t':
		t.tab(1)
	case '\n', '\v', '\f':
		t.lineFeed()
		if t.newline {
			t.x = 0
		}
	case '\r':
		t.x = 0
	case 0x0e, 0x0f:
		t.shifted = c == 0x0e
	}
}

func (t *Terminal) lineFeed() {
	t.x = min(t.x, t.cols-1)
	t.index()
}

// tab moves the cursor to the nth next tab stop, or the last column. A negative n moves it back.
func (t *Terminal) tab(n int) {
	if t.x >= t.cols && n > 0 {
		return
	}
	for ; n > 0 && t.x < t.cols-1; n-- {
		for t.x++; t.x < t.cols-1 && !t.tabs[t.x]; t.x++ {
		}
	}
	for ; n < 0 && t.x > 0; n++ {
		for t.x--; t.x > 0 && !t.tabs[t.x]; t.x-- {
		}
	}
}

// command takes a command to the terminal. Only titles are.
func (t *Terminal) command() {
	if title, ok := strings.CutPrefix(string(t.raw), "0;"); ok {
		t.title = title
	} else if title, ok := strings.CutPrefix(string(t.raw), "2;"); ok {
		t.title = title
	}
}

func (t *Terminal) screen() int {
	if t.alternate {
		return 1
	}
	return 0
}

func (t *Terminal) save() {
	t.saved[t.screen()] = context{min(t.x, t.cols-1), t.y, t.pen, t.origin, t.noWrap, t.graphics, t.shifted}
}

func (t *Terminal) restore() {
	s := t.saved[t.screen()]
	t.x, t.y, t.pen, t.origin, t.noWrap, t.graphics, t.shifted = s.x, s.y, s.pen, s.origin, s.noWrap, s.graphics, s.shifted
	if t.origin {
		t.y = min(max(t.y, t.top), t.bottom)
	}
}

// show changes between the main and the alternate screen, which begins blank.
func (t *Terminal) show(alternate bool) {
	if alternate == t.alternate {
		return
	}
	t.lines, t.other = t.other, t.lines
	t.alternate = alternate
	if alternate {
		t.eraseLines(0, t.rows)
	}
}
