package reports

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestBodiesOfAllTextAreKept: whatever the name of their type. Of others the answer says that they are no text.
func TestBodiesOfAllTextAreKept(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script>function ask() {
for (const name of ['qwik', 'ndjson', 'xml', 'soap', 'bytes']) fetch('/as/' + name).then((r) => r.arrayBuffer());
const x = new XMLHttpRequest(); x.open('GET', '/as/xhr'); x.responseType = 'arraybuffer'; x.send();
}</script>`})
	for name, c := range map[string][2]string{
		"qwik":   {"application/qwik-json", `{"message":"qwik says no"}`},
		"ndjson": {"application/x-ndjson", "{\"message\":\"ndjson says no\"}\n{\"a\":1}\n"},
		"xml":    {"application/xml", `<error><message>xml says no</message></error>`},
		"soap":   {"application/soap+xml", `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Reason><s:Text>soap says no</s:Text></s:Reason></s:Fault></s:Body></s:Envelope>`},
		"bytes":  {"application/octet-stream", "\x00\x01\xff"},
		"xhr":    {"application/octet-stream", "\x00\x01\xff"},
	} {
		s.Mux.HandleFunc("/as/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c[0])
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, c[1])
		})
	}
	w := e2etest.SharedWorld(t)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes() // the page is observed from here on
	p.JS(`ask()`)
	r := a.ChangesWith(map[string]any{"checkpoint": "auto_0", "wait": "settled"})
	details := map[string]string{}
	for _, f := range r.Network.Failures {
		details[f.URL] = f.Detail
	}
	for _, name := range []string{"qwik", "ndjson", "xml", "soap"} {
		if got := details["/as/"+name]; got != name+" says no" {
			t.Errorf("%s: detail %q", name, got)
		}
		if text := a.Do("get_network_bodies", map[string]any{"url": "/as/" + name}); !strings.Contains(text, name+" says no") {
			t.Errorf("%s: %s", name, text)
		}
	}
	for _, name := range []string{"bytes", "xhr"} {
		if text := a.Do("get_network_bodies", map[string]any{"url": "/as/" + name}); !strings.Contains(text, "not text") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestTheCauseOfAnErrorIsReported: of one that is logged, thrown or rejected, and the errors of a group.
func TestTheCauseOfAnErrorIsReported(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage, "/fails": e2etest.BlankPage + `<script>
const failed = (what, cause) => new Error(what + ' failed', { cause });
console.error(failed('logged', new Error('disk is full')));
console.error('grouped', new AggregateError([new Error('disk is full'), 'no space'], 'two failed', { cause: 'quota' }));
Promise.any([Promise.reject(new TypeError('first mirror')), Promise.reject(new Error('second, mirror'))]);
console.error(failed('longer', new TypeError('the disk of the third machine in the second row is full')));
console.error(failed('secret', new Error('password=hunter2hunter2')));
Promise.reject(failed('rejected', 'no space'));
throw failed('thrown', new Error('disk is full'));
</script>`})
	w := e2etest.SharedWorld(t)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL) // what the debugger replays of a page to which it comes late has no cause
	p.Do(chromedp.Navigate(s.URL + "/fails"))
	r := a.ChangesWith(map[string]any{"checkpoint": "auto_0", "wait": "settled"})
	var messages []string
	for _, e := range r.Console.NewErrors {
		messages = append(messages, e.Message)
	}
	slices.Sort(messages)
	if want := []string{
		"AggregateError: All promises were rejected (errors: [TypeError: first mirror, 'Error: second, mirror'])",
		"Error: logged failed (cause: Error: disk is full)",
		"Error: longer failed (cause: TypeError: the disk of the third machine in the second row is full)",
		"Error: rejected failed (cause: 'no space')",
		"Error: secret failed (cause: Error: password=[masked])",
		"Error: thrown failed (cause: Error: disk is full)",
		"grouped AggregateError: two failed (cause: 'quota', errors: [Error: disk is full, 'no space'])",
	}; !slices.Equal(messages, want) {
		t.Errorf("%q", messages)
	}
}
