// Package shellwrites finds the files that a command of a shell writes by name.
//
// It guarantees: a file whose name the shell makes is not among them, and a command that it does not understand writes none. The
// work is bounded, whatever the command is.
package shellwrites

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tidemark.dev/tidemark/host/internal/shellsyntax"
)

// writers are programs that write or remove the files that they name: all of them, or the last one alone.
var writers = map[string]struct{ last bool }{
	"tee": {}, "touch": {}, "truncate": {}, "rm": {}, "mv": {}, "sed": {}, "cp": {last: true}, "install": {last: true}, "ln": {last: true},
}

// maxCommand bounds a command of which the files are found, in bytes. maxFiles bounds them.
const (
	maxCommand = 16 << 10
	maxFiles   = 100
)

// Of returns the files that a command writes by name: to which it redirects output, and which it gives a program that writes
// them. Roams is true where it changes its directory, so that a relative name may be of any directory.
func Of(command string) (files []string, roams bool) {
	if len(command) > maxCommand || !strings.Contains(command, ">") && !slices.ContainsFunc(strings.FieldsFunc(command, notInWord), isWriter) {
		return nil, false
	}
	file, ok := shellsyntax.Parse(command)
	if !ok {
		return nil, false
	}
	add := func(w *syntax.Word) {
		if name := plainWord(w); name != "" && !strings.HasPrefix(name, "-") && name != "/dev/null" && len(files) < maxFiles {
			files = append(files, name)
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Redirect:
			switch n.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
				add(n.Word)
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				break
			}
			name := plainWord(n.Args[0])
			roams = roams || name == "cd" || name == "pushd" || name == "popd"
			w, ok := writers[name]
			if !ok || name == "sed" && !slices.ContainsFunc(n.Args, inPlace) {
				break
			}
			args := n.Args[1:]
			if w.last {
				args = args[max(0, len(args)-1):]
			}
			for _, arg := range args {
				add(arg)
			}
		}
		return true
	})
	return files, roams
}

func notInWord(r rune) bool { return strings.ContainsRune(" \t\n;&|(){}`", r) }

func isWriter(word string) bool { _, ok := writers[word]; return ok }

// inPlace reports whether a flag of sed has it write its files.
func inPlace(w *syntax.Word) bool {
	flag := plainWord(w)
	return strings.HasPrefix(flag, "--in-place") || strings.HasPrefix(flag, "-") && !strings.HasPrefix(flag, "--") && strings.Contains(flag, "i")
}

// plainWord returns the text of a word in which the shell replaces nothing, "" for another one.
func plainWord(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `\*?[~`) {
				return ""
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return ""
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar || strings.Contains(lit.Value, `\`) {
					return ""
				}
				b.WriteString(lit.Value)
			}
		default:
			return ""
		}
	}
	return b.String()
}
