package compare

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // Git names contents by it
	"encoding/hex"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// maxPatched bounds the contents that the binary patches of a comparison have in them, in bytes.
const maxPatched = 64 << 20

// literal is a content as Git's binary patches have it. The ID of no content is zeros.
type literal struct {
	id       string
	size     int
	deflated []byte
}

// binary is a changed content, before and after.
type binary struct{ before, after literal }

// binary adds the whole content of a file that is not text to the patch. Where it cannot, [File.Why] says why.
func (c *Comparer) binary(f *File, b *budget, reason string) {
	var contents [2]string
	for i, e := range []*tree.Entry{f.Before, f.After} {
		switch {
		case e == nil || e.Kind == tree.Dir:
			continue
		case e.Kind == tree.Link:
			contents[i] = e.Target
			continue
		case e.Size > int64(b.patched):
			f.Why = fmt.Sprintf("binary patches have at most %d MiB of contents", maxPatched>>20)
			return
		}
		var s strings.Builder
		s.Grow(int(e.Size))
		if err := c.source.Content(&limited{&s, int(e.Size)}, e); err != nil {
			f.Content, f.Why = Unread, err.Error()
			return
		}
		contents[i] = s.String()
		b.patched -= s.Len()
		if reason == "" {
			reason = secretContent(contents[i])
		}
	}
	if reason != "" && !b.options.Secrets {
		f.Content, f.Why = Secret, reason
		return
	}
	f.binary = &binary{before: literalOf(f.Before, contents[0]), after: literalOf(f.After, contents[1])}
}

// of returns the removal of the content before, or the addition of that after; nil of nil.
func (b *binary) of(removal bool) *binary {
	none := literalOf(nil, "")
	switch {
	case b == nil:
		return nil
	case removal:
		return &binary{before: b.before, after: none}
	}
	return &binary{before: none, after: b.after}
}

func literalOf(e *tree.Entry, content string) literal {
	l := literal{id: strings.Repeat("0", 2*sha1.Size), size: len(content)}
	if e != nil && e.Kind != tree.Dir {
		h := sha1.New() //nolint:gosec // see above
		fmt.Fprintf(h, "blob %d\x00%s", len(content), content)
		l.id = hex.EncodeToString(h.Sum(nil))
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(content)) // a buffer takes everything
	_ = z.Close()
	l.deflated = b.Bytes()
	return l
}

// binary writes a binary patch, in both directions as Git does.
func (p *printer) binary(b *binary, before, after *tree.Entry) {
	mode := ""
	if before != nil && after != nil && gitMode(before) == gitMode(after) {
		mode = " " + gitMode(after)
	}
	p.line("index ", b.before.id, "..", b.after.id, mode)
	p.line("GIT binary patch")
	p.literal(b.after)
	p.literal(b.before)
}

const (
	// digits85 are those of Git's base 85.
	digits85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	// row85 is how many bytes are in a line.
	row85 = 52
)

func (p *printer) literal(l literal) {
	p.line("literal ", fmt.Sprint(l.size))
	for data := l.deflated; len(data) > 0; {
		row := data[:min(len(data), row85)]
		data = data[len(row):]
		if n := byte(len(row)); n <= 26 {
			_ = p.w.WriteByte('A' + n - 1)
		} else {
			_ = p.w.WriteByte('a' + n - 27)
		}
		for len(row) > 0 {
			var word [4]byte
			row = row[copy(word[:], row):]
			value := uint32(word[0])<<24 | uint32(word[1])<<16 | uint32(word[2])<<8 | uint32(word[3])
			var digits [5]byte
			for i := len(digits) - 1; i >= 0; i-- {
				digits[i] = digits85[value%85]
				value /= 85
			}
			_, _ = p.w.Write(digits[:])
		}
		p.line()
	}
	p.line()
}
