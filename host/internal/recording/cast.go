package recording

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CastOptions say how a recording is exported.
type CastOptions struct {
	// Version is that of asciicast, 2 or 3.
	Version int
	// IdleLimit shortens pauses to this; 0 keeps them.
	IdleLimit time.Duration
}

// WriteCast writes a recording as asciicast. Times have milliseconds, without an error that adds up. Bytes that are not
// UTF-8 become U+FFFD. Commands and gaps become markers. In version 3, a comment at each pause that is shortened has both times.
//
// See https://docs.asciinema.org/manual/asciicast/v3/ and v2.
func WriteCast(out io.Writer, r *Reader, o CastOptions) error {
	if o.Version != 2 && o.Version != 3 {
		return fmt.Errorf("there is no asciicast version %d; it must be 2 or 3", o.Version)
	}
	w := &castWriter{out: bufio.NewWriter(out), o: o}
	w.header(r.Summary())
	if err := w.events(r); err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}

func (c *castWriter) events(r *Reader) error {
	events := newCaster(c.o.IdleLimit, c.write)
	if c.o.Version == 3 {
		events.shortened = func(shown, recorded time.Duration) {
			c.line(fmt.Sprintf("# %s here is %s in the recording", seconds(shown), seconds(recorded)))
		}
	}
	return events.run(r)
}

// castWriter writes the lines of an asciicast.
type castWriter struct {
	out *bufio.Writer
	o   CastOptions
	err error
	// written is the time of the event before.
	written time.Duration
}

// momentsOf returns the IDs of the moments of commands, by the text of a command: a moment is known some time after its
// command has ended.
func momentsOf(r *Reader) (map[string][]string, error) {
	moments := map[string][]string{}
	for e, err := range r.Events(0) {
		if err != nil {
			return nil, err
		}
		if e.Code == Marker {
			if id, text, ok := strings.Cut(string(e.Data), " "); ok {
				moments[text] = append(moments[text], id)
			}
		}
	}
	return moments, nil
}

// caster turns events into those of an asciicast.
type caster struct {
	idle time.Duration
	// emit takes an event at a time in whole milliseconds.
	emit func(at time.Duration, code, data string)
	// shortened is called after a pause that is shortened, with the time in the export and in the recording. It may be nil.
	shortened func(shown, recorded time.Duration)
	// last is the time of the event before, in the recording, and shown the same in the export.
	last, shown time.Duration
	// moments are the IDs of the moments of commands, by the text of a command, in their order.
	moments map[string][]string
	// named are the texts of commands that were written with their moments.
	named map[string]bool
	// partial are the first bytes of a character, by the code of the stream.
	partial map[Code][]byte
}

func newCaster(idle time.Duration, emit func(at time.Duration, code, data string)) *caster {
	return &caster{idle: idle, emit: emit, named: map[string]bool{}, partial: map[Code][]byte{}}
}

// run emits the events of a recording.
func (c *caster) run(r *Reader) (err error) {
	if c.moments, err = momentsOf(r); err != nil {
		return err
	}
	for e, err := range r.Events(0) {
		if err != nil {
			return err
		}
		c.event(e)
	}
	c.rest()
	return nil
}

func (c *castWriter) json(v any) string {
	text, err := jsonOf(v)
	if err != nil && c.err == nil {
		c.err = err
	}
	return text
}

// ofScripts writes what ends a script of a page, or begins a comment in it, as escapes.
var ofScripts = strings.NewReplacer("</", `\u003c/`, "<!", `\u003c!`)

// jsonOf is JSON on one line, with characters as they are, except for those that a terminal would obey, or a page with the text in
// a script.
func jsonOf(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	text := ofScripts.Replace(strings.TrimSuffix(b.String(), "\n"))
	if strings.IndexFunc(text, obeyed) < 0 {
		return text, err
	}
	b.Reset()
	for _, r := range text {
		if obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String(), err
}

// obeyed reports whether a character of JSON, which has no others below 0x20, is a control character or changes the direction
// of text.
func obeyed(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r < 0x10000 && unicode.Is(unicode.Bidi_Control, r)
}

func (c *castWriter) line(text string) {
	if _, err := c.out.WriteString(text + "\n"); err != nil && c.err == nil {
		c.err = err
	}
}

func (c *castWriter) header(s Summary) {
	title := s.Name
	if title == "" {
		title = s.Command
	}
	limit := c.o.IdleLimit.Seconds()
	if c.o.Version == 2 {
		c.line(c.json(struct {
			Version   int     `json:"version"`
			Width     int     `json:"width"`
			Height    int     `json:"height"`
			Timestamp int64   `json:"timestamp"`
			IdleLimit float64 `json:"idle_time_limit,omitempty"`
			Command   string  `json:"command,omitempty"`
			Title     string  `json:"title,omitempty"`
		}{2, s.Cols, s.Rows, s.Started.Unix(), limit, s.Command, title}))
		return
	}
	type term struct {
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
		Type string `json:"type,omitempty"`
	}
	c.line(c.json(struct {
		Version   int     `json:"version"`
		Term      term    `json:"term"`
		Timestamp int64   `json:"timestamp"`
		IdleLimit float64 `json:"idle_time_limit,omitempty"`
		Command   string  `json:"command,omitempty"`
		Title     string  `json:"title,omitempty"`
	}{3, term{s.Cols, s.Rows, s.Term}, s.Started.Unix(), limit, s.Command, title}))
}

// event writes an event, if the format has it.
func (c *caster) event(e Event) {
	passed := e.At - c.last
	c.last = e.At
	if c.idle > 0 && passed > c.idle {
		c.shown += c.idle
		if c.shortened != nil {
			c.shortened(c.shown.Round(time.Millisecond), e.At)
		}
	} else {
		c.shown += passed
	}
	switch e.Code {
	case Output, Input:
		if text := c.text(e.Code, e.Data); text != "" {
			c.write(string(rune(e.Code)), text)
		}
	case Resize:
		c.write("r", string(e.Data))
	case Marker:
		if _, text, _ := strings.Cut(string(e.Data), " "); !c.named[text] {
			c.write("m", clean(string(e.Data)))
		}
	case Ended:
		var cmd Command
		if json.Unmarshal(e.Data, &cmd) == nil {
			text := cmd.String()
			if ids := c.moments[text]; len(ids) > 0 {
				c.moments[text] = ids[1:]
				c.named[text] = true
				text = ids[0] + " " + text
			}
			c.write("m", clean(text))
		}
	case Dropped:
		var g Gap
		if json.Unmarshal(e.Data, &g) == nil {
			c.write("m", clean(g.String()))
		}
	case Exit:
		c.write("x", string(e.Data))
	}
}

func (c *caster) write(code, data string) { c.emit(c.shown.Round(time.Millisecond), code, data) }

// write writes a line. The time of each is rounded, not the time between them.
func (c *castWriter) write(at time.Duration, code, data string) {
	if code == "x" && c.o.Version == 2 {
		return
	}
	from := time.Duration(0)
	if c.o.Version == 3 {
		from = c.written
	}
	c.written = at
	c.line("[" + seconds(at-from) + ", " + c.json(code) + ", " + c.json(data) + "]")
}

// seconds writes a time with milliseconds.
func seconds(d time.Duration) string {
	ms := d.Milliseconds()
	return strconv.FormatInt(ms/1000, 10) + "." + fmt.Sprintf("%03d", ms%1000)
}

// text returns what is whole of a stream of UTF-8, and keeps the first bytes of a character that is not.
func (c *caster) text(code Code, data []byte) string {
	data = append(c.partial[code], data...)
	whole := len(data)
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if last := data[len(data)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= i
			}
			break
		}
	}
	c.partial[code] = append([]byte(nil), data[whole:]...)
	return string([]rune(string(data[:whole]))) // one U+FFFD for each byte, however the stream is cut
}

// rest writes characters that never became whole.
func (c *caster) rest() {
	for _, code := range []Code{Output, Input} {
		if len(c.partial[code]) > 0 {
			c.write(string(rune(code)), "\ufffd")
		}
	}
}

// clean returns a label on one line, without control characters.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029'
	}), " ")
}
