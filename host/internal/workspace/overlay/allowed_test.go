package overlay_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/overlay"
)

// TestUntestedMountsNeedTheSetting: on Linux it changes nothing. Elsewhere the refusal is a sentence that names it.
func TestUntestedMountsNeedTheSetting(t *testing.T) {
	refused := overlay.Refused()
	if on := overlay.Allowed(true); fmt.Sprint(on) != fmt.Sprint(refused) {
		t.Errorf("with the setting: %v, want %v", on, refused)
	}
	off := overlay.Allowed(false)
	if runtime.GOOS == "linux" {
		if fmt.Sprint(off) != fmt.Sprint(refused) || overlay.Untested != "" {
			t.Errorf("%q: %v, want %v", overlay.Untested, off, refused)
		}
		return
	}
	if off == nil || !strings.Contains(off.Error(), overlay.Untested) || !strings.Contains(off.Error(), "have not tried") || !strings.Contains(off.Error(), "untested_mounts = true") {
		t.Errorf("without the setting: %v", off)
	}
	if refused != nil && !strings.Contains(refused.Error(), overlay.Untested+" is not installed. Install it") {
		t.Errorf("refused: %v", refused)
	}
	if form := overlay.Alone.Short(); !strings.Contains(form, overlay.Untested) {
		t.Error(form)
	}
}

// TestADirectoryWithoutLayersIsLeftAlone on every system.
func TestADirectoryWithoutLayersIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(overlay.Mount(t.Context(), nil, dir), overlay.Release(dir), overlay.Heal(dir), overlay.Release(filepath.Join(dir, "missing"))); err != nil {
		t.Error(err)
	}
}
