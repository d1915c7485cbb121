package terminal

import (
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
)

// otherShell follows the marks of another integration: in a shell that is not integrated, or that runs within a command,
// as by ssh. They serve navigation only, because any output can have them. They make no moment, and they do not move the
// shell to a directory where recording is allowed.
type otherShell struct {
	// own means that the shell of this terminal is integrated, so that only what runs within its commands counts.
	own bool
	// prompt means that a prompt was shown after which no command began. It begins with A, and the command line with B.
	prompt bool
	// text is that of the next command, where a mark had it, and dir the directory.
	text, dir string
	running   *command
}

// markedByOther takes a mark of another integration.
func (t *tape) markedByOther(at time.Duration, m *otherMark) {
	o := &t.other
	if o.own && t.running == nil {
		return // the integration of Tidemark emits them too
	}
	t.mask.settleDue() // so that the offset is after it
	switch m.kind {
	case 'A', 'B':
		t.finishOther(at, nil)
		o.prompt, t.echo = true, nil
	case 'E':
		o.text = m.text
	case '7':
		o.dir = m.text
	case 'C':
		if !o.prompt {
			return
		}
		t.finishOther(at, nil)
		text := o.text
		if text == "" {
			text, _, _ = plain([]*item{{data: t.echo}})
		}
		dir := o.dir
		if dir == "" && t.running == nil {
			dir = t.dir
		}
		o.running = &command{began: at, Command: recording.Command{
			Text: strings.TrimSpace(text), Dir: dir, Offset: t.w.Offset(), Unverified: true,
		}}
		o.prompt, o.text, t.echo = false, "", nil
	case 'D':
		t.finishOther(at, m.status)
	}
}

// finishOther ends the command that another integration reported.
func (t *tape) finishOther(at time.Duration, status *int) {
	c := t.other.running
	t.other.running = nil
	if c == nil || t.paused != "" {
		return
	}
	c.Ms, c.Status = (at - c.began).Milliseconds(), status
	c.Text, _ = t.redactor.Text(c.Text)
	t.mask.add(at, recording.Ended, recording.Encode(c.Command))
}
