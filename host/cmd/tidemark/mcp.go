package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/tool"
)

func newMCP() *cobra.Command {
	var origins, sets []string
	var workspace string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over MCP on standard input and output",
		Long: `Serve an agent over MCP (stdio). It may be started before or after the browser.

By default the agent hears of every watched tab. --origin, or origins in the project's .tidemark.toml,
narrows it to its own project:

  claude mcp add tidemark -- tidemark mcp --origin http://localhost:5173

Its tools come in sets (observe, act, debug), so that the agent pays only for what it uses; --tools says which
it gets. Files that it uploads to a page come from the workspace alone.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := home.Find(version)
			if err != nil {
				return err
			}
			scope := &projectScope{file: findProject()}
			if len(origins) > 0 {
				if scope.origins, err = scopeOrigins("--origin", origins); err != nil {
					return err
				}
				scope.known = true
			}
			var p daemon.Preamble
			if cmd.Flags().Changed("tools") {
				if p.Tidemark.Tools, err = tool.CheckSets(sets); err != nil {
					return usageError{fmt.Errorf("--tools: %w", err)}
				}
			}
			if p.Tidemark.Workspace, err = findWorkspace(workspace); err != nil {
				return usageError{err}
			}
			_, _ = scope.look() // a mistake is told with every answer: without its tools an agent would never know
			p.Tidemark.Client, p.Tidemark.Session, p.Tidemark.Project = "mcp", rand.Text(), scope.file
			b := &bridge{in: os.Stdin, out: os.Stdout, look: scope.look, dial: func(ctx context.Context) (net.Conn, error) {
				p.Tidemark.Origins = scope.origins
				preamble, err := json.Marshal(p)
				if err != nil {
					return nil, err
				}
				conn, err := h.Dial(ctx, home.MCPSocket)
				if err != nil {
					return nil, err
				}
				if _, err := conn.Write(append(preamble, '\n')); err != nil {
					_ = conn.Close()
					return nil, fmt.Errorf("%w: %w", home.ErrUnreachable, err)
				}
				return conn, nil
			}}
			return b.run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVar(&origins, "origin", nil, "hear only of pages of this origin (repeatable)")
	cmd.Flags().StringSliceVar(&sets, "tools", nil, "sets of tools, separated by commas: "+strings.Join(tool.Sets, ", ")+" (default: [tools] sets in config.toml, else "+strings.Join(tool.DefaultSets, ",")+")")
	cmd.Flags().StringVar(&workspace, "workspace", "", "directory that files may be uploaded from (default: the working directory)")
	return cmd
}

// findWorkspace is the directory that an agent works in, absolute: the one that it names, else the working
// directory, unless that is the root: then nobody chose it, and there is none.
func findWorkspace(named string) (string, error) {
	if named == "" {
		dir, err := os.Getwd()
		if err != nil || filepath.Dir(dir) == dir {
			return "", nil
		}
		return dir, nil
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("--workspace: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("--workspace: %s is no directory", dir)
	}
	return dir, nil
}
