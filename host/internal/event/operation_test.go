package event_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
)

// TestOperationsOfBodies: host and extension read the same cases. What the extension finds when a request begins is what the host
// finds when it has ended.
func TestOperationsOfBodies(t *testing.T) {
	data, err := os.ReadFile("../../../protocol/testdata/operations.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, Body, Operation string }
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range cases {
		if got := answered(t, 200, "http://localhost/graphql", c.Body, ""); got.Operation != c.Operation {
			t.Errorf("%s: %q, not %q", c.Name, got.Operation, c.Operation)
		}
	}
}

// TestTheOperationOfARequestThatBegins: it is the extension's, if that is a name, else that of the address.
func TestTheOperationOfARequestThatBegins(t *testing.T) {
	const address = "http://localhost/graphql"
	for _, c := range []struct{ url, sent, want string }{
		{address, `"AddToCart"`, "AddToCart"},
		{address, `"a b"`, ""},
		{address, `"` + strings.Repeat("a", 101) + `"`, ""},
		{address, `"ghp_16C7e42F292c6912E7710c838347Ae178B4a"`, ""},
		{address, "", ""},
		{address + "?operationName=Me&variables=%7B%7D", "", "Me"},
		{address + "?query=query+Cart+%7B+a+%7D", "", "Cart"},
	} {
		field := ""
		if c.sent != "" {
			field = `,"operation":` + c.sent
		}
		ev, err := event.NewDecoder(redact.Default()).Decode(gjson.Parse(`{"kind":"request","at":1,"tab":1,"id":"1","method":"POST","url":"` + c.url + `","resource":"fetch"` + field + `}`))
		if err != nil {
			t.Errorf("%s: %v", c.sent, err)
		} else if got := ev.(*event.Request).Operation; got != c.want {
			t.Errorf("%s %s: %q, not %q", c.url, c.sent, got, c.want)
		}
	}
}
