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

// userNoise reads the noise settings that were kept. A file that cannot be read is set aside, so that
// nothing of it is lost; notice is told of it.
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
		u.Save = func(*noise.Settings) error { return fmt.Errorf("%s is in the way: %w", h.Noise(), renameErr) }
		notice(fmt.Sprintf("the noise rules cannot be read, and none of them is used: %v; mend or remove %s", err, h.Noise()))
		return u
	}
	notice(fmt.Sprintf("the noise rules could not be read, and none of them is used: %v; the file is kept as %s", err, aside))
	return u
}

// saveNoise keeps the settings.
func saveNoise(h home.Home, s *noise.Settings) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	return safefile.Replace(h.Noise(), data)
}
