// Package unpack unpacks the extension that is embedded in this binary to a directory that a browser can load.
//
// Guarantees: a directory that it writes holds all files of one version of the extension, or does not exist. Unpacking
// the same version twice changes nothing. Several processes can unpack at once.
package unpack

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
	"strings"

	"tidemark.dev/tidemark/extension"
	"tidemark.dev/tidemark/installer/safefile"
)

// ErrNoExtension says that the binary was built without the extension.
var ErrNoExtension = errors.New("this binary was built without the extension; run `make build`")

// Extension unpacks the extension that is embedded in this binary to dir/extension-HASH and returns that absolute path,
// which a browser can load. HASH covers names and content: two versions of the extension never share a directory, so
// unpacking one does not disturb a browser that runs the other. A directory with equal files is reused, and one that
// differs (half deleted, or edited) is replaced. A binary without the extension gives [ErrNoExtension].
func Extension(dir string) (string, error) {
	files, err := fs.Sub(extension.Dist, "dist")
	if err != nil {
		return "", err
	}
	return unpack(files, dir)
}

// Tree is the files of an extension.
type Tree struct {
	files []file
	hash  string // of all names and contents
}

// Embedded returns the extension that is embedded in this binary, or [ErrNoExtension].
func Embedded() (Tree, error) {
	files, err := fs.Sub(extension.Dist, "dist")
	if err != nil {
		return Tree{}, err
	}
	return read(files)
}

// Version returns the version in the extension's manifest, "" if there is none.
func (t Tree) Version() string {
	for _, f := range t.files {
		if f.name == "manifest.json" {
			return versionOf(f.data)
		}
	}
	return ""
}

// maxManifest bounds the manifest of an unpacked extension, in bytes.
const maxManifest = 1 << 20

// Version returns the version of the extension that is unpacked in dir, "" if there is none.
func Version(dir string) string {
	data, err := safefile.Read(filepath.Join(dir, "manifest.json"), maxManifest)
	if err != nil {
		return ""
	}
	return versionOf(data)
}

func versionOf(manifest []byte) string {
	var m struct {
		Version string `json:"version"`
	}
	_ = json.Unmarshal(manifest, &m) // no version differs from every version
	return m.Version
}

// unpack writes files, whose root holds the extension's manifest.json, to dir/extension-HASH. It omits hidden files.
func unpack(files fs.FS, dir string) (string, error) {
	t, err := read(files)
	if err != nil {
		return "", err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the directory for the extension: %w", err)
	}
	target := filepath.Join(dir, "extension-"+t.hash)
	if t.In(target) {
		return target, nil
	}
	return target, t.Unpack(target)
}

// Unpack replaces target with the files of the extension, in one step.
func (t Tree) Unpack(target string) error {
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot create the directory for the extension: %w", err)
	}
	tmp, err := os.MkdirTemp(dir, ".extension-")
	if err != nil {
		return fmt.Errorf("cannot unpack the extension: %w", err)
	}
	err = writeAll(tmp, t.files)
	if err == nil {
		err = replaceDir(tmp, target, func() bool { return t.In(target) })
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

// read returns the files in lexical order and a hash over all of them.
func read(files fs.FS) (Tree, error) {
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
		return Tree{}, fmt.Errorf("cannot read the extension's files: %w", err)
	}
	if !hasManifest {
		return Tree{}, ErrNoExtension
	}
	return Tree{list, hex.EncodeToString(sum.Sum(nil)[:6])}, nil
}

// In reports whether dir has every file with the same content. It ignores other files: browsers keep their own in a
// directory named _metadata.
func (t Tree) In(dir string) bool {
	for _, f := range t.files {
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

// replaceDir moves tmp to target and the old target aside. Another process may do the same at the same time. Its
// result is accepted if done returns true.
func replaceDir(tmp, target string, done func() bool) error {
	err := os.Rename(tmp, target)
	if err == nil || done() {
		return nil
	}
	old, merr := os.MkdirTemp(filepath.Dir(target), ".old-")
	if merr != nil {
		return errors.Join(err, merr)
	}
	defer func() { _ = os.RemoveAll(old) }() // leftovers are harmless
	if rerr := os.Rename(target, filepath.Join(old, "extension")); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return rerr
	}
	if err := os.Rename(tmp, target); err != nil && !done() {
		return err
	}
	return nil
}
