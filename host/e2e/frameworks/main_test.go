// Package frameworks tests page snapshots of real applications and editors: those of host/e2e/apps.
package frameworks

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
