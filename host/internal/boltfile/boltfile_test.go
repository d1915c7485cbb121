package boltfile_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
)

// read opens a file, reads all of it, writes to it and closes it.
func read(path string) error {
	db, _, err := boltfile.Open(path)
	if err != nil {
		return err
	}
	err = boltfile.Guard(func() error {
		if err := db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
				return b.ForEach(func(_, v []byte) error { _ = string(v); return nil })
			})
		}); err != nil {
			return err
		}
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("more"))
			return errors.Join(err, b.Put([]byte("key"), make([]byte, 20_000)))
		})
	})
	return errors.Join(err, boltfile.Guard(db.Close))
}

// TestADamagedFileIsAnError: it is cut off anywhere, or a page of it has only zeros. Afterwards it can be renamed.
func TestADamagedFileIsAnError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps a file mapped on which bbolt panicked, so it can neither be written nor renamed")
	}
	path := filepath.Join(t.TempDir(), "db")
	db, _, err := boltfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(fmt.Append(nil, "bucket ", n%2))
			for i := range 200 {
				err = errors.Join(err, b.Put(fmt.Append(nil, n, i), []byte(strings.Repeat("value ", 20))))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := read(path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	refused := 0
	for at := page; at < len(whole); at += page {
		for name, data := range map[string][]byte{
			"cut off": whole[:at], "cut off within a page": whole[:at+100],
			"zeros": append(append(append([]byte{}, whole[:at]...), make([]byte, page)...), whole[at+page:]...),
		} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := read(path); err != nil && !errors.Is(err, boltfile.ErrDamaged) {
				t.Errorf("page %d, %s: %v", at/page, name, err)
			} else if err != nil {
				refused++
			}
			if err := os.Rename(path, path+".aside"); err != nil {
				t.Errorf("page %d, %s: %v", at/page, name, err)
			}
		}
	}
	// A page that refers to itself would be followed without end.
	circles := 0
	for at := 2 * page; at < len(whole); at += page {
		data := append([]byte{}, whole...)
		head := data[at:]
		if binary.LittleEndian.Uint16(head[8:]) != 1 { // a branch
			continue
		}
		id := binary.LittleEndian.Uint64(head)
		binary.LittleEndian.PutUint64(head[16+8:], id)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		// The page may be one of an older state.
		if err := read(path); err != nil && !errors.Is(err, boltfile.ErrDamaged) {
			t.Errorf("page %d refers to itself: %v", id, err)
		} else if err != nil {
			circles++
		}
	}
	if circles == 0 {
		t.Error("no page that refers to itself is an error")
	}
	if t.Logf("%d pages, %d damages are errors", len(whole)/page, refused); refused == 0 {
		t.Error("no damage is an error")
	}
}

// TestAFileThatMayBeOlderSaysSo: one of its two heads is damaged, or a copy of the other, or the file is empty.
func TestAFileThatMayBeOlderSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	open := func() string {
		t.Helper()
		db, notice, err := boltfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return notice
	}
	if notice := open(); notice != "" {
		t.Fatalf("a new file: %s", notice)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for name, damage := range map[string]func([]byte) []byte{
		"first head":  func(b []byte) []byte { b[20] ^= 1; return b },
		"second head": func(b []byte) []byte { b[page+20] ^= 1; return b },
		"copied head": func(b []byte) []byte { copy(b[:page], b[page:2*page]); return b },
		"emptied":     func([]byte) []byte { return nil },
	} {
		if err := os.WriteFile(path, damage(append([]byte{}, whole...)), 0o600); err != nil {
			t.Fatal(err)
		}
		if notice := open(); !strings.Contains(notice, path) {
			t.Errorf("%s: %q", name, notice)
		}
	}
}
