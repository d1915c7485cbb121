package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
)

// knownEditors are programs that open a directory, the first one that is found.
var knownEditors = []string{"code", "cursor", "windsurf", "codium", "zed", "subl", "idea", "webstorm", "goland", "pycharm", "phpstorm", "rubymine"}

// editorOf returns the command that opens a directory: the configured one, else $VISUAL, else an editor that is found.
// $VISUAL is a program or a line with arguments. An error of it names what the user chose.
func editorOf(configured []string, visual string, find func(string) (string, error)) (argv []string, name string, err error) {
	if len(configured) > 0 {
		return configured, configured[0], nil
	}
	if visual = strings.TrimSpace(visual); visual != "" {
		if path, err := find(visual); err == nil {
			return []string{path}, visual, nil
		}
		return linedCommand(visual), visual, nil
	}
	for _, name := range knownEditors {
		if path, err := find(name); err == nil {
			return []string{path}, name, nil
		}
	}
	return nil, "", errors.New("no editor was found. Set VISUAL, or open_ide under [timeline] in config.toml.")
}

// openIDE opens a directory in the user's editor, which gets the terminal.
func openIDE(ctx context.Context, dir string) error {
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	c, err := daemon.ReadConfig(h.Config)
	if err != nil {
		return err
	}
	argv, name, err := editorOf(c.Timeline.OpenIDE, os.Getenv("VISUAL"), exec.LookPath)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:len(argv):len(argv)], dir)...) //nolint:gosec // the user's own command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot open %s with %s: %w", dir, name, err)
	}
	return nil
}
