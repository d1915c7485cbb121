// Package providertest is the one test suite of all snapshot providers. It takes snapshots of real directories, and checks
// what package provider guarantees.
package providertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// Suite tests the providers of a driver.
type Suite struct {
	Driver provider.Driver
	// Dir returns a directory in which workspaces and checkouts can be. Nil is a temporary one.
	Dir func(t *testing.T) string
	// Make creates a workspace. Nil creates a directory.
	Make func(t treetest.Fataler, path string)
	// RootWrites says why root can write in views, "" if it cannot.
	RootWrites string
	// NeedsRoot says what needs root, "" if nothing does.
	NeedsRoot string
	// OwnStore is true if the contents of snapshots are in the store, and not on the filesystem of the workspace.
	OwnStore bool
	// Seconds is true if the filesystem records times in whole seconds.
	Seconds bool
	// Anywhere is true if a clone takes no room on the filesystem that its directory is on.
	Anywhere bool
	// Left returns an error for what a process that was killed has left in a store, beside these snapshots. Nil looks at nothing.
	Left func(store string, snapshots []provider.Snapshot) error
}

// Run runs all tests.
func (s Suite) Run(t *testing.T) {
	for _, one := range []struct {
		name string
		test func(t *testing.T, s Suite)
	}{
		{"EachSnapshotIsTheTreeAsItWas", trees},
		{"OddNames", oddNames},
		{"AnEmptyWorkspace", empty},
		{"ViewsAreReadOnly", readOnly},
		{"RootInViews", rootInViews},
		{"ClonesAreIsolated", isolated},
		{"DeletionFrees", deletion},
		{"WhatIsDeletedIsUnknown", unknown},
		{"AFileThatNeverStopsChanging", restless},
		{"PermissionDenied", denied},
		{"AFullDisk", full},
		{"AClockThatIsSetBack", clock},
		{"MistakesChangeNothing", mistakes},
		{"AKilledProcess", killed},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, s) })
	}
}

// Killed kills processes that take and delete snapshots and make copies of them. Run does it too.
func (s Suite) Killed(t *testing.T) { killed(t, s) }

// world is a workspace with a provider.
type world struct {
	treetest.Fataler
	suite                 Suite
	dir, store, workspace string
	now                   func() time.Time
	closed                bool
	provider.Provider
}

func (s Suite) world(t *testing.T) *world {
	t.Helper()
	if s.NeedsRoot != "" && os.Geteuid() != 0 {
		t.Skip(s.NeedsRoot + " needs root")
	}
	dir := t.TempDir()
	if s.Dir != nil {
		dir = s.Dir(t)
	}
	w := s.in(t, dir)
	t.Cleanup(func() { _ = w.Close(); remove(dir) })
	return w
}

// in makes a workspace in a directory.
func (s Suite) in(t treetest.Fataler, dir string) *world {
	t.Helper()
	w := &world{Fataler: t, suite: s, dir: dir, workspace: filepath.Join(dir, "workspace"), store: filepath.Join(dir, "store"), now: time.Now}
	if s.Make != nil {
		s.Make(t, w.workspace)
	} else {
		w.must(os.Mkdir(w.workspace, 0o755))
	}
	w.open()
	return w
}

func (w *world) open() {
	w.Helper()
	p, err := w.suite.Driver.Open(context.Background(), provider.Options{Workspace: w.workspace, Store: w.store, Clock: func() time.Time { return w.now() }})
	w.must(err)
	w.Provider, w.closed = p, false
}

// Close closes the provider, once.
func (w *world) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.Provider.Close()
}

func (w *world) reopen() {
	w.Helper()
	w.must(w.Close())
	w.open()
}

func (w *world) must(errs ...error) {
	w.Helper()
	for _, err := range errs {
		if err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) path(name string) string { return filepath.Join(w.workspace, name) }

func (w *world) write(name, content string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755), os.WriteFile(w.path(name), []byte(content), 0o600))
}

// take takes a snapshot without problems.
func (w *world) take() uint64 {
	w.Helper()
	s, _, err := w.Snapshot(context.Background(), "test")
	w.must(err)
	if len(s.Problems) > 0 {
		w.Fatal(s.Problems)
	}
	return s.Number
}

// clone makes a clone; view makes a view.
func (w *world) clone(number uint64, name string) string {
	w.Helper()
	dir := filepath.Join(w.dir, name)
	w.must(w.Clone(context.Background(), number, dir))
	return dir
}

func (w *world) view(number uint64, name string) string {
	w.Helper()
	dir := filepath.Join(w.dir, name)
	w.must(w.View(context.Background(), number, dir))
	return dir
}

func (w *world) release(dir string) {
	w.Helper()
	w.must(w.Release(context.Background(), dir))
	if _, err := os.Lstat(dir); err == nil {
		w.Fatalf("%s is still there", dir)
	}
}

// is checks that a view and a clone of a snapshot have what the workspace had.
func (w *world) is(number uint64, want []string) {
	w.Helper()
	clone := w.clone(number, fmt.Sprintf("clone-of-s%d", number))
	w.same(fmt.Sprintf("the clone of s%d", number), treetest.Read(w, clone), want)
	w.release(clone)
	view := w.view(number, fmt.Sprintf("view-of-s%d", number))
	w.same(fmt.Sprintf("the view of s%d", number), withoutModes(treetest.Read(w, view)), withoutModes(want))
	w.release(view)
}

func (w *world) same(what string, got, want []string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Fatalf("%s is\n%s\nwas\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// mode finds the mode in a line of [treetest.Read].
var mode = regexp.MustCompile(`^("(?:[^"\\]|\\.)*" \d+) \d+`)

// withoutModes drops modes, which a view may show without the bits for writing.
func withoutModes(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = mode.ReplaceAllString(line, "$1")
	}
	return out
}

func (w *world) clean() {
	w.Helper()
	damages, err := w.Check(context.Background())
	w.must(err)
	if len(damages) > 0 {
		w.Fatal(damages)
	}
}

func (w *world) numbers() []uint64 {
	w.Helper()
	list, err := w.List(context.Background())
	w.must(err)
	var all []uint64
	for _, s := range list {
		all = append(all, s.Number)
	}
	return all
}

// remove removes what tests have left, directories without permission and subvolumes too.
func remove(dir string) { _ = tracked.RemoveAll(dir) }
