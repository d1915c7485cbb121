package rawtext

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Loads has when each tab loaded its pages, in milliseconds since the Unix epoch.
type Loads map[int][]int64

// LoadsIn returns the loads in a view's buffer of requests.
func LoadsIn(v *capture.View) Loads {
	l := Loads{}
	for _, n := range v.Network().From(0) {
		if n.Resource == "document" && n.Target == "" {
			l[n.Tab()] = append(l[n.Tab()], n.Began())
		}
	}
	for _, at := range l {
		slices.Sort(at)
	}
	return l
}

// At returns the number of the load in which a request was sent: 0 before the first one.
func (l Loads) At(n *event.Network) int {
	after, _ := slices.BinarySearch(l[n.Tab()], n.Began()+1)
	return after
}

// maxPositions is how many positions that do not follow each other a line names.
const maxPositions = 8

// Positions returns the positions of the entries of a line: each of them, or the first and the last.
func Positions(all []uint64, each bool) string {
	first, last := all[0], all[len(all)-1]
	switch {
	case len(all) == 1:
		return fmt.Sprint(first)
	case !each || len(all) > maxPositions || slices.IsSorted(all) && last-first == uint64(len(all)-1):
		return fmt.Sprintf("%d…%d", first, last)
	}
	var b strings.Builder
	for i, p := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, p)
	}
	return b.String()
}
