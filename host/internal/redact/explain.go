package redact

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Kind is the kind of a rule.
type Kind string

// Kinds of rules.
const (
	// KindValue is a rule about the format of a secret, named by its id.
	KindValue Kind = "value"
	// KindKey is a secret key, spelled as in the text.
	KindKey Kind = "key"
	// KindHeader is a secret header, in lower case.
	KindHeader Kind = "header"
)

// Finding is one masked secret.
type Finding struct {
	Kind Kind
	// Name is the rule's id, or the name of the key or header.
	Name string
	// From and To are the offsets of the secret in the original text, in bytes. For a secret inside an encoded value
	// they are the offsets of that value.
	From, To int
}

// Rule names the rule that masked the secret: `jwt`, `key "password"`, `header "cookie"`.
func (f Finding) Rule() string {
	if f.Kind == KindValue {
		return f.Name
	}
	return fmt.Sprintf("%s %q", f.Kind, f.Name)
}

// Form is the format in which to read a text.
type Form string

// Forms of text.
const (
	FormText    Form = "text"
	FormURL     Form = "url"
	FormJSON    Form = "json" // or a form's body
	FormHeaders Form = "headers"
)

// Forms lists all forms.
var Forms = []Form{FormText, FormURL, FormJSON, FormHeaders}

// Guess returns the most likely form of a text.
func (r *Redactor) Guess(s string) Form {
	trimmed := strings.TrimSpace(s)
	switch {
	case looksStructured(trimmed):
		return FormJSON
	case address().MatchString(trimmed):
		return FormURL
	case formBody().MatchString(trimmed):
		return FormJSON
	}
	lines := strings.Split(trimmed, "\n")
	alone := len(lines) == 1
	if requestLine().MatchString(lines[0]) && !alone {
		lines = lines[1:]
	}
	for _, line := range lines {
		name, _, ok := strings.Cut(line, ":")
		// One line alone is a header only when it can hardly be a sentence.
		if !ok || !headerName().MatchString(name) || alone && !r.headers[strings.ToLower(name)] && !strings.Contains(name, "-") {
			return FormText
		}
	}
	return FormHeaders
}

var (
	address     = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9+.-]*://[^ \t\n]+$`)
	formBody    = lazyregexp.New(`^[^ \t\n=&?:]+=[^ \t\n]*$`)
	requestLine = lazyregexp.New(`^(?:[A-Z]+ [^ ]+ )?HTTP/[0-9.]+`)
)

// Explain masks like the other methods, and returns the masked secrets in the order of the text.
func (r *Redactor) Explain(s string, as Form) (string, []Finding) {
	tr := &trace{}
	switch as {
	case FormURL:
		s, _ = r.url(s, tr)
	case FormJSON:
		s, _ = r.body(s, tr)
	case FormHeaders:
		return r.explainHeaders(s)
	default:
		s, _ = r.text(s, 0, tr)
	}
	return s, tr.findings()
}

// explainHeaders reads one header per line. Other lines are free text.
func (r *Redactor) explainHeaders(s string) (string, []Finding) {
	var out strings.Builder
	var found []Finding
	at := 0
	for line := range strings.Lines(s) {
		text := strings.TrimRight(line, "\n")
		value := 0
		name, _, ok := strings.Cut(text, ":")
		if ok = ok && headerName().MatchString(name); ok {
			value = skipSpace(text, len(name)+1)
		}
		tr := &trace{}
		clean := ""
		if ok {
			clean, _ = r.header(name, text[value:], tr)
		} else {
			clean, _ = r.text(text, 0, tr)
		}
		out.WriteString(text[:value] + clean + line[len(text):])
		for _, f := range tr.findings() {
			f.From += at + value
			f.To += at + value
			found = append(found, f)
		}
		at += len(line)
	}
	return out.String(), found
}

// trace keeps the original offsets of the masked secrets over several passes.
type trace struct {
	spans   []span // sorted by offset in the original text
	pending []span // offsets before this pass
}

// span is a replaced part: from and to are offsets in the text, out is the length of the replacement.
type span struct {
	from, to, out int
	by            []Finding
}

func (t *trace) add(from, to, out int, by ...Finding) {
	t.pending = append(t.pending, span{from, to, out, by})
}

// commit ends a pass. A span that swallows earlier ones takes their place.
func (t *trace) commit() {
	pending := t.pending
	for i := range pending {
		pending[i].from, pending[i].to = t.before(pending[i].from, false), t.before(pending[i].to, true)
	}
	kept := slices.DeleteFunc(t.spans, func(old span) bool {
		return slices.ContainsFunc(pending, func(s span) bool { return s.from <= old.from && old.to <= s.to })
	})
	t.spans = append(kept, pending...)
	slices.SortFunc(t.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	t.pending = nil
}

// before converts an offset in the current text into one in the original text. An offset inside a replacement becomes
// its beginning or its end.
func (t *trace) before(at int, end bool) int {
	shift := 0
	for _, s := range t.spans {
		now := s.from + shift
		if at <= now {
			break
		}
		if at < now+s.out {
			if end {
				return s.to
			}
			return s.from
		}
		shift += s.out - (s.to - s.from)
	}
	return at - shift
}

func (t *trace) findings() []Finding {
	var found []Finding
	for _, s := range t.spans {
		for _, f := range s.by {
			f.From, f.To = s.from, s.to
			found = append(found, f)
		}
	}
	return found
}
