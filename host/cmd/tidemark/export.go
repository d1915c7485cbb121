package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer/safefile"
)

func newExport() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write a checkpoint to a file, to keep a known-good state in a repository",
		Long: `Writes a checkpoint as JSON: endpoints with their status and speed, visible error elements, scope.
No bodies, no messages, no secrets are in it. Compare with it anywhere, as in CI:

  tidemark changes --since known_good.json --fail-on error`,
		Example: "  tidemark export known_good --output known_good.json",
		Args:    someArgs(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodPost, "/v1/export", api.FileRequest{Name: args[0]}, &raw); err != nil {
				return err
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, raw, "", "  "); err != nil {
				return err
			}
			pretty.WriteByte('\n')
			if to == "" || to == "-" {
				_, err := pretty.WriteTo(cmd.OutOrStdout())
				return err
			}
			if err := os.WriteFile(to, pretty.Bytes(), 0o644); err != nil {
				return err
			}
			return render.Line(cmd.OutOrStdout(), "%s is in %s", args[0], to)
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "the file to write (default: standard output)")
	return cmd
}

func newImport() *cobra.Command {
	var as string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Make an exported state a checkpoint again",
		Example: "  tidemark import known_good.json --as colleagues_state",
		Args:    someArgs(1, 1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := readCheckpoint(args[0])
			if err != nil {
				return err
			}
			c, err := newClient()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodPost, "/v1/import", api.FileRequest{File: file, As: as}, &raw); err != nil {
				return err
			}
			if asJSON {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", raw)
				return err
			}
			var made observe.CheckpointCreated
			if err := json.Unmarshal(raw, &made); err != nil {
				return err
			}
			how, what := render.Standing(made.Severity, made.Summary)
			return render.Line(cmd.OutOrStdout(), "%s set; since it: %s  %s", made.Name, how, what)
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "another name for it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// scopedName is a checkpoint's name with whose it is: session_start@http://localhost:5173.
var scopedName = regexp.MustCompile(`^[a-z][a-z0-9_]*@`)

// isCheckpointFile says whether --since names a file: no name of a checkpoint and no time has a path's
// separator or ends like this, but for a name with its scope.
func isCheckpointFile(since string) bool {
	return !scopedName.MatchString(since) && (strings.ContainsRune(since, '/') || strings.ContainsRune(since, filepath.Separator) || strings.EqualFold(filepath.Ext(since), ".json"))
}

// readCheckpoint reads an exported checkpoint, and says what is wrong with one that cannot be used.
func readCheckpoint(path string) ([]byte, error) {
	data, err := safefile.Read(path, checkpoint.MaxFile)
	if err != nil {
		return nil, usageError{err}
	}
	if _, err := checkpoint.ParseFile(data); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return data, nil
}
