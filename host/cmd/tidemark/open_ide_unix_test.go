//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVisualIsReadAsAShellDoes: its quotes hold, and the directory is the last argument.
func TestVisualIsReadAsAShellDoes(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "opened")
	editor := filepath.Join(dir, "my editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > '"+out+"'\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("TIDEMARK_HOME", filepath.Join(dir, "home"))
	for visual, want := range map[string]string{
		editor:                                "a dir/$x\n",
		"'" + editor + "' --wait 'two words'": "--wait\ntwo words\na dir/$x\n",
		"PLAIN=1 '" + editor + "' -n":         "-n\na dir/$x\n",
	} {
		t.Setenv("VISUAL", visual)
		if err := openIDE(t.Context(), "a dir/$x"); err != nil {
			t.Fatal(visual, err)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != want {
			t.Errorf("%s got %q, %v", visual, got, err)
		}
	}
	t.Setenv("VISUAL", "no-such-editor -n")
	if err := openIDE(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "no-such-editor -n") {
		t.Error(err)
	}
}
