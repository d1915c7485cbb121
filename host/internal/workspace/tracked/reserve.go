package tracked

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// reserveFile is a file of the store that is given up when the disk is full: a deletion has to be recorded before it frees
// something. Its content means nothing, and takes reserveSize bytes on any filesystem.
const (
	reserveFile = "reserve"
	reserveSize = 64 << 10
)

// keepReserve makes the reserve, where there is none and the disk has room.
func keepReserve(p *Provider) {
	path := filepath.Join(p.options.Store, reserveFile)
	if info, err := os.Lstat(path); err == nil && info.Size() == reserveSize {
		return
	}
	content := make([]byte, reserveSize)
	if _, err := rand.Read(content); err != nil {
		return
	}
	if os.WriteFile(path, content, 0o600) != nil {
		giveReserve(p)
	}
}

func giveReserve(p *Provider) { _ = os.Remove(filepath.Join(p.options.Store, reserveFile)) }
