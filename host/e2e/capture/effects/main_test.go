// Package effects tests what actions cause, and what answers say about pages that are paused or cannot be read. With quiet
// capture, the debugger is attached only while an agent acts.
package effects

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
