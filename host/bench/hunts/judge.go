package hunts

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// named says whether a text names one of the lines: "Feed.tsx:42", "/src/pages/Feed.tsx?t=17:42:13".
func named(text string, lines []line) bool {
	for _, want := range lines {
		place := regexp.MustCompile(`([\w+@./-]*)` + regexp.QuoteMeta(path.Base(want.file)) + `(?:\?[^\s:"')]*)?:(\d+)`)
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(m[2])
			if err == nil && n >= want.line-slack && n <= want.line+slack && below(m[1], path.Dir(want.file)) {
				return true
			}
		}
	}
	return false
}

// below says whether what stands before a file's name may be its folder: as much of it as both have is the same. What
// ends in no slash is the beginning of another name.
func below(said, folder string) bool {
	if said == "" {
		return true
	}
	if !strings.HasSuffix(said, "/") {
		return false
	}
	a, b := strings.Split(strings.Trim(said, "/"), "/"), strings.Split(folder, "/")
	for i := 1; i <= len(a) && i <= len(b); i++ {
		if a[len(a)-i] != b[len(b)-i] {
			return a[len(a)-i] == "." || a[len(a)-i] == ""
		}
	}
	return true
}
