package grants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"tidemark.dev/tidemark/host/internal/usererr"
)

// Resolve returns the path of an existing directory: absolute, without links, and spelled as on the disk where the
// system ignores case. Two names of one directory give the same path.
func Resolve(dir string) (string, error) {
	if strings.ContainsRune(dir, 0) {
		return "", usererr.Invalid("%s is not the path of a directory. Remove the NUL character.", Printable(dir))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG), err != nil && hasLongName(abs): // Windows has several errors for it
		return "", usererr.Invalid("the path of a directory has a name that is too long for this system, or %d bytes are too many. Name an existing directory.", len(abs))
	case err != nil:
		return "", fmt.Errorf("cannot find the directory %s: %w", Printable(abs), reason(err))
	}
	if !info.IsDir() {
		return "", usererr.New(usererr.NotFound, "%s is not a directory. Name the project's directory.", Printable(abs))
	}
	path, err := final(abs)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the path %s: %w", Printable(abs), reason(err))
	}
	return path, nil
}

// hasLongName reports whether a name in a path is longer than common filesystems have them.
func hasLongName(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool { return len(name) > 255 })
}

// Former is [Resolve] for a directory that need not exist any more.
func Former(dir string) (string, error) {
	if path, err := Resolve(dir); err == nil {
		return path, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if parent, err := Resolve(filepath.Dir(abs)); err == nil {
		return filepath.Join(parent, filepath.Base(abs)), nil
	}
	return abs, nil
}

// spelled returns a path without links as its directories spell it. A system that ignores case accepts other
// spellings, for which there would be no decision.
func spelled(path string) (string, error) {
	at := filepath.VolumeName(path) + string(filepath.Separator)
	for name := range strings.SplitSeq(strings.TrimPrefix(path, at), string(filepath.Separator)) {
		if name == "" {
			continue
		}
		name, err := onDisk(at, name)
		if err != nil {
			return "", err
		}
		at = filepath.Join(at, name)
	}
	return at, nil
}

// onDisk returns the spelling of a name in its directory.
func onDisk(dir, name string) (string, error) {
	this, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	// Most directories respect case. Then the other case names nothing, or something else.
	if runtime.GOOS != "darwin" { // which ignores more than case
		other, err := os.Lstat(filepath.Join(dir, otherCase(name)))
		if err != nil || !os.SameFile(this, other) {
			return name, nil
		}
	}
	f, err := os.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	same := ""
	for _, n := range names {
		if n == name {
			return name, nil
		}
		if same == "" {
			if info, err := os.Lstat(filepath.Join(dir, n)); err == nil && os.SameFile(this, info) {
				same = n
			}
		}
	}
	if same == "" {
		return "", fmt.Errorf("%s does not list %s", Printable(dir), Printable(name))
	}
	return same, nil
}

// otherCase returns a name with its letters in the other case.
func otherCase(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
}

// reason is the error of an operation on a file without the path, which the message has already.
func reason(err error) error {
	if at, ok := err.(*os.PathError); ok { //nolint:errorlint // only the outermost error repeats the path
		return at.Err
	}
	return err
}

// Printable returns a path for a message or a terminal: in quotes if it has characters that are not printable.
func Printable(path string) string {
	for _, r := range path {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return strconv.QuoteToASCII(path)
		}
	}
	return path
}

// Quoted returns a path as an argument of a shell's command. It returns false if the path has characters that are not
// printable.
func Quoted(path string) (string, bool) {
	plain := true
	for _, r := range path {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return "", false
		}
		plain = plain && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(`/._-+:@`, r) || runtime.GOOS == "windows" && r == '\\')
	}
	switch {
	case plain:
		return path, true
	case runtime.GOOS == "windows":
		return `"` + path + `"`, true
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'", true
}
