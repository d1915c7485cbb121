// Package devservers tests what agents learn of edits in development servers made by others: that a healthy edit is clean, that a
// broken one is reported with its place, and that its repair is seen. An independent record of the page decides what happened.
package devservers

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
