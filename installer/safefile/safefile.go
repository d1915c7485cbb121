// Package safefile reads files that a repository, another program or another user controls. A read never blocks,
// never takes more memory than the caller allows, and opens only regular files. [Replace] and [Write] write a file
// completely or not at all.
package safefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"
)

// patience bounds the read of a file that the system calls regular and that still blocks.
const patience = time.Second

// Read returns the content of a regular file of at most limit bytes. It follows links. The error of a missing file
// is [fs.ErrNotExist], and every error names the file.
func Read(path string, limit int64) ([]byte, error) {
	data, _, err := ReadInfo(path, limit)
	return data, err
}

// Open opens a regular file of any size for reading. It follows links, and does not wait.
func Open(path string) (*os.File, fs.FileInfo, error) { return open(path, os.O_RDONLY, math.MaxInt64) }

// Update is [Open] for reading and writing.
func Update(path string) (*os.File, fs.FileInfo, error) { return open(path, os.O_RDWR, math.MaxInt64) }

// Own opens a file that only Tidemark writes, or creates it with mode 0600, by the flags of [os.OpenFile]. It follows no link and does
// not wait: whatever is not a regular file is an error.
func Own(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil {
		err = check(path, info, math.MaxInt64)
	} else if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|nonblock|nofollow, 0o600)
	if err != nil {
		return nil, err
	}
	// Something else may have come since.
	if info, err = f.Stat(); err == nil {
		err = check(path, info, math.MaxInt64)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Overwrite is [os.WriteFile] of a file that only Tidemark writes. A link, a pipe or another special file in its place is removed
// first. Use [Write] for what has to be whole after a crash.
func Overwrite(path string, data []byte) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	f, err := Own(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Remove removes a file. On Windows it waits, for two seconds at most, while another program has it open.
func Remove(path string) error { return patiently(func() error { return os.Remove(path) }) }

// open opens a regular file of at most limit bytes, as [Open] does.
func open(path string, flag int, limit int64) (*os.File, fs.FileInfo, error) {
	// Opening a device can have side effects, so check the file first.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		link, lerr := os.Lstat(path)
		switch {
		case lerr == nil && link.Mode()&fs.ModeSymlink != 0:
			return nil, nil, fmt.Errorf("%s is a link to a file that does not exist; create that file or remove the link", path)
		case lerr == nil: // it was created in the meantime
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if err := check(path, info, limit); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, flag|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	// Another file may have replaced it since.
	if info, err = f.Stat(); err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadInfo is [Read] that also returns the [fs.FileInfo] of the file that was read.
func ReadInfo(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, _, err := open(path, os.O_RDONLY, limit)
	if err != nil {
		return nil, nil, err
	}
	return readAll(f, path, limit)
}

// readAll reads a file of at most limit bytes, and closes it.
func readAll(f *os.File, path string, limit int64) ([]byte, fs.FileInfo, error) {
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		return nil, nil, err
	}
	_ = f.SetReadDeadline(time.Now().Add(patience)) // only a kernel file that blocks supports a deadline
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, nil, err
	}
	if int64(data.Len()) > limit {
		return nil, nil, tooLarge(path, limit) // the file has grown since
	}
	return data.Bytes(), info, nil
}

func check(path string, info fs.FileInfo, limit int64) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %s, not a file; remove it or replace it with a file", path, kind(info.Mode()))
	}
	if info.Size() > limit {
		return tooLarge(path, limit)
	}
	return nil
}

func tooLarge(path string, limit int64) error {
	return fmt.Errorf("%s is too large: the limit is %d bytes; make it smaller", path, limit)
}

// kind names the type of a file that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// CheckTOML returns an error for a TOML text that defines more than most keys and tables. Parsing takes time in
// proportion to their square: half a minute for one megabyte of keys.
func CheckTOML(text []byte, most int) error {
	n := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		keys := bytes.Count(line, []byte("="))
		name, _, _ := bytes.Cut(line, []byte("="))
		if bytes.HasPrefix(line, []byte("[")) {
			keys, name = keys+1, line
		}
		if keys == 0 {
			continue
		}
		if n += keys + bytes.Count(name, []byte(".")); n > most {
			return fmt.Errorf("it defines more than %d keys and tables; remove some", most)
		}
	}
	return nil
}

// maxDepth bounds the nesting of objects and lists in a JSON text.
const maxDepth = 1000

// CheckJSON returns an error for a JSON text, with or without comments, that is nested too deep. A recursive parser
// would overflow its stack and crash the program.
func CheckJSON(text []byte) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			end := ""
			switch {
			case bytes.HasPrefix(text[i:], []byte("//")):
				end = "\n"
			case bytes.HasPrefix(text[i:], []byte("/*")):
				end = "*/"
			default:
				continue
			}
			rest := bytes.Index(text[i+2:], []byte(end))
			if rest < 0 {
				return nil
			}
			i += 2 + rest + len(end) - 1
		case '[', '{':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
			}
		case ']', '}':
			depth--
		}
	}
	return nil
}
