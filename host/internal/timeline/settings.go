package timeline

import "errors"

// Settings are the user's settings for the timeline, the section [timeline] of config.toml.
type Settings struct {
	// Fence is a command that runs in a project after each new file snapshot, with its arguments. None runs nothing.
	Fence []string `toml:"fence"`
	// FenceSeconds is how long it may take. 0 means 60.
	FenceSeconds float64 `toml:"fence_seconds"`
	// OpenIDE is the command with which `tidemark timeline seek --open-ide` opens a directory.
	OpenIDE []string `toml:"open_ide"`
}

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	switch {
	case s.FenceSeconds < 0 || s.FenceSeconds > 3600:
		return errors.New("fence_seconds must be more than 0, and at most 3600")
	case len(s.Fence) > 0 && s.Fence[0] == "", len(s.OpenIDE) > 0 && s.OpenIDE[0] == "":
		return errors.New(`a command begins with a program, as in ["mutagen", "sync", "flush", "--all"]`)
	}
	return nil
}
