package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"tidemark.dev/tidemark/protocol"
)

// A Case is a message to the host and the code with which the host refuses it, "" if it accepts it.
type Case struct {
	Name    string          `json:"name"`
	Code    string          `json:"code,omitempty"`
	Message json.RawMessage `json:"message"`
}

// Cases try each rule of the table: messages with all fields and with the required ones alone, without each field, and
// with each value that a rule is about.
func (t *Table) Cases() []Case {
	var cases []Case
	add := func(s subject, what, code string, o object) {
		cases = append(cases, Case{s.name + ": " + what, code, s.message(o)})
	}
	for _, s := range t.subjects() {
		add(s, "all fields", "", s.full())
		add(s, "required fields", "", s.required())
		add(s, "a field of a later version", "", s.required().with("later", `{"a":[1]}`))
		for _, f := range s.fields {
			add(s, "no "+f.Name, f.without(), s.full().with(f.Name, ""))
			for _, v := range f.good() {
				add(s, f.Name+" "+v, s.code(f, v), s.required().with(f.Name, v))
			}
			for _, v := range f.bad() {
				add(s, f.Name+" "+v, protocol.CodeMalformed, s.required().with(f.Name, v))
			}
		}
		if s.kind == "" {
			continue
		}
		for _, v := range []string{`"dance"`, `"welcome"`, `"toString"`} {
			add(s, s.kind+" "+v, protocol.CodeUnknown, s.required().with(s.kind, v))
		}
		for _, v := range []string{"", `""`, `1`, `null`, `["hello"]`} {
			add(s, s.kind+" "+v, protocol.CodeMalformed, s.required().with(s.kind, v))
		}
	}
	return cases
}

// Random is a message with up to three changes that rules allow or forbid.
func (t *Table) Random(random *rand.Rand) Case {
	subjects := t.subjects()
	s := subjects[random.IntN(len(subjects))]
	o, c := s.full(), Case{Name: s.name}
	for range random.IntN(4) {
		f := s.fields[random.IntN(len(s.fields))]
		values, code := f.good(), ""
		switch random.IntN(4) {
		case 0:
			values, code = []string{""}, f.without()
		case 1:
			values, code = f.bad(), protocol.CodeMalformed
		}
		bounds := slices.ContainsFunc(s.fields, func(o Field) bool { return o.Since == f.Name })
		if len(values) == 0 || bounds && code == "" {
			continue // what is allowed in the field that bounds another depends on the other
		}
		v := values[random.IntN(len(values))]
		o = o.with(f.Name, v)
		c.Name += fmt.Sprintf(", %s %s", f.Name, v)
		if c.Code = code; code == "" {
			c.Code = s.code(f, v)
		}
		if c.Code != "" {
			break // a later change could undo this one
		}
	}
	c.Message = s.message(o)
	return c
}

// object is the JSON of an object's fields.
type object map[string]string

// with is the object with another value of a field, or without the field if the value is "".
func (o object) with(name, value string) object {
	o = maps.Clone(o)
	o[name] = value
	if value == "" {
		delete(o, name)
	}
	return o
}

func (o object) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		parts = append(parts, fmt.Sprintf("%q:%s", name, o[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// A subject is what a case is about: a message, an event, or an object inside of a message.
type subject struct {
	name string
	// kind is the field that says what it is, "type" or "kind", and wire its value; "" for an object.
	kind, wire string
	fields     []Field
	// around makes a message of the subject's JSON.
	around func(string) string
}

func (s subject) message(o object) json.RawMessage { return json.RawMessage(s.around(o.String())) }

// full has all fields.
func (s subject) full() object {
	o := object{}
	if s.kind != "" {
		o[s.kind] = fmt.Sprintf("%q", s.wire)
	}
	for _, f := range s.fields {
		o = o.with(f.Name, f.good()[0])
		if f.Since != "" {
			o[f.Since] = sinceValue
		}
	}
	return o
}

// required has the required fields alone.
func (s subject) required() object {
	o := s.full()
	for _, f := range s.fields {
		if !f.Required {
			delete(o, f.Name)
		}
	}
	return o
}

// sinceValue is the value of a field that bounds another one.
const sinceValue = "10"

// code is that of an allowed value: of all versions, only the own one is accepted.
func (s subject) code(f Field, value string) string {
	if s.wire == protocol.TypeHello && f.Name == "protocol" && value != fmt.Sprint(protocol.Version) {
		return protocol.CodeVersion
	}
	return ""
}

// without is the code of a message without the field.
func (f Field) without() string {
	if f.Required {
		return protocol.CodeMalformed
	}
	return ""
}

func (t *Table) subjects() []subject {
	var all []subject
	for _, m := range t.received() {
		s := subject{m.Wire, "type", m.Wire, m.Fields, func(raw string) string { return raw }}
		all = append(all, s)
		all = append(all, t.parts(s)...)
	}
	return all
}

// parts are the subjects inside of another.
func (t *Table) parts(outer subject) []subject {
	var all []subject
	for _, f := range outer.fields {
		around := func(raw string) string {
			if f.isList() {
				raw = "[" + raw + "]"
			}
			return string(outer.message(outer.required().with(f.Name, raw)))
		}
		if f.Type == "[]Event" {
			for _, e := range t.Events {
				all = append(all, subject{e.Wire + " event", "kind", e.Wire, slices.Concat(t.Head.Fields, e.Fields), around})
			}
		} else if o := t.Objects[f.element()]; o != nil {
			s := subject{outer.name + "." + f.Name, "", "", o.Fields, around}
			all = append(all, s)
			all = append(all, t.parts(s)...)
		}
	}
	return all
}

// good are allowed values, the usual one first. For objects there is only the absent one, or the empty list.
func (f Field) good() []string {
	switch {
	case len(f.Values) > 0:
		var all []string
		for _, v := range f.Values {
			all = append(all, fmt.Sprintf("%q", v))
		}
		if f.Open {
			all = append(all, `"of a later version"`)
		}
		return all
	case f.Type == "string":
		all := []string{`"a"`, `"é \"日本\"\n\t"`}
		if !f.Filled {
			all = append(all, `""`)
		}
		return all
	case f.Since != "":
		return []string{"0", sinceValue, "11", fmt.Sprint(int64(largest))}
	case f.Type == "int" || f.Type == "int64":
		return []string{"1", fmt.Sprint(f.Min), "1e2", "2.0", fmt.Sprint(f.Max)}
	case f.Type == "float64":
		return []string{"0.5", "0", "1e300"}
	case f.Type == "bool":
		return []string{"true", "false"}
	case f.Type == "[]string":
		return []string{`["a"]`, `[]`, `["a"` + strings.Repeat(`,"b"`, int(f.Limit)) + `]`}
	case f.Type == "map[string]string":
		return []string{`{"a":"b"}`, `{}`, `{"a":1,"b":null}`}
	case f.Type == "any":
		return []string{`{"a":1}`, `null`, `1`, `"a"`, `[]`}
	case f.isList():
		return []string{"[]"}
	default:
		return []string{""}
	}
}

// bad are values that are not allowed.
func (f Field) bad() []string {
	wrong := func(except ...string) []string {
		return slices.DeleteFunc([]string{`null`, `true`, `7`, `"a"`, `["a"]`, `{"a":1}`}, func(v string) bool { return slices.Contains(except, v) })
	}
	switch {
	case len(f.Values) > 0 && !f.Open:
		return append(wrong(), `""`, strings.ToUpper(f.good()[0]))
	case f.Type == "string":
		bad := wrong(`"a"`)
		if f.Filled {
			bad = append(bad, `""`)
		}
		return bad
	case f.Type == "int" || f.Type == "int64":
		bad := append(wrong("7"), fmt.Sprint(f.Min-1), "1.5", fmt.Sprint(f.Max+1), "1e400", `"1"`)
		if f.Since != "" {
			bad = append(bad, "9")
		}
		return bad
	case f.Type == "float64":
		return append(wrong("7"), "-0.5", "1e400", `"1"`)
	case f.Type == "bool":
		return append(wrong("true"), `"true"`, "0")
	case f.Type == "[]string":
		return append(wrong(`["a"]`), `[1]`, `[null]`, `["a"`+strings.Repeat(`,"b"`, int(f.Limit))+`,7]`)
	case f.Type == "any":
		return nil
	case f.isList():
		return append(wrong(), `[7]`, `[null]`, `[[]]`)
	case f.Type == "map[string]string":
		return wrong(`{"a":1}`)
	default:
		return wrong(`{"a":1}`)
	}
}
