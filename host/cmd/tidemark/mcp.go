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
		Long: `Serve an agent over MCP (stdio). Start it before or after the browser.

By default the agent sees every watched tab. Use --origin, or origins in the project's .tidemark.toml,
to limit it to its own project:

  claude mcp add tidemark -- tidemark mcp --origin http://localhost:5173

Tools come in sets, so that an agent pays only for those it uses: observe, act, debug, timetravel.
Select them with --tools. The agent can upload files to a page only from the workspace.`,
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
			ofFile := !scope.known
			var p daemon.Preamble
			if cmd.Flags().Changed("tools") {
				if p.Tidemark.Tools, err = tool.CheckSets(sets); err != nil {
					return usageError{fmt.Errorf("--tools: %w", err)}
				}
			}
			if p.Tidemark.Workspace, err = findWorkspace(workspace); err != nil {
				return usageError{err}
			}
			_, _ = scope.look() // every answer reports an error; without tools an agent would never see it
			p.Tidemark.Client, p.Tidemark.Session, p.Tidemark.Project = "mcp", rand.Text(), scope.file
			b := &bridge{
				in: os.Stdin, out: os.Stdout, look: scope.look,
				dial: func(ctx context.Context) (net.Conn, error) { return h.Dial(ctx, home.MCPSocket) },
				preamble: func() ([]byte, error) {
					p.Tidemark.Origins, p.Tidemark.Shift = scope.origins, ofFile && shifts()
					return json.Marshal(p)
				},
			}
			return b.run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVar(&origins, "origin", nil, "limit the agent to pages of this origin (repeatable)")
	cmd.Flags().StringSliceVar(&sets, "tools", nil, "tool sets, separated by commas: "+strings.Join(tool.Sets, ", ")+" (default: [tools] sets in config.toml, else "+strings.Join(tool.DefaultSets, ",")+")")
	cmd.Flags().StringVar(&workspace, "workspace", "", "directory that files may be uploaded from (default: the working directory)")
	return cmd
}

// findWorkspace returns the absolute path of the agent's workspace: the named directory, else the working
// directory. A working directory of / was not chosen by anyone and gives no workspace.
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
	dir = outside(dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("--workspace: %s is not a directory", dir)
	}
	return dir, nil
}
