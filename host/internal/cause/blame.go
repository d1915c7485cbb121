package cause

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// blame returns the change that last touched the line of a frame, of the first frame that one touched. A line at most
// away from a change counts too, if no frame is in one.
func blame(before []made, frames []Frame, away int) (*Edit, int) {
	for _, most := range slices.Compact([]int{0, away}) {
		for _, frame := range frames {
			if frame.Line < 1 {
				continue
			}
			line := frame.Line
			var place string
			for _, e := range slices.Backward(before) {
				if !names(frame.File, e.Edit) || place != "" && place != e.Place+"\x00"+e.Path {
					continue
				}
				place = e.Place + "\x00" + e.Path
				if len(e.Lines) == 0 {
					break // where its lines were before is not known
				}
				touched, was := through(e.Lines, line, most)
				if touched {
					return e.Edit, frame.Line
				}
				line = was
			}
		}
	}
	return nil, 0
}

// behind is how many columns behind what an edit wrote the expression may fail: a call in brackets, of what a property is read.
const behind = 3

// wrote reports whether a change wrote the expression in which the code failed, and no frame is in the files of others, as far as that
// is known: the line is a new one, or the place in it is where the line differs from before.
func wrote(e made, before, others []made, s *Symptom) (is, known bool) {
	if len(s.Frames) == 0 || !names(s.Frames[0].File, e.Edit) {
		return false, false
	}
	if slices.ContainsFunc(others, func(o made) bool {
		return slices.ContainsFunc(s.Frames, func(f Frame) bool { return names(f.File, o.Edit) })
	}) {
		return false, false
	}
	line, column := s.Frames[0].Line, s.Frames[0].Column
	for _, o := range slices.Backward(before) {
		if o.Edit == e.Edit {
			break
		}
		if o.Place != e.Place || o.Path != e.Path {
			continue
		}
		touched, was := through(o.Lines, line, 0)
		if touched || len(o.Lines) == 0 {
			return false, false
		}
		line = was
	}
	for i, r := range e.Lines {
		switch c := e.ColumnsOf(i); {
		case line < r.At || line >= r.At+r.New:
		case r.Old == 0:
			return true, true
		case c.From > 0 && column > 1 && column < c.From-1 && missesName(s.Text):
			return false, false
		case c.From > 0 && column > 1:
			return c.From-1 <= column && column <= c.To+behind, true
		}
	}
	return false, false
}

// missesName reports whether an error is of a name that is not defined. Its place is that of the expression around the name, such as
// of the await before a call.
func missesName(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return strings.Contains(first, "ReferenceError: ") && strings.HasSuffix(first, " is not defined")
}

// through reports whether a change touched a line, or one at most away, and else which line it was before.
func through(runs []event.Run, line, away int) (touched bool, was int) {
	was = line
	for _, r := range runs {
		switch {
		case line >= r.At-away && line < r.At+max(r.New, 1)+away && (r.New > 0 || away > 0):
			return true, 0
		case line >= r.At+r.New:
			was += r.Old - r.New
		}
	}
	return false, was
}

// names reports whether a name is that of a changed file.
func names(name string, e *Edit) bool {
	tail, whole := Tail(name, e.Place)
	switch {
	case tail == "" || strings.Contains(e.Path, "node_modules/"):
		return false
	case whole:
		return tail == e.Path
	}
	return e.Tail != "" && len(tail) >= len(e.Tail) && strings.HasSuffix("/"+e.Path, "/"+tail)
}
