// Package snapshots tests page snapshots: what they contain, their differences and references.
package snapshots

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
