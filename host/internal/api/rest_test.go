package api_test

import (
	"flag"
	"os"
	"testing"

	"tidemark.dev/tidemark/host/internal/api"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json")

// TestTheDescriptionIsCurrent: docs/openapi.json matches the description that the code serves.
func TestTheDescriptionIsCurrent(t *testing.T) {
	const path = "../../../docs/openapi.json"
	made, err := api.OpenAPI("1")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		if err := os.WriteFile(path, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil || string(kept) != string(made) {
		t.Errorf("docs/openapi.json differs from the API (%v); run go test ./host/internal/api -update and review the diff", err)
	}
}
