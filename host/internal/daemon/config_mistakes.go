package daemon

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// configFile is the settings file as it was read, so that errors can name the line. Both fields are empty without a file.
type configFile struct {
	path string
	data []byte
}

// mistake is the one line that reports a mistake. Line is 0 if it is not known.
func (f configFile) mistake(line int, reason string) error {
	where := f.path
	if line > 0 {
		where = fmt.Sprintf("%s:%d", f.path, line)
	}
	return fmt.Errorf("%s: %s. Correct the line, or remove it to get the default.", where, strings.TrimSuffix(reason, "."))
}

// undecoded reports what the decoder refused.
func (f configFile) undecoded(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		first := &strict.Errors[0]
		line, _ := first.Position()
		reason := "there is no setting " + strings.Join(first.Key(), ".")
		if more := len(strict.Errors) - 1; more > 0 {
			reason += fmt.Sprintf(", and %d more are unknown", more)
		}
		return f.mistake(line, reason)
	}
	reason := strings.TrimPrefix(err.Error(), "toml: ")
	if m := wrongType().FindStringSubmatch(reason); m != nil {
		reason = fmt.Sprintf("this must be %s, and not %s", cmp.Or(typeNames[m[2]], "a table"), cmp.Or(typeNames[m[1]], "a "+m[1]))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, _ := bad.Position()
		return f.mistake(line, reason)
	}
	return f.mistake(0, reason)
}

// outOfRange reports a setting that its section refuses.
func (f configFile) outOfRange(section string, err error) error {
	return f.mistake(f.line(section, err.Error()), section+": "+err.Error())
}

// typeNames are the words for types of TOML and of Go.
var typeNames = map[string]string{
	"string": "a text", "boolean": "true or false", "bool": "true or false", "integer": "a whole number", "int": "a whole number",
	"int64": "a whole number", "float": "a number with a fraction", "float64": "a number", "[]string": "a list of texts", "array": "a list",
}

var (
	// wrongType matches what the decoder says of a value: the types of TOML and of Go.
	wrongType = lazyregexp.New(`^cannot decode TOML (\w+) into .* of type \*?(\S+)$`)
	tableLine = lazyregexp.New(`^\s*\[\[?([^\]]+)\]`)
	keyLine   = lazyregexp.New(`^\s*([\w."'-]+)\s*=`)
	quotes    = strings.NewReplacer(`"`, "", "'", "", " ", "")
)

// line returns the line of a section that a reason is most likely about, 0 if the file has no such section: one with a text that
// the reason quotes, or else with a key that it names, or else the first.
func (f configFile) line(section, reason string) int {
	words := strings.FieldsFunc(reason, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	quoted := regexp.MustCompile(`"[^"]+"`).FindAllString(reason, -1)
	best, found, n, table := -1, 0, 0, ""
	for text := range bytes.Lines(f.data) {
		n++
		line, name := string(text), ""
		if m := tableLine().FindStringSubmatch(line); m != nil {
			table = quotes.Replace(m[1])
		} else if m := keyLine().FindStringSubmatch(line); m != nil {
			name = quotes.Replace(m[1])
		}
		in := strings.Trim(table+"."+name, ".")
		if in != section && !strings.HasPrefix(in, section+".") {
			continue
		}
		likely := 0
		switch last := name[strings.LastIndexByte(name, '.')+1:]; {
		case slices.ContainsFunc(quoted, func(q string) bool { return strings.Contains(line, q) }):
			likely = 2
		case last != "" && slices.Contains(words, last):
			likely = 1
		}
		if likely > best {
			best, found = likely, n
		}
	}
	return found
}
