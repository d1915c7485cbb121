package e2etest

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// Written returns the content of each file below a home, by its path, followed by what is compressed in it. The browser's own
// profile is not Tidemark's.
func Written(t *testing.T, w *testbed.World) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(w.Home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == w.Profile():
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		all[path] = string(data) + unpacked(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unpacked returns what is compressed in a file, wherever it begins.
func unpacked(data []byte) string {
	var out bytes.Buffer
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for at := bytes.Index(data, magic); at >= 0; {
		if d, err := zstd.NewReader(bytes.NewReader(data[at:]), zstd.WithDecoderConcurrency(1)); err == nil {
			_, _ = io.Copy(&out, d) // what follows a frame is none
			d.Close()
		}
		next := bytes.Index(data[at+1:], magic)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return out.String()
}
