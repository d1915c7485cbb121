package terminal

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
)

// markNumber is the number of the control sequence (OSC) by which the shell integration reports: no terminal shows it.
const markNumber = "6973"

// maxSequence bounds a control sequence that is read as a whole, in bytes. A longer one is output.
const maxSequence = 64 << 10

// mark is what a shell reports.
type mark struct {
	// kind is P where a prompt begins, C where a command begins, D where it ended.
	kind byte
	dir  string
	// text is the command, "" where it is not known yet, or at all.
	text string
	// same is for shells that know their history alone: "new" if the text is of this command, "same" if it is that of
	// the command before and so is this one, "unsure" if only the screen can tell.
	same   string
	status int
}

// piece is a part of a terminal's output: bytes, a mark, or a change of the screen.
type piece struct {
	data []byte
	mark *mark
	// other is a mark of another integration. The data has its sequence.
	other *otherMark
	// screen is 1 where the alternate screen begins, -1 where it ends, else 0. The data has the sequence.
	screen int
}

// scanner finds marks in output. Its result does not depend on how the output is cut.
type scanner struct {
	// nonce makes a mark the shell's own: output of other programs cannot know it.
	nonce string
	// part is the beginning of a control sequence.
	part []byte
}

const esc = 0x1b

// scan takes more output, and calls each with its pieces in their order. Marks are not in the data. The data is valid
// until the next call.
func (s *scanner) scan(data []byte, each func(piece)) {
	if len(s.part) > 0 {
		data = append(s.part, data...)
		s.part = nil
	}
	done := 0 // data[:done] was passed on
	pass := func(to int) {
		if to > done {
			each(piece{data: data[done:to]})
		}
		done = to
	}
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], esc)
		if i < 0 {
			pass(len(data))
			return
		}
		at += i
		n, whole := sequence(data[at:])
		if !whole {
			pass(at)
			s.part = append([]byte(nil), data[at:]...)
			return
		}
		seq := data[at : at+n]
		if m, ok := s.mark(seq); ok {
			pass(at)
			done = at + n
			each(piece{mark: m})
		} else if other := otherMarkOf(seq); other != nil {
			pass(at)
			done = at + n
			each(piece{data: seq, other: other})
		} else if screen := screenOf(seq); screen != 0 {
			pass(at)
			done = at + n
			each(piece{data: seq, screen: screen})
		}
		at += n
	}
}

// rest returns what waits for the end of a control sequence, and forgets it.
func (s *scanner) rest() []byte {
	part := s.part
	s.part = nil
	return part
}

// otherMark is a mark by which other integrations report: those of FinalTerm (OSC 133), which many terminals and shells
// share, of Visual Studio Code (OSC 633), and of the directory (OSC 7). See https://gitlab.freedesktop.org/Per_Bothner/specifications/-/blob/master/proposals/semantic-prompts.md
// and https://code.visualstudio.com/docs/terminal/shell-integration.
type otherMark struct {
	// kind is A where a prompt begins, B where it ends, C where a command begins, D where it ended, E for its text, 7 for
	// the directory.
	kind   byte
	text   string
	status *int
}

// otherMarkOf reads a control sequence as a mark of another integration, nil if it is none.
func otherMarkOf(seq []byte) *otherMark {
	rest, ok := bytes.CutPrefix(seq, []byte("\x1b]"))
	if !ok {
		return nil
	}
	if rest, ok = bytes.CutSuffix(rest, []byte{'\a'}); !ok {
		if rest, ok = bytes.CutSuffix(rest, []byte("\x1b\\")); !ok {
			return nil
		}
	}
	number, args, _ := strings.Cut(string(rest), ";")
	if number == "7" {
		return dirMark(strings.CutPrefix(args, "file://"))
	}
	f := strings.Split(args, ";")
	if number != "133" && number != "633" || len(f[0]) != 1 {
		return nil
	}
	m := &otherMark{kind: f[0][0]}
	switch {
	case strings.IndexByte("ABC", m.kind) >= 0:
	case m.kind == 'D':
		if len(f) > 1 {
			if status, err := strconv.Atoi(f[1]); err == nil {
				m.status = &status
			}
		}
	case number == "633" && m.kind == 'E' && len(f) > 1:
		m.text = unescapeHex(f[1])
	case number == "633" && m.kind == 'P' && len(f) > 1:
		dir, ok := strings.CutPrefix(f[1], "Cwd=")
		if !ok {
			return nil
		}
		m.kind, m.text = '7', unescapeHex(dir)
	default:
		return nil
	}
	return m
}

// dirMark reads the address of a directory: its host, and its path with %XX.
func dirMark(address string, ok bool) *otherMark {
	_, path, hasPath := strings.Cut(address, "/")
	if !ok || !hasPath {
		return nil
	}
	return &otherMark{kind: '7', text: unescape("/" + path)}
}

// unescapeHex decodes \\ and \xXX, as Visual Studio Code encodes commands.
func unescapeHex(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\\' {
				b.WriteByte('\\')
				i++
				continue
			}
			if s[i+1] == 'x' && i+3 < len(s) {
				if c, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
					b.WriteByte(byte(c))
					i += 3
					continue
				}
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// sequence returns the length of the control sequence at the beginning of data, which is an ESC. Whole is false if more
// is needed to know it.
func sequence(data []byte) (n int, whole bool) {
	if len(data) < 2 {
		return 0, false
	}
	switch data[1] {
	case '[':
		for i := 2; i < len(data); i++ {
			switch c := data[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1, true
			case c < 0x20 || c > 0x7e || i > 64: // not one
				return i, true
			}
		}
		return 0, false
	case ']', 'P', '_', '^':
		for i := 2; i < len(data); i++ {
			switch data[i] {
			case '\a':
				if data[1] == ']' {
					return i + 1, true
				}
			case esc:
				if i+1 == len(data) {
					return 0, false
				}
				if data[i+1] == '\\' {
					return i + 2, true
				}
				return i, true // another sequence ends it
			case 0x18, 0x1a:
				return i + 1, true
			}
			if i >= maxSequence {
				return i, true
			}
		}
		return 0, false
	}
	return 2, true
}

// mark reads a control sequence as a mark of this terminal's shell.
func (s *scanner) mark(seq []byte) (*mark, bool) {
	prefix := "\x1b]" + markNumber + ";" + s.nonce + ";"
	rest, ok := bytes.CutPrefix(seq, []byte(prefix))
	if !ok || s.nonce == "" {
		return nil, false
	}
	rest, closed := bytes.CutSuffix(rest, []byte{'\a'})
	if !closed {
		if rest, closed = bytes.CutSuffix(rest, []byte("\x1b\\")); !closed {
			return nil, false // it was cancelled
		}
	}
	f := strings.Split(string(rest), ";")
	for len(f) < 5 {
		f = append(f, "")
	}
	m := &mark{}
	switch f[0] {
	case "P": // P;dir
		m.kind, m.dir = 'P', unescape(f[1])
	case "C": // C;dir;command;how
		m.kind, m.dir, m.text, m.same = 'C', unescape(f[1]), unescape(f[2]), f[3]
	case "D": // D;status;dir;how;command
		m.kind, m.dir, m.same, m.text = 'D', unescape(f[2]), f[3], unescape(f[4])
		var err error
		if m.status, err = strconv.Atoi(f[1]); err != nil {
			return m, false
		}
	default:
		return nil, false
	}
	return m, true
}

// unescape decodes %XX. A text that is not encoded right is returned as it is.
func unescape(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

// screenOf returns 1 for a sequence that begins the alternate screen, -1 for one that ends it, else 0.
func screenOf(seq []byte) int {
	params, ok := bytes.CutPrefix(seq, []byte("\x1b[?"))
	if !ok || len(params) == 0 { // another sequence has cut it off
		return 0
	}
	end := len(params) - 1
	change := map[byte]int{'h': 1, 'l': -1}[params[end]]
	for _, p := range bytes.Split(params[:end], []byte{';'}) {
		switch string(p) {
		case "1049", "1047", "47":
			return change
		}
	}
	return 0
}
