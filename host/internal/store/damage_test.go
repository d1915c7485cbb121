package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestADamagedBlockIsAGapAtOnce damages a block and the time in its key. What was restored says so before anything is written.
func TestADamagedBlockIsAGapAtOnce(t *testing.T) {
	for name, damage := range map[string]func(key []byte){
		"long after now":  func(key []byte) { key[len(key)-8] = 0x7f },
		"long before now": func(key []byte) { key[len(key)-6] = 0 },
		"its number":      func(key []byte) { key[15] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, small(1000))
			path := filepath.Join(t.TempDir(), "journal.db")
			disk := open(t, path, store.DefaultLimits())
			w.Store.Keep()
			w.Log("error", "boom")
			commit(t, disk, w.Store, w.Now)
			if err := disk.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte(capture.ConsoleSection))
				key, value := b.Cursor().First()
				key, value = bytes.Clone(key), bytes.Clone(value)
				changed := bytes.Clone(key)
				damage(changed)
				return errors.Join(b.Delete(key), b.Put(changed, value))
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			disk, _, err = store.Open(path, store.DefaultLimits(), epoch)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = disk.Close() }()
			st, _ := disk.State()
			past, err := disk.Past(nil)
			if err != nil {
				t.Fatal(err)
			}
			restored := capture.Restore(small(1000), noise.Default(), w.Now, st, past)
			past.Close()
			store.ReportDamage(disk, restored, w.Now, slog.New(slog.DiscardHandler))
			gaps := restored.View(w.Now).Gaps
			i := slices.IndexFunc(gaps, func(g capture.Gap) bool { return g.Reason == protocol.GapJournalDamaged })
			if i < 0 || gaps[i].Dropped != 1 || gaps[i].From.After(w.Now) || gaps[i].From.Before(w.Now.AddDate(-1, 0, 0)) {
				t.Errorf("the gaps are %+v", gaps)
			}
		})
	}
}

// TestALongFormatIsExplainedInShort: what is read as the format may be any part of a damaged file.
func TestALongFormatIsExplainedInShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := open(t, path, store.DefaultLimits()).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), bytes.Repeat([]byte{0xff}, 1000))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	disk, notice, err := store.Open(path, store.DefaultLimits(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	if !strings.Contains(notice, "its format is") || len(notice) > 600 {
		t.Errorf("the notice has %d bytes: %s", len(notice), notice)
	}
}
