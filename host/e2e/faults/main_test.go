// Package faults tests full disks, damaged files, bad input, and processes that are killed. Events come from a test's own
// stream, not from a page.
package faults

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
