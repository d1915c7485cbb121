// Package reports tests what is captured, masked, reported and kept, over reloads, restarts and kills.
package reports

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
