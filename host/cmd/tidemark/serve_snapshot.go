package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/imagefs"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
)

// newServeSnapshot is the process of a mounted snapshot. See [workspace.ServeSnapshot].
func newServeSnapshot() *cobra.Command {
	return &cobra.Command{
		Use:    workspace.ServeSnapshot + " DIR",
		Short:  "Serve the files of a snapshot until they are unmounted",
		Hidden: true,
		Args:   someArgs(1, 1, "the directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := overlay.ServedFor(args[0])
			if err := overlay.Lock(s.Lock); err != nil {
				return err
			}
			asked, err := overlay.Asked(s.Lock)
			if err != nil {
				return err
			}
			return imagefs.Serve(cmd.Context(), imagefs.Options{
				Image: image.Files{Index: s.Index, Changes: s.Changes, Packs: s.Packs}, Dir: s.At, Source: overlay.Source, Written: s.Written, Sealed: s.Sealed, Asked: asked,
				Ready: func() { fmt.Fprintln(cmd.OutOrStdout(), overlay.Ready) },
			})
		},
	}
}
