// Package branches tests branches of a workspace with a scripted agent: what starts in them, and what becomes of their changes.
package branches

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
