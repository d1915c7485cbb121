package ranges_test

import (
	"strconv"
	"testing"

	"tidemark.dev/tidemark/host/internal/aria/ranges"
)

func TestRanges(t *testing.T) {
	odd := func(ref int) bool { return ref%2 == 1 }
	for _, c := range []struct {
		refs []int
		may  func(int) bool
		want string
	}{
		{nil, nil, ""},
		{[]int{4}, nil, "4"},
		{[]int{9, 2, 3, 4, 7}, nil, "2-4, 7, 9"},
		{[]int{9, 2, 4, 7, 12}, odd, "2-4, 7, 9, 12"},
		{[]int{2, 4, 6, 7, 9}, odd, "2-7, 9"},
	} {
		if got := ranges.String(ranges.Of(c.refs, c.may), strconv.Itoa); got != c.want {
			t.Errorf("%v: %q, not %q", c.refs, got, c.want)
		}
	}
}
