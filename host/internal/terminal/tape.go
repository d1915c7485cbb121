package terminal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
)

// tape turns what happens in a terminal into the events of a recording. It is not safe for concurrent use.
type tape struct {
	w        *recording.Writer
	scan     scanner
	mask     *masker
	redactor *redact.Redactor
	// allowed is [Options.Allowed]. paused is why nothing is recorded, "" where it is; hidden counts the output meanwhile.
	// deaf means that input is not recorded. A password that is typed, and shown, is masked nevertheless.
	allowed func(dir string) (input bool, err error)
	paused  string
	deaf    bool
	hidden  uint64
	// ended takes the commands that ended.
	ended func(recording.Command)
	flood flood
	// servers are those that commands start.
	servers servers
	// running is the command that began, nil at a prompt. Next is what the next one is if the mark of its beginning is lost, nil before
	// the first prompt: a program may have the terminal drop what was not read yet, as tmux does where it starts.
	running, next *command
	// entered means that a line was typed since the prompt.
	entered bool
	// other are the commands that marks of other integrations report.
	other otherShell
	// dir is the shell's directory. Read is called at each of its prompts: it has read its integration, which programs must not.
	dir  string
	read func()
	// echo is what was shown since the prompt began, as far as it is needed to know a command again.
	echo []byte
	// secret means that what is typed until the end of the line is a password. typed means that a line was typed, and that what
	// the program shows then tells whether it is one.
	secret, typed bool
	// row is the end of what was shown.
	row []byte
	// failed is the last error of writing, nil if that succeeded. lost counts the output that is not on disk because of it.
	failed error
	lost   uint64
	// kept are the other events that are not on disk yet, and forgot counts those of them that were too many.
	kept   []keptEvent
	forgot int
}

// keptEvent is an event that is written again if it was lost.
type keptEvent struct {
	code recording.Code
	data []byte
}

// maxKeptEvents bounds the events that are kept while the disk is full.
const maxKeptEvents = 1000

// command is a command that runs.
type command struct {
	recording.Command
	began time.Duration
}

const (
	// maxEcho bounds what is kept of a command line that is typed, in bytes, maxRow what is kept of what was shown, and maxAnswer
	// the output that may tell of a password.
	maxEcho   = 16 << 10
	maxRow    = 1 << 10
	maxAnswer = 1 << 10
)

func newTape(w *recording.Writer, r *redact.Redactor, nonce string, allowed func(string) (bool, error), ended func(recording.Command)) *tape {
	t := &tape{w: w, redactor: r, scan: scanner{nonce: nonce}, allowed: allowed, ended: ended, read: func() {}}
	t.mask = newMasker(r, t.write)
	return t
}

// write appends an event that is masked. After an error it tries again with each event, so that a full disk costs only
// the output that was shown meanwhile.
func (t *tape) write(at time.Duration, code recording.Code, data []byte) {
	if t.failed != nil {
		t.retry(at)
	}
	before := t.w.Offset()
	if code == recording.Output {
		before += uint64(len(data))
	} else if code != recording.Input {
		t.kept = append(t.kept, keptEvent{code, data})
		if n := len(t.kept) - maxKeptEvents; t.failed != nil && n > 0 {
			t.kept, t.forgot = t.kept[n:], t.forgot+n
		}
	}
	if t.failed == nil {
		t.wrote(t.w.Append(at, code, data))
	}
	t.lost += before - t.w.Offset()
}

// wrote takes the result of writing.
func (t *tape) wrote(err error) {
	if t.failed = err; err == nil && t.w.Committed() {
		t.kept = nil
	}
}

// retry writes what is missing, and which output is lost.
func (t *tape) retry(at time.Duration) {
	gap := recording.Gap{Bytes: t.lost, Why: "the recording could not be written"}
	if t.forgot > 0 {
		gap.Why += fmt.Sprintf(", nor could %d commands or changes of the screen", t.forgot)
	}
	if t.failed = t.w.Append(at, recording.Dropped, recording.Encode(gap)); t.failed == nil {
		t.failed = t.w.Commit(false)
	}
	if t.failed != nil {
		return
	}
	t.lost, t.forgot = 0, 0
	for len(t.kept) > 0 {
		n := 0
		for n < len(t.kept) && t.failed == nil {
			t.failed = t.w.Append(at, t.kept[n].code, t.kept[n].data)
			if n++; t.w.Committed() {
				break
			}
		}
		if t.failed == nil {
			t.failed = t.w.Commit(false)
		}
		if t.failed != nil {
			return
		}
		t.kept = t.kept[n:]
	}
}

// output takes what the terminal was sent.
func (t *tape) output(at time.Duration, data []byte) {
	t.scan.scan(data, func(p piece) {
		switch {
		case p.mark != nil:
			t.marked(at, p.mark)
		default:
			t.shown(at, p.data)
			if p.other != nil {
				t.markedByOther(at, p.other)
			}
		}
		if p.screen != 0 {
			t.screen(at, p.screen > 0)
		}
	})
}

// shown takes output without marks.
func (t *tape) shown(at time.Duration, data []byte) {
	if (t.running == nil || t.other.prompt) && len(t.echo) < maxEcho {
		t.echo = append(t.echo, data...)
	}
	if t.paused != "" {
		t.hidden += uint64(len(data))
		return
	}
	t.answered(data)
	t.row = append(t.row, data[max(0, len(data)-maxRow):]...)
	t.row = append(t.row[:0], t.row[max(0, len(t.row)-maxRow):]...)
	t.servers.shown(data)
	gap, rest := t.flood.take(at, data)
	t.gap(at, gap, "too much output at once")
	if len(rest) > 0 {
		t.mask.add(at, recording.Output, rest)
		if !t.secret && t.mask.secret != "" && bytes.IndexByte(rest, '\n') >= 0 {
			t.mask.settleDue()
			t.mask.secret = "" // its line has ended
		}
	}
}

// calm ends a flood.
func (t *tape) calm(at time.Duration) {
	if !t.flood.dropping {
		return
	}
	gap, rest := t.flood.end()
	t.gap(at, gap, "too much output at once")
	if len(rest) > 0 {
		t.mask.add(at, recording.Output, rest)
	}
}

// idle is called when nothing has happened for a while.
func (t *tape) idle(at time.Duration) {
	if t.flood.quiet(at) {
		t.calm(at)
	}
}

func (t *tape) gap(at time.Duration, bytes uint64, why string) {
	if bytes > 0 {
		t.mask.flush()
		t.mask.add(at, recording.Dropped, recording.Encode(recording.Gap{Bytes: bytes, Why: why}))
	}
}

func (t *tape) screen(at time.Duration, alternate bool) {
	if c := cmp.Or(t.running, t.next); alternate && c != nil {
		c.Alternate = true
	}
	if t.paused == "" {
		t.mask.add(at, recording.Screen, []byte(map[bool]string{true: "1", false: "0"}[alternate]))
	}
}

// marked takes a mark of the shell.
func (t *tape) marked(at time.Duration, m *mark) {
	t.finishOther(at, nil)
	t.other = otherShell{own: true}
	switch m.kind {
	case 'P':
		t.read()
		t.finish(at, nil, "")
		t.move(at, m.dir)
		t.echo, t.entered = nil, false
		t.next = t.command(at)
	case 'C':
		t.finish(at, nil, "")
		t.move(at, m.dir)
		t.calm(at)
		t.flood.spent = 0
		t.mask.before[recording.Output] = above{} // what a command shows is not below its command line
		t.running, t.next = t.command(at), nil
		t.running.Text = t.text(m)
		t.servers.began(t.running.Command, t.echo)
	case 'D':
		if t.running == nil {
			t.running = t.next
		}
		t.next = nil
		if t.running == nil {
			t.move(at, m.dir)
			return
		}
		if text := t.text(m); text != "" {
			t.running.Text = text
		}
		t.finish(at, &m.status, m.dir)
	}
}

// command returns one that begins.
func (t *tape) command(at time.Duration) *command {
	return &command{began: at, Command: recording.Command{Dir: t.dir, Offset: t.w.Offset()}}
}

// text returns the command line of a command that ended, "" where it is not known.
func (t *tape) text(m *mark) string {
	if m.same != "unsure" {
		return m.text
	}
	// The shell's history ends with this text, before and after the command: either it is the same again, or the history
	// ignores it. The screen shows which.
	text, _, _ := plain([]*item{{data: t.echo}})
	text = strings.TrimRight(text, " \t\n")
	before, ok := strings.CutSuffix(text, m.text)
	if !ok || strings.HasSuffix(before, "  ") {
		return ""
	}
	return m.text
}

// finish ends the command that runs. Status is nil where the shell did not report it.
func (t *tape) finish(at time.Duration, status *int, dir string) {
	t.calm(at)
	t.flood.spent = 0
	t.mask.settle(recording.Output, t.mask.size[recording.Output])
	t.mask.release()
	c := t.running
	t.running = nil
	if c == nil {
		return
	}
	c.Ms = (at - c.began).Milliseconds()
	c.Offset = min(c.Offset, t.w.Offset()) // the output before it may have been lost
	if status != nil {
		s := *status
		c.Status = &s
	}
	paused := t.paused
	if dir != "" {
		t.move(at, dir)
	}
	if paused != "" {
		return
	}
	t.servers.ended(c.Command)
	c.Text, _ = t.redactor.Text(c.Text)
	if t.paused == "" {
		t.mask.add(at, recording.Ended, recording.Encode(c.Command))
	}
	t.ended(c.Command)
}

// move takes the shell's directory. Where the user does not allow it, nothing is recorded until the shell leaves it.
func (t *tape) move(at time.Duration, dir string) {
	if dir == "" || dir == t.dir {
		return
	}
	t.dir = dir
	input, err := t.allowed(dir)
	t.deaf = !input
	switch {
	case err != nil && t.paused == "":
		t.mask.flush()
		t.paused = err.Error()
	case err == nil && t.paused != "":
		t.paused = ""
		t.gap(at, t.hidden, "the shell was in a directory where the user does not allow recording")
		t.hidden = 0
	}
}

// prompts are lines at which a password is typed, where the terminal itself does not show that: inside of ssh, or of a
// program that draws its own screen.
var prompts = lazyregexp.New(`(?i)(password|passwort|mot de passe|contraseña|pass ?phrase|passcode|\bPIN\b|\botp\b|token|secret|api.?key|verification code)[^\n]{0,80}[:?>]\s*$`)

// asksForSecret reports whether a row is the prompt of a password. It looks at each key, so that most rows must cost little.
func asksForSecret(row string) bool {
	end := strings.TrimRight(row, " \t\r\n\f")
	return end != "" && strings.IndexByte(":?>", end[len(end)-1]) >= 0 && prompts().MatchString(row)
}

// lineEnds are the keys that end a line, or give it up: Ctrl+C and Ctrl+\.
const lineEnds = "\r\n\x03\x1c"

// input takes what was typed. Hidden means that the terminal does not echo it and reads lines, as for a password.
func (t *tape) input(at time.Duration, data []byte, hidden bool) {
	if t.paused != "" {
		return
	}
	add := func(line []byte) {
		if !t.deaf {
			t.mask.add(at, recording.Input, line)
		}
	}
	t.mask.settleDue() // before another password is typed
	t.settleTyped()
	if hidden && !t.secret {
		t.mask.drop(recording.Input) // it was typed before the prompt
	}
	for len(data) > 0 {
		if !t.secret {
			row, _, _ := plain([]*item{{data: t.row[lineEnd(t.row, true):]}})
			t.secret = hidden || asksForSecret(row)
			t.mask.secret = ""
		}
		n := bytes.IndexAny(data, lineEnds) + 1
		if n == 0 {
			n = len(data)
		}
		line := data[:n]
		data = data[n:]
		ends := strings.IndexByte(lineEnds, line[n-1]) >= 0
		if !t.secret {
			add(line)
		} else {
			if !hidden { // else the terminal does not show it
				t.mask.typed(line)
			}
			if ends {
				add(line[n-1:])
			}
		}
		if ends {
			t.secret, t.typed = false, true
			if t.running == nil && t.next != nil && !t.entered && !t.next.Alternate {
				t.next, t.entered = t.command(at), true
			}
		}
	}
}

// covers are the characters that programs show in place of a password's.
const covers = "*•●"

// answered takes the output that follows what was typed. A line of covers alone, which was not typed, tells of a password.
func (t *tape) answered(data []byte) {
	typed := t.mask.open[recording.Input]
	if len(typed) == 0 || len(data) > maxAnswer {
		t.settleTyped()
		return
	}
	text, _, _ := plain([]*item{{data: data}})
	shown, _, _ := strings.Cut(strings.TrimLeft(text, "\n "), "\n")
	if shown != "" && strings.Trim(shown, covers) == "" && !bytes.HasSuffix(bytes.TrimRight(typed[len(typed)-1].data, "\r\n"), []byte(shown)) {
		t.mask.drop(recording.Input)
		t.secret, t.typed = !t.typed, false
	} else if text != "" {
		t.settleTyped()
	}
}

// settleTyped masks the line that was typed.
func (t *tape) settleTyped() {
	if t.typed {
		t.mask.settle(recording.Input, t.mask.size[recording.Input])
		t.mask.release()
		t.typed = false
	}
}

// resize takes a new size.
func (t *tape) resize(at time.Duration, cols, rows int) {
	t.mask.add(at, recording.Resize, fmt.Appendf(nil, "%dx%d", cols, rows))
}

// label adds a label at the end.
func (t *tape) label(at time.Duration, text string) {
	if t.paused == "" {
		t.mask.add(at, recording.Marker, []byte(text))
	}
}

// commit writes what is masked to the disk.
func (t *tape) commit(sync bool) {
	if t.failed != nil {
		return // write tries again
	}
	before := t.w.Offset()
	t.wrote(t.w.Commit(sync))
	t.lost += before - t.w.Offset()
}

// close ends the recording with the status of its program.
func (t *tape) close(at time.Duration, status int) error {
	if part := t.scan.rest(); len(part) > 0 && !bytes.HasPrefix(part, []byte("\x1b]"+markNumber)) {
		t.shown(at, part)
	}
	t.calm(at)
	t.finishOther(at, nil)
	t.finish(at, nil, "")
	if t.paused != "" {
		t.paused = ""
		t.gap(at, t.hidden, "the shell was in a directory where the user does not allow recording")
	}
	t.mask.flush()
	if t.failed != nil {
		t.retry(at)
	}
	return errors.Join(t.failed, t.w.Finish(status))
}
