package installer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/extension"
	"tidemark.dev/tidemark/installer/safefile"
)

// ErrNoExtension says that the binary carries no extension.
var ErrNoExtension = errors.New("this binary was built without the extension; run `make build`")

// UnpackExtension unpacks the extension that is embedded in this binary below dir and returns the
// directory that a browser can load; see [Unpack]. A binary without one gives [ErrNoExtension].
func UnpackExtension(dir string) (string, error) {
	files, err := fs.Sub(extension.Dist, "dist")
	if err != nil {
		return "", err
	}
	return Unpack(files, dir)
}

// embedded lists the files of the extension that is embedded in this binary.
func embedded() ([]file, string, error) {
	files, err := fs.Sub(extension.Dist, "dist")
	if err != nil {
		return nil, "", err
	}
	return readExtension(files)
}

// Unpack writes files (whose root holds the extension's manifest.json) to dir/extension-HASH and
// returns that absolute path. HASH comes from names and content, so that two versions of the
// extension never share a directory, and a browser that runs with one is not disturbed by the
// other. Hidden files are left out. What is there already and equal is used as it is; what differs
// (a half-deleted or edited directory) is replaced. Unpacking from several processes at once is safe.
func Unpack(files fs.FS, dir string) (string, error) {
	list, hash, err := readExtension(files)
	if err != nil {
		return "", err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the directory for the extension: %w", err)
	}
	target := filepath.Join(dir, "extension-"+hash)
	if holds(target, list) {
		return target, nil
	}
	return target, unpackTo(target, list)
}

// unpackTo makes target hold the files and nothing else, at once.
func unpackTo(target string, list []file) error {
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory for the extension: %w", err)
	}
	tmp, err := os.MkdirTemp(dir, ".extension-")
	if err != nil {
		return fmt.Errorf("cannot unpack the extension: %w", err)
	}
	err = writeAll(tmp, list)
	if err == nil {
		err = replaceDir(tmp, target, func() bool { return holds(target, list) })
	}
	if rerr := os.RemoveAll(tmp); err == nil {
		err = rerr
	}
	if err != nil {
		return fmt.Errorf("cannot unpack the extension to %s: %w", target, err)
	}
	return nil
}

// file is one file of the extension, its name with forward slashes.
type file struct {
	name string
	data []byte
}

// readExtension lists the files in lexical order, with a hash over all of them.
func readExtension(files fs.FS) ([]file, string, error) {
	var list []file
	sum := sha256.New()
	hasManifest := false
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		hasManifest = hasManifest || name == "manifest.json"
		fmt.Fprintf(sum, "%d %s %d ", len(name), name, len(data))
		sum.Write(data)
		list = append(list, file{name, data})
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the extension's files: %w", err)
	}
	if !hasManifest {
		return nil, "", ErrNoExtension
	}
	return list, hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// holds says whether dir has every file of list with the same content. Other files do not matter:
// browsers keep their own in a directory named _metadata.
func holds(dir string, list []file) bool {
	for _, f := range list {
		data, err := safefile.Read(filepath.Join(dir, filepath.FromSlash(f.name)), int64(len(f.data)))
		if err != nil || !bytes.Equal(data, f.data) {
			return false
		}
	}
	return true
}

func writeAll(dir string, list []file) error {
	for _, f := range list {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
	}
	// MkdirTemp made it for the owner only; a sandboxed browser process may be another user.
	return os.Chmod(dir, 0o755)
}

// replaceDir moves tmp to target, putting what was there aside first. Another process may do the
// same at the same moment: what it put there is as good when done says so.
func replaceDir(tmp, target string, done func() bool) error {
	err := os.Rename(tmp, target)
	if err == nil || done() {
		return nil
	}
	old, merr := os.MkdirTemp(filepath.Dir(target), ".old-")
	if merr != nil {
		return errors.Join(err, merr)
	}
	defer func() { _ = os.RemoveAll(old) }() // what stays of it is not looked at
	if rerr := os.Rename(target, filepath.Join(old, "extension")); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return rerr
	}
	if err := os.Rename(tmp, target); err != nil && !done() {
		return err
	}
	return nil
}

func unpackedVersion(dir string) string {
	data, err := safefile.Read(filepath.Join(dir, "manifest.json"), maxManifest)
	if err != nil {
		return ""
	}
	return extensionVersion(data)
}

func extensionVersion(manifest []byte) string {
	var m struct {
		Version string `json:"version"`
	}
	_ = json.Unmarshal(manifest, &m) // without a version it is told apart from every one
	return m.Version
}

// EmbeddedVersion is the version of the extension in this binary.
func EmbeddedVersion() (string, error) {
	list, _, err := embedded()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(f file) bool { return f.name == "manifest.json" })
	return extensionVersion(list[i].data), nil
}
