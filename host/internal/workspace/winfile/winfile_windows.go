package winfile

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Rights for [Open].
const (
	// Look is for what a file is. It is granted though another program has locked the file.
	Look = windows.FILE_READ_ATTRIBUTES
	// Read is for a file's content, or a directory's names.
	Read = windows.FILE_GENERIC_READ
	// Set is for times and attributes.
	Set = windows.FILE_READ_ATTRIBUTES | windows.FILE_WRITE_ATTRIBUTES
	// Move is for renaming and deleting.
	Move = windows.FILE_READ_ATTRIBUTES | windows.DELETE
)

// ErrNotDir means that a part of a path is not a directory.
var ErrNotDir error = syscall.ENOTDIR

// share lets others do everything with an open file.
const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// options are those of every file that is opened. The last one opens directories too.
const options = windows.FILE_OPEN_REPARSE_POINT | windows.FILE_SYNCHRONOUS_IO_NONALERT | windows.FILE_OPEN_FOR_BACKUP_INTENT

// OpenDir opens a directory by its path. A link at its end is followed.
func OpenDir(path string) (windows.Handle, error) {
	h, err := openDir(path)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return h, nil
}

func openDir(path string) (windows.Handle, error) {
	name, err := long(path)
	if err != nil {
		return 0, err
	}
	h, err := windows.CreateFile(name, Read, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return 0, err
	}
	info, err := Stat(h)
	if err == nil && !info.Mode.IsDir() {
		err = ErrNotDir
	}
	if err != nil {
		_ = windows.CloseHandle(h)
		return 0, err
	}
	return h, nil
}

// long returns a path of any length as Windows takes it.
func long(path string) (*uint16, error) {
	long, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if server, ok := strings.CutPrefix(long, `\\`); !ok {
		long = `\\?\` + long
	} else if !strings.HasPrefix(server, `?\`) && !strings.HasPrefix(server, `.\`) {
		long = `\\?\UNC\` + server
	}
	return windows.UTF16PtrFromString(long)
}

// OpenFile opens a file by its path with [os.O_RDONLY] or [os.O_RDWR]. It creates a missing one with [os.O_CREATE], which must be missing
// with [os.O_EXCL] too, and is emptied with [os.O_TRUNC]. Unlike one that [os.OpenFile] opened, it does not keep others from deleting the
// file, or another name of it.
func OpenFile(path string, flag int) (*os.File, error) {
	name, err := long(path)
	access, disposition := uint32(windows.GENERIC_READ), uint32(windows.OPEN_EXISTING)
	if flag&os.O_RDWR != 0 {
		access |= windows.GENERIC_WRITE
	}
	switch flag & (os.O_CREATE | os.O_EXCL | os.O_TRUNC) {
	case 0:
	case os.O_CREATE:
		disposition = windows.OPEN_ALWAYS
	case os.O_CREATE | os.O_TRUNC:
		disposition = windows.CREATE_ALWAYS
	default:
		disposition = windows.CREATE_NEW
	}
	var h windows.Handle
	if err == nil {
		h, err = windows.CreateFile(name, access, share, nil, disposition, windows.FILE_ATTRIBUTE_NORMAL, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return File(h, path), nil
}

// Open opens a name in a directory, or the directory once more for "". Nothing waits for what is opened.
func Open(dir windows.Handle, name string, rights uint32) (windows.Handle, error) {
	if strings.ContainsAny(name, `\/`) {
		return 0, fs.ErrInvalid
	}
	return create(dir, name, rights, windows.FILE_OPEN, 0, 0)
}

// Mkdir creates a directory.
func Mkdir(dir windows.Handle, name string) error {
	if strings.ContainsAny(name, `\/`) {
		return fs.ErrInvalid
	}
	h, err := create(dir, name, Look, windows.FILE_CREATE, windows.FILE_DIRECTORY_FILE, 0)
	if err == nil {
		_ = windows.CloseHandle(h)
	}
	return err
}

func create(dir windows.Handle, name string, rights, disposition, more, attribute uint32) (windows.Handle, error) {
	u, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return 0, err
	}
	attributes := &windows.OBJECT_ATTRIBUTES{RootDirectory: dir, ObjectName: u, Attributes: windows.OBJ_CASE_INSENSITIVE | attribute}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	var h windows.Handle
	err = windows.NtCreateFile(&h, windows.SYNCHRONIZE|rights, attributes, &windows.IO_STATUS_BLOCK{}, nil, windows.FILE_ATTRIBUTE_NORMAL, share, disposition, options|more, 0, 0)
	if err != nil {
		return 0, errorOf(err)
	}
	return h, nil
}

// errorOf returns the error that other packages know.
func errorOf(err error) error {
	status := windows.NTStatus(0)
	if !errors.As(err, &status) {
		return err
	}
	switch status {
	case windows.STATUS_DELETE_PENDING: // it is deleted as soon as another program closes it
		return windows.ERROR_FILE_NOT_FOUND
	case windows.STATUS_NOT_A_DIRECTORY:
		return ErrNotDir
	case windows.STATUS_OBJECT_NAME_COLLISION:
		return fs.ErrExist
	}
	return status.Errno()
}

// Sub opens a directory below another one, by a path with "/". A part of the path that is a link is an error.
func Sub(dir windows.Handle, path string) (windows.Handle, error) {
	if strings.Contains(path, "/") && !strings.Contains(path, `\`) {
		// In one step, which works where no part is a link, or anything else that stands for another file.
		h, err := create(dir, strings.ReplaceAll(path, "/", `\`), Read, windows.FILE_OPEN, windows.FILE_DIRECTORY_FILE, windows.OBJ_DONT_REPARSE)
		if err == nil {
			return h, nil
		}
	}
	return walk(dir, path)
}

// walk is [Sub], one part after the other.
func walk(dir windows.Handle, path string) (windows.Handle, error) {
	at, err := Open(dir, "", Read)
	if err != nil || path == "" {
		return at, err
	}
	for name := range strings.SplitSeq(path, "/") {
		next, err := Open(at, name, Read)
		_ = windows.CloseHandle(at)
		if err != nil {
			return 0, err
		}
		info, err := Stat(next)
		if err == nil && info.Mode&fs.ModeType != fs.ModeDir {
			err = ErrNotDir
		}
		if err != nil {
			_ = windows.CloseHandle(next)
			return 0, err
		}
		at = next
	}
	return at, nil
}

// Info is what a file is.
type Info struct {
	// Mode has the permission bits as package os has them, and [fs.ModeDir] or [fs.ModeSymlink]. Junctions are links.
	// What is neither a file nor one of these has [fs.ModeIrregular]. A link to a directory can be executed.
	Mode fs.FileMode
	Size int64
	// Mtime is the time of the last change of the content, Ctime that of any change, in nanoseconds since 1970.
	Mtime, Ctime int64
	// Inode identifies the file on its volume.
	Inode  uint64
	Volume uint32
	Links  uint32
}

// basicInfo is FILE_BASIC_INFO.
type basicInfo struct {
	Creation, Access, Write, Change windows.Filetime
	Attributes                      uint32
	_                               uint32
}

// surrogate is the bit of a tag that means that the file stands for another one. Others, such as those of files that a
// cloud service has, are read as files.
const surrogate = 0x20000000

// Stat returns what an open file is.
func Stat(h windows.Handle) (Info, error) {
	var by windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &by); err != nil {
		return Info{}, err
	}
	var basic basicInfo
	if err := windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&basic)), uint32(unsafe.Sizeof(basic))); err != nil {
		return Info{}, err
	}
	i := Info{
		Size: int64(by.FileSizeHigh)<<32 | int64(by.FileSizeLow), Mtime: nanoseconds(basic.Write), Ctime: nanoseconds(basic.Change),
		Inode: uint64(by.FileIndexHigh)<<32 | uint64(by.FileIndexLow), Volume: by.VolumeSerialNumber, Links: by.NumberOfLinks,
	}
	var tag [2]uint32 // the attributes and the tag
	if by.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		if err := windows.GetFileInformationByHandleEx(h, windows.FileAttributeTagInfo, (*byte)(unsafe.Pointer(&tag)), uint32(unsafe.Sizeof(tag))); err != nil {
			return Info{}, err
		}
	}
	i.kind(by.FileAttributes, tag[1])
	return i, nil
}

// nanoseconds returns a time in nanoseconds since 1970. What no 64 bits hold, before 1677 or after 2262, is the nearest second
// that they hold.
func nanoseconds(t windows.Filetime) int64 {
	const second = 1_000_000_000
	const first, last = -math.MaxInt64 / second * second, math.MaxInt64 / second * second
	switch ticks := int64(t.HighDateTime)<<32 + int64(t.LowDateTime) - 116444736000000000; { // 100 ns each, since 1601
	case ticks < first/100:
		return first
	case ticks > last/100:
		return last
	default:
		return ticks * 100
	}
}

// kind sets the mode by the attributes of a file, and by its tag if it has one.
func (i *Info) kind(attributes, tag uint32) {
	i.Mode = 0o666
	if attributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		i.Mode = 0o444
	}
	dir := attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0
	if dir {
		i.Mode |= 0o111
	}
	if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		switch {
		case tag == windows.IO_REPARSE_TAG_SYMLINK || tag == windows.IO_REPARSE_TAG_MOUNT_POINT:
			i.Mode |= fs.ModeSymlink
			return
		case tag&surrogate != 0 || tag == socketTag:
			i.Mode |= fs.ModeIrregular
			return
		}
	}
	if dir {
		i.Mode |= fs.ModeDir
		i.Size = 0
	}
}

// socketTag is that of sockets.
const socketTag = 0x80000023

// StatIn returns what a name in a directory is, or the directory itself for "".
func StatIn(dir windows.Handle, name string) (Info, error) {
	h, err := Open(dir, name, Look)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return Stat(h)
}

// StatPath returns what a path is. A link at its end is not followed.
func StatPath(path string) (Info, error) {
	dir, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = windows.CloseHandle(dir) }()
	return StatIn(dir, filepath.Base(path))
}

// File makes a file of package os of a handle.
func File(h windows.Handle, name string) *os.File { return os.NewFile(uintptr(h), name) }

// Names returns the names in a directory.
func Names(dir windows.Handle) ([]string, error) {
	h, err := Open(dir, "", Read) // a handle has one position in its names
	if err != nil {
		return nil, err
	}
	f := File(h, ".")
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// Listed is a name in a directory, with what the directory says about it. That has no number of links and no volume, and is
// older than what [Stat] says while a program has the file open, or if it was changed by another name of it.
type Listed struct {
	Name string
	Info
}

// List returns the names in a directory.
func List(dir windows.Handle) ([]Listed, error) {
	h, err := Open(dir, "", Read) // a handle has one position in its names
	if err != nil {
		return nil, err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var list []Listed
	aligned := make([]uint64, 8<<10)
	buffer := unsafe.Slice((*byte)(unsafe.Pointer(&aligned[0])), 8*len(aligned))
	for class := uint32(windows.FileIdBothDirectoryRestartInfo); ; class = windows.FileIdBothDirectoryInfo {
		err := windows.GetFileInformationByHandleEx(h, class, &buffer[0], uint32(len(buffer)))
		if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if list, err = appendListed(list, buffer); err != nil {
			return nil, err
		}
	}
}

// appendListed reads a list of FILE_ID_BOTH_DIR_INFO: at 0 where the next one is, 24 and 32 the times of the last write and
// the last change, 40 the size, 56 the attributes, 60 how long the name is in bytes, 64 the tag, 96 the identity, 104 the
// name.
func appendListed(list []Listed, b []byte) ([]Listed, error) {
	const name = 104
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	long := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	at := func(at int) int64 {
		return nanoseconds(windows.Filetime{LowDateTime: u(at), HighDateTime: u(at + 4)})
	}
	for {
		if len(b) < name {
			return nil, fs.ErrInvalid
		}
		l := Listed{Info: Info{Size: int64(long(40)), Mtime: at(24), Ctime: at(32), Inode: long(96)}}
		l.kind(u(56), u(64))
		var err error
		if l.Name, err = text(b, name, int(u(60))); err != nil {
			return nil, err
		}
		if l.Name != "." && l.Name != ".." {
			list = append(list, l)
		}
		next := int(u(0))
		if next == 0 {
			return list, nil
		}
		if next > len(b) {
			return nil, fs.ErrInvalid
		}
		b = b[next:]
	}
}

// junction begins the target of a junction as [Readlink] returns it. Targets of symbolic links never begin so.
const junction = `\??\`

// Readlink returns the target of a link. That of a junction begins with `\??\`.
func Readlink(dir windows.Handle, name string) (string, error) {
	h, err := Open(dir, name, Read)
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	buffer := make([]byte, windows.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
	var n uint32
	if err := windows.DeviceIoControl(h, windows.FSCTL_GET_REPARSE_POINT, nil, 0, &buffer[0], uint32(len(buffer)), &n, nil); err != nil {
		return "", err
	}
	// REPARSE_DATA_BUFFER: the tag, two lengths, offset and length of the name to use and of the one to show, in bytes.
	// Links have flags then.
	b := buffer[:n]
	if len(b) < 20 {
		return "", fs.ErrInvalid
	}
	u := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	switch binary.LittleEndian.Uint32(b) {
	case windows.IO_REPARSE_TAG_MOUNT_POINT:
		return text(b, 16+u(8), u(10))
	case windows.IO_REPARSE_TAG_SYMLINK:
		if shown, err := text(b, 20+u(12), u(14)); shown != "" || err != nil {
			return shown, err
		}
		target, err := text(b, 20+u(8), u(10))
		return strings.TrimPrefix(target, junction), err
	}
	return "", fs.ErrInvalid
}

func text(b []byte, from, size int) (string, error) {
	if from+size > len(b) {
		return "", fs.ErrInvalid
	}
	units := make([]uint16, size/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[from+2*i:])
	}
	return windows.UTF16ToString(units), nil
}

// IsJunction reports whether a target is that of a junction.
func IsJunction(target string) bool { return strings.HasPrefix(target, junction) }

// MakeJunction creates a junction with a target that [Readlink] returned.
func MakeJunction(dir windows.Handle, name, target string) error {
	if strings.ContainsAny(name, `\/`) {
		return fs.ErrInvalid
	}
	h, err := create(dir, name, windows.FILE_GENERIC_WRITE|windows.DELETE, windows.FILE_CREATE, windows.FILE_DIRECTORY_FILE, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	used, err := windows.UTF16FromString(target)
	if err != nil {
		return err
	}
	shown := used[len(junction):] // both end with 0
	var b []byte
	put := func(n int) { b = binary.LittleEndian.AppendUint16(b, uint16(n)) }
	b = binary.LittleEndian.AppendUint32(b, windows.IO_REPARSE_TAG_MOUNT_POINT)
	for _, n := range []int{8 + 2*(len(used)+len(shown)), 0, 0, 2 * (len(used) - 1), 2 * len(used), 2 * (len(shown) - 1)} {
		put(n)
	}
	for _, units := range [][]uint16{used, shown} {
		for _, n := range units {
			put(int(n))
		}
	}
	var n uint32
	err = windows.DeviceIoControl(h, windows.FSCTL_SET_REPARSE_POINT, &b[0], uint32(len(b)), nil, 0, &n, nil)
	if err != nil {
		err = errors.Join(err, remove(h))
	}
	return err
}

// Remove removes a name: a file, a link, or an empty directory. A file that may only be read is removed too.
func Remove(dir windows.Handle, name string) error {
	h, err := Open(dir, name, Move|Set)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	info, err := Stat(h)
	if err != nil {
		return err
	}
	readOnly := info.Mode&0o200 == 0
	if readOnly {
		if err := setReadOnly(h, false); err != nil {
			return err
		}
	}
	err = remove(h)
	if err != nil && readOnly {
		_ = setReadOnly(h, true)
	}
	return err
}

// remove deletes an open file. Its name is free at once where the filesystem can do that, else when nobody has it open.
func remove(h windows.Handle) error {
	const deleteNow = 0x1 | 0x2 // FILE_DISPOSITION_DELETE, FILE_DISPOSITION_POSIX_SEMANTICS
	flags := uint32(deleteNow)
	err := windows.NtSetInformationFile(h, &windows.IO_STATUS_BLOCK{}, (*byte)(unsafe.Pointer(&flags)), 4, windows.FileDispositionInformationEx)
	if err == nil || errors.Is(err, windows.STATUS_DIRECTORY_NOT_EMPTY) {
		return errorOf(err)
	}
	yes := byte(1)
	return errorOf(windows.NtSetInformationFile(h, &windows.IO_STATUS_BLOCK{}, &yes, 1, windows.FileDispositionInformation))
}

// Rename renames a name into another directory, in which the new name must not exist, unless it is another spelling of the
// old one.
func Rename(from windows.Handle, name string, to windows.Handle, as string) error {
	return named(from, name, to, as, windows.FileRenameInformation)
}

// Link makes a hard link.
func Link(from windows.Handle, name string, to windows.Handle, as string) error {
	const fileLinkInformation = 11
	return named(from, name, to, as, fileLinkInformation)
}

func named(from windows.Handle, name string, to windows.Handle, as string, class uint32) error {
	units, err := windows.UTF16FromString(as)
	if err != nil {
		return err
	}
	units = units[:len(units)-1]
	h, err := Open(from, name, Move)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	// FILE_RENAME_INFORMATION and FILE_LINK_INFORMATION: whether to replace, the directory, the length in bytes, the name.
	const pointer = int(unsafe.Sizeof(to))
	b := make([]byte, 2*pointer+4, 2*pointer+4+2*len(units)+2)
	*(*windows.Handle)(unsafe.Pointer(&b[pointer])) = to
	binary.LittleEndian.PutUint32(b[2*pointer:], uint32(2*len(units)))
	for _, n := range append(units, 0) {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	return errorOf(windows.NtSetInformationFile(h, &windows.IO_STATUS_BLOCK{}, &b[0], uint32(len(b)), class))
}

// SetReadOnly sets or clears the attribute that a file may only be read.
func SetReadOnly(dir windows.Handle, name string, readOnly bool) error {
	h, err := Open(dir, name, Set)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return setReadOnly(h, readOnly)
}

func setReadOnly(h windows.Handle, readOnly bool) error {
	var basic basicInfo
	if err := windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&basic)), uint32(unsafe.Sizeof(basic))); err != nil {
		return err
	}
	set := basicInfo{Attributes: basic.Attributes &^ windows.FILE_ATTRIBUTE_READONLY} // times that are 0 stay
	if readOnly {
		set.Attributes |= windows.FILE_ATTRIBUTE_READONLY
	}
	if set.Attributes == 0 {
		set.Attributes = windows.FILE_ATTRIBUTE_NORMAL // 0 would change nothing
	}
	return windows.SetFileInformationByHandle(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&set)), uint32(unsafe.Sizeof(set)))
}

// SetTime sets the time of the last change of the content, in nanoseconds since 1970.
func SetTime(dir windows.Handle, name string, mtime int64) error {
	h, err := Open(dir, name, Set)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	at := windows.NsecToFiletime(mtime)
	return windows.SetFileTime(h, nil, nil, &at)
}

// Flush makes the content of a file survive a loss of power.
func Flush(dir windows.Handle, name string) (err error) {
	info, err := StatIn(dir, name)
	if err != nil {
		return err
	}
	if info.Mode&0o200 == 0 { // only what can be written can be flushed
		if err := SetReadOnly(dir, name, false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, SetReadOnly(dir, name, true)) }()
	}
	h, err := Open(dir, name, windows.FILE_GENERIC_WRITE)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return windows.FlushFileBuffers(h)
}
