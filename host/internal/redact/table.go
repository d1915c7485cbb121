package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// maxHeader bounds the length of a table's header, in bytes.
const maxHeader = 1000

// columnName matches a name in a header.
var columnName = lazyregexp.New(`^(?:"([A-Za-z_\x{80}-\x{10ffff}][\w .\-\x{80}-\x{10ffff}]*)"|([A-Za-z_\x{80}-\x{10ffff}][\w .\-\x{80}-\x{10ffff}]*))$`)

// maskTable masks the columns of a table (CSV and its kin) that have the name of a secret key in its first line. The table ends
// with the first line that has another number of columns.
func maskTable(r *Redactor, s string, tr *trace) (string, int) {
	p := r.pass(s, tr)
	for at := 0; ; {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			return p.done()
		}
		line := s[at : at+end]
		at += end + 1
		sign := signOf(line)
		if sign < 0 {
			continue
		}
		columns := columnsOf(r, strings.TrimSuffix(line, "\r"), line[sign])
		for columns != nil && at < len(s) {
			cells, next := rowAt(s, at, line[sign])
			if len(cells) != len(columns) {
				break
			}
			for i, c := range columns {
				if v := cells[i]; c.strength > maybe && v.from < v.to && r.isSecretValue(s, v, c.strength, c.strength == strong) {
					p.mask(v.from, v.to, KindKey, c.name)
				}
			}
			if at = next; at > len(s) {
				return p.done()
			}
		}
	}
}

// signOf returns where the first sign between two names of a header is, -1 if a line is none.
func signOf(line string) int {
	if len(line) > maxHeader {
		return -1
	}
	for i := range len(line) {
		switch c := line[i]; {
		case beginsName(c):
		case i > 0 && (c >= '0' && c <= '9' || c == ' ' || c == '.' || c == '-'):
		case i > 0 && i+1 < len(line) && beginsName(line[i+1]) && (c == ',' || c == ';' || c == '|' || c == '\t'):
			return i
		default:
			return -1
		}
	}
	return -1
}

// beginsName reports whether a byte may begin a name in a header, or a quoted one.
func beginsName(c byte) bool { return isLetter(c) || c == '_' || c == '"' || c >= 0x80 }

type column struct {
	name     string
	strength strength
}

// columnsOf returns the columns of a header, nil where none is secret.
func columnsOf(r *Redactor, line string, sign byte) (columns []column) {
	secret := false
	for name := range strings.SplitSeq(line, string(sign)) {
		parts := columnName().FindStringSubmatch(name)
		if parts == nil {
			return nil
		}
		c := column{name: parts[1] + parts[2]}
		c.strength = r.keyStrength(c.name)
		secret = secret || c.strength > maybe
		columns = append(columns, c)
	}
	if !secret {
		return nil
	}
	return columns
}

// rowAt returns the cells of a row, without their quotes, and where the next one begins. There is no cell if quotes are wrong.
func rowAt(s string, at int, sign byte) (cells []valueAt, next int) {
	for i := at; ; i++ {
		from, to := i, 0
		if i < len(s) && s[i] == '"' {
			from = i + 1
			to = from
			for {
				n := strings.IndexByte(s[to:], '"')
				if n < 0 {
					return nil, len(s)
				}
				if to += n; !strings.HasPrefix(s[to+1:], `"`) {
					break
				}
				to += 2
			}
			i = to + 1
		} else {
			for i < len(s) && s[i] != sign && s[i] != '\n' {
				i++
			}
			if to = i; i > from && s[i-1] == '\r' && (i == len(s) || s[i] != sign) {
				to--
			}
		}
		cells = append(cells, valueAt{from, to, true})
		if strings.HasPrefix(s[min(i, len(s)):], "\r\n") {
			i++
		}
		if i >= len(s) || s[i] == '\n' {
			return cells, i + 1
		}
		if s[i] != sign {
			return nil, len(s)
		}
	}
}
