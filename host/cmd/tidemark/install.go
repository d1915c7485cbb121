package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/installer"
)

func newInstall() *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use:   "install --user-data-dir DIR",
		Short: "Let the extension in a browser profile reach Tidemark",
		Long: `Writes the native-messaging manifest for one browser profile, and unpacks the extension.

Then start the browser with that profile and load the extension from the directory that is printed
(chrome://extensions, Developer mode, Load unpacked).`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if profile == "" {
				return usageError{errors.New("--user-data-dir is missing: which profile? (`tidemark browser` needs no installation)")}
			}
			home, err := daemon.FindHome(version)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			manifest, err := installer.InstallProfile(profile, self)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote     %s\n", manifest)
			extension, err := installer.UnpackExtension(home.Extensions())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "extension %s\n", extension)
			return nil
		},
	}
	cmd.Flags().StringVar(&profile, "user-data-dir", "", "the browser's profile directory (--user-data-dir of the browser)")
	return cmd
}
