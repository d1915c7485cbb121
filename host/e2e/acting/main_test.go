// Package acting tests how agents act on pages: references, keys, frames, tabs, leases and refusals. What actions cause is
// in package effects.
package acting

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
