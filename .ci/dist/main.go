// Command dist builds everything that a release consists of: archives of the host for each system, deb
// and rpm, a bundle for MCP clients with its entry for the MCP registry, the extension for the store, and
// SHA256SUMS. `make dist` runs it.
//
// The same sources, Go, Node and SOURCE_DATE_EPOCH (else the time of the last commit) give the same bytes,
// in whatever directory, time zone and umask, and whoever builds.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "dist", "the folder to write; what is in it is removed")
	targets := flag.String("targets", allTargets, "the systems to build for, as GOOS/GOARCH")
	repository := flag.String("repository", "", "where releases are published: https://github.com/OWNER/NAME, or the same of gitlab.com")
	flag.Parse()
	if err := run(*root, *out, *targets, *repository, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is what the parts of a release have in common.
type release struct {
	root       string
	repository string
	version    string
	// when is the time that every file carries, in UTC.
	when    time.Time
	targets []target
	// papers go into every archive: licence, README, notices.
	papers []file
	// out is the folder to write, scratch one for the time of the run.
	out, scratch string
	// log hears what is going on.
	log io.Writer
}

// target is one system to build for, with the program built for it.
type target struct {
	os, arch string
	program  []byte
}

// file is one entry of an archive.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

func run(root, out, targets, repository string, log io.Writer) (err error) {
	r := release{root: root, repository: repository, out: out, log: log}
	if r.scratch, err = os.MkdirTemp("", "tidemark-dist-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	var pkg struct{ Version string }
	if err := readJSON(filepath.Join(root, "package.json"), &pkg); err != nil {
		return err
	}
	r.version = pkg.Version
	if r.when, err = releaseTime(root); err != nil {
		return err
	}
	extension, err := r.extension()
	if err != nil {
		return err
	}
	for _, name := range strings.Split(targets, ",") {
		goos, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("-targets: %q is not GOOS/GOARCH", name)
		}
		r.targets = append(r.targets, target{os: goos, arch: arch})
	}
	if err := r.readPapers(); err != nil {
		return err
	}
	for i := range r.targets {
		if err := r.build(&r.targets[i]); err != nil {
			return err
		}
	}

	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.archive(t); err != nil {
			return err
		}
	}
	if err := r.linuxPackages(); err != nil {
		return err
	}
	if err := r.write("tidemark-extension_"+r.version+".zip", r.zip(extension)); err != nil {
		return err
	}
	if err := r.mcp(); err != nil {
		return err
	}
	return r.checksums()
}

// releaseTime is SOURCE_DATE_EPOCH, else the time of the last commit.
func releaseTime(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		git := exec.Command("git", "-C", root, "log", "-1", "--format=%ct")
		data, err := git.Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the last commit is not known (%s: %w); set SOURCE_DATE_EPOCH to the release's time in seconds", git, err)
		}
		text = string(data)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build compiles the host for t. Whatever a machine's environment could change is set here.
func (r *release) build(t *target) error {
	fmt.Fprintf(r.log, "building for %s/%s …\n", t.os, t.arch)
	path := r.programPath(*t)
	if _, err := r.goCommand(*t, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+r.version, "-o", path, "./host/cmd/tidemark"); err != nil {
		return err
	}
	var err error
	t.program, err = os.ReadFile(path)
	return err
}

// programPath is where the program for t lies during the run.
func (r *release) programPath(t target) string {
	return filepath.Join(r.scratch, t.os+"-"+t.arch+t.suffix())
}

// goCommand runs go at the root as if on t, and returns what it printed.
func (r *release) goCommand(t target, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0",
		"GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0")
	return output(cmd)
}

// output runs cmd; what it said is part of the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, said.Bytes())
	}
	return out.Bytes(), nil
}

// runnable is a program that this machine can run, to ask it for its help and completions.
func (r *release) runnable() (string, error) {
	here := target{os: runtime.GOOS, arch: runtime.GOARCH}
	path := r.programPath(here)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return path, r.build(&here)
	}
	return path, nil
}

// suffix is how a program's name ends.
func (t target) suffix() string {
	if t.os == "windows" {
		return ".exe"
	}
	return ""
}

// readPapers reads and generates what goes into every archive.
func (r *release) readPapers() error {
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		r.papers = append(r.papers, file{name, 0o644, data})
	}
	notices, err := r.notices()
	if err != nil {
		return err
	}
	r.papers = append(r.papers, file{"THIRD_PARTY_NOTICES", 0o644, notices})
	return nil
}

// extension builds the extension, which the programs embed, and returns it as the Chrome Web Store takes
// it: the manifest's key, which gives the unpacked extension its fixed id, is refused there.
func (r *release) extension() ([]file, error) {
	fmt.Fprintln(r.log, "building the extension …")
	build := exec.Command("node", "extension/build.mjs")
	build.Dir = r.root
	if _, err := output(build); err != nil {
		return nil, err
	}
	dist := os.DirFS(filepath.Join(r.root, "extension", "dist"))
	var files []file
	err := fs.WalkDir(dist, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == ".gitignore" {
			return err
		}
		data, err := fs.ReadFile(dist, path)
		files = append(files, file{path, 0o644, data})
		return err
	})
	if err != nil {
		return nil, err
	}
	manifest := slices.IndexFunc(files, func(f file) bool { return f.name == "manifest.json" })
	var fields map[string]any
	if err := json.Unmarshal(files[manifest].data, &fields); err != nil {
		return nil, fmt.Errorf("extension/dist/manifest.json: %w", err)
	}
	delete(fields, "key")
	files[manifest].data, err = encodeJSON(fields)
	return files, err
}

func readJSON(path string, value any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func encodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}
