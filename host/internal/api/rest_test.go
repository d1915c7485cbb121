package api_test

import (
	"flag"
	"os"
	"testing"

	"tidemark.dev/tidemark/host/internal/api"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// TestTheDescriptionIsCurrent: docs/openapi.json is what the code serves.
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
		t.Errorf("docs/openapi.json is not what the API is (%v); go test ./host/internal/api -update, and review it", err)
	}
}
