package redact

import "strings"

// A server says which field is wrong, and why, in an object that has the field's name as a key: {"password": ["is too
// short"]}. Such a message has only words of a list, so that nothing it leaves readable can be the secret.

// maxMessage bounds the length of a message, in bytes.
const maxMessage = 200

// isMessage reports whether a value is a message about a secret, or a list of messages.
func (r *Redactor) isMessage(s string, v valueAt) bool {
	value := s[v.from:v.to]
	switch {
	case v.quoted:
		return r.countWords(value) > 1
	case strings.HasPrefix(value, "["):
		return r.areMessages(value)
	case !strings.Contains(value, " ") && v.to < len(s) && s[v.to] == ' ': // the first word of free text
		value = s[v.from:wordEnd(s, v.to+1)]
	}
	return r.countWords(value) > 1
}

// areMessages reports whether a JSON array has only messages.
func (r *Redactor) areMessages(list string) bool {
	for i := 0; ; {
		i = skipSpace(list, i+1) // behind the bracket or the comma
		if i >= len(list) || list[i] != '"' {
			return false
		}
		end := closingQuote(list, i+1, '"', 0)
		if !isListedMessage(r, list[i+1:end]) {
			return false
		}
		i = skipSpace(list, min(end+1, len(list)))
		if i < len(list) && list[i] == ',' {
			continue
		}
		return i == len(list)-1 && list[i] == ']'
	}
}

// isListedMessage reports whether a text of a list is a message, which one word may be that begins a sentence.
func isListedMessage(r *Redactor, text string) bool {
	n := r.countWords(text)
	return n > 1 || n == 1 && r.prose[lower(trimWord(text))]
}

// countWords counts the words of a message without its numbers. It returns 0 if any is not of the list.
func (r *Redactor) countWords(s string) int {
	n := 0
	for len(s) <= maxMessage && s != "" {
		word := s
		if i := strings.IndexByte(s, ' '); i >= 0 {
			word, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		switch word = trimWord(word); {
		case word == "" || len(word) < 3 && strings.Trim(word, "0123456789") == "":
		case r.words[lower(word)]:
			n++
		default:
			return 0
		}
	}
	return n
}

// trimWord removes the punctuation around a word.
func trimWord(s string) string { return strings.Trim(s, "().,:;!?'`") }
