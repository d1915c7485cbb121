package event_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

func TestATreeIsCleanedAndMasked(t *testing.T) {
	page := `{"frames":[{"frame":0,"parent":-1,"index":-1,"document":"d","url":"http://localhost/?access_token=abcdef123456","title":"a\u001b[31mb","version":1,"root":1,
		"nodes":[{"i":1,"r":"document","c":[2]},{"i":2,"r":"button","n":"x\u202ey","k":"id=a href=/reset?token=abcdef123456","gk":["href=/?token=abcdef123456"],"v":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"}]}]}`
	d := event.NewDecoder(redact.Default())
	looked, bad := d.Aria([]byte(page))
	if bad != nil {
		t.Fatal(bad)
	}
	acted, bad := d.Act([]byte(`{"done":1,"before":` + page + `,"page":` + page + `}`))
	if bad != nil {
		t.Fatal(bad)
	}
	for name, r := range map[string]*protocol.AriaResult{"a snapshot": looked, "before an action": acted.Before, "after it": acted.Page} {
		f := r.Frames[0]
		if strings.Contains(f.URL, "abcdef") || f.Title != "ab" || f.Nodes[1].Name != "xy" || strings.Contains(*f.Nodes[1].Value, "eyJ") || f.Nodes[1].Keys != "id=a href=/reset?token=[masked]" || strings.Contains(f.Nodes[1].ShapeKeys[0], "abcdef") || f.Masked != 4 {
			t.Errorf("%s: %+v %+v %q", name, f, f.Nodes[1], *f.Nodes[1].Value)
		}
	}
}

func TestWhatAFieldObjectsToIsCleanedAndMasked(t *testing.T) {
	r, bad := event.NewDecoder(redact.Default()).Act([]byte(`{"done":1,"objections":[{"field":{"frame":0,"document":"d","id":3},"invalid":"'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U' is\u001b[31m missing an '@'"},{"field":{"frame":0,"document":"d","id":4},"typed":5}]}`))
	if bad != nil {
		t.Fatal(bad)
	}
	if o := r.Objections[0]; o.Field.ID != 3 || strings.Contains(*o.Invalid, "eyJ") || !strings.HasSuffix(*o.Invalid, "is missing an '@'") {
		t.Errorf("%+v %q", o, *o.Invalid)
	}
	if o := r.Objections[1]; o.Invalid != nil || o.Typed != 5 {
		t.Errorf("%+v", o)
	}
}

func TestATreeThatIsNoneIsRefused(t *testing.T) {
	for _, raw := range []string{``, `7`, `{"frames":7}`, `{"frames":[{"nodes":[{"i":"one"}]}]}`} {
		if _, bad := event.NewDecoder(redact.Default()).Aria([]byte(raw)); bad == nil || bad.Code != protocol.CodeMalformed {
			t.Errorf("%s: %v", raw, bad)
		}
	}
}
