// Command caps checks that packages stay small enough to be read: it counts what is hand-written in each Go package and
// in each TypeScript folder of the extension and of the web, and fails when a count is over its cap. Tests, generated files and
// testdata do not count. Exceptions, each with its reason, are in exceptions.go.
//
//	go run ./.ci/caps
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A kind is something that is counted.
type kind string

// The kinds, each with its cap.
const (
	filesOfPackage kind = "files in a package"
	linesOfPackage kind = "lines in a package"
	linesOfFile    kind = "lines in a file"
	methodsOfType  kind = "methods of a type"
)

var caps = map[kind]int{filesOfPackage: 20, linesOfPackage: 3500, linesOfFile: 600, methodsOfType: 40}

// over is a count that is over its cap. Where is a folder, a file, or a folder and a type (host/internal/x.Type).
type over struct {
	kind  kind
	where string
	count int
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "caps:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	list, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*.go", "*.ts", "*.tsx").Output()
	if err != nil {
		return fmt.Errorf("git cannot list the files: %w", err)
	}
	found, err := check(os.DirFS("."), strings.Fields(string(list)))
	if err != nil {
		return err
	}
	return report(out, found, exceptions)
}

// report prints the counts that no exception allows, and exceptions that are no longer needed. The first are an error.
func report(out io.Writer, found []over, allowed []exception) error {
	bad := 0
	used := make([]bool, len(allowed))
	for _, o := range found {
		i := slices.IndexFunc(allowed, func(e exception) bool { return e.allows(o) })
		if i >= 0 {
			used[i] = true
			continue
		}
		bad++
		fmt.Fprintf(out, "%s: %d %s, cap %d\n", o.where, o.count, o.kind, caps[o.kind])
	}
	for i, e := range allowed {
		if !used[i] {
			fmt.Fprintf(out, "note: the exception for %s (%s) is no longer needed; remove it from .ci/caps/exceptions.go\n", e.where, e.kind)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d over the caps; split what is named, or add an exception with its reason to .ci/caps/exceptions.go", bad)
	}
	return nil
}

// check counts the files, whose paths use forward slashes, and returns what is over its cap, sorted by place.
func check(files fs.FS, paths []string) ([]over, error) {
	counts := map[over]int{} // by kind and place
	for _, p := range paths {
		if !handWritten(p) {
			continue
		}
		data, err := fs.ReadFile(files, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, but git does not know yet
		}
		if err != nil {
			return nil, err
		}
		if generated(data) {
			continue
		}
		lines := bytes.Count(data, []byte("\n"))
		dir := path.Dir(p)
		counts[over{kind: filesOfPackage, where: dir}]++
		counts[over{kind: linesOfPackage, where: dir}] += lines
		counts[over{kind: linesOfFile, where: p}] += lines
		if path.Ext(p) == ".go" {
			types, err := methods(p, data)
			if err != nil {
				return nil, err
			}
			for name, n := range types {
				counts[over{kind: methodsOfType, where: dir + "." + name}] += n
			}
		}
	}
	var found []over
	for o, n := range counts {
		if n > caps[o.kind] {
			found = append(found, over{o.kind, o.where, n})
		}
	}
	slices.SortFunc(found, func(a, b over) int {
		return strings.Compare(a.where+string(a.kind), b.where+string(b.kind))
	})
	return found, nil
}

// handWritten reports whether a path counts: Go anywhere, TypeScript in the extension and in web, neither tests nor their data.
func handWritten(p string) bool {
	for dir := range strings.SplitSeq(path.Dir(p), "/") {
		if dir == "testdata" || dir == "node_modules" || dir == "dist" {
			return false
		}
	}
	name := path.Base(p)
	switch path.Ext(p) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".ts", ".tsx":
		return (strings.HasPrefix(p, "extension/") || strings.HasPrefix(p, "web/")) && !strings.Contains(name, ".test.")
	}
	return false
}

// generated reports whether a file says so in its first lines, as Go's tools and tygo write it.
func generated(data []byte) bool {
	head := data[:min(len(data), 1000)]
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("// Code generated ")) && bytes.HasSuffix(bytes.TrimSpace(line), []byte("DO NOT EDIT.")) {
			return true
		}
	}
	return false
}

// methods counts the methods of each type of a Go file: those with it as receiver, and those that an interface names.
func methods(p string, data []byte) (map[string]int, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(p), data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	types := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && len(n.Recv.List) == 1 {
				types[receiver(n.Recv.List[0].Type)]++
			}
			return false
		case *ast.TypeSpec:
			if i, ok := n.Type.(*ast.InterfaceType); ok {
				types[n.Name.Name] += i.Methods.NumFields()
			}
		}
		return true
	})
	return types, nil
}

// receiver is the name of a receiver's type, without pointers and type parameters.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}
