// Package cases tests each page of host/testing/cases: that what breaks is reported, and what is healthy is not.
package cases

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
