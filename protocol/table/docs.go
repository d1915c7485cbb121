package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Docs are the tables of PROTOCOL.md, by the names of their marks.
func (t *Table) Docs() map[string]string {
	messages, events, fields := &writer{}, &writer{}, &writer{}
	messages.line("\n| message | from | meaning |\n|---|---|---|")
	for _, m := range t.Messages {
		messages.line("| `%s` | %s | %s |", m.Wire, m.From, t.cell(m.Meaning))
		fields.fields(t, "`"+m.Wire+"`", m)
	}
	for _, o := range t.inside(t.Messages) {
		fields.fields(t, "Object `"+o.Name+"`", o)
	}
	events.line("\n| kind | meaning |\n|---|---|")
	fields.fields(t, "Every event", t.Head)
	for _, e := range t.Events {
		events.line("| `%s` | %s |", e.Wire, t.cell(e.Meaning))
		fields.fields(t, "`"+e.Wire+"` event", e)
	}
	docs := map[string]string{
		"messages": messages.String(), "events": events.String(), "fields": fields.String(),
		"reasons": t.constants("reason", t.Reasons), "codes": t.constants("code", t.Codes),
	}
	for name := range docs {
		docs[name] += "\n"
	}
	return docs
}

func (t *Table) constants(what string, all []Constant) string {
	w := &writer{}
	w.line("\n| %s | meaning |\n|---|---|", what)
	for _, c := range all {
		w.line("| `%s` | %s |", c.Value, t.cell(c.Meaning))
	}
	return w.String()
}

func (w *writer) fields(t *Table, title string, s *Struct) {
	w.line("\n### %s\n\n| field | value | meaning |\n|---|---|---|", title)
	for _, f := range s.Fields {
		value := t.value(f)
		if !f.Required {
			value += ", optional"
		}
		w.line("| `%s` | %s | %s |", f.Name, value, t.cell(f.Meaning))
	}
}

// value says which values a field may have.
func (t *Table) value(f Field) string {
	listed := "`" + strings.Join(f.Values, "`, `") + "`"
	switch {
	case f.Open && slices.Equal(f.Values, values(t.Reasons)):
		return "a reason of gaps, or a later one"
	case len(f.Values) > 0 && f.Open:
		return listed + " or a later one"
	case len(f.Values) > 0:
		return "one of " + listed
	case f.Type == "any":
		return "any"
	case f.Type == "[]string":
		return fmt.Sprintf("list of strings, %d kept", f.Limit)
	case f.Type == "[]Event":
		return "list of events"
	case f.isList():
		return "list of `" + f.element() + "`"
	case f.Type == "map[string]string":
		return "object of strings, each cut at " + size(f.Limit)
	case f.Type == "string":
		text := "string"
		if f.Filled {
			text = "string, not empty"
		}
		if f.Limit > 0 {
			text += ", cut at " + size(f.Limit)
		}
		return text
	case f.Since != "":
		return "0, or not before `" + f.Since + "`"
	case f.Type == "int" || f.Type == "int64" || f.Type == "float64" || f.Type == "bool":
		return strings.TrimPrefix(f.want(), "a ")
	default:
		return "`" + f.element() + "`"
	}
}

func size(bytes int64) string { return fmt.Sprintf("%d KiB", bytes>>10) }

var link = regexp.MustCompile(`\[(\w+)\]`)

// cell is a meaning as a cell of Markdown. Structs are named as on the wire.
func (t *Table) cell(meaning string) string {
	named := link.ReplaceAllStringFunc(meaning, func(name string) string {
		name = strings.Trim(name, "[]")
		for _, s := range t.Messages {
			if s.Name == name {
				return "`" + s.Wire + "`"
			}
		}
		for _, s := range t.Events {
			if s.Name == name {
				return "`" + s.Wire + "` event"
			}
		}
		return name
	})
	return strings.ReplaceAll(named, "|", `\|`)
}
