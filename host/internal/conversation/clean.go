package conversation

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/conversation/pictures"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/jsondepth"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
)

// Limits of texts, in bytes. [Trim] cuts what a hook sends, before secrets in it are masked. What [Clean] then keeps may reach its
// border, as masks can be shorter.
const (
	maxSent = 256 << 10
	maxText = 64 << 10
	maxName = 200
	// maxCommand bounds a command, or the name of a file, beside the input.
	maxCommand = 4 << 10
	maxFiles   = 100
)

// Trim bounds the texts of an event that is sent to the daemon, and removes pictures.
func (e *Event) Trim() {
	text := func(s string, n int) (string, int) {
		s, n = pictures.Without(s, n, false)
		return event.ShortenUnmasked(s, maxSent, n)
	}
	e.Text, e.Cut = text(e.Text, e.Cut)
	e.Moment, _ = each(e.Moment, text, nil, 0)
	e.Command, e.Cut = text(e.Command, e.Cut)
	e.Input, e.Cut = each(e.Input, text, nil, e.Cut)
	e.Output, e.Cut = each(e.Output, text, nil, e.Cut)
	for _, raw := range []*json.RawMessage{&e.Input, &e.Output} {
		if len(*raw) > 2*maxSent { // many texts
			e.Cut += len(*raw)
			*raw = nil
		}
	}
}

// Clean masks secrets in an event, removes control characters and pictures, and bounds its texts. What an event has of a file that looks
// like a secret is removed.
func (e *Event) Clean(r *redact.Redactor) {
	text := func(s string, n int) (string, int) {
		s, n = pictures.Without(s, n, false)
		s, masked := maskText(r, event.Clean(s))
		e.Masked += masked
		return event.Shorten(s, maxText, n)
	}
	lines := func(list []string) { e.Masked += redact.Lines(r, list) }
	for _, name := range []*string{&e.Agent, &e.Session, &e.Turn, &e.Sub, &e.Call, &e.Tool, &e.Outcome, &e.Spawned} {
		*name, _ = event.Shorten(event.OneLine(*name), maxName, 0)
	}
	e.Files = e.Files[:min(len(e.Files), maxFiles)]
	for i, f := range e.Files {
		f, _ = text(f, 0)
		e.Files[i], _ = event.Shorten(event.OneLine(f), maxCommand, 0)
	}
	if e.secretFile() {
		e.withhold()
	}
	e.Text, e.Cut = text(e.Text, e.Cut)
	e.Command, _ = text(e.Command, 0)
	e.Command, _ = event.Shorten(e.Command, maxCommand, 0) // the whole one is in the input
	for _, raw := range []*json.RawMessage{&e.Input, &e.Output} {
		*raw, e.Cut = each(*raw, text, lines, e.Cut)
		masked, n := redact.Keys(r, string(*raw))
		whole := len(masked)
		masked, e.Cut = event.Shorten(masked, 2*maxText, e.Cut) // it has many texts
		switch e.Masked += n; {
		case n == 0 && len(masked) == whole:
		case json.Valid([]byte(masked)):
			*raw = json.RawMessage(masked)
		default: // it was cut, or a number was masked
			*raw, _ = json.Marshal(masked)
		}
	}
}

// maskText masks secrets in a text of a conversation. Lines of data in it, such as JSON that a user pasted, are masked by their
// keys.
func maskText(r *redact.Redactor, s string) (string, int) {
	s, n := redact.Whole(r, s)
	if !strings.Contains(s, `\"`) {
		return s, n
	}
	var b strings.Builder
	more := 0
	for line := range strings.Lines(s) {
		if start := strings.TrimLeft(line, " \t"); start != "" && strings.IndexByte(`{["`, start[0]) >= 0 {
			masked := 0
			line, masked = maskEscaped(r, line)
			more += masked
		}
		b.WriteString(line)
	}
	if more == 0 {
		return s, n
	}
	return b.String(), n + more
}

// maskEscaped is [redact.Redactor.Body] for a line of data whose quotes are escaped, as opencode does with the words of its
// command line.
func maskEscaped(r *redact.Redactor, line string) (string, int) {
	text := strings.TrimRight(line, "\r\n")
	var plain string
	if !strings.Contains(text, `\"`) || json.Unmarshal([]byte(`"`+text+`"`), &plain) != nil {
		return line, 0
	}
	masked, n := r.Body(plain)
	if n == 0 {
		return line, 0
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(masked) != nil {
		return r.Mask(), n
	}
	quoted := strings.TrimSpace(b.String())
	return quoted[1:len(quoted)-1] + line[len(text):], n
}

// namedFiles are where inputs and results of tools name a file.
type namedFiles struct {
	File     string `json:"file_path"`
	Path     string `json:"path"`
	Camel    string `json:"filePath"`
	Absolute string `json:"absolute_path"`
	Inner    struct {
		Camel string `json:"filePath"`
	} `json:"file"`
}

// files returns the files that a call names, as it names them.
func (e *Event) files() (paths []string) {
	for _, f := range e.Files {
		paths = append(paths, event.PlainPath(f))
	}
	for _, raw := range []json.RawMessage{e.Input, e.Output} {
		var n namedFiles
		_ = json.Unmarshal(raw, &n) // another form names no file
		paths = append(paths, n.File, n.Path, n.Camel, n.Absolute, n.Inner.Camel)
	}
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" })
}

// Withhold removes what a call has of a file in a directory that the user denied.
func (e *Event) Withhold(decided func(path string) grants.Decision) {
	if slices.ContainsFunc(e.files(), func(p string) bool {
		if !filepath.IsAbs(p) {
			p = filepath.Join(e.Dir, p)
		}
		return decided(p).State == grants.Denied
	}) {
		e.withhold()
	}
}

// secretFile reports whether a call is about a file that looks like a secret.
func (e *Event) secretFile() bool {
	return slices.ContainsFunc(e.files(), func(p string) bool { return compare.SecretPath(strings.ReplaceAll(p, `\`, "/")) != "" })
}

// withhold removes what an event has of a file.
func (e *Event) withhold() {
	e.Cut += len(e.Input) + len(e.Output) + len(e.Text)
	e.Input, e.Output, e.Text, e.Withheld = nil, nil, "", true
}

// each applies a function to every text of a JSON value, and removes pictures. Lists of texts, such as the lines of a patch and the blocks
// of a result, go through lines before, if there is one. The names in objects only lose control characters. What is no JSON, or
// too deep, becomes a text.
func each(raw json.RawMessage, f func(string, int) (string, int), lines func([]string), n int) (json.RawMessage, int) {
	if len(raw) == 0 {
		return nil, n
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if jsondepth.Exceeds(raw, jsondepth.Most) || d.Decode(&v) != nil {
		v = string(raw)
	}
	var walk func(any, bool) any
	walk = func(v any, picture bool) any {
		switch v := v.(type) {
		case string:
			s := v
			if picture {
				s, n = pictures.Without(s, n, true)
			}
			s, n = f(s, n)
			return s
		case []any:
			if list, set := texts(v); lines != nil && len(list) > 1 {
				lines(list)
				for i, s := range list {
					set[i](s)
				}
			}
			for i := range v {
				v[i] = walk(v[i], false)
			}
		case map[string]any:
			picture := pictures.Of(v)
			for k, inner := range v {
				if name := event.Clean(k); name != k {
					delete(v, k)
					k = name
				}
				v[k] = walk(inner, picture)
			}
		}
		return v
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(walk(v, false)); err != nil {
		return nil, n
	}
	return bytes.TrimSpace(b.Bytes()), n
}

// texts returns the texts of a list, and what sets each: its elements, and the texts of its blocks. It returns none for a list that has
// other values.
func texts(list []any) (all []string, set []func(string)) {
	for i, v := range list {
		switch v := v.(type) {
		case string:
			all, set = append(all, v), append(set, func(s string) { list[i] = s })
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				all, set = append(all, text), append(set, func(s string) { v["text"] = s })
			}
		default:
			return nil, nil
		}
	}
	return all, set
}
