// Package redact masks secrets in text, URLs, headers and bodies.
//
// Guarantees:
//   - Every secret that the rules recognize is replaced by the mask and counted.
//   - Masking twice gives the same text as masking once, with a second count of zero.
//   - Text without a secret is returned unchanged, without an allocation.
//   - The package is pure.
//
// The rules are data: protocol/redaction.json and the user's rules. The extension applies the built-in ones at the
// source, and the host applies all of them to incoming data.
//
// Evidence has two strengths. In structured data (JSON, forms, queries) the value of every secret key is masked. In free
// text `password: …` is masked, but prose ("Password: is too short", "Unexpected token: }") stays readable. In both, a
// message about a secret ("password": ["is too short"]) stays readable.
package redact

import (
	"strings"
)

// Redactor applies one set of rules. It never changes after [Extend] and is safe for concurrent use.
type Redactor struct {
	mask                                      string
	headers, any, last, maybe, innocentLast   map[string]bool
	prose, words, placeholders                map[string]bool
	schemes, lineSchemes, tokens, listHeaders map[string]bool
	phraseLast, open, public                  map[string]bool // phraseLast: the last words of phrases
	phrases, anyEnd, lastEnd, variables       []string
	stems                                     stems
	foreign                                   []string
	schemaTypes                               map[string]bool
	counted                                   []string
	codeFiles                                 []string
	// named are the user's phrases of keys.
	named  []string
	values []valueRule
	needs  *needs
}

// Mask returns what stands for a secret.
func (r *Redactor) Mask() string { return r.mask }

// Text masks secrets in free text (console messages, frames, error elements) and counts them.
func (r *Redactor) Text(s string) (string, int) { return r.text(s, 0, nil) }

func (r *Redactor) text(s string, depth int, tr *trace) (string, int) {
	return withoutHidden(r, s, tr, func(r *Redactor, s string, tr *trace) (string, int) {
		return r.maskAll(s, looksStructured(s), depth, tr)
	})
}

// Body masks secrets in structured data: JSON or a form. It treats a page or an XML document as free text.
func (r *Redactor) Body(s string) (string, int) { return r.body(s, nil) }

func (r *Redactor) body(s string, tr *trace) (string, int) {
	return withoutHidden(r, s, tr, func(r *Redactor, s string, tr *trace) (string, int) {
		return r.maskAll(s, !looksMarkedUp(s), 0, tr)
	})
}

// URL masks secrets in parameters, query, fragment and user info.
func (r *Redactor) URL(s string) (string, int) { return r.url(s, nil) }

func (r *Redactor) url(s string, tr *trace) (string, int) {
	return withoutHidden(r, s, tr, func(r *Redactor, s string, tr *trace) (string, int) {
		n := 0
		if i := strings.IndexAny(s, ";?#"); i >= 0 {
			s, n = r.maskPairs(s, i, true, tr)
		}
		s, m := r.maskEncoded(s, 0, tr)
		s, v := r.maskValues(s, tr)
		return s, n + m + v
	})
}

// Headers masks the values of secret headers, and secrets inside the others. It changes the map.
func (r *Redactor) Headers(h map[string]string) int {
	n := 0
	for name, value := range h {
		if v, m := r.header(name, value, nil); m > 0 {
			h[name] = v
			n += m
		}
	}
	return n
}

func (r *Redactor) header(name, value string, tr *trace) (string, int) {
	if value == "" || value == r.mask {
		return value, 0
	}
	if r.SecretHeader(name) {
		p := r.pass(value, tr)
		p.mask(0, len(value), KindHeader, strings.ToLower(name))
		return p.done()
	}
	n := 0
	if name = strings.ToLower(name); r.listHeaders[name] {
		value, n = maskListHeader(r, name, value, tr)
	}
	value, m := r.text(value, 0, tr)
	return value, n + m
}

// SecretHeader reports whether a header's whole value is secret.
func (r *Redactor) SecretHeader(name string) bool {
	return r.headers[strings.ToLower(name)] || r.SecretKey(name)
}

// looksStructured reports whether a text is JSON: an object or an array, perhaps after the digits and the namespace
// that socket.io prepends.
func looksStructured(s string) bool {
	i := 0
	for i < len(s) && i < 4 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i > 0 && i < len(s) && s[i] == '/' {
		i += max(0, strings.IndexByte(s[i:], ',')) + 1
	}
	i = skipSpace(s, i)
	if i >= len(s) {
		return false
	}
	open := s[i]
	if i = skipSpace(s, i+1); i >= len(s) {
		return false
	}
	return open == '{' && (s[i] == '"' || s[i] == '}') || open == '[' && (s[i] == '{' || s[i] == '"' || s[i] == '[')
}

func looksMarkedUp(s string) bool {
	i := skipSpace(s, 0)
	return i < len(s) && s[i] == '<'
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// maskAll masks pairs first: the value of a pair is masked as a whole, whatever it looks like.
func (r *Redactor) maskAll(s string, strict bool, depth int, tr *trace) (string, int) {
	s, n := r.maskPairs(s, 0, strict, tr)
	s, m := r.maskEncoded(s, depth, tr)
	s, v := r.maskValues(s, tr)
	s, c := maskTable(r, s, tr)
	return s, n + m + v + c
}

// pass rewrites a text once, from left to right. It allocates nothing until something is masked.
type pass struct {
	s         string
	mark      string
	out       []byte
	copied, n int
	trace     *trace
}

func (r *Redactor) pass(s string, tr *trace) pass { return pass{s: s, mark: r.mask, trace: tr} }

// mask replaces s[from:to] with the mask.
func (p *pass) mask(from, to int, kind Kind, name string) {
	p.replace(from, to, p.mark, 1)
	if p.trace != nil {
		p.trace.add(from, to, len(p.mark), Finding{Kind: kind, Name: name})
	}
}

func (p *pass) replace(from, to int, by string, n int) {
	p.out = append(p.out, p.s[p.copied:from]...)
	p.out = append(p.out, by...)
	p.copied = to
	p.n += n
}

func (p *pass) done() (string, int) {
	if p.n == 0 {
		return p.s, 0
	}
	if p.trace != nil {
		p.trace.commit()
	}
	return string(append(p.out, p.s[p.copied:]...)), p.n
}
