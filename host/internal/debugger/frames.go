package debugger

import (
	"slices"
	"strings"
)

// Limits of the stacks in an answer that does not list all frames.
const (
	maxStack    = 12
	maxPackages = 3
)

// folded returns a stack with the place in the script of its top frame alone, and one line for successive frames of libraries
// below that. What does not fit is counted.
func folded(stack []StackFrame) (lines []StackFrame, more int) {
	for i := 0; i < len(stack); {
		line, n := stack[i], 1
		if i > 0 {
			line.Script = ""
			n += libraryRun(stack[i:])
		}
		if len(lines) == maxStack {
			return lines, len(stack) - i
		}
		if n > 1 {
			line.Function, line.Source, line.Libraries = "", packages(stack[i:i+n]), n
		}
		lines = append(lines, line)
		i += n
	}
	return lines, 0
}

// libraryRun counts the frames after the first one that fold with it: asynchronous callers begin anew.
func libraryRun(stack []StackFrame) (n int) {
	if !stack[0].library {
		return 0
	}
	for _, f := range stack[1:] {
		if !f.library || f.Async != "" {
			break
		}
		n++
	}
	return n
}

// packages names the installed packages of frames, the newest first.
func packages(stack []StackFrame) string {
	var names []string
	for _, f := range stack {
		if name := packageOf(f.Source); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxPackages {
		names = append(names[:maxPackages], "…")
	}
	return strings.Join(names, ", ")
}

// packageOf returns the name of the installed package that has a place, or else the file's.
func packageOf(source string) string {
	const modules = "node_modules/"
	at := strings.LastIndex(source, modules)
	if at < 0 || strings.HasPrefix(source[at+len(modules):], ".") { // .vite has chunks of several packages
		file, _, _ := strings.Cut(source[strings.LastIndexByte(source, '/')+1:], ":")
		return file
	}
	parts := strings.SplitN(source[at+len(modules):], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
