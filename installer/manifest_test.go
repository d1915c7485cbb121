package installer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// program makes a file that passes for a tidemark binary.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tidemark")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestManifestAllowsOnlyTheExtension(t *testing.T) {
	binary := program(t)
	path, err := WriteManifest(filepath.Join(t.TempDir(), "made", "on demand"), binary)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != "dev.tidemark.host.json" {
		t.Errorf("manifest is named %s", filepath.Base(path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Name != "dev.tidemark.host" || m.Type != "stdio" || m.Path != binary || m.Description == "" {
		t.Errorf("manifest = %+v", m)
	}
	if len(m.AllowedOrigins) != 1 || m.AllowedOrigins[0] != "chrome-extension://paeppkelgladifoolajbebmkldcilaad/" {
		t.Errorf("allowed_origins = %v", m.AllowedOrigins)
	}
}

func TestInstallProfileWritesBelowTheUserDataDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		_, err := InstallProfile(t.TempDir(), program(t))
		if !errors.Is(err, ErrProfileUnsupported) {
			t.Fatalf("err = %v", err)
		}
		return
	}
	dir := t.TempDir()
	path, err := InstallProfile(dir, program(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "NativeMessagingHosts", ManifestFile); path != want {
		t.Errorf("path = %s, want %s", path, want)
	}
}

func TestManifestIsReplacedWholeAndLeftAloneWhenEqual(t *testing.T) {
	dir, first, second := t.TempDir(), program(t), program(t)
	path, err := WriteManifest(dir, first)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WriteManifest(dir, first); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("an equal manifest was written again")
	}
	if _, err := WriteManifest(dir, second); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), second) {
		t.Errorf("manifest still names the first binary: %s", data)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("files left behind: %v", entries)
	}
}

func TestManifestRefusesWhatABrowserCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{"": "no tidemark binary", filepath.Join(dir, "absent"): "make build", dir: "not an executable"}
	if runtime.GOOS != "windows" {
		cases[plain] = "not an executable"
	}
	for binary, want := range cases {
		out := filepath.Join(dir, "out")
		_, err := WriteManifest(out, binary)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("WriteManifest(%q): %v, want %q", binary, err, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("WriteManifest(%q) left a directory behind", binary)
		}
	}
}
