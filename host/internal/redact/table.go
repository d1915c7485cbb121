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
		columns, row, next := headerAt(r, s, at)
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

// headerAt returns the columns of the header in the line that begins at a place, nil where no column is secret, with what returns the
// cells of a row, and where the next line begins.
func headerAt(r *Redactor, s string, at int) (columns []column, row func(s string, at int) ([]tables.Cell, int), next int) {
	line := s[at : at+tables.Newline(s[at:])]
	next = min(len(s), at+len(line)+1)
	if rule := tables.Newline(s[next:]); tables.IsRule(s[next : next+rule]) {
		if columns = columnsOf(r, tables.Names(strings.Trim(line, "| \t\r"), '|', " \t")); len(columns) > 1 {
			next = min(len(s), next+rule+1)
		}
		return columns, tables.BarredRow, next
	}
	sign := tables.Sign(line)
	if sign < 0 {
		return nil, nil, next
	}
	columns = columnsOf(r, tables.Names(strings.TrimSuffix(line, "\r"), line[sign], ""))
	return columns, func(s string, at int) ([]tables.Cell, int) { return tables.Row(s, at, line[sign]) }, next
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
