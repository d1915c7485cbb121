// Package agents tests the recording of conversations with real agents: the programs from npm run against a model that
// follows a script (package modelserver). `make agents` installs them.
package agents

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
