package grants

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Sizes of a workspace above which the user must confirm.
const (
	maxEntries = 200_000 // files and directories
	maxBytes   = 20 << 30
)

// Examine returns an error of the code [usererr.NotAllowed] for a directory that the user should allow only on purpose:
// a home directory, a directory of the system, one that contains such a directory, or one that is very large. It stops
// counting at the limit. It follows no links, and leaves out the root's .git, what .tidemark.toml excludes, and
// directories below with another decision.
func (s *Store) Examine(ctx context.Context, dir string) error {
	d, err := s.Lookup(dir)
	if err != nil {
		return err
	}
	if why := s.special(d.Dir); why != "" {
		return usererr.New(usererr.NotAllowed, "%s %s, so it is not allowed without confirmation. Name the directory of one project, or use --confirm.", Printable(d.Dir), why)
	}
	exclude, err := project.ExcludeIn(d.Dir)
	if err != nil {
		return err
	}
	denied := d.Without(Workspace)
	c := counter{dir: d.Dir, entries: maxEntries, bytes: maxBytes, skip: func(path string) bool {
		return path == ".git" || exclude.Skip(path) || Covers(denied, path)
	}}
	over, err := c.count(ctx)
	if err != nil || over == "" {
		return err
	}
	return usererr.New(usererr.NotAllowed, `%s has more than %s, so it is not allowed without confirmation. Exclude directories in its .tidemark.toml, under [files] with a line such as exclude = ["node_modules/"], or use --confirm.`, Printable(d.Dir), over)
}

// counter counts what is in a directory.
type counter struct {
	dir string
	// entries and bytes are the limits.
	entries, bytes int64
	// skip reports whether a path is left out.
	skip func(path string) bool
}

// count returns which limit the directory exceeds, and what takes up most of it, or "" if it exceeds none.
func (c *counter) count(ctx context.Context) (over string, err error) {
	type sum struct{ entries, bytes int64 }
	var all sum
	below := map[string]sum{} // for each entry of the directory
	err = filepath.WalkDir(c.dir, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if path == c.dir {
			return err
		}
		if err != nil {
			return nil // what cannot be read is not counted
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, c.dir), string(filepath.Separator)))
		if c.skip(rel) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		size := int64(0)
		if e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size = info.Size()
			}
		}
		top, _, _ := strings.Cut(rel, "/")
		b := below[top]
		below[top] = sum{b.entries + 1, b.bytes + size}
		all = sum{all.entries + 1, all.bytes + size}
		if all.entries > c.entries || all.bytes > c.bytes {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	most := func(of func(sum) int64) (name string, n int64) {
		for top, b := range below {
			if m := of(b); m > n || m == n && top < name {
				name, n = top, m
			}
		}
		return name, n
	}
	switch {
	case all.entries > c.entries:
		name, n := most(func(s sum) int64 { return s.entries })
		return fmt.Sprintf("%s files and directories (of those counted, %s are in %s)", thousands(c.entries), thousands(n), Printable(name)), nil
	case all.bytes > c.bytes:
		name, n := most(func(s sum) int64 { return s.bytes })
		return fmt.Sprintf("%.4g GiB of files (of those counted, %.3g GiB are in %s)", gib(c.bytes), gib(n), Printable(name)), nil
	}
	return "", nil
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// thousands writes a number with separators.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// special says why a directory is none of a project, or "". The directory has no links.
func (s *Store) special(dir string) string {
	if filepath.Dir(dir) == dir {
		return "is the root of a file system"
	}
	for _, home := range homes() {
		switch {
		case dir == home:
			return "is your home directory"
		case Within(home, dir):
			return "contains your home directory"
		}
	}
	for _, own := range s.Own {
		own := resolved(own)
		switch {
		case Within(dir, own):
			return "belongs to Tidemark"
		case Within(own, dir):
			return "contains Tidemark's own data"
		}
	}
	whole, alone, homes := systemDirs()
	for _, system := range whole {
		if Within(dir, system) {
			return "is a directory of the system"
		}
	}
	for _, system := range append(alone, homes) {
		if system != "" && Within(system, dir) {
			return "is a directory of the system"
		}
	}
	if dir == resolved(os.TempDir()) {
		return "is the directory of temporary files"
	}
	if homes != "" && filepath.Dir(dir) == homes {
		return "is a home directory"
	}
	return ""
}

// homes returns the user's home directory, as the environment and as the system have it.
func homes() []string {
	var all []string
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		all = append(all, resolved(home))
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		all = append(all, resolved(u.HomeDir))
	}
	return all
}

// resolved is [Resolve], or the path itself if there is no such directory.
func resolved(dir string) string {
	if path, err := Resolve(dir); err == nil {
		return path
	}
	return filepath.Clean(dir)
}

// systemDirs returns directories that belong to the system with everything below them, directories that belong to it
// alone, and the directory of the users' homes.
func systemDirs() (whole, alone []string, homes string) {
	switch runtime.GOOS {
	case "windows":
		for _, name := range []string{"SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "ProgramData"} {
			if dir := os.Getenv(name); filepath.IsAbs(dir) {
				whole = append(whole, resolved(dir))
			}
		}
		if dir := os.Getenv("PUBLIC"); filepath.IsAbs(dir) {
			homes = filepath.Dir(resolved(dir))
		}
		return whole, nil, homes
	case "darwin":
		return []string{"/Applications", "/Library", "/System", "/bin", "/cores", "/dev", "/private/etc", "/sbin", "/usr"},
			[]string{"/Volumes", "/opt", "/private/tmp", "/private/var", "/private/var/folders", "/private/var/root", "/private/var/tmp"}, "/Users"
	}
	return []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/snap", "/sys", "/usr"},
		[]string{"/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var/cache", "/var/lib", "/var/log", "/var/spool", "/var/tmp"}, "/home"
}
