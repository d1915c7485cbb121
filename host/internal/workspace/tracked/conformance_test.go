package tracked_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/providertest"
)

func TestItIsAProvider(t *testing.T) {
	providertest.Suite{
		Driver: tracked.Driver{}, OwnStore: true,
		RootWrites: "a view is made of files of which nobody has the right to write, and root needs no right",
	}.Run(t)
}
