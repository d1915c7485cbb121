package tracked

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Estimate is what a checkout takes.
type Estimate struct {
	// Files counts the entries that are not directories, Bytes is the size of their contents.
	Files int
	Bytes int64
	// Time is about how long it takes.
	Time time.Duration
}

const (
	// sampled is how many files an estimate writes, and small what is a small one in bytes.
	sampled = 200
	small   = 64 << 10
	// block is what an estimate writes to measure large files, in bytes.
	block = 8 << 20
	// SamplePrefix begins the name of the directory in which it does so. A kill may leave that.
	SamplePrefix = ".sample-"
)

// EstimateCheckout returns what a checkout of a snapshot takes. It measures that: it writes some of the snapshot's files, and a larger
// one, into a directory beside dir, and removes them.
func EstimateCheckout(ctx context.Context, p *Provider, number uint64, dir string) (e Estimate, err error) {
	t, end, err := reader(p, number)
	if err != nil {
		return e, err
	}
	defer end()
	var files []*tree.Entry
	for path, n := range t.All() {
		if path == "" || n.Kind == tree.Dir || n.Unrecorded() {
			continue
		}
		e.Files++
		if e.Bytes += n.Size; n.Size <= small {
			files = append(files, &n.Entry)
		}
	}
	sample, err := os.MkdirTemp(filepath.Dir(dir), SamplePrefix)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, RemoveAll(sample)) }()
	r, err := os.OpenRoot(sample)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	began := time.Now()
	if err := r.WriteFile("block", bytes.Repeat([]byte(rand.Text()), block/len(rand.Text())), 0o600); err != nil {
		return e, err
	}
	e.Time = time.Duration(float64(time.Since(began)) * float64(e.Bytes) / block)
	var names []string
	chosen := map[string]*tree.Entry{}
	for i := 0; i < len(files); i += (len(files)-1)/sampled + 1 {
		name := strconv.Itoa(i)
		names, chosen[name] = append(names, name), files[i]
	}
	began = time.Now()
	if err := inParallel(ctx, names, func(name string) error { return p.place(r, name, chosen[name], false, nil) }); err != nil {
		return e, err
	}
	if len(names) > 0 {
		e.Time += time.Since(began) * time.Duration(e.Files) / time.Duration(len(names))
	}
	return e, nil
}
