package home

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tidemark.dev/tidemark/host/internal/safesocket"
	"tidemark.dev/tidemark/installer/safefile"
)

// Secret returns the token that HTTP clients send, and creates it when there is none. It refuses a file that
// others can read or own.
func (h Home) Secret() (string, error) {
	path := h.Token()
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails (package crypto/rand)
		token := base64.RawURLEncoding.EncodeToString(secret)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.WriteString(token + "\n")
		return token, errors.Join(err, f.Close())
	}
	if err != nil {
		return "", err
	}
	if err := safesocket.CheckFile(path, info); err != nil {
		return "", fmt.Errorf("%w. Delete it to get a new one.", err)
	}
	data, err := safefile.Read(path, maxOwnFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 32 {
		return "", fmt.Errorf("the token in %s is too short. Delete the file to get a new one.", path)
	}
	return token, nil
}
