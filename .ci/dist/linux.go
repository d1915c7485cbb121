package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// linuxPackages writes a deb and an rpm for each Linux target. They hold files and no script: nothing
// runs when they are installed or removed.
func (r *release) linuxPackages() error {
	var linux []target
	for _, t := range r.targets {
		if t.os == "linux" {
			linux = append(linux, t)
		}
	}
	if len(linux) == 0 {
		return nil
	}
	shared, err := r.sharedFiles()
	if err != nil {
		return err
	}
	for _, t := range linux {
		for _, format := range []string{"deb", "rpm"} {
			if err := r.linuxPackage(format, t, shared); err != nil {
				return err
			}
		}
	}
	return nil
}

// linuxPackage writes one package. Its name is the one that the format's own tools give.
func (r *release) linuxPackage(format string, t target, shared []file) error {
	zsh := map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}[format]
	var contents files.Contents
	for i, f := range append([]file{{"/usr/bin/tidemark", 0o755, t.program}}, shared...) {
		source := filepath.Join(r.scratch, fmt.Sprint(i)) // nfpm reads from disk
		if err := os.WriteFile(source, f.data, 0o600); err != nil {
			return err
		}
		contents = append(contents, &files.Content{
			Source:      source,
			Destination: strings.ReplaceAll(f.name, "ZSH", zsh),
			FileInfo:    &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.when},
		})
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name:       "tidemark",
		Arch:       t.arch,
		Platform:   "linux",
		Version:    r.version,
		Release:    "1",
		Section:    "devel",
		Priority:   "optional",
		Maintainer: "The Tidemark maintainers <maintainers@tidemark.dev>",
		Vendor:     "Tidemark",
		Homepage:   homepage,
		License:    "Apache-2.0",
		Description: description + "\n" +
			"A browser extension streams what happens in the tabs that you watch to this program, which keeps\n" +
			"checkpoints and tells an agent, over MCP, only what is new. Nothing leaves the machine.",
		MTime: r.when,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{Summary: description, BuildHost: "tidemark.dev", Group: "Development/Tools"},
		},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	name := packager.ConventionalFileName(info)
	return r.write(name, func(w io.Writer) error { return packager.Package(info, w) })
}

// sharedFiles are those that are the same for each processor: papers, completions, the manual.
func (r *release) sharedFiles() ([]file, error) {
	var shared []file
	for _, paper := range r.papers {
		name := paper.name
		if name == "LICENSE" {
			name = "copyright" // the name that Debian's tools look for
		}
		shared = append(shared, file{"/usr/share/doc/tidemark/" + name, 0o644, paper.data})
	}
	program, err := r.runnable()
	if err != nil {
		return nil, err
	}
	for _, completion := range []struct{ shell, path string }{
		{"bash", "/usr/share/bash-completion/completions/tidemark"},
		{"fish", "/usr/share/fish/vendor_completions.d/tidemark.fish"},
		{"zsh", "/usr/share/zsh/ZSH/_tidemark"},
	} {
		data, err := output(exec.Command(program, "completion", completion.shell))
		if err != nil {
			return nil, err
		}
		shared = append(shared, file{completion.path, 0o644, data})
	}
	manual, err := r.manual(program)
	return append(shared, file{"/usr/share/man/man1/tidemark.1.gz", 0o644, manual}), err
}

// manual is one manual page, made of what each command says about itself, compressed as
// distributions have it.
func (r *release) manual(program string) ([]byte, error) {
	var page bytes.Buffer
	fmt.Fprintf(&page, ".TH TIDEMARK 1 %s \"Tidemark %s\"\n.SH NAME\ntidemark \\- %s\n.SH COMMANDS\n", r.when.Format("2006-01-02"), r.version, roff(description))
	if err := manualOf(&page, program); err != nil {
		return nil, err
	}
	fmt.Fprintf(&page, ".SH SEE ALSO\n/usr/share/doc/tidemark, %s\n", roff(homepage))

	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(page.Bytes()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// manualOf writes the help of one command, and of those below it.
func manualOf(page io.Writer, program string, command ...string) error {
	help, err := output(exec.Command(program, append(command, "--help")...))
	if err != nil {
		return err
	}
	fmt.Fprintf(page, ".SS \"%s\"\n.nf\n%s\n.fi\n", roff(strings.Join(append([]string{"tidemark"}, command...), " ")), roff(strings.TrimSpace(string(help))))
	_, list, _ := strings.Cut(string(help), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name == "help" || name == "completion" {
			continue
		}
		if err := manualOf(page, program, append(command, name)...); err != nil {
			return err
		}
	}
	return nil
}

// roff escapes text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
