package installer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/protocol"
)

// ManifestFile is the name of the native-messaging manifest; browsers look it up by the host's name.
const ManifestFile = protocol.HostName + ".json"

// Manifest is the native-messaging manifest of the host, as browsers read it.
//
// Source: https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging
type Manifest struct {
	Name           string   `json:"name"`
	Description    string   `json:"description"`
	Path           string   `json:"path"`
	Type           string   `json:"type"`
	AllowedOrigins []string `json:"allowed_origins"`
}

// Origin is the extension's origin, the only one that may connect to the host.
const Origin = "chrome-extension://" + protocol.ExtensionID + "/"

// WriteManifest writes the native-messaging manifest into dir and returns the manifest's path. It creates a
// missing dir with mode 0700. The manifest allows only the extension's own id.
//
// binary is the tidemark program that the browser starts; it must exist. The manifest holds its
// absolute path without resolving links, so that a link that a package manager updates keeps
// working. A manifest that is already up to date is not touched.
func WriteManifest(dir, binary string) (string, error) {
	binary, err := checkBinary(binary)
	if err != nil {
		return "", err
	}
	data, err := manifestFor(binary)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot create the directory for the native-messaging manifest: %w", err)
	}
	path := filepath.Join(dir, ManifestFile)
	if err := writeFile(path, data, 0o644); err != nil {
		return "", fmt.Errorf("cannot write the native-messaging manifest: %w", err)
	}
	return path, nil
}

// manifestFor is the manifest's text.
func manifestFor(binary string) ([]byte, error) {
	data, err := json.MarshalIndent(Manifest{
		Name:           protocol.HostName,
		Description:    "Tidemark: shows coding agents what changed in the browser",
		Path:           binary,
		Type:           "stdio",
		AllowedOrigins: []string{Origin},
	}, "", "  ")
	return append(data, '\n'), err
}

// maxManifest bounds a manifest, in bytes.
const maxManifest = 1 << 20

// readManifest reads a manifest. It returns an empty one for data that is not valid JSON.
func readManifest(data []byte) (m Manifest) {
	if json.Unmarshal(data, &m) != nil {
		return Manifest{}
	}
	return m
}

// own reports whether a manifest allows Tidemark's extension and nothing else.
func (m Manifest) own() bool {
	return m.Name == protocol.HostName && slices.Equal(m.AllowedOrigins, []string{Origin})
}

// whole reports whether a browser could use a manifest.
func (m Manifest) whole() bool { return m.Name != "" && len(m.AllowedOrigins) > 0 }

// InstallProfile registers the native host for one browser profile: it writes
// <userDataDir>/NativeMessagingHosts/dev.tidemark.host.json and returns that path. Chrome, Chromium
// and Edge on Linux and macOS read it there; Brave does not. Browsers on Windows read only the
// registry, so on Windows it fails with [ErrProfileUnsupported].
func InstallProfile(userDataDir, binary string) (string, error) {
	if userDataDir == "" {
		return "", errors.New("no user data directory given; pass the profile's directory")
	}
	if !profileManifests {
		return "", fmt.Errorf("cannot register the native host for the profile %s: %w", userDataDir, ErrProfileUnsupported)
	}
	dir, err := filepath.Abs(userDataDir)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the user data directory %s: %w", userDataDir, err)
	}
	return WriteManifest(filepath.Join(dir, "NativeMessagingHosts"), binary)
}

// ErrProfileUnsupported says that browsers on this platform do not read native hosts from a profile.
var ErrProfileUnsupported = errors.New("browsers on this platform read native hosts from the registry, not from a profile")

// checkBinary returns the absolute path of an executable.
func checkBinary(binary string) (string, error) {
	if binary == "" {
		return "", errors.New("no tidemark binary given for the native-messaging manifest; pass the path of the built binary")
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the path of the tidemark binary %s: %w", binary, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the tidemark binary for the native-messaging manifest: %w; run `make build`", err)
	}
	if !isProgram(info) {
		return "", fmt.Errorf("%s is not an executable; pass the path of the tidemark binary", path)
	}
	return path, nil
}
