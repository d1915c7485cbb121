package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/recording"
)

func newTimelineExport() *cobra.Command {
	var cast, to string
	var idle float64
	var ttyrec, segmented bool
	cmd := &cobra.Command{
		Use:   "export [RECORDING]",
		Short: "Write a recording of a terminal as asciicast",
		Long: `Write a recording of a terminal as asciicast, which asciinema plays. RECORDING is its ID or name; without it, the
newest is meant. Commands are markers. --idle-limit shortens pauses. --ttyrec writes the output alone, for ttyplay and IPBT.

--segmented writes a directory for web pages. asciinema-player 3.18 or later seeks in it without loading all of it:
AsciinemaPlayer.create({ url: "fix-cart/index.json", format: "segmented" }, element)`,
		Example: `  tidemark timeline export --cast v3 --output fix-cart.cast fix-cart
  tidemark timeline export --segmented --output fix-cart fix-cart
  tidemark timeline export --cast v2 --idle-limit 2 | asciinema play -`,
		Args: someArgs(0, 1, "one recording, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			versions := map[string]int{"v2": 2, "v3": 3}
			if versions[cast] == 0 {
				return usageError{fmt.Errorf("--cast is %q; it must be v2 or v3", cast)}
			}
			for _, other := range []string{"cast", "idle-limit"} {
				if ttyrec && cmd.Flags().Changed(other) {
					return usageError{errors.New("--ttyrec takes neither --cast nor --idle-limit")}
				}
			}
			if segmented && (ttyrec || cmd.Flags().Changed("cast")) {
				return usageError{errors.New("--segmented takes neither --cast nor --ttyrec")}
			}
			if segmented && (to == "" || to == "-") {
				return usageError{errors.New("--segmented writes a directory. Name a new one with --output.")}
			}
			if ttyrec && (to == "" || to == "-") && isTerminal(cmd.OutOrStdout()) {
				return usageError{errors.New("--ttyrec writes what the program printed, which this terminal would obey. Name a file with --output, or use a pipe.")}
			}
			if math.IsNaN(idle) || idle < 0 || idle > recording.MaxIdleLimit {
				return usageError{fmt.Errorf("--idle-limit must be from 0 to %d", recording.MaxIdleLimit)}
			}
			h, err := home.Find(version)
			if err != nil {
				return err
			}
			r, err := recording.Store{Dir: h.Terminals()}.Open(first(args))
			if err != nil {
				return err
			}
			defer func() { _ = r.Close() }()
			if !cmd.Flags().Changed("idle-limit") {
				settings, err := daemon.ReadConfig(h.Config)
				if err != nil {
					return err
				}
				idle = settings.Terminals.IdleLimit
			}
			limit := time.Duration(idle * float64(time.Second))
			if segmented {
				return recording.WriteSegmented(to, r, limit)
			}
			return writeOutput(cmd, to, func(out io.Writer) error {
				if ttyrec {
					return recording.WriteTTYRec(out, r)
				}
				return recording.WriteCast(out, r, recording.CastOptions{Version: versions[cast], IdleLimit: limit})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&cast, "cast", "v3", "version of the format: v2 or v3")
	f.BoolVar(&ttyrec, "ttyrec", false, "write ttyrec instead")
	f.BoolVar(&segmented, "segmented", false, "write a directory of segments for asciinema-player")
	f.StringVarP(&to, "output", "o", "", "file or directory to write (default: standard output)")
	f.Float64Var(&idle, "idle-limit", 0, "longest pause in seconds, 0 for all (default: that of config.toml)")
	return cmd
}
