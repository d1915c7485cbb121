package api_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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

// TestEveryProblemHasAType: also those that are found before a method is called.
func TestEveryProblemHasAType(t *testing.T) {
	rest := api.REST(api.RESTOptions{Version: "1"})
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { api.Refuse(w, http.StatusUnauthorized, "no") })
	for _, c := range []struct {
		handler                  http.Handler
		method, path, kind, body string
		status                   int
		code                     string
	}{
		{refuse, "GET", "/api/overview", "", "", 401, "unauthorized"},
		{rest, "GET", "/api/nowhere", "", "", 404, "not_found"},
		{rest, "GET", "/api/overview?bogus=1", "", "", 422, "invalid_argument"},
		{rest, "POST", "/api/session", "text/plain", "code", 415, "invalid_argument"},
		{rest, "POST", "/api/session", "application/json", "{", 400, "invalid_argument"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		var problem struct{ Type, Detail string }
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != c.status || problem.Type != "urn:tidemark:error:"+c.code || problem.Detail == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
