//go:build !linux

package workspace_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
)

// TestWhereNobodyTriedMountsFilesAreCopied, and the form and the list of providers name what is needed: the setting, and then what
// mounts.
func TestWhereNobodyTriedMountsFilesAreCopied(t *testing.T) {
	for name, test := range map[string]struct {
		on   bool
		says string
	}{
		"off": {false, "untested_mounts = true"}, "on": {true, overlay.Untested + " is not installed"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.on && overlay.Refused() == nil {
				t.Skip(overlay.Untested + " is installed")
			}
			top, err := grants.Resolve(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir, branch := filepath.Join(top, "workspace"), filepath.Join(top, "branch")
			store := &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
			if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "file"), []byte("original"), 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Allow(t.Context(), dir, nil, nil); err != nil {
				t.Fatal(err)
			}
			all := workspace.New(workspace.Options{
				Grants: store, Dir: filepath.Join(top, "home"), Redactor: redact.Default(), Clock: time.Now, Log: slog.New(slog.DiscardHandler),
				Server: []string{os.Args[0]}, MountFiles: 1, Settings: workspace.Settings{UntestedMounts: test.on},
			})
			defer all.CloseDir(dir)
			w, err := all.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			s, _, err := w.Take(t.Context(), "", "", true)
			if err != nil {
				t.Fatal(err)
			}
			if err := workspace.CloneAs(t.Context(), w, s.Number, branch, branch+".making"); err != nil {
				t.Fatal(err)
			}
			if content, err := os.ReadFile(filepath.Join(branch, "file")); err != nil || string(content) != "original" {
				t.Errorf("%q, %v", content, err)
			}
			if form := workspace.Form(w, branch, true); !strings.HasPrefix(form, "not mounted: ") || !strings.Contains(form, test.says) {
				t.Errorf("%q", form)
			}
			m, err := w.Providers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range m.Providers {
				if p.Name == workspace.Provider && (!strings.Contains(p.Branch, test.says) || !strings.Contains(p.Seek, test.says)) {
					t.Errorf("%+v", p)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(top, ".layers-*")); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}
