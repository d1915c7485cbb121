package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/installer/safefile"
)

// userNoise reads the user's noise settings. It sets an unreadable file aside, so that its content is not lost, and
// calls notice.
func userNoise(h home.Home, now time.Time, notice func(string)) noiserules.UserNoise {
	u := noiserules.UserNoise{Settings: &noise.Settings{}, Save: func(s *noise.Settings) error { return saveNoise(h, s) }}
	data, err := safefile.Read(h.Noise(), maxSettings)
	if errors.Is(err, os.ErrNotExist) {
		return u
	}
	if err == nil {
		var settings *noise.Settings
		if settings, u.Problems, err = noise.ParseSettings(data, now); err == nil {
			u.Settings = settings
			return u
		}
	}
	aside := h.Noise() + ".damaged"
	if renameErr := os.Rename(h.Noise(), aside); renameErr != nil {
		u.Save = func(*noise.Settings) error { return fmt.Errorf("cannot replace %s: %w", h.Noise(), renameErr) }
		notice(fmt.Sprintf("cannot read the noise rules: %v. None of them is active. Fix or remove %s.", err, h.Noise()))
		return u
	}
	notice(fmt.Sprintf("cannot read the noise rules: %v. None of them is active. The file was renamed to %s.", err, aside))
	return u
}

// saveNoise writes the settings to disk.
func saveNoise(h home.Home, s *noise.Settings) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	return safefile.Replace(h.Noise(), data)
}
