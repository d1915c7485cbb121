// Package tables finds the cells of tables in texts: CSV and its kin, and tables with bars between their columns.
//
// Guarantee: the time that a call takes grows with the length of a line, and not faster.
package tables

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// maxHeader bounds the length of a table's header, in bytes.
const maxHeader = 1000

// columnName matches a name in a header.
var columnName = lazyregexp.New(`^(?:"([A-Za-z_\x{80}-\x{10ffff}][\w .\-\x{80}-\x{10ffff}]*)"|([A-Za-z_\x{80}-\x{10ffff}][\w .\-\x{80}-\x{10ffff}]*))$`)

// Cell is where a cell of a row is, without its quotes or the blanks around it.
type Cell struct{ From, To int }

// Names returns the names in a header whose columns are divided by a sign, nil if it is none. Blanks may be around them.
func Names(line string, sign byte, blanks string) (names []string) {
	if len(line) > maxHeader {
		return nil
	}
	for name := range strings.SplitSeq(line, string(sign)) {
		parts := columnName().FindStringSubmatch(strings.Trim(name, blanks))
		if parts == nil {
			return nil
		}
		names = append(names, parts[1]+parts[2])
	}
	return names
}

// HeaderAt returns the names in the header that begins at a place, none if that is no header, with what returns the cells of a row, and
// where the next line begins.
func HeaderAt(s string, at int) (names []string, row func(s string, at int) ([]Cell, int), next int) {
	line := s[at : at+Newline(s[at:])]
	next = min(len(s), at+len(line)+1)
	if rule := Newline(s[next:]); IsRule(s[next : next+rule]) {
		if names = Names(strings.Trim(line, "| \t\r"), '|', " \t"); names != nil {
			next = min(len(s), next+rule+1)
		}
		return names, BarredRow, next
	}
	sign := Sign(line)
	if sign < 0 {
		return nil, nil, next
	}
	names = Names(strings.TrimSuffix(line, "\r"), line[sign], "")
	return names, func(s string, at int) ([]Cell, int) { return Row(s, at, line[sign]) }, next
}

// Running returns what says which columns the text after a text of whole lines has: the header of the table that this ends in, with its
// last row if that is not whole. It is "" where the text ends in no table that is wanted, or in one without a row.
func Running(s string, wanted func(names []string) bool) (head string) {
	for at := 0; at < len(s); {
		from := at
		names, row, next := HeaderAt(s, at)
		at, head = next, ""
		if len(names) < 2 || !wanted(names) {
			continue
		}
		for header := s[from:at]; at < len(s); at = next {
			var cells []Cell
			if cells, next = row(s, at); cells == nil && next == len(s) { // a cell goes over several lines
				return header + s[at:]
			}
			if head = ""; len(cells) != len(names) {
				break
			}
			head = header
		}
	}
	return head
}

// Sign returns where the first sign between two names of a header is, -1 if a line is none.
func Sign(line string) int {
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
func beginsName(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '"' || c >= 0x80
}

// Row returns the cells of a row, without their quotes, and where the next one begins. There is no cell if quotes are wrong.
func Row(s string, at int, sign byte) (cells []Cell, next int) {
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
		cells = append(cells, Cell{from, to})
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

// IsRule reports whether a line divides a header from its rows, as psql, MySQL and Markdown have it: ---+---, |---|:-:|.
func IsRule(line string) bool {
	return len(line) <= maxHeader && strings.Contains(line, "--") && strings.Trim(line, "-+|: \t\r") == "" && strings.ContainsAny(line, "+|")
}

// Newline returns where a line ends.
func Newline(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// BarredRow returns the cells of a row with bars between them, and around them in a frame, and where the next one begins.
func BarredRow(s string, at int) (cells []Cell, next int) {
	from, end := at, at+Newline(s[at:])
	next = end + 1
	line := strings.TrimRight(s[at:end], " \t\r")
	end = at + len(strings.TrimSuffix(line, "|"))
	if line = strings.TrimLeft(line, " \t"); strings.HasPrefix(line, "|") {
		from = at + strings.IndexByte(s[at:], '|') + 1
	}
	for from <= end {
		to := end
		if i := strings.IndexByte(s[from:end], '|'); i >= 0 {
			to = from + i
		}
		cell := strings.Trim(s[from:to], " \t")
		begin := from + strings.Index(s[from:to], cell)
		cells = append(cells, Cell{begin, begin + len(cell)})
		from = to + 1
	}
	return cells, next
}
