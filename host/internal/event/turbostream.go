package event

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Bounds of what is decoded of a turbo-stream: values of the list, bytes of JSON, and how deep values are nested.
const (
	maxStreamed      = 1 << 16
	maxDecoded       = 1 << 15
	maxDecodedNested = 2 * maxDepth
)

// streamedKey is the name of a member in a turbo-stream, which is a reference.
var streamedKey = lazyregexp.New(`^_\d{1,9}$`)

// isTurboStream reports whether an answer is a turbo-stream, as React Router's single fetch has it
// (https://github.com/jacob-ebey/turbo-stream). Its first line is a list of values, which refer to each other by their number.
func isTurboStream(mime, body string) bool {
	if strings.HasPrefix(mime, "text/x-script") || strings.HasPrefix(mime, "text/x-turbo") {
		return true
	}
	if !strings.HasPrefix(body, `[{"_`) {
		return false
	}
	found := false
	gjson.Get(body, "0").ForEach(func(k, _ gjson.Result) bool {
		found = streamedKey().MatchString(k.Str)
		return false
	})
	return found
}

// turboStream decodes values of a turbo-stream. A form that it does not know makes all unknown.
type turboStream struct {
	values  []gjson.Result
	unknown bool
	out     []byte
}

// failureIn returns what a turbo-stream says of a failure, as JSON: the error of a route, or else the data of the only route or of
// an action. It is "" where neither is known.
func failureIn(body string) string {
	line, _, _ := strings.Cut(body, "\n")
	list := gjson.Parse(line)
	if !list.IsArray() {
		return ""
	}
	var s turboStream
	list.ForEach(func(_, v gjson.Result) bool {
		s.values = append(s.values, v)
		return len(s.values) < maxStreamed
	})
	if !gjson.Valid(line) { // cut, the last value too
		s.values = s.values[:max(0, len(s.values)-1)]
	}
	root := s.members(0)
	failed, ok := root.get("error")
	if !ok {
		failed, ok = root.get("data")
	}
	for i := 0; i < len(root) && !ok && !s.unknown; i++ {
		route := s.members(root[i].number)
		if failed, ok = route.get("error"); !ok && len(root) == 1 {
			failed, ok = route.get("data")
		}
	}
	if !ok {
		return ""
	}
	s.write(failed, 0)
	if text := string(s.out); !s.unknown && text != "" && strings.IndexByte(`{["`, text[0]) >= 0 {
		return text
	}
	return ""
}

// at returns the value of a number. The negative ones stand for undefined, null and numbers that JSON does not have.
func (s *turboStream) at(number int) gjson.Result {
	if number >= len(s.values) {
		s.unknown = true
	}
	if number < 0 || s.unknown {
		return gjson.Result{}
	}
	return s.values[number]
}

// reference returns the number that a value refers to.
func (s *turboStream) reference(v gjson.Result) int {
	if v.Type != gjson.Number || v.Num != float64(int32(v.Num)) {
		s.unknown = true
		return -1
	}
	return int(v.Num)
}

// streamedMembers are those of an object, with the numbers of their values.
type streamedMembers []struct {
	name   string
	number int
}

func (m streamedMembers) get(name string) (number int, ok bool) {
	for _, e := range m {
		if e.name == name {
			return e.number, true
		}
	}
	return -1, false
}

// members returns those of an object, none of another value.
func (s *turboStream) members(number int) (found streamedMembers) {
	if v := s.at(number); v.IsObject() {
		v.ForEach(func(k, of gjson.Result) bool {
			name, ref := s.member(k, of)
			found = append(found, struct {
				name   string
				number int
			}{name, ref})
			return !s.unknown
		})
	}
	return found
}

// member returns the name of an object's member, and the number of its value.
func (s *turboStream) member(k, of gjson.Result) (name string, ref int) {
	if !streamedKey().MatchString(k.Str) {
		s.unknown = true
		return "", -1
	}
	number, _ := strconv.Atoi(k.Str[1:]) // of nine digits at most
	v := s.at(number)
	s.unknown = s.unknown || v.Type != gjson.String
	return v.Str, s.reference(of)
}

// write appends a value as JSON. What is nested too deep, or has no room, is null.
func (s *turboStream) write(number, depth int) {
	v := s.at(number)
	if s.unknown {
		return
	}
	if number < 0 || depth > maxDecodedNested || len(s.out)+len(v.Raw) > maxDecoded {
		s.out = append(s.out, "null"...)
		return
	}
	switch {
	case v.IsObject():
		s.object(v, depth)
	case v.IsArray():
		items := v.Array()
		if len(items) > 0 && items[0].Type == gjson.String {
			s.typed(items[0].Str, items[1:], depth)
			return
		}
		s.list(items, depth)
	default:
		s.out = append(s.out, v.Raw...)
	}
}

func (s *turboStream) object(v gjson.Result, depth int) {
	s.out = append(s.out, '{')
	comma := false
	v.ForEach(func(k, of gjson.Result) bool {
		name, ref := s.member(k, of)
		if comma {
			s.out = append(s.out, ',')
		}
		comma = true
		s.out = append(gjson.AppendJSONString(s.out, name), ':')
		s.write(ref, depth+1)
		return !s.unknown && len(s.out) < maxDecoded
	})
	s.out = append(s.out, '}')
}

func (s *turboStream) list(items []gjson.Result, depth int) {
	s.out = append(s.out, '[')
	for i, of := range items[:min(len(items), maxItems)] {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.write(s.reference(of), depth+1)
	}
	s.out = append(s.out, ']')
}

// typed appends a value that JSON does not have.
func (s *turboStream) typed(kind string, of []gjson.Result, depth int) {
	part := func(i int) gjson.Result {
		if i < len(of) {
			return of[i]
		}
		return gjson.Result{}
	}
	ref := func(i int) int { return s.reference(part(i)) }
	text := func(i int) string {
		if i >= len(of) { // it has no stack
			return ""
		}
		return s.at(ref(i)).Str
	}
	switch kind {
	case "SanitizedError": // name, message, stack
		s.thrown(text(0), text(1), text(2))
	case "E": // message, name
		s.thrown(part(1).Str, part(0).Str, "")
	case "ErrorResponse": // data, status, text of the status
		data := ref(0)
		if v := s.at(data); len(of) > 2 && (v.Raw == "" || v.Str == "" && v.Type == gjson.String) {
			data = ref(2)
		}
		s.write(data, depth+1)
	case "SingleFetchClassInstance", "Z": // what another value is
		s.write(ref(0), depth+1)
	case "N": // an object without a prototype
		s.object(part(0), depth)
	case "S":
		s.list(of, depth)
	case "D", "U", "B", "Y", "R", "M", "P", "SingleFetchFallback", "SingleFetchRedirect": // they say nothing of a failure
		s.out = append(s.out, "null"...)
	default:
		s.unknown = true
	}
}

// thrown appends an error.
func (s *turboStream) thrown(name, message, stack string) {
	if name != "" && name != "Error" && message != "" {
		message = name + ": " + message
	}
	s.out = append(gjson.AppendJSONString(append(s.out, `{"message":`...), message), `,"stack":`...)
	s.out = append(gjson.AppendJSONString(s.out, stack), '}')
}
