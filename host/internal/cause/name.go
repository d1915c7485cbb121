package cause

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// Tail returns what a name of a file, as pages and bundlers have it, says of the path in a workspace: how the path ends,
// or the whole path. It is "" for a name that is of no file in the workspace.
func Tail(name, root string) (tail string, whole bool) {
	if i := strings.LastIndexByte(name, '!'); i >= 0 { // behind webpack's loaders
		name = name[i+1:]
	}
	name, _, _ = strings.Cut(name, "?")
	name, _, _ = strings.Cut(name, "#")
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	name, root = strings.ReplaceAll(name, `\`, "/"), strings.TrimSuffix(strings.ReplaceAll(root, `\`, "/"), "/")
	onDisk := false
	if scheme, rest, ok := strings.Cut(name, "://"); ok {
		switch scheme {
		case "file":
			name, onDisk = rest, true
			if len(name) > 2 && name[0] == '/' && name[2] == ':' { // file:///C:/
				name = name[1:]
			}
		default: // of a host, or of webpack's or Turbopack's name of the project
			_, name, _ = strings.Cut(rest, "/")
			name = "/" + name
		}
	}
	name = strings.TrimPrefix(name, "/@fs")
	if rest, ok := strings.CutPrefix(name, root+"/"); ok {
		return rest, true
	}
	if onDisk || len(name) > 1 && name[1] == ':' {
		return "", false
	}
	name = strings.TrimPrefix(name, "/")
	if strings.HasPrefix(name, "(") { // a layer of Next.js
		if _, rest, ok := strings.Cut(name, ")/"); ok {
			name = rest
		}
	}
	name = strings.TrimPrefix(name, "[project]/")
	for {
		rest, ok := strings.CutPrefix(name, "./")
		if !ok {
			if rest, ok = strings.CutPrefix(name, "../"); !ok {
				break
			}
		}
		name = rest
	}
	return name, false
}

// isStyle reports whether a path is that of a style sheet.
func isStyle(file string) bool {
	return slices.Contains([]string{".css", ".scss", ".sass", ".less", ".styl"}, path.Ext(file))
}

// isProse reports whether a path is that of a text for readers, which no program runs.
func isProse(file string) bool {
	return slices.Contains([]string{".md", ".markdown", ".txt", ".rst", ".adoc"}, path.Ext(file))
}

// isComponent reports whether a path is that of a component, which a hot update draws again.
func isComponent(file string) bool {
	return slices.Contains([]string{".jsx", ".tsx", ".vue", ".svelte"}, path.Ext(file))
}

// isAsset reports whether a path is that of a file which a server only sends as it is.
func isAsset(file string) bool {
	dir, _, _ := strings.Cut(file, "/")
	return dir == "public" || dir == "static"
}

// isSetup reports whether a path is that of a file that takes effect with a load of the page or a start of the server, never
// with a hot update.
func isSetup(file string) bool {
	name := path.Base(file)
	return strings.HasPrefix(name, ".env") || strings.HasSuffix(name, ".html") || strings.Contains(name, ".config.") || isDependency(file)
}

// locks are the files in which package managers name what they installed.
var locks = []string{"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"}

// isDependency reports whether a path is that of a package that is installed, or of a file that says which ones are.
func isDependency(file string) bool {
	name := path.Base(file)
	return isInstalled(file) || name == "package.json" || slices.Contains(locks, name)
}

// isInstalled reports whether a path is that of a package that is installed.
func isInstalled(file string) bool { return strings.Contains("/"+file, "/node_modules/") }

// isCache reports whether a path is that of a file which a tool keeps beside the packages that are installed.
func isCache(file string) bool {
	_, name, _ := strings.Cut("/"+file, "/node_modules/")
	return strings.HasPrefix(name, ".") && !strings.HasPrefix(name, ".pnpm/")
}

// rank orders changes of dependencies that were made together: the first one says most.
func rank(file string) int {
	switch {
	case isInstalled(file):
		return 2
	case path.Base(file) == "package.json":
		return 0
	}
	return 1
}

// outputs are directories whose files programs make.
var outputs = []string{"dist", "build", "out", "coverage", "target", "__pycache__"}

// IsBuilt reports whether a program is likely to have made the file at a path, other than by installing a package.
func IsBuilt(file string) bool {
	dirs := strings.Split(file, "/")
	for _, dir := range dirs[:len(dirs)-1] {
		switch {
		case dir == "src", dir == "node_modules":
			return false
		case strings.HasPrefix(dir, "."), slices.Contains(outputs, dir):
			return true
		}
	}
	return false
}
