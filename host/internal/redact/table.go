package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/redact/tables"
)

// maskTable masks the columns of a table (CSV and its kin) that have the name of a secret key in its first line. The table ends
// with the first line that has another number of columns. Bars may have blanks around them where a rule is below the first line.
func maskTable(r *Redactor, s string, tr *trace) (string, int) {
	p := r.pass(s, tr)
	for at := 0; strings.IndexByte(s[at:], '\n') >= 0; {
		names, row, next := tables.HeaderAt(s, at)
		columns := columnsOf(r, names)
		at = next
		for len(columns) > 1 && at < len(s) {
			cells, next := row(s, at)
			if len(cells) != len(columns) {
				break
			}
			for i, c := range columns {
				if v := (valueAt{cells[i].From, cells[i].To, true}); c.strength > maybe && v.from < v.to && r.isSecretValue(s, v, c.strength, c.strength == strong) {
					p.mask(v.from, v.to, KindKey, c.name)
				}
			}
			if at = next; at > len(s) {
				return p.done()
			}
		}
	}
	return p.done()
}

type column struct {
	name     string
	strength strength
}

// columnsOf returns the columns of a header, nil where none is secret.
func columnsOf(r *Redactor, names []string) (columns []column) {
	secret := false
	for _, name := range names {
		c := column{name: name, strength: r.keyStrength(name)}
		secret = secret || c.strength > maybe
		columns = append(columns, c)
	}
	if !secret {
		return nil
	}
	return columns
}
