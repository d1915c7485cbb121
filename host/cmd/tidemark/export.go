package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer/safefile"
)

func newExport() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write a checkpoint to a file",
		Long: `Write a checkpoint as JSON: endpoints with their status and speed, visible error elements, and scope.
The file contains no bodies, messages or secrets. Keep a known-good state in a repository and compare
with it anywhere, such as in CI:

  tidemark changes --since known_good.json --fail-on error`,
		Example: "  tidemark export known_good --output known_good.json",
		Args:    someArgs(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.Export(cmd.Context(), api.FileRequest{Name: args[0]}, &raw); err != nil {
				return err
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, raw, "", "  "); err != nil {
				return err
			}
			pretty.WriteByte('\n')
			err = writeOutput(cmd, to, func(out io.Writer) error {
				_, err := pretty.WriteTo(out)
				return err
			})
			if err != nil || to == "" || to == "-" {
				return err
			}
			return render.Line(cmd.OutOrStdout(), "wrote %s to %s", args[0], to)
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "file to write (default: standard output)")
	return cmd
}

func newImport() *cobra.Command {
	var as string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Create a checkpoint from an exported file",
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
			if err := c.Import(cmd.Context(), api.FileRequest{File: file, As: as}, &raw); err != nil {
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
			replaced := ""
			if made.Replaced != nil {
				replaced = fmt.Sprintf(" It replaced the one from %s.", made.Replaced)
			}
			return render.Line(cmd.OutOrStdout(), "imported %s.%s Since then: %s  %s", made.Name, replaced, how, what)
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "name of the new checkpoint (default: the exported name)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// scopedName matches a checkpoint name with its scope: session_start@http://localhost:5173.
var scopedName = lazyregexp.New(`^[a-z][a-z0-9_]*@`)

// isCheckpointFile reports whether --since names a file. Apart from scoped names, no checkpoint name and no
// time contains a path separator or ends in .json.
func isCheckpointFile(since string) bool {
	return !scopedName().MatchString(since) && (strings.ContainsRune(since, '/') || strings.ContainsRune(since, filepath.Separator) || strings.EqualFold(filepath.Ext(since), ".json"))
}

// readCheckpoint reads an exported checkpoint. The error says why a file cannot be used.
func readCheckpoint(path string) ([]byte, error) {
	data, err := safefile.Read(path, checkpoint.MaxFile)
	if err != nil {
		if system := (*fs.PathError)(nil); errors.As(err, &system) {
			err = fmt.Errorf("cannot read %s: %w", path, system.Err)
		}
		return nil, usageError{err}
	}
	if _, err := checkpoint.ParseFile(data); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return data, nil
}
