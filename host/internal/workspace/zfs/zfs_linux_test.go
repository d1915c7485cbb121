package zfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/zfs"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/providertest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

func TestItIsAProvider(t *testing.T) {
	s := suite(t)
	if !killtest.IsVictim() {
		s.Dir(t) // a pool that cannot be made skips the test, which a subtest cannot do
	}
	s.Run(t)
}

// TestAKilledProcessLeavesNothing that the next start does not remove: no snapshot, and no mount.
func TestAKilledProcessLeavesNothing(t *testing.T) { suite(t).Killed(t) }

// suite is on one pool for all tests of it.
func suite(all *testing.T) providertest.Suite {
	var pool disktest.Pool
	return providertest.Suite{
		Driver: zfs.Driver{}, OwnStore: true, Seconds: true, Anywhere: true, NeedsRoot: "mounting ZFS",
		Dir: func(t *testing.T) string {
			if pool.Name == "" { // not in the process that is killed
				pool = disktest.ZFS(all, 2<<30)
			}
			dir, err := os.MkdirTemp(pool.Dir, "world")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			pool.Create(t, dir)
			return dir
		},
		Make: func(t treetest.Fataler, path string) { pool.Create(t, path) },
		Left: left,
	}
}

// left returns an error for what a process that was killed has left: a snapshot that no record names, or a mount.
func left(store string, records []provider.Snapshot) error {
	known := map[string]bool{}
	for _, r := range records {
		known[fmt.Sprintf("s%d-%d", r.Number, r.At.UnixNano())] = true
	}
	entries, err := os.ReadDir(filepath.Join(store, "native"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".differs"); !known[name] {
			err = errors.Join(err, fmt.Errorf("%s was left", e.Name()))
		}
	}
	mounted, failed := mounts.Within(store)
	for _, m := range mounted {
		err = errors.Join(err, fmt.Errorf("%s is mounted", m.At))
	}
	return errors.Join(err, failed)
}
