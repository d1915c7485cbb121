package sourcemap

import "strings"

// resolve is a source's name as a path: relative ones are resolved by the map's address; scheme and host, dots,
// and what a bundler adds behind a question mark are taken out, since there is mostly nothing at such an
// address. A name without a scheme that begins with a slash, and a file's address, are absolute paths of files
// and keep the slash. It is done on plain text: names are no well-formed addresses
// (webpack:///./src/[id].tsx), and nobody fetches them.
func resolve(address, name string) string {
	if i := strings.IndexByte(name, '?'); i > 0 {
		name = name[:i]
	}
	prefix, path := split(name)
	switch {
	case prefix == "" && !strings.HasPrefix(name, "/"):
		prefix, path = split(address)
		if i := strings.IndexAny(path, "?#"); i >= 0 {
			path = path[:i]
		}
		path = path[:strings.LastIndexByte(path, '/')+1] + name
	case prefix == "":
		prefix = "file://"
	}
	if strings.HasSuffix(path, "/") || path == "" {
		return "" // no file
	}
	path = normalise(path)
	if !strings.HasPrefix(prefix, "file:") {
		path = strings.TrimPrefix(path, "/")
	}
	return strings.Clone(path)
}

// split is an address's scheme and host, and its path; a plain path has no prefix.
func split(s string) (prefix, path string) {
	i := strings.IndexByte(s, ':')
	if i < 2 || !isScheme(s[:i]) {
		return "", s
	}
	if !strings.HasPrefix(s[i+1:], "//") {
		return s[:i+1], s[i+1:]
	}
	end := i + 3
	if slash := strings.IndexByte(s[end:], '/'); slash >= 0 {
		return s[:end+slash], s[end+slash:]
	}
	return s, ""
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (s[i] < '0' || s[i] > '9') && s[i] != '-' && s[i] != '+' && s[i] != '.') {
			return false
		}
	}
	return true
}

// normalise takes . and .. out of a path; what would lead above its root stays at the root, as in a browser.
func normalise(path string) string {
	if !strings.Contains(path, "./") && !strings.Contains(path, "//") {
		return path // as nearly all are
	}
	var kept []string
	for _, s := range strings.Split(path, "/") {
		switch s {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, s)
		}
	}
	out := strings.Join(kept, "/")
	if strings.HasPrefix(path, "/") {
		out = "/" + out
	}
	return out
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
