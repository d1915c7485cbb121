package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// legal matches the names of files that say under which terms a package may be passed on.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// notices are the terms of everything of others that is shipped: the Go modules that are linked into the
// program for any of the systems, Go itself, and the npm packages that are bundled into the extension.
func (r *release) notices() ([]byte, error) {
	texts := make(map[string]string) // "name version" → its terms
	if err := r.goNotices(texts); err != nil {
		return nil, err
	}
	if err := r.npmNotices(texts); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	all.WriteString("Tidemark contains software of others, under the terms that follow.\n")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		line := strings.Repeat("=", 100)
		fmt.Fprintf(&all, "\n%s\n%s\n%s\n\n%s\n", line, name, line, strings.TrimSpace(strings.ReplaceAll(texts[name], "\r\n", "\n")))
	}
	return all.Bytes(), nil
}

func (r *release) goNotices(texts map[string]string) error {
	seen := make(map[string]bool)
	for _, t := range r.targets {
		list, err := r.goCommand(t, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./host/cmd/tidemark")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(list)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue // a package of the standard library, or our own
			}
			name, root, dir := fields[0], fields[1], fields[2]
			// A package may carry terms of its own, beside those of its module.
			for ; !seen[dir] && strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
				seen[dir] = true
				text, err := terms(dir)
				if err != nil {
					return err
				}
				texts[name] += text
			}
		}
	}
	for name, text := range texts {
		if text == "" {
			return fmt.Errorf("%s has no licence file; it cannot be shipped", name)
		}
	}
	goroot, err := r.goCommand(target{}, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(goroot)), "\n")
	text, err := terms(root)
	if err != nil {
		return err
	}
	texts["Go "+strings.TrimPrefix(version, "go")+" (standard library)"] = cmp.Or(text, "See https://go.dev/LICENSE.")
	return nil
}

// terms are the legal files of one folder, one after the other.
func terms(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || !legal.MatchString(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s\n\n", bytes.TrimSpace(data))
	}
	return text.String(), nil
}

// npmNotices reads what extension/build.mjs found in the bundles.
func (r *release) npmNotices(texts map[string]string) error {
	var lists []string
	for _, bundle := range []string{"extension/dist", "web/dashboard/dist"} {
		found, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(bundle), "licenses", "*.json"))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%s/licenses is empty; extension/build.mjs should have written what it bundles", bundle)
		}
		lists = append(lists, found...)
	}
	for _, list := range lists {
		var packages []struct{ Name, Version, Identifier, Text string }
		if err := readJSON(list, &packages); err != nil {
			return err
		}
		for _, p := range packages {
			if p.Text == "" {
				return fmt.Errorf("npm package %s %s has no licence file; it cannot be shipped", p.Name, p.Version)
			}
			texts[p.Name+" "+p.Version] = p.Text
		}
	}
	return nil
}
