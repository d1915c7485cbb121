package sourcemap

import "strings"

// resolve converts a source's name to a path. Relative names are resolved by the map's address. Scheme, host, dots and
// bundlers' suffixes after a question mark are removed, because such an address rarely exists. A name without a scheme
// that begins with a slash, and a file: address, are absolute file paths and keep the slash. It works on plain text:
// names are not well-formed addresses (webpack:///./src/[id].tsx) and are never fetched.
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

// split splits an address into its scheme and host, and its path. A plain path has no prefix.
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

// normalise removes . and .. from a path. A path that leads above its root stays at the root, as in a browser.
func normalise(path string) string {
	if !strings.Contains(path, "./") && !strings.Contains(path, "//") {
		return path // nearly all paths are clean
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
