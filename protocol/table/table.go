// Package table reads the rules of the messages from the types of package protocol. It writes the host's decoder, the
// extension's checks, the tables of PROTOCOL.md, and the messages with which both sides test the rules.
//
// A row of the table is a field of a message's struct: its name, its name in JSON, its type, whether it is required
// (no omitempty), its allowed values (tstype), its other rules (the tag "rule"), and its meaning (the comment). The tag
// "rule" holds, separated by commas:
//
//   - from=extension, from=host or from=either, on the field "type": the sender of the message.
//   - optional: every sender sets the field, but receivers accept a message without it.
//   - filled: not the empty string.
//   - min=N and max=N: limits of a number. Without them, numbers are from 0 to 2^53-1.
//   - since=FIELD: 0, or at least the value of that field, which stands before it.
//   - open: the allowed values are only the known ones, and receivers accept any other.
//   - ordered: the allowed values have an order, and the host keeps their place in it.
//   - line, text, url, body: how the host cleans the text of an event. Without one of them it is a word, which is not
//     masked.
//   - cap=CONSTANT: the limit at which the host cuts texts and lists. Each kind of text has a usual one, except text.
package table

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Table has the rules of all messages.
type Table struct {
	// Messages are in the order of their Type constants, Events in that of their Kind constants.
	Messages, Events []*Struct
	// Head has the fields of every event.
	Head *Struct
	// Objects are the structs inside of messages, by name.
	Objects map[string]*Struct
	// Params are the parameters of the host's requests to the debugger, which all begin with those of the caller.
	Params []*Struct
	// Reasons are those of gaps, Codes those of errors, and Methods what requests ask for.
	Reasons, Codes, Methods []Constant
}

// A Struct is a message, an event or an object inside of one.
type Struct struct {
	// Name is that of the Go type.
	Name string
	// Wire is the value of "type" or "kind"; Constant is the name of the constant with it. Objects have none.
	Wire, Constant string
	// From is the sender of a message: extension, host or either.
	From string
	// Meaning names other structs in brackets.
	Meaning string
	// Fields are all but "type" and "kind".
	Fields []Field
}

// A Field is a row of the table.
type Field struct {
	// Go and Type are the field's name and type in Go, Name is its name in JSON.
	Go, Type, Name string
	Required       bool
	Filled         bool
	// Values are the allowed ones, empty for any. Open allows others too, Ordered says that their order matters.
	Values        []string
	Open, Ordered bool
	// Min and Max limit a number.
	Min, Max int64
	// Since names the field that this one, unless it is 0, does not precede.
	Since string
	// Text is how the host cleans the text of an event: word, line, text, url or body.
	Text string
	// Cap is the constant with the limit at which the host cuts, and Limit its value; "" and 0 for none.
	Cap   string
	Limit int64
	// Meaning names other structs in brackets.
	Meaning string
}

// A Constant is a reason or a code.
type Constant struct{ Name, Value, Meaning string }

// largest is the largest number that Go and JavaScript both represent exactly.
const largest = 1<<53 - 1

// element is the type of the elements of a list of objects, or the type itself without its pointer.
func (f Field) element() string { return strings.TrimLeft(f.Type, "[]*") }

// isList reports whether the value is a list.
func (f Field) isList() bool { return strings.HasPrefix(f.Type, "[]") }

// Load reads the table from the Go files of a directory.
func Load(dir string) (*Table, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := source{structs: map[string]*ast.TypeSpec{}, docs: map[string]string{}}
	files := token.NewFileSet()
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, p, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.add(file)
	}
	return s.table()
}

// source is the declarations of a package.
type source struct {
	structs   map[string]*ast.TypeSpec
	names     []string          // of structs, in the order of the files
	docs      map[string]string // of structs
	constants []Constant
	limits    []limit
}

type limit struct {
	name  string
	value int64
}

func (s *source) add(file *ast.File) {
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if _, ok := spec.Type.(*ast.StructType); ok {
					s.structs[spec.Name.Name] = spec
					s.names = append(s.names, spec.Name.Name)
					s.docs[spec.Name.Name] = meaning(spec.Name.Name, decl.Doc.Text())
				}
			case *ast.ValueSpec:
				if decl.Tok == token.CONST && len(spec.Names) == 1 && len(spec.Values) == 1 {
					s.constant(spec.Names[0].Name, types.ExprString(spec.Values[0]), spec.Comment.Text())
				}
			}
		}
	}
}

func (s *source) constant(name, value, comment string) {
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, value)
	if err != nil || tv.Value == nil {
		return // made of other constants; the table has none of them
	}
	switch tv.Value.Kind() {
	case constant.String:
		s.constants = append(s.constants, Constant{Name: name, Value: constant.StringVal(tv.Value), Meaning: strings.TrimSpace(comment)})
	case constant.Int:
		if n, exact := constant.Int64Val(tv.Value); exact {
			s.limits = append(s.limits, limit{name, n})
		}
	}
}

func (s *source) table() (*Table, error) {
	t := &Table{Objects: map[string]*Struct{}}
	var err error
	if t.Head, err = s.read(t, "EventHead"); err != nil {
		return nil, err
	}
	for _, c := range s.constants {
		prefix := cmp.Or(prefixOf(c.Name, "Type"), prefixOf(c.Name, "Kind"), prefixOf(c.Name, "Gap"), prefixOf(c.Name, "Code"), prefixOf(c.Name, "Method"))
		name := strings.TrimPrefix(c.Name, prefix)
		switch prefix {
		case "Gap":
			t.Reasons = append(t.Reasons, c)
		case "Code":
			t.Codes = append(t.Codes, c)
		case "Method":
			t.Methods = append(t.Methods, c)
		case "Kind":
			e, err := s.read(t, name+"Event")
			if err != nil {
				return nil, err
			}
			e.Wire, e.Constant = c.Value, c.Name
			t.Events = append(t.Events, e)
		case "Type":
			if s.structs[name+"Message"] != nil {
				name += "Message"
			}
			m, err := s.read(t, name)
			if err != nil {
				return nil, err
			}
			if m.From == "" {
				return nil, fmt.Errorf("message %s does not say who sends it", name)
			}
			m.Wire, m.Constant = c.Value, c.Name
			t.Messages = append(t.Messages, m)
		}
	}
	for _, e := range t.Events {
		for i := range e.Fields {
			f := &e.Fields[i]
			if f.Open && len(f.Values) == 0 {
				f.Values = values(t.Reasons)
			}
			if err := s.limit(f); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", e.Name, f.Go, err)
			}
		}
	}
	for _, name := range s.names {
		if name == caller || s.embeds(name, caller) {
			p, err := s.read(t, name)
			if err != nil {
				return nil, err
			}
			t.Params = append(t.Params, p)
		}
	}
	return t, nil
}

// caller is the beginning of the parameters of every request to the debugger.
const caller = "DebugCaller"

func (s *source) embeds(name, other string) bool {
	return slices.ContainsFunc(s.structs[name].Type.(*ast.StructType).Fields.List, func(f *ast.Field) bool {
		return len(f.Names) == 0 && types.ExprString(f.Type) == other
	})
}

// limit completes how the host cleans and cuts the field of an event.
func (s *source) limit(f *Field) error {
	if f.Type == "string" && (f.Open || len(f.Values) == 0) {
		f.Text = cmp.Or(f.Text, "word")
		f.Cap = cmp.Or(f.Cap, map[string]string{"word": "MaxShort", "line": "MaxShort", "url": "MaxURL", "body": "MaxBody"}[f.Text])
	}
	switch f.Type {
	case "string":
		if f.Text == "" {
			return nil
		}
	case "map[string]string":
		f.Cap = "MaxHeader"
	case "[]string":
	default:
		return nil
	}
	at := slices.IndexFunc(s.limits, func(l limit) bool { return l.name == f.Cap })
	if at < 0 {
		return fmt.Errorf("no constant %q", f.Cap)
	}
	f.Limit = s.limits[at].value
	return nil
}

func values(all []Constant) []string {
	var list []string
	for _, c := range all {
		list = append(list, c.Value)
	}
	return list
}

// prefixOf is the prefix if the rest of the name is a word of its own.
func prefixOf(name, prefix string) string {
	if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
		return prefix
	}
	return ""
}

func (s *source) read(t *Table, name string) (*Struct, error) {
	spec := s.structs[name]
	if spec == nil {
		return nil, fmt.Errorf("there is no struct %s", name)
	}
	out := &Struct{Name: name, Meaning: s.docs[name]}
	for _, field := range spec.Type.(*ast.StructType).Fields.List {
		if len(field.Names) == 0 {
			if name := types.ExprString(field.Type); name != "EventHead" { // which is in the table once
				embedded, err := s.read(t, name)
				if err != nil {
					return nil, err
				}
				out.Fields = append(out.Fields, embedded.Fields...)
			}
			continue
		}
		f, rules, err := s.field(field)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", name, field.Names[0].Name, err)
		}
		if f.Name == "type" || f.Name == "kind" && name == "EventHead" {
			out.From = rules["from"]
			continue
		}
		out.Fields = append(out.Fields, f)
		if inner := f.element(); s.structs[inner] != nil && t.Objects[inner] == nil {
			if t.Objects[inner], err = s.read(t, inner); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

var quoted = regexp.MustCompile(`'([^']*)'`)

func (s *source) field(field *ast.Field) (Field, map[string]string, error) {
	tag := ""
	if field.Tag != nil {
		var err error
		if tag, err = strconv.Unquote(field.Tag.Value); err != nil {
			return Field{}, nil, err
		}
	}
	tags := reflect.StructTag(tag)
	name, options, _ := strings.Cut(tags.Get("json"), ",")
	f := Field{
		Go: field.Names[0].Name, Type: types.ExprString(field.Type), Name: name, Required: !strings.Contains(options, "omitempty"),
		Max: largest, Meaning: meaning(field.Names[0].Name, field.Doc.Text()),
	}
	if union := tags.Get("tstype"); strings.HasPrefix(union, "'") {
		for _, v := range quoted.FindAllStringSubmatch(union, -1) {
			f.Values = append(f.Values, v[1])
		}
	}
	rules := map[string]string{}
	for rule := range strings.SplitSeq(tags.Get("rule"), ",") {
		name, value, _ := strings.Cut(rule, "=")
		rules[name] = value
		var err error
		switch name {
		case "", "from":
		case "optional":
			f.Required = false
		case "filled":
			f.Filled = true
		case "open":
			f.Open = true
		case "ordered":
			f.Ordered = true
		case "min":
			f.Min, err = strconv.ParseInt(value, 10, 64)
		case "max":
			f.Max, err = strconv.ParseInt(value, 10, 64)
		case "since":
			f.Since = value
		case "line", "text", "url", "body":
			f.Text = name
		case "cap":
			f.Cap = value
		default:
			err = fmt.Errorf("unknown rule %q", name)
		}
		if err != nil {
			return f, nil, err
		}
	}
	return f, rules, nil
}

// meaning is a Go comment as a text of its own: without the name at its beginning, on one line.
func meaning(name, comment string) string {
	text := strings.TrimPrefix(strings.Join(strings.Fields(comment), " "), name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	if strings.Count(text, ". ") == 0 {
		text = strings.TrimSuffix(text, ".")
	}
	return text
}
