// Package seed begins the random choices of tests that do not use rapid.
//
// It guarantees: with the environment variable of rapid, RAPID_SEED, a run makes the same choices each time; without it,
// others each time, and a test that fails says with which seed it did.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// For returns the seed of a test.
func For(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10, 64)
	if err != nil || seed == 0 {
		seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with RAPID_SEED=%d", seed)
		}
	})
	return seed
}
