package devservers

import (
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// covered has an element over each of its buttons, created by a function, an arrow, a class, a memo, a forwarded reference,
// and, last, by a function that is no component.
const covered = `import { Component, forwardRef, memo, useState } from 'react';

const over = { position: 'absolute', inset: 0 };
const Cell = ({ name, children }) => (
  <div style={{ position: 'relative', width: 200 }}>
    <button type="button">{name}</button>
    {children}
  </div>
);

function Plain() {
  const [shown] = useState(true);
  return (
    <Cell name="Plain">
      <b style={{ color: 'red' }} />
      {shown && (
        <i className="plain" style={over}>
          <b />
        </i>
      )}
    </Cell>
  );
}

const Arrow = () => <Cell name="Arrow"><i className="arrow" style={over} /></Cell>;

class Old extends Component {
  render() {
    return <Cell name="Old"><i className="old" style={over} /></Cell>;
  }
}

const Memo = memo(function Memo() {
  return <Cell name="Memo"><i className="memo" style={over} /></Cell>;
});

const Forwarded = forwardRef((props, ref) => <Cell name="Forwarded"><i ref={ref} className="forwarded" style={over} /></Cell>);

const helper = () => <i className="helper" style={over} />;
const Helped = () => <Cell name="Helped">{helper()}</Cell>;

export default function App() {
  return (
    <main>
      <h1>Items</h1>
      <Plain /><Arrow /><Old /><Memo /><Forwarded /><Helped />
    </main>
  );
}
`

// TestTheLineOfACoveringElement is the file's, although React 18 counts the lines of what Vite's plugin compiled first. Where
// the line cannot be found it is marked.
func TestTheLineOfACoveringElement(t *testing.T) {
	for _, way := range []string{"debugger", "quiet"} {
		t.Run(way, func(t *testing.T) {
			w := e2etest.WorldIn(t, strings.TrimPrefix(way, "debugger"))
			app := devserver.Start(t, "react18", []string{"shop"}, nil)
			app.Write("src/App.jsx", covered)
			a := w.NewAgent(t, "--origin", app.URL, "--tools", "observe,act")
			w.Open(t, app.URL)
			page := a.Look()
			source := func(button string) string {
				d := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"`+button+`"`)}, protocol.RefusedCovered, 0)
				if d.Refused.Blame == nil {
					t.Fatalf("%s: nothing is blamed", button)
				}
				return d.Refused.Blame.Source
			}
			for _, button := range []string{"Plain", "Arrow", "Old", "Memo", "Forwarded"} {
				before, _, _ := strings.Cut(covered, `className="`+strings.ToLower(button))
				if got, want := source(button), fmt.Sprintf("App.jsx:%d", strings.Count(before, "\n")+1); got != want {
					t.Errorf("%s: %s, want %s", button, got, want)
				}
			}
			if got := source("Helped"); !strings.HasPrefix(got, "App.jsx:") || !strings.HasSuffix(got, " (generated)") {
				t.Errorf("of what no component has in its code: %s", got)
			}
		})
	}
}
