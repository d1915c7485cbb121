package restore

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"syscall"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
)

// What a check of access asks for.
const (
	maySearch = 1
	mayWrite  = 2
)

// permit takes out the steps that the system does not allow this user: in directories of others, and of attributes that only
// their owner sets. They are problems of the plan, but for times alone, which are noted.
func (p *Plan) permit(root *dir) {
	o := &opened{root: root}
	defer o.leave()
	known := map[string]string{} // why nothing can be changed in a directory
	in := func(path string) string {
		why, ok := known[path]
		if !ok {
			why = o.closed(path)
			known[path] = why
		}
		return why
	}
	denied := map[string]bool{}
	deny := func(path, why string) {
		for above := path; above != ""; { // one problem for everything below
			if above = tree.Parent(above); denied[above] {
				return
			}
		}
		denied[path] = true
		p.problem(path, why)
	}
	var times []tree.Problem
	out := map[string]bool{}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		parent := tree.Parent(s.Path)
		at, why := parent, ""
		switch {
		case out[parent] && s.Before == nil: // there is no directory for it
		case s.Kind == Attributes:
			if why = o.others(s.Path); why == "" {
				return false
			}
			if at = s.Path; s.Before.Mode == s.After.Mode && sameXattrs(s.Before.Xattrs, s.After.Xattrs) {
				times = append(times, tree.Problem{Path: at, Reason: "cannot set its times: " + why})
				break
			}
			deny(at, "cannot set its attributes: "+why)
		default:
			if s.Path != "" {
				why = in(parent)
			}
			if why == "" && s.Before != nil {
				if at = s.Path; s.Before.Kind == tree.Dir {
					why = in(at)
				} else {
					why = o.fixed(at)
				}
			}
			if why == "" {
				return false
			}
			deny(at, why)
		}
		out[s.Path] = true
		p.stay[s.Path] = s.Before != nil
		return true
	})
	for _, one := range times {
		if !p.blocked(one.Path) {
			p.Left = append(p.Left, one)
		}
	}
}

// name takes out the steps that would write a path that this system, or the filesystem of the workspace, does not have. They are
// problems of the plan, one for everything below such a directory.
func (p *Plan) name(root *dir) {
	refused := map[string]bool{} // names, by whether the filesystem refuses them
	lacks := func(path string) string {
		for at, name := range parts(path) {
			is, known := refused[name]
			if !known {
				_, err := root.stat(name)
				is = unnamed.Refused(err)
				refused[name] = is
			}
			if is {
				return at
			}
		}
		return ""
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		if s.After == nil {
			return false
		}
		at, why := unnamed.Here(s.Path)
		if at == "" && s.Before == nil {
			at, why = lacks(s.Path), unnamed.Err.Error()
		}
		if at == "" {
			return false
		}
		p.problem(at, "cannot write it: "+why)
		p.stay[s.Path] = s.Before != nil
		return true
	})
	for i, problem := range p.Problems { // such a path could not be read either
		if lacks(problem.Path) == problem.Path {
			p.Problems[i].Reason = "cannot write it: " + unnamed.Err.Error()
		}
	}
}

// parts yields the names in a path, each with the path up to it.
func parts(path string) iter.Seq2[string, string] {
	return func(yield func(at, name string) bool) {
		begin := 0
		for i := range len(path) + 1 {
			if i == len(path) || path[i] == '/' {
				if i > begin && !yield(path[:i], path[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
	}
}

// problem adds a problem, if its path has none.
func (p *Plan) problem(path, why string) {
	if !p.blocked(path) {
		p.Problems = append(p.Problems, tree.Problem{Path: path, Reason: why})
	}
}

// blocked reports whether a path has a problem.
func (p *Plan) blocked(path string) bool {
	return slices.ContainsFunc(p.Problems, func(known tree.Problem) bool { return known.Path == path })
}

// closed returns why no name in a directory can be changed, "" if it can, or if no directory is there. A mode that its owner
// can change is no reason; see [run.unlock].
func (o *opened) closed(path string) string {
	now, err := o.stat(path)
	if err != nil || now.Kind != tree.Dir {
		return ""
	}
	err = o.parent.access(base(path), mayWrite|maySearch)
	if err == nil || errors.Is(err, syscall.EACCES) && o.parent.owns(base(path), now) {
		return ""
	}
	return "cannot write to it: " + o.parent.refusal(base(path), now, err)
}

// fixed returns why a name cannot be renamed in a directory that can be changed, "" if it can: nobody may replace it, or only
// its owner.
func (o *opened) fixed(path string) string {
	now, err := o.stat(path)
	if err != nil {
		return ""
	}
	if now.Kind == tree.File {
		if err := o.parent.access(base(path), mayWrite); errors.Is(err, syscall.EPERM) {
			return "cannot replace it: " + reason(err)
		}
	}
	const sticky = 0o1000
	if in, err := o.parent.stat("."); err == nil && in.Mode&sticky != 0 && !o.parent.owns(".", in) && !o.parent.owns(base(path), now) {
		return "cannot replace it: " + o.parent.refusal(base(path), now, syscall.EPERM)
	}
	return ""
}

// others returns why only another user sets the attributes of a path, "" if this one can.
func (o *opened) others(path string) string {
	now, err := o.stat(path)
	if err != nil || o.parent.owns(base(path), now) {
		return ""
	}
	return o.parent.refusal(base(path), now, syscall.EPERM)
}

// refusal is an error about a name, of which s is the stamp, with the user whom it belongs to where that is why.
func (d *dir) refusal(name string, s stamp, err error) string {
	if d.owns(name, s) {
		return reason(err)
	}
	return fmt.Sprintf("%s, because it belongs to another user (UID %d)", reason(err), s.user)
}
