package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
)

func newMCP() *cobra.Command {
	var origins []string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over MCP on standard input and output",
		Long: `Serve an agent over MCP (stdio). It may be started before or after the browser.

By default the agent hears of every watched tab. --origin, or origins in the project's .tidemark.toml,
narrows it to its own project:

  claude mcp add tidemark -- tidemark mcp --origin http://localhost:5173`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := daemon.FindHome(version)
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
			_, _ = scope.look() // a mistake is told with every answer: without its tools an agent would never know
			var p daemon.Preamble
			p.Tidemark.Client, p.Tidemark.Session, p.Tidemark.Project = "mcp", rand.Text(), scope.file
			b := &bridge{in: os.Stdin, out: os.Stdout, look: scope.look, dial: func(ctx context.Context) (net.Conn, error) {
				p.Tidemark.Origins = scope.origins
				preamble, err := json.Marshal(p)
				if err != nil {
					return nil, err
				}
				conn, err := home.Dial(ctx, daemon.MCPSocket)
				if err != nil {
					return nil, err
				}
				if _, err := conn.Write(append(preamble, '\n')); err != nil {
					_ = conn.Close()
					return nil, fmt.Errorf("%w: %w", daemon.ErrUnreachable, err)
				}
				return conn, nil
			}}
			return b.run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVar(&origins, "origin", nil, "hear only of pages of this origin (repeatable)")
	return cmd
}
