package operations

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/installer/safefile"
)

// Temporary makes a directory in that of the branches of a space, and returns what removes it. The next start removes it after a kill.
func Temporary(ops *Operations, space string) (dir string, remove func(), err error) {
	branches := filepath.Join(ops.o.Branches, space)
	if err := os.MkdirAll(branches, 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(branches, tracked.SamplePrefix)
	return dir, func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove(branches) // if there is nothing else in it
	}, err
}

// removeSamples removes the samples of estimates, and temporary directories, that a kill ended.
func removeSamples(branches string) error {
	samples, err := fs.Glob(os.DirFS(branches), "*/"+tracked.SamplePrefix+"*")
	former, err2 := fs.Glob(os.DirFS(branches), "*/*"+formerSuffix)
	err = errors.Join(err, err2)
	for _, sample := range former {
		if name := strings.TrimSuffix(filepath.Base(sample), formerSuffix); branchName().MatchString(name) && isSample(filepath.Join(branches, sample)) {
			samples = append(samples, sample)
		}
	}
	for _, sample := range samples {
		err = errors.Join(err, tracked.RemoveAll(filepath.Join(branches, sample)))
	}
	return err
}

const (
	// formerSuffix follows the name of the branch in the names of samples of earlier builds. No branch has such a name.
	formerSuffix = ".sample"
	// formerBlock is the larger file of a sample, at most maxFormerBlock bytes long. Others are called by numbers.
	formerBlock    = "block"
	maxFormerBlock = 8 << 20
	// formerText is what formerBlock repeats: so many characters of formerLetters.
	formerText    = 26
	formerLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// isSample reports whether a directory has only what an estimate wrote.
func isSample(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	list, err := os.ReadDir(dir)
	for _, e := range list {
		n, other := strconv.ParseUint(e.Name(), 10, 63)
		switch {
		case e.Name() == formerBlock && e.Type().IsRegular():
			if !isBlock(filepath.Join(dir, e.Name())) {
				return false
			}
		case other != nil || e.Name() != strconv.FormatUint(n, 10) || e.IsDir():
			return false
		}
	}
	return err == nil
}

// isBlock reports whether a file is the larger one of a sample, or its beginning.
func isBlock(path string) bool {
	data, err := safefile.Read(path, maxFormerBlock)
	text := data[:min(len(data), formerText)]
	return err == nil && len(bytes.Trim(text, formerLetters)) == 0 && bytes.HasPrefix(data, data[len(text):])
}
