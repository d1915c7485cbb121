package act

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/diff"
)

// apart separates what an action caused from what happened before it began. The latter is left out of a first answer.
func apart(list []diff.Consequence, began int64, first bool) (caused, late []diff.Consequence) {
	for _, c := range list {
		switch {
		case c.At >= began:
			caused = append(caused, c)
		case !first:
			late = append(late, c)
		}
	}
	for i, c := range caused { // what the same answer reports as late is not new a second time
		caused[i].Given = c.Given || c.Severity != diff.Clean && slices.ContainsFunc(late, func(l diff.Consequence) bool {
			return len(l.Entries) > 0 && slices.Equal(l.Entries, c.Entries)
		})
	}
	return caused, late
}
