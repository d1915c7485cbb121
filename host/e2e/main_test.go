// Package e2e runs the whole of Tidemark in real Chromium; see package e2etest.
package e2e

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
