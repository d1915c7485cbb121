package conversation

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// Lines are read whole up to their limit, in whatever pieces they arrive. Longer ones are counted.
func TestLinesOfEveryLength(t *testing.T) {
	var data bytes.Buffer
	var want []int
	damaged := 0
	for i, n := range []int{0, 1, 100, buffer - 1, buffer, 0, buffer + 1, 3 * buffer, maxLine - 1, 5, maxLine, maxLine + buffer, 7, 2*maxLine + 3, 9} {
		data.Write(bytes.Repeat([]byte{'a' + byte(i)}, n))
		data.WriteByte('\n')
		if n < maxLine {
			want = append(want, n)
		} else {
			damaged++
		}
	}
	whole := int64(data.Len())
	data.WriteString("not ended")
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(data.Bytes()), "by halves": iotest.HalfReader(bytes.NewReader(data.Bytes())), "with the end": iotest.DataErrReader(bytes.NewReader(data.Bytes())),
	} {
		var got []int
		end, bad, err := readLines(r, func(first bool, line []byte) bool {
			if first != (len(got) == 0) || len(line) > 0 && bytes.Count(line, line[:1]) != len(line) {
				t.Errorf("%s: line %d is mixed", name, len(got))
			}
			got = append(got, len(line))
			return true
		})
		if err != nil || end != whole || bad != damaged || !slices.Equal(got, want) {
			t.Errorf("%s: %v, end %d of %d, %d of %d too long, lines %d, want %d", name, err, end, whole, bad, damaged, got, want)
		}
	}
}
