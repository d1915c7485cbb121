package redact

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// isCount reports whether a value is a number of secrets, after a key in the plural: `tokens: 512`.
func (r *Redactor) isCount(key, s string, v valueAt) bool {
	return !v.quoted && endsInAny(lower(key), r.counted) && strings.Trim(s[v.from:v.to], "0123456789._,[] ") == ""
}

// workingDirectory matches the variables of a shell that name a directory, and are no passwords.
var workingDirectory = lazyregexp.New(`^(?:OLD|VSCODE_)?PWD$`)

// directory matches a path that is not a password that begins with a slash.
var directory = lazyregexp.New(`^(?:(?:/[\w.@+~-]+){2,}/?|/(?:app|build|code|home|opt|repo|root|src|srv|tmp|usr|work|workspace)?/?|[A-Z]:[\\/][\w .\\/@+~-]*|\$\{?PWD\}?)$`)

// isDirectory reports whether a value is the directory that a shell works in: `PWD=/home/ann/shop`.
func isDirectory(key, value string) bool {
	return workingDirectory().MatchString(key) && directory().MatchString(value)
}

// reference matches what Java writes for an object that cannot be shown: its class with a hash.
var reference = lazyregexp.New(`^(?:(?:[a-z_][\w$]*\.)+[A-Z][\w$]*@[0-9a-f]{1,8}|[A-Z][A-Za-z]*\{[0-9a-f]{5,8}\b.*)$`)

// maxUnquoted bounds the length of a word or an expression, in bytes. A longer value without quotes is data.
const maxUnquoted = 1000

func (r *Redactor) isSecretValue(s string, v valueAt, key strength, structured bool) bool {
	v.from = behindMasks(s, v, r.mask)
	value := s[v.from:v.to]
	if !v.quoted && len(value) > maxUnquoted && value[0] != '{' && value[0] != '[' {
		return true
	}
	if value == "" || r.isPlaceholder(value) || r.isMessage(s, v) || v.quoted && isVersion(value) || !v.quoted && reference().MatchString(value) {
		return false
	}
	switch {
	case key == maybe && !v.quoted && s[v.from] == '[':
		return structured && slices.ContainsFunc(strings.FieldsFunc(value, isListed), func(part string) bool {
			return r.looksSecret(part, true) && strings.ContainsFunc(part, isLetterRune)
		}) && !strings.Contains(value, "{")
	case key == maybe && !v.quoted && s[v.from] == '{':
		return structured && r.hasTokens(value)
	case key == maybe:
		return r.looksSecret(value, v.quoted || structured) && !strings.ContainsAny(value, " \t\n") && strings.ContainsFunc(value, isLetterRune)
	case key == weak && startsLikePath(value):
		return false
	case structured:
		return true
	case key == weak:
		return r.looksSecret(value, v.quoted) && (v.quoted || !r.isVariable(value) && !isProgram(r, value))
	case v.quoted:
		return true
	}
	return !r.isVariable(value) && !isProgram(r, value) && !r.prose[lower(strings.TrimRight(value, ".!?:"))]
}

// behindMasks returns where a value begins that has a mask in front, as what was masked before and what only looks like
// it have. Nothing but cuts, blanks and masks is left of a value that was masked.
func behindMasks(s string, v valueAt, mask string) int {
	from := v.from
	for strings.HasPrefix(s[from:v.to], mask) {
		rest := strings.TrimLeft(s[from+len(mask):v.to], "… \t\r\n")
		from = v.to - len(rest)
	}
	return from
}

// looksSecret reports whether a value is not a word of a sentence: it has digits, or is long and in mixed case. A mask
// in it and the text after the mask are not evidence, because masking twice would mask more.
func (r *Redactor) looksSecret(value string, delimited bool) bool {
	spaces := strings.ContainsAny(value, " \t\n")
	if i := strings.Index(value, r.mask[:len(r.mask)-1]); i >= 0 { // a value ends before a bracket
		value = value[:i]
	}
	if strings.ContainsAny(value, "0123456789") {
		return len(value) >= 6 && (delimited || len(value) >= 8)
	}
	return len(value) >= 16 && !spaces && strings.ContainsFunc(value, isUpperRune) && strings.ContainsFunc(value, isLowerRune)
}

// isListed reports whether a character stands between the texts of a list.
func isListed(c rune) bool { return strings.ContainsRune("[]\", \t\r\n", c) }

func isLetterRune(c rune) bool { return isUpperRune(c) || isLowerRune(c) }
func isUpperRune(c rune) bool  { return c >= 'A' && c <= 'Z' }
func isLowerRune(c rune) bool  { return c >= 'a' && c <= 'z' }

// isPlaceholder reports whether a value appears in place of a secret: null, ••••, [REDACTED].
func (r *Redactor) isPlaceholder(value string) bool {
	word := strings.Trim(value, "[]{}()<>*•.!")
	return word == "" || isSized(word) || len(word) <= maxScheme && r.placeholders[lower(word)]
}

// isSchema reports whether an object says of which type a value is, as JSON Schema and OpenAPI do.
func isSchema(object string, types map[string]bool) bool {
	if strings.HasPrefix(object[skipSpace(object, 1):], `"$ref"`) {
		return true
	}
	found := schema().FindStringSubmatch(object)
	return found != nil && types[found[1]]
}

// schema matches an object that begins with a type, perhaps behind its description.
var schema = lazyregexp.New(`^\{[ \t\r\n]*(?:"description"[ \t\r\n]*:[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*,[ \t\r\n]*)?"type"[ \t\r\n]*:[ \t\r\n]*"([A-Za-z]*)"`)

// isVersion reports whether a value is a version, or a range of them, of a package that is named like a secret.
func isVersion(s string) bool {
	s = strings.TrimLeft(s, "^~<>= ")
	for part := range 3 {
		digits := 0
		for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits > 4 {
			return false
		}
		if s = s[digits:]; part < 2 {
			if s == "" || s[0] != '.' {
				return false
			}
			s = s[1:]
		}
	}
	return s == ""
}

// isSized reports whether a value is how browsers write a list that they do not show: Array(2).
func isSized(word string) bool {
	name, count, ok := strings.Cut(word, "(")
	return ok && count != "" && strings.Trim(count, "0123456789") == "" && (name == "Array" || name == "Map" || name == "Set")
}

// isVariable reports whether a value is the name of a variable in GraphQL, a shell, a template or a program.
func (r *Redactor) isVariable(value string) bool {
	for _, begin := range r.variables {
		name, ok := strings.CutPrefix(value, begin)
		if ok && name != "" && !strings.ContainsFunc(name, func(c rune) bool { return !isLetterRune(c) && c != '_' && c != '.' }) {
			return true
		}
	}
	return false
}

// program matches what a program has where a value would be: a call, another assignment, a part of an object with a short name, !0.
var program = lazyregexp.New(`^(?:[a-z_$][A-Za-z_$.]*\(|[a-z_$]\w*(?:\.\w+)+\(|[A-Za-z_$]{1,2}\([A-Za-z_$.]*$|[A-Za-z_$]+(?:\.[A-Za-z_$]+)+=[A-Za-z_$[]|[A-Za-z_$]\.[A-Za-z_$.]+(?:\|\||&&|\?|$)|![01]$|!![A-Za-z_$])`)

// variable matches a name of several words. Its first word begins with a small letter, if the others have them.
var variable = lazyregexp.New(`^(?:[a-z_$]+(?:[A-Z][a-z]*)+|[A-Z]+(?:_[A-Z]+)+|[A-Za-z_$]+(?:\.[A-Za-z_$]+)+)$`)

// isProgram reports whether a value without quotes is an expression: a call, or a variable that is named like a secret.
func isProgram(r *Redactor, value string) bool {
	return program().MatchString(value) || variable().MatchString(value) && r.keyStrength(value) != innocent
}

// startsLikePath reports whether a value, or the first of a list, is a path beside a file: packages list what they export so.
func startsLikePath(value string) bool {
	value = strings.TrimLeft(value, "[ \t\r\n\"")
	return strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../")
}
