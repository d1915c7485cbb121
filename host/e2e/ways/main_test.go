// Package ways has the tests that choose the way of capture themselves, such as those that compare both.
package ways

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
