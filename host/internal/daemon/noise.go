package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/installer/safefile"
)

// userNoise reads the noise settings that were kept. A file that cannot be read is set aside, so that
// nothing of it is lost; notice is told of it.
func (h Home) userNoise(now time.Time, notice func(string)) noiserules.UserNoise {
	u := noiserules.UserNoise{Settings: &noise.Settings{}, Save: h.saveNoise}
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
func (h Home) saveNoise(s *noise.Settings) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	return ReplaceFile(h.Noise(), data)
}

// ReplaceFile writes a file in one step: whoever reads it finds the old content or the new. Its rights stay
// as they are; a new one is its user's alone.
func ReplaceFile(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
