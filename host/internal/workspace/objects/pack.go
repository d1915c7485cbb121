package objects

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"tidemark.dev/tidemark/installer/safefile"
)

// magic begins every pack. Its last byte is the number of the format.
const magic = "tidemark pack \x00\x01"

// A record is a header, a table of the contents, and the contents one after the other, compressed or as they are:
//
//	recordMark  uint32
//	items       uint32   how many contents
//	raw         uint32   bytes of the contents
//	stored      uint32   bytes of the compressed contents
//	compressed  uint32   1, 0 where compression would not have made it smaller, 2 for a hole
//	tableSum    uint32   CRC-32C of the five numbers before and of the table
//	dataSum     uint32   CRC-32C of the stored contents
//
// The table has the ID and the length (uint32) of each content. Numbers are little endian.
//
// A hole is in the place of records that nothing needs. Its one content is zeros, which take no room on disk.
const (
	recordMark  = 0x4b524d54
	headerSize  = 7 * 4
	tableRow    = len(ID{}) + 4
	maxItems    = 1 << 14
	maxRecord   = MaxContent + blockSize
	compression = 1
	hole        = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCut means that a pack ends within a record.
var errCut = errors.New("cut short")

type item struct {
	id   ID
	size uint32
}

// block are contents that are compressed together.
type block struct {
	items []item
	ends  []int // of each content in data
	data  []byte
}

func (b *block) add(id ID, content []byte) {
	b.items = append(b.items, item{id, uint32(len(content))})
	b.data = append(b.data, content...)
	b.ends = append(b.ends, len(b.data))
}

func (b *block) raw() int { return len(b.data) }

// bytes returns what the block takes at most in a pack, without its header.
func (b *block) bytes() int { return len(b.data) + len(b.items)*tableRow }

func (b *block) content(i int) []byte {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.data[from:b.ends[i]:b.ends[i]]
}

func (b *block) reset() { b.items, b.ends, b.data = b.items[:0], b.ends[:0], b.data[:0] }

// pack is a file of records.
type pack struct {
	number uint32
	file   *os.File
	size   int64
	// holes are how many bytes of it are the contents of holes.
	holes int64
}

// bytes returns what the pack takes on disk.
func (p *pack) bytes() int64 { return p.size - p.holes }

func createPack(path string, number uint32) (*pack, error) {
	f, err := OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(magic); err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return &pack{number: number, file: f, size: int64(len(magic))}, nil
}

func openPack(path string, number uint32) (*pack, error) {
	f, info, err := update(path)
	if err != nil {
		return nil, err
	}
	p := &pack{number: number, file: f, size: info.Size()}
	head := make([]byte, len(magic))
	n, err := f.ReadAt(head, 0)
	switch {
	case n < len(magic) && (err == nil || errors.Is(err, io.EOF)) && magic[:n] == string(head[:n]):
		// The process was killed while it created the file.
		if _, err := f.WriteAt([]byte(magic), 0); err != nil {
			_ = f.Close()
			return nil, err
		}
		p.size = int64(len(magic))
	case err != nil:
		_ = f.Close()
		return nil, err
	case string(head[:len(magic)-1]) != magic[:len(magic)-1]:
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a pack of Tidemark", path)
	case head[len(magic)-1] != magic[len(magic)-1]:
		_ = f.Close()
		return nil, fmt.Errorf("%s has format %d, this program reads format %d. Use the program that wrote it.", path, head[len(magic)-1], magic[len(magic)-1])
	}
	return p, nil
}

// scan calls each with every record, without items for a hole. It returns the damages that records follow, and where an end without a whole record
// begins, the size of the pack if there is none.
func (p *pack) scan(each func(offset uint32, h header, items []item)) (end int64, damages []error, err error) {
	at := int64(len(magic))
	for at < p.size {
		h, items, err := p.head(at)
		if err == nil {
			if h.compressed == hole {
				items = nil
			}
			each(uint32(at), h, items)
			at += h.size()
			continue
		}
		if damage := (*DamagedError)(nil); !errors.As(err, &damage) {
			return at, damages, err
		}
		next, failed := p.next(at + 1)
		if failed != nil || next == p.size {
			return at, damages, failed
		}
		damages = append(damages, err)
		at = next
	}
	return p.size, damages, nil
}

// whole is scan for a pack of which every record is needed.
func (p *pack) whole(each func(offset uint32, h header, items []item)) error {
	end, damages, err := p.scan(each)
	if err == nil && end < p.size {
		_, _, err = p.head(end)
	}
	return errors.Join(append(damages, err)...)
}

// next returns where the next whole record begins, the size of the pack if there is none.
func (p *pack) next(from int64) (int64, error) {
	mark := binary.LittleEndian.AppendUint32(nil, recordMark)
	buffer := make([]byte, 1<<20)
	for from < p.size {
		n, err := p.file.ReadAt(buffer, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for at := 0; ; at++ {
			i := bytes.Index(buffer[at:n], mark)
			if i < 0 {
				break
			}
			at += i
			if h, _, err := p.head(from + int64(at)); err == nil {
				if _, err := p.stored(from+int64(at), h); err == nil {
					return from + int64(at), nil
				}
			}
		}
		if n < len(buffer) {
			break
		}
		from += int64(n - len(mark) + 1) // a mark may begin at its end
	}
	return p.size, nil
}

// cutSuffix names the copy of an end that was cut off: should it have been more than a write that was interrupted, it is not
// lost. A full disk has no room for it.
const cutSuffix = ".cut"

// cut removes what follows the last whole record: the process, or the machine, ended while it was written. Of another
// reason it returns a note.
func (p *pack) cut(end int64) (note string, err error) {
	copied := p.file.Name() + cutSuffix
	data, err := io.ReadAll(io.NewSectionReader(p.file, end, p.size-end))
	if err == nil {
		err = safefile.Overwrite(copied, data)
	}
	if err != nil && !NoRoom(err) {
		return "", err
	}
	if _, _, why := p.head(end); !errors.Is(why, errCut) {
		note = fmt.Sprintf("%s has an end of %d bytes that was not whole; a copy is in %s", p.file.Name(), len(data), copied)
	}
	if err := p.file.Truncate(end); err != nil {
		return "", err
	}
	p.size = end
	return note, nil
}

type header struct {
	items, raw, stored, compressed, tableSum, dataSum uint32
}

func (h header) size() int64 { return h.data(0) + int64(h.stored) }

// data returns where the contents of a record begin.
func (h header) data(at int64) int64 { return at + headerSize + int64(h.items)*int64(tableRow) }

// share estimates what a content of the record takes on disk.
func (h header) share(it item) int64 {
	bytes := int64(tableRow)
	if h.raw > 0 {
		bytes += int64(it.size) * int64(h.stored) / int64(h.raw)
	}
	return bytes
}

func (p *pack) head(at int64) (header, []item, error) {
	damaged := func(why error) error { return &DamagedError{p.file.Name(), at, why} }
	var fixed [headerSize]byte
	if _, err := p.file.ReadAt(fixed[:], at); errors.Is(err, io.EOF) {
		return header{}, nil, damaged(errCut)
	} else if err != nil {
		return header{}, nil, p.unread(at, err)
	}
	u := func(i int) uint32 { return binary.LittleEndian.Uint32(fixed[4*i:]) }
	h := header{u(1), u(2), u(3), u(4), u(5), u(6)}
	if u(0) != recordMark || h.items == 0 || h.items > maxItems || h.raw > maxRecord || h.stored > maxRecord {
		return h, nil, damaged(errors.New("no record begins there"))
	}
	if h.data(at) > p.size {
		return h, nil, damaged(errCut)
	}
	table := make([]byte, int(h.items)*tableRow)
	if _, err := p.file.ReadAt(table, at+headerSize); err != nil {
		return h, nil, p.unread(at, err)
	}
	if crc32.Update(crc32.Checksum(fixed[:5*4], castagnoli), castagnoli, table) != h.tableSum {
		return h, nil, damaged(errors.New("the checksum of its table differs"))
	}
	items := make([]item, h.items)
	total := uint64(0)
	for i := range items {
		row := table[i*tableRow:]
		copy(items[i].id[:], row)
		items[i].size = binary.LittleEndian.Uint32(row[len(ID{}):])
		total += uint64(items[i].size)
	}
	switch {
	case total != uint64(h.raw):
		return h, nil, damaged(errors.New("the lengths in its table do not add up"))
	case at+h.size() > p.size:
		return h, nil, damaged(errCut)
	}
	return h, items, nil
}

// DamagedError is the error of a record that is not as it was written. It is an [ErrMissing].
type DamagedError struct {
	Path string
	At   int64
	Why  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged at %d: %s", e.Path, e.At, e.Why)
}

// Is reports whether an error is [ErrMissing].
func (e *DamagedError) Is(target error) bool { return target == ErrMissing }

func (e *DamagedError) Unwrap() error { return e.Why }

func (p *pack) unread(at int64, err error) error {
	return fmt.Errorf("cannot read %s at %d: %w", p.file.Name(), at, err)
}

// stored reads the contents of a record as they are on disk, of a damaged one with the error.
func (p *pack) stored(at int64, h header) ([]byte, error) {
	data := make([]byte, h.stored)
	if _, err := p.file.ReadAt(data, h.data(at)); err != nil {
		return nil, p.unread(at, err)
	}
	if crc32.Checksum(data, castagnoli) != h.dataSum {
		return data, &DamagedError{p.file.Name(), at, errors.New("the checksum of its contents differs")}
	}
	return data, nil
}

// read returns the contents of a record, of a damaged one with the error, if there is something to return: those that have
// the hash of their ID are whole. The decoder must ignore checksums.
func (p *pack) read(offset uint32, decoder *zstd.Decoder) (*block, error) {
	at := int64(offset)
	h, items, err := p.head(at)
	if err != nil {
		return nil, err
	}
	data, damage := p.stored(at, h)
	if data == nil {
		return nil, damage
	}
	if h.compressed == compression {
		if data, err = decoder.DecodeAll(data, make([]byte, 0, h.raw)); err != nil {
			return nil, cmp.Or(damage, error(&DamagedError{p.file.Name(), at, err}))
		}
	}
	if len(data) != int(h.raw) {
		return nil, cmp.Or(damage, error(&DamagedError{p.file.Name(), at, fmt.Errorf("it has %d bytes of contents instead of %d", len(data), h.raw)}))
	}
	b := &block{items: items, data: data, ends: make([]int, len(items))}
	end := 0
	for i := range items {
		end += int(items[i].size)
		b.ends[i] = end
	}
	return b, damage
}

// write appends a block. After an error the pack ends where it ended before.
func (p *pack) write(b *block, encoder *zstd.Encoder) (offset uint32, err error) {
	stored, compressed := encoder.EncodeAll(b.data, nil), uint32(compression)
	if len(stored) >= len(b.data) {
		stored, compressed = b.data, 0
	}
	out := append(head(b.items, len(b.data), stored, compressed), stored...)
	if _, err := p.file.WriteAt(out, p.size); err != nil {
		return 0, errors.Join(err, p.file.Truncate(p.size))
	}
	offset = uint32(p.size)
	p.size += int64(len(out))
	return offset, nil
}

// head returns the header and the table of a record, with room for the contents.
func head(items []item, raw int, stored []byte, compressed uint32) []byte {
	out := make([]byte, headerSize, headerSize+len(items)*tableRow+len(stored))
	put := func(i int, v uint32) { binary.LittleEndian.PutUint32(out[4*i:], v) }
	for _, it := range items {
		out = append(out, it.id[:]...)
		out = binary.LittleEndian.AppendUint32(out, it.size)
	}
	put(0, recordMark)
	put(1, uint32(len(items)))
	put(2, uint32(raw))
	put(3, uint32(len(stored)))
	put(4, compressed)
	put(5, crc32.Update(crc32.Checksum(out[:5*4], castagnoli), castagnoli, out[headerSize:]))
	put(6, crc32.Checksum(stored, castagnoli))
	return out
}
