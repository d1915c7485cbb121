// Package debugging tests breakpoints, stepping, threads, variables, snapshots of variables and tracepoints.
package debugging

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
