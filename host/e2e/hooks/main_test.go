// Package hooks tests how agents receive changes without asking: `tidemark hook` and subscriptions to resources.
package hooks

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
