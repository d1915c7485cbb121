package image

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

// pageSize is how many bytes of an index are read and checked at once.
const pageSize = 64 << 10

// pages is an index in memory, page by page from when a page is needed. It is safe for concurrent use.
type pages struct {
	file *os.File
	data []byte
	sums []byte // the checksum of each page
	once []sync.Once
	// damaged is why a page could not be read. It is valid once the page was.
	damaged []error
}

func newPages(file *os.File, data, sums []byte) *pages {
	return &pages{file: file, data: data, sums: sums, once: make([]sync.Once, countPages(len(data))), damaged: make([]error, countPages(len(data)))}
}

func countPages(size int) int { return (size + pageSize - 1) / pageSize }

// need reads the pages from a place to another one. One that cannot be read is all zeros, and an error.
func (p *pages) need(from, to int) (damaged error) {
	for n := from / pageSize; n*pageSize < to; n++ {
		p.once[n].Do(func() {
			page := p.data[n*pageSize : min((n+1)*pageSize, len(p.data))]
			_, err := p.file.ReadAt(page, int64(n)*pageSize)
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err == nil && crc32.Checksum(page, castagnoli) != le.Uint32(p.sums[4*n:]) {
				err = fmt.Errorf("%s is damaged at %d", p.file.Name(), n*pageSize)
			}
			if err != nil {
				clear(page)
				p.damaged[n] = err
			}
		})
		damaged = cmp.Or(damaged, p.damaged[n])
	}
	return damaged
}

// check reads all pages, and returns the damages, one line each.
func (p *pages) check() (damages []string) {
	for n := range p.once {
		if err := p.need(n*pageSize, n*pageSize+1); err != nil {
			damages = append(damages, err.Error())
		}
	}
	return damages
}

// part is a part of an index, or with no pages of changes, which are in memory.
type part struct {
	of   *pages
	from int
	data []byte
}

func (p part) len() int { return len(p.data) }

// look is one look into an image.
type look struct {
	*Image
	// damaged is the error of a page that was needed and could not be read. What the look returns may be wrong then: names may be
	// missing.
	damaged error
}

// slice returns bytes of a part. They are zeros where the page is damaged.
func (m *look) slice(p part, from, to int) []byte {
	if p.of != nil {
		m.damaged = cmp.Or(m.damaged, p.of.need(p.from+from, p.from+to))
	}
	return p.data[from:to:to]
}
