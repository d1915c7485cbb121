// Package timing has the tests that compare times with a limit, measure memory, or keep a processor busy. Nothing else runs
// beside them.
package timing

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
