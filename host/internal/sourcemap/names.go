package sourcemap

import "strings"

// resolve is a source's name as an address or path: relative ones are resolved by the map's address; dots
// are taken out, and what a bundler adds behind a question mark. It is done on plain text: names are no
// well-formed addresses (webpack:///./src/[id].tsx), and nobody fetches them.
func resolve(address, name string) string {
	if i := strings.IndexAny(name, "?#"); i > 0 {
		name = name[:i]
	}
	prefix, path := split(name)
	if prefix == "" {
		var dir string
		prefix, dir = split(address)
		if i := strings.IndexAny(dir, "?#"); i >= 0 {
			dir = dir[:i]
		}
		if !strings.HasPrefix(name, "/") {
			path = dir[:strings.LastIndexByte(dir, '/')+1] + name
			if prefix != "" && dir == "" {
				path = "/" + name
			}
		}
	}
	if strings.HasSuffix(path, "/") || path == "" {
		return "" // no file
	}
	return strings.Clone(prefix + normalise(path))
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
		return path
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
