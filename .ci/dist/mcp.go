package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	registry "github.com/modelcontextprotocol/registry/pkg/api/v0"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

const (
	// description is what Tidemark is, in at most the 100 characters that the MCP registry takes.
	description = "Tells a coding agent what changed in the browser since it last looked"
	homepage    = "https://tidemark.dev"
	// registryName is the name in the MCP registry, below the reversed domain of the project.
	registryName = "dev.tidemark/tidemark"
	// nobody stands in server.json for the owner of a repository that is not known. The registry looks
	// the file up before it takes an entry, so that it cannot be published by mistake.
	nobody = "https://github.com/OWNER/tidemark"
)

// launcher starts the program for this processor: a bundle names one command for each system.
const launcher = `#!/bin/sh
# Starts the Tidemark of this system and processor.
here=$(dirname "$0")
case "$(uname -m)" in
  x86_64 | amd64) arch=amd64 ;;
  arm64 | aarch64) arch=arm64 ;;
  *) echo "tidemark: this bundle has no program for $(uname -m) processors" >&2; exit 1 ;;
esac
case "$(uname -s)" in
  Darwin) os=darwin ;;
  *) os=linux ;;
esac
exec "$here/tidemark-$os-$arch" "$@"
`

// manifest is that of a bundle, https://github.com/anthropics/mcpb/blob/main/MANIFEST.md.
type manifest struct {
	ManifestVersion string            `json:"manifest_version"`
	Name            string            `json:"name"`
	DisplayName     string            `json:"display_name"`
	Version         string            `json:"version"`
	Description     string            `json:"description"`
	Author          map[string]string `json:"author"`
	Homepage        string            `json:"homepage"`
	Icon            string            `json:"icon"`
	Server          server            `json:"server"`
	ToolsGenerated  bool              `json:"tools_generated"`
	Keywords        []string          `json:"keywords"`
	License         string            `json:"license"`
	Compatibility   compatibility     `json:"compatibility"`
}

type server struct {
	Type       string    `json:"type"`
	EntryPoint string    `json:"entry_point"`
	MCPConfig  mcpConfig `json:"mcp_config"`
}

type mcpConfig struct {
	Command           string               `json:"command,omitempty"`
	Args              []string             `json:"args,omitempty"`
	PlatformOverrides map[string]mcpConfig `json:"platform_overrides,omitempty"`
}

type compatibility struct {
	Platforms []string `json:"platforms"`
}

// mcp writes the bundle for MCP clients, and server.json with its hash.
func (r *release) mcp() error {
	icon, err := os.ReadFile(filepath.Join(r.root, "extension", "icons", "128.png"))
	if err != nil {
		return err
	}
	files := []file{{"icon.png", 0o644, icon}, {"server/tidemark", 0o755, []byte(launcher)}}
	files = append(files, r.papers...)
	var platforms []string
	for _, t := range r.targets {
		platform, name := t.os, fmt.Sprintf("server/tidemark-%s-%s", t.os, t.arch)
		if t.os == "windows" {
			if t.arch != "amd64" {
				continue // no launcher can choose there, and Windows on arm64 runs amd64 programs
			}
			platform, name = "win32", "server/tidemark.exe"
		}
		files = append(files, file{name, 0o755, t.program})
		platforms = append(platforms, platform)
	}
	slices.Sort(platforms)
	about, err := encodeJSON(manifest{
		ManifestVersion: "0.3",
		Name:            "tidemark",
		DisplayName:     "Tidemark",
		Version:         r.version,
		Description:     description,
		Author:          map[string]string{"name": "The Tidemark maintainers", "url": homepage},
		Homepage:        homepage,
		Icon:            "icon.png",
		Server: server{
			Type:       "binary",
			EntryPoint: "server/tidemark",
			MCPConfig: mcpConfig{
				Command:           "${__dirname}/server/tidemark",
				Args:              []string{"mcp"},
				PlatformOverrides: map[string]mcpConfig{"win32": {Command: "${__dirname}/server/tidemark.exe"}},
			},
		},
		ToolsGenerated: true,
		Keywords:       []string{"browser", "console", "debugging", "network", "web"},
		License:        "Apache-2.0",
		Compatibility:  compatibility{Platforms: slices.Compact(platforms)},
	})
	if err != nil {
		return err
	}
	files = append(files, file{"manifest.json", 0o644, about})

	name := "tidemark_" + r.version + ".mcpb"
	if err := r.write(name, r.zip(files)); err != nil {
		return err
	}
	return r.serverJSON(name)
}

// serverJSON writes the entry for the MCP registry, which names the published bundle.
func (r *release) serverJSON(bundle string) error {
	data, err := os.ReadFile(filepath.Join(r.out, bundle))
	if err != nil {
		return err
	}
	repository := strings.TrimSuffix(r.repository, "/")
	if repository == "" {
		repository = nobody
		fmt.Fprintln(r.log, "server.json names "+nobody+", since the repository is not known; to publish it, make dist REPOSITORY=https://github.com/OWNER/NAME")
	}
	where, source, err := download(repository, "v"+r.version, bundle)
	if err != nil {
		return err
	}
	entry, err := encodeJSON(registry.ServerJSON{
		Schema:      model.CurrentSchemaURL,
		Name:        registryName,
		Title:       "Tidemark",
		Description: description,
		Version:     r.version,
		WebsiteURL:  homepage,
		Repository:  &model.Repository{URL: repository, Source: source},
		Packages: []model.Package{{
			RegistryType: model.RegistryTypeMCPB,
			Identifier:   where,
			Version:      r.version,
			FileSHA256:   fmt.Sprintf("%x", sha256.Sum256(data)),
			Transport:    model.Transport{Type: model.TransportTypeStdio},
		}},
	})
	if err != nil {
		return err
	}
	return r.write("server.json", func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(entry)); return err })
}

// download is where a release's file is found, in the form that the registry takes, and the name that
// the registry has for such a place. It takes no other places than these.
func download(repository, tag, name string) (address, source string, err error) {
	where, err := url.Parse(repository)
	if err == nil && where.Scheme == "https" && strings.Count(where.Path, "/") >= 2 {
		switch where.Host {
		case "github.com":
			return repository + "/releases/download/" + tag + "/" + name, "github", nil
		case "gitlab.com":
			return repository + "/-/releases/" + tag + "/downloads/" + name, "gitlab", nil
		}
	}
	return "", "", errors.New("-repository " + repository + ": the MCP registry takes bundles of https://github.com/OWNER/NAME and https://gitlab.com/OWNER/NAME only")
}
