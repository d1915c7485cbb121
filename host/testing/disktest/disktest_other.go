//go:build !linux

package disktest

import "testing"

func mount(t *testing.T, _, _, _ string) { t.Skip("filesystems are mounted on Linux only") }

func made(t *testing.T, _ string, _ Options) string {
	t.Skip("filesystems are mounted on Linux only")
	return ""
}

func extentsOf(*testing.T, string) []extent { return nil }
