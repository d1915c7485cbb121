package installer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tidemark.dev/tidemark/installer/settings"
	"tidemark.dev/tidemark/protocol"
)

// decode reads a record and checks that an installation could have written all of it. Uninstall removes what a
// record names, so a damaged record must not lead to other files.
func (r *Record) decode(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return errors.New("it is not a JSON object")
	}
	if err := json.Unmarshal(data, r); err != nil {
		return err
	}
	if r.Format != recordFormat {
		return nil // ReadRecord reports it
	}
	for i := range r.Written {
		if err := r.Written[i].check(); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	written := r.Written
	r.Written = nil
	for _, w := range written {
		if r.find(w.Path, w.Registry) == nil { // else it is a copy
			r.Written = append(r.Written, w)
		}
	}
	return nil
}

// windowsPath begins an absolute path on Windows.
var windowsPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z]:|\\)\\`) })

// check returns an error if an installation cannot have written an entry.
func (w *Written) check() error {
	path := strings.ReplaceAll(w.Path, `\`, "/")
	if w.Registry {
		if w.Group != Browsers || !strings.HasPrefix(w.Path, `Software\`) || !strings.HasSuffix(w.Path, `\NativeMessagingHosts\`+protocol.HostName) {
			return fmt.Errorf("%q is not one of Tidemark's registry keys", w.Path)
		}
	} else if !filepath.IsAbs(w.Path) && !windowsPath().MatchString(w.Path) || slices.Contains(strings.Split(path, "/"), "..") {
		return fmt.Errorf("%q is not an absolute path", w.Path)
	}
	for _, dir := range w.Dirs {
		if !strings.HasPrefix(path, strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/")+"/") {
			return fmt.Errorf("%q is not a directory above %s", dir, w.Path)
		}
	}
	switch {
	case w.Group == Agents && len(w.Edits) > 0 && w.Content == "":
		for i := range w.Edits {
			if err := w.Edits[i].Check(w.TOML); err != nil {
				return fmt.Errorf("%s: %w", w.Path, err)
			}
		}
		return nil
	case len(w.Edits) > 0:
	case w.Group == Agents && strings.HasSuffix(path, "/plugins/"+pluginFile) && settings.IsPlugin([]byte(w.Content)):
		return nil
	case w.Group == Agents && w.Content == "", w.Group == Extension && w.Content == "" && len(w.Dirs) == 0 && !w.Registry:
		return nil
	case w.Group == Browsers && w.Registry && windowsPath().MatchString(w.Content):
		return nil
	case w.Group == Browsers && !w.Registry && strings.HasSuffix(path, "/"+ManifestFile) && readManifest([]byte(w.Content)).own():
		return nil
	}
	return fmt.Errorf("Tidemark does not write %s", w.Path)
}

// removeDir removes an empty directory.
func removeDir(dir string) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		_ = os.Remove(dir) // fails if it is not empty
	}
}
