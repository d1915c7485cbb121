package terminal

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
)

const (
	// A line is masked as a whole once it is complete. One that is longer than maxLine bytes is masked in parts that
	// overlap by overlap bytes, so that a secret at a cut is seen whole.
	maxLine = 64 << 10
	overlap = 8 << 10
	// maxContext is how much is kept of the lines that were masked, in bytes. maxDue is how much may wait to be masked at once.
	maxContext = 2 << 10
	maxDue     = 16 << 10
)

// item is an event that waits until everything before it is masked.
type item struct {
	at      time.Duration
	code    recording.Code
	data    []byte
	settled bool
}

// masker replaces secrets in what a terminal showed and what was typed, by as many asterisks as they are wide. It keeps an
// incomplete line until that ends: a secret that arrives in parts is masked too. Events keep their order, except for an incomplete
// line that was typed: what is shown meanwhile comes first.
type masker struct {
	redactor *redact.Redactor
	queue    []*item
	// open are the items of each stream that are not masked yet, in their order; size is that of their data.
	open map[recording.Code][]*item
	size map[recording.Code]int
	// due is how much of what is open has whole lines. With batched, these wait for settleDue, so that lines that come one by one
	// are masked together.
	due     map[recording.Code]int
	batched bool
	// before is the context of each stream: its last lines as they were, from one on that may name a secret in the next lines.
	before map[recording.Code]above
	// secret is a line that is typed at the prompt of a password, which the terminal may show.
	secret string
	// write takes masked events in their order.
	write func(at time.Duration, code recording.Code, data []byte)
}

// above is text that was shown before. Returned means that it ends with a carriage return.
type above struct {
	text     string
	returned bool
}

func newMasker(r *redact.Redactor, write func(time.Duration, recording.Code, []byte)) *masker {
	return &masker{redactor: r, open: map[recording.Code][]*item{}, size: map[recording.Code]int{}, due: map[recording.Code]int{}, before: map[recording.Code]above{}, write: write}
}

// add takes an event. Those of other codes than output and input are kept in their place, unmasked.
func (m *masker) add(at time.Duration, code recording.Code, data []byte) {
	if code != recording.Output && code != recording.Input {
		m.queue = append(m.queue, &item{at, code, append([]byte(nil), data...), true})
		m.release()
		return
	}
	cut := 0
	if code == recording.Output { // a line that was typed may be a password, see tape.answered
		cut = lineEnd(data, false)
	}
	for _, part := range [][]byte{data[:cut], data[cut:]} {
		if len(part) > 0 {
			it := &item{at: at, code: code, data: append([]byte(nil), part...)}
			m.queue, m.open[code] = append(m.queue, it), append(m.open[code], it)
			m.size[code] += len(part)
		}
		if cut > 0 && len(part) == cut && &part[0] == &data[0] {
			if m.due[code] = m.size[code]; !m.batched || m.due[code] > maxDue {
				m.settle(code, m.due[code])
			}
		}
	}
	if m.size[code] > maxLine && m.due[code] > 0 {
		m.settle(code, m.due[code])
	}
	if m.size[code] > maxLine {
		m.settlePart(code)
	}
	m.release()
}

// lineEnd returns the index behind the last place of data at which a text cannot continue: the end of a line, or a move
// of the cursor to another place. With row, that is one outside of the cursor's row.
func lineEnd(data []byte, row bool) int {
	end := bytes.LastIndexByte(data, '\n') + 1
	for i := end; i < len(data); i++ {
		if data[i] == '\r' && !row && i > 0 && data[i-1] != ' ' { // after a space it may be a long command, see plain
			end = i + 1
		}
		if data[i] != esc {
			continue
		}
		n, whole := sequence(data[i:])
		if !whole {
			return end
		}
		if n > 2 && data[i+1] == '[' && strings.IndexByte("ABEFHfd", data[i+n-1]) >= 0 {
			end = i + n
		}
		i += n - 1
	}
	return end
}

// settleDue masks the lines that wait, and writes them.
func (m *masker) settleDue() {
	if n := m.due[recording.Output]; n > 0 {
		m.settle(recording.Output, n)
		m.release()
	}
}

// settle masks so many bytes of what is open of a stream, unless they are in the middle of a secret of several lines. Of a long text,
// what is before that is masked.
func (m *masker) settle(code recording.Code, n int) {
	m.due[code] = 0
	items, size := 0, 0
	for size < n {
		size += len(m.open[code][items].data)
		items++
	}
	switch from := unfinished(m.open[code][:items]); {
	case from < 0 || n-from > maxLine/2:
		m.settleTo(code, n)
	case n > maxLine:
		m.settleTo(code, from)
	}
}

// settleTo masks so many bytes of what is open of a stream.
func (m *masker) settleTo(code recording.Code, n int) {
	var done []*item
	for n > 0 {
		it := m.open[code][0]
		if len(it.data) > n {
			m.divide(it, n)
		}
		done = append(done, it)
		n -= len(it.data)
		m.open[code], m.size[code] = m.open[code][1:], m.size[code]-len(it.data)
	}
	m.maskBehind(code, done)
}

// maskBehind masks the next items of a stream, of which the lines before may name secrets, and keeps what may name some in the lines
// after them.
func (m *masker) maskBehind(code recording.Code, items []*item) {
	if len(items) == 0 {
		return
	}
	var all []byte
	for _, it := range items {
		all = append(all, it.data...)
	}
	before := m.before[code]
	if movesFirst(all) {
		before = above{}
	}
	text := before.text + m.mask(items, before)
	if lineEnd(all, true) > bytes.LastIndexByte(all, '\n')+1 { // the cursor is elsewhere
		text = ""
	}
	m.before[code] = above{contextOf(m.redactor, text), all[len(all)-1] == '\r'}
}

// movesFirst reports whether output moves the cursor to another place before it shows anything.
func movesFirst(data []byte) bool {
	n := 0
	for n < len(data) && data[n] == esc {
		size, whole := sequence(data[n:])
		if !whole {
			break
		}
		n += size
	}
	return lineEnd(data[:n], true) > 0
}

// openElement matches an element of XML whose tag has a line of its own, and whose text, a word, is in the next one.
var openElement = lazyregexp.New(`^[ \t]*<([A-Za-z][\w:.-]*)(?:[ \t][^<>\n]*)?>[ \t]*\n\s*[^<>\s]+\s*$`)

// closing returns the end of the element that a text ends in, of which the end is not shown yet.
func closing(text string) string {
	at := strings.LastIndexByte(text, '<')
	if at < 0 || len(text)-at > maxContext {
		return ""
	}
	if tag := openElement().FindStringSubmatch(text[strings.LastIndexByte(text[:at], '\n')+1:]); tag != nil {
		return "</" + tag[1] + ">"
	}
	return ""
}

// contextOf returns what of a text of whole lines may name a secret in the next ones. A text that does not end with a line has nothing
// below it.
func contextOf(r *redact.Redactor, text string) string {
	if !strings.HasSuffix(text, "\n") {
		return ""
	}
	if head := redact.Running(r, text); head != "" && len(head) <= 2*maxContext {
		return head
	}
	if len(text) > maxContext {
		text = text[len(text)-maxContext:]
		_, text, _ = strings.Cut(text, "\n")
	}
	for text != "" && !redact.MayName(r, text[:strings.IndexByte(text, '\n')]) {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// divide makes two items of the first one that is open of a stream.
func (m *masker) divide(it *item, at int) {
	rest := &item{at: it.at, code: it.code, data: it.data[at:]}
	it.data = it.data[:at:at]
	m.open[it.code] = slices.Insert(m.open[it.code], 1, rest)
	m.queue = slices.Insert(m.queue, slices.Index(m.queue, it)+1, rest)
}

// settlePart masks what is open of a long line, and keeps its end open.
func (m *masker) settlePart(code recording.Code) {
	open := m.open[code]
	if from := unfinished(open); from >= 0 && m.size[code]-from <= maxLine/2 {
		m.settleTo(code, from)
		return
	}
	m.mask(open, m.before[code])
	n := 0
	for i := len(open) - 1; i >= 0; i-- {
		if n += len(open[i].data); n >= overlap || i == 0 {
			open[i].settled = false
			m.open[code] = open[i:]
			break
		}
		open[i].settled = false
	}
	m.size[code] = 0
	for _, it := range m.open[code] {
		m.size[code] += len(it.data)
	}
	if m.size[code] > maxLine { // one item alone is that long
		m.mask(m.open[code], m.before[code])
		m.open[code], m.size[code] = nil, 0
	}
}

// partHead is the line that names a part of a form, whose value is in the lines after it. maxPart is how much of it is waited for.
var partHead = lazyregexp.New(`(?i)content-disposition:`)

const maxPart = 4 << 10

// unfinished returns where the line is with which a private key begins, or a part of a form, that the text of items does not end. It
// is negative if there is none.
func unfinished(items []*item) int {
	var b []byte
	for _, it := range items {
		b = append(b, it.data...)
	}
	if heads := partHead().FindAllIndex(b, -1); heads != nil {
		from := heads[len(heads)-1][0]
		part := b[from:]
		if len(part) < maxPart && !bytes.Contains(part, []byte("\n--")) && !bytes.Contains(part, []byte("\r--")) {
			return lineOf(b, lineOf(b, from)-1) // the border before it
		}
	}
	begin := bytes.LastIndex(b, []byte("-----BEGIN "))
	if begin < 0 || bytes.Contains(b[begin:], []byte("-----END ")) {
		return -1
	}
	return lineOf(b, begin)
}

// lineOf returns where the line of a place begins.
func lineOf(b []byte, at int) int { return bytes.LastIndexByte(b[:max(0, at)], '\n') + 1 }

// drop forgets what is open of a stream: it turned out to be a secret.
func (m *masker) drop(code recording.Code) {
	for _, it := range m.open[code] {
		it.data, it.settled = nil, true
	}
	m.open[code], m.size[code], m.due[code] = nil, 0, 0
	m.release()
}

// maxSecret bounds a password in bytes, so that a paste at its prompt costs little.
const maxSecret = 32 << 10

// typed takes what is typed at the prompt of a password.
func (m *masker) typed(data []byte) {
	secret := []byte(m.secret)
	for _, c := range data { // bytes: a character may come in parts
		switch {
		case c == '\b' || c == 0x7f:
			_, size := utf8.DecodeLastRune(secret)
			secret = secret[:len(secret)-size]
		case c >= ' ' && len(secret) < maxSecret:
			secret = append(secret, c)
		}
	}
	m.secret = string(secret)
}

// flush masks everything, and writes it.
func (m *masker) flush() {
	for _, code := range []recording.Code{recording.Output, recording.Input} {
		m.maskBehind(code, m.open[code])
		m.open[code], m.size[code], m.due[code] = nil, 0, 0
	}
	m.release()
}

// release writes the events before the first that is not masked. Input that is not is passed over: a program that draws the
// screen takes keys without ever ending a line.
func (m *masker) release() {
	kept, waits := m.queue[:0], false
	for _, it := range m.queue {
		switch {
		case waits || !it.settled:
			waits = waits || it.code != recording.Input
			kept = append(kept, it)
		case len(it.data) > 0:
			m.write(it.at, it.code, it.data)
		}
	}
	clear(m.queue[len(kept):])
	m.queue = kept
}

// plain returns the text of items without control sequences, and where each byte of it is in their joined data. Erased are
// the places of what a user typed and erased again, as a shell echoes it: shells also redraw a character in this way.
func plain(items []*item) (text string, where, erased []int) {
	var all []byte
	for _, it := range items {
		all = append(all, it.data...)
	}
	b := make([]byte, 0, len(all))
	where = make([]int, 0, len(all))
	put := func(c byte, at int) { b, where = append(b, c), append(where, at) }
	for i := 0; i < len(all); i++ {
		switch c := all[i]; {
		case c == esc:
			n, whole := sequence(all[i:])
			if !whole {
				return string(b), where, erased
			}
			i += n - 1
		case c == '\b' || c == 0x7f:
			for len(b) > 0 && b[len(b)-1] != '\n' {
				last := b[len(b)-1]
				erased = append(erased, where[len(b)-1])
				b, where = b[:len(b)-1], where[:len(b)-1]
				if utf8.RuneStart(last) {
					break
				}
			}
		case c == ' ' && i+2 < len(all) && all[i+1] == '\r' && all[i+2] != '\n':
			i++ // so a shell goes to the next line of the screen in a long command
		case c == '\r' && i+2 < len(all) && all[i+1] == '\r' && all[i+2] == '\n': // of a text whose lines end with both, to which the terminal adds its own
		case c == '\r':
			if len(b) > 0 && b[len(b)-1] != '\n' || i+1 < len(all) && all[i+1] == '\n' {
				put('\n', i)
			}
		case c == '\n' && len(b) > 0 && i > 0 && all[i-1] == '\r': // it has its place in the text
		case c == '\n' || c == '\t' || c >= 0x20:
			put(c, i)
		}
	}
	return string(b), where, erased
}

// mask replaces the secrets in items, and returns their text as it was, without control sequences.
func (m *masker) mask(items []*item, c above) string {
	for _, it := range items {
		it.settled = true
	}
	by := map[int]string{} // what replaces a byte, by its place
	text, where, erased := plain(items)
	if c.returned && strings.HasPrefix(text, "\n") && items[0].data[0] == '\n' { // of the line before
		text, where = text[1:], where[1:]
	}
	for _, f := range m.secrets(c.text, text, where, by) {
		before := -1
		if f.From > 0 {
			before = where[f.From-1]
		}
		for _, at := range erased {
			if f.To > f.From && at > before && at < where[f.To-1] {
				by[at] = "*"
			}
		}
	}
	for _, c := range controlStrings(items) {
		m.secrets("", c.text, c.where, by)
	}
	if len(by) == 0 {
		return text
	}
	at := 0
	for _, it := range items {
		var b []byte
		for _, c := range it.data {
			if s, ok := by[at]; ok {
				b = append(b, s...)
			} else {
				b = append(b, c)
			}
			at++
		}
		it.data = b
	}
	return text
}

// secrets finds the secrets in a text that follows another, whose bytes have their places in where, and adds what replaces them.
func (m *masker) secrets(before, text string, where []int, by map[int]string) []redact.Finding {
	if text == "" {
		return nil
	}
	end := closing(before + text)
	found := within(nil, redact.Find(m.redactor, text+end), 0, len(text))
	if before != "" {
		found = within(found, redact.Find(m.redactor, before+text+end), len(before), len(text))
	}
	if at := strings.LastIndex(text, m.secret); m.secret != "" && at >= 0 {
		found = append(found, redact.Finding{From: at, To: at + len(m.secret)})
	}
	for _, f := range found {
		for at := f.From; at < f.To; {
			_, size := utf8.DecodeRuneInString(text[at:])
			for k := range size {
				by[where[at+k]] = ""
			}
			if c := text[at]; c != '\n' && c != '\t' {
				by[where[at]] = strings.Repeat("*", ansi.StringWidth(text[at:at+size]))
			} else {
				delete(by, where[at])
			}
			at += size
		}
	}
	return found
}

// within appends the parts of findings that are in the n bytes from a place on, with their offsets there.
func within(list, found []redact.Finding, from, n int) []redact.Finding {
	for _, f := range found {
		f.From, f.To = max(0, f.From-from), min(n, f.To-from)
		if f.From < f.To {
			list = append(list, f)
		}
	}
	return list
}

// controlString is the text of a control sequence that has one, such as the title of a window or the address of a link. No line of
// the screen has it.
type controlString struct {
	text  string
	where []int
}

// controlStrings returns the texts of the control sequences in items: OSC, DCS, PM and APC of ECMA-48, section 5.6.
func controlStrings(items []*item) (list []controlString) {
	var all []byte
	for _, it := range items {
		all = append(all, it.data...)
	}
	for i := 0; i < len(all); i++ {
		if all[i] != esc {
			continue
		}
		n, whole := sequence(all[i:])
		if !whole {
			return list
		}
		if n > 2 && strings.IndexByte("]P^_", all[i+1]) >= 0 {
			text := bytes.TrimSuffix(bytes.TrimSuffix(all[i+2:i+n], []byte{'\a'}), []byte("\x1b\\"))
			c := controlString{text: string(text)}
			for k := range text {
				c.where = append(c.where, i+2+k)
			}
			list = append(list, c)
		}
		i += n - 1
	}
	return list
}
