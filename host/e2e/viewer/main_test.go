// Package viewer tests what the user sees: popup, panel, side panel and dashboard.
package viewer

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
