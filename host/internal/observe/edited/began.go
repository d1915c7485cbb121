package edited

import (
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
)

// Began returns when the first file of a workspace was edited after a time, or the earliest time that counts, if that is not known or
// was before it.
func Began(v *capture.View, workspace string, since, earliest time.Time) time.Time {
	first, after := int64(0), since.UnixMilli()
	for _, e := range v.Files().InRing().From(0) {
		switch {
		case workspace == "" || e.Subject.Workspace() != workspace || !cause.IsWritten(e):
		case e.Edited == 0 && e.At > after && e.Since <= after:
			return earliest // it may have been at any time since then
		case e.Edited == 0 && e.Since > after && (first == 0 || e.Since < first):
			first = e.Since
		case e.Edited > after && (first == 0 || e.Edited < first):
			first = e.Edited
		}
	}
	if began := time.UnixMilli(first - 1); began.After(earliest) {
		return began
	}
	return earliest
}
