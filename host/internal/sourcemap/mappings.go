package sourcemap

import (
	"math"
	"slices"
)

// digits are the values of base64 characters, 0xff for all others.
var digits = func() (d [256]byte) {
	for i := range d {
		d[i] = 0xff
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		d[c] = byte(i)
	}
	return d
}()

// scan reads the mappings once, to check them and to set the marks for look-ups.
func (p *part) scan() error {
	if len(p.mappings) > math.MaxInt32 {
		return damaged("its mappings are too long")
	}
	d := decoder{text: p.mappings}
	last := segment{line: -1}
	inLine, longest := 0, 0
	for n := 0; d.next(); n++ {
		if d.line != last.line {
			inLine = 0
		} else if d.column < last.column {
			p.unordered = true
		}
		inLine++
		longest = max(longest, inLine)
		last = d.segment
		if n%every == 0 {
			p.marks = append(p.marks, mark{int32(d.offset), d.segment})
		}
	}
	if d.err == nil && p.unordered && longest > maxUnordered {
		return damaged("its segments are not in order")
	}
	p.marks = slices.Clip(p.marks)
	return d.err
}

// find returns the last segment of a line that begins at or before a column.
func (p *part) find(line, column int32) (segment, bool) {
	// Marks are ordered by line, and by column if the map is ordered.
	i, _ := slices.BinarySearchFunc(p.marks, 0, func(m mark, _ int) int {
		if m.line < line || !p.unordered && m.line == line && m.column <= column {
			return -1
		}
		return 1
	})
	if i--; i < 0 {
		i = 0
	}
	if len(p.marks) == 0 {
		return segment{}, false
	}
	d := decoder{text: p.mappings, offset: int(p.marks[i].offset), segment: p.marks[i].segment}
	var best segment
	found := false
	for more := true; more; more = d.next() {
		if d.line > line || !p.unordered && d.line == line && d.column > column {
			break
		}
		if d.line == line && d.column <= column && (!found || d.column >= best.column) {
			best, found = d.segment, true
		}
	}
	return best, found
}

// decoder reads successive segments. Within a long stretch without segments it can repeat the previous one, or return an
// unmapped one at the start of a line. Look-ups tolerate that and stay short wherever they begin.
type decoder struct {
	text   string
	offset int
	segment
	err error
}

// much is how many bytes without a segment are skipped at a time.
const much = 256

// next reads the next segment. It returns false at the end, and for damaged text, which sets err.
func (d *decoder) next() bool {
	for began := d.offset; d.offset < len(d.text); {
		if d.offset-began == much {
			return true
		}
		switch d.text[d.offset] {
		case ';':
			d.line++
			d.column, d.mapped, d.named = 0, false, false
			d.offset++
		case ',':
			d.offset++
		default:
			return d.read()
		}
	}
	return false
}

// read reads the fields of one segment: a column, then optionally an original place and a name.
func (d *decoder) read() bool {
	var fields [5]int32
	n := 0
	for ; d.offset < len(d.text) && d.text[d.offset] != ',' && d.text[d.offset] != ';'; n++ {
		if n == len(fields) {
			return d.fail("a segment has more than five fields")
		}
		// Nearly all numbers have one digit.
		if v := digits[d.text[d.offset]]; v < 32 {
			d.offset++
			if fields[n] = int32(v >> 1); v&1 != 0 {
				fields[n] = -fields[n]
			}
			continue
		}
		v, ok := d.number()
		if !ok {
			return false
		}
		fields[n] = v
	}
	if n == 2 || n == 3 {
		return d.fail("a segment has two or three fields")
	}
	d.mapped = n >= 4
	d.named = n == 5 && add(&d.name, fields[4]) // a wrong name does not invalidate the place
	if !add(&d.column, fields[0]) || !add(&d.source, fields[1]) || !add(&d.sourceLine, fields[2]) || !add(&d.sourceColumn, fields[3]) {
		return d.fail("a place is outside of every file")
	}
	return true
}

// add adds a difference. It returns false if the result is negative or does not fit 31 bits.
func add(to *int32, n int32) bool {
	sum := int64(*to) + int64(n)
	*to = int32(sum)
	return sum >= 0 && sum <= math.MaxInt32-1
}

// number reads a number of several digits.
func (d *decoder) number() (int32, bool) {
	var v uint64
	for shift := 0; d.offset < len(d.text); shift += 5 {
		digit := digits[d.text[d.offset]]
		if digit == 0xff {
			return 0, d.fail("it has a character outside of base64")
		}
		d.offset++
		v |= uint64(digit&31) << shift
		if v > math.MaxUint32 || shift > 30 {
			return 0, d.fail("a number is too large")
		}
		if digit < 32 {
			n := int64(v >> 1)
			if v&1 != 0 {
				n = -n
			}
			return int32(n), true
		}
	}
	return 0, d.fail("a number has no end")
}

func (d *decoder) fail(why string) bool {
	d.err = damaged("%s (at %d of its mappings)", why, d.offset)
	return false
}
