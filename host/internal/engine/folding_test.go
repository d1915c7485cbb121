package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestARequestThatDiffersIsNotHiddenByFolding: requests are "path status duration", a second apart. Those of /graphql with
// status 400 are answered with 200 and an error. "/" is a load of the page, which is not listed.
func TestARequestThatDiffersIsNotHiddenByFolding(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests []string
		want     string
	}{
		{"polling", []string{"/a 200 10", "/b 200 9", "/a 200 14", "/b 200 9", "/a 200 31"}, "/a 200 +0…4000/10…31 ×3; /b 200 +1000…3000/9 ×2"},
		{"an outcome between others", []string{"/a 200 10", "/a 200 10", "/a 500 10", "/a 200 10"}, "/a 200 +0…1000/10 ×2; /a 500 +2000/10; /a 200 +3000/10"},
		{"one of another address of the endpoint", []string{"/a/1 200 10", "/a/2 404 10", "/a/1 200 10"}, "/a/1 200 +0/10; /a/2 404 +1000/10; /a/1 200 +2000/10"},
		{"one of another endpoint", []string{"/a 200 10", "/b 500 10", "/a 200 10"}, "/a 200 +0…2000/10 ×2; /b 500 +1000/10"},
		{"one that is slower", []string{"/a 200 1549", "/b 200 9", "/a 200 7034", "/a 200 1600", "/a 200 1700"}, "/a 200 +0/1549; /b 200 +1000/9; /a 200 +2000/7034; /a 200 +3000…4000/1600…1700 ×2"},
		{"an error in an answer", []string{"/graphql 200 10", "/graphql 400 10", "/graphql 200 10"}, `/graphql Balance 200 +0/10; /graphql Balance 200 +1000/10 "ledger is locked"; /graphql Balance 200 +2000/10`},
		{"loads", []string{"/ 200 9", "/a 200 400", "/b 200 9", "/ 200 9", "/a 200 12", "/b 200 9"}, "/a 200 +0…3000/12…400 ×2; /b 200 +1000…4000/9 ×2"},
		{"a load that is much slower", []string{"/ 200 9", "/a 200 12", "/ 200 9", "/a 200 1400"}, "/a 200 +0/12; /a 200 +2000/1400"},
		{"loads with the same outcomes", []string{"/ 200 9", "/a 401 9", "/a 200 9", "/ 200 9", "/a 401 9", "/a 200 9"}, "/a 401 +0…3000/9 ×2; /a 200 +1000…4000/9 ×2"},
		{"loads with other outcomes", []string{"/ 200 9", "/a 401 9", "/a 200 9", "/ 200 9", "/a 200 9", "/a 401 9"}, "/a 401 +0/9; /a 200 +1000/9; /a 200 +3000/9; /a 401 +4000/9"},
		{"addresses against caching", []string{"/a?t=1769164200001 200 9", "/a?_=p0m9p9j3 200 9", "/a?page=1769164 200 9"}, "/a?t=1769164200001 200 +0…1000/9 ×2; /a?page=1769164 200 +2000/9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			for _, r := range c.requests {
				var path string
				var status, ms int
				if _, err := fmt.Sscan(r, &path, &status, &ms); err != nil {
					t.Fatal(err)
				}
				more := ""
				if path == "/graphql" {
					more = `,"request_body":"{\"operationName\":\"Balance\",\"query\":\"query Balance { balance }\"}","mime":"application/json"`
					if status == 400 {
						status, more = 200, more+`,"response_body":"{\"errors\":[{\"message\":\"ledger is locked\"}]}"`
					}
				}
				resource := "fetch"
				if path == "/" {
					resource = "document"
				}
				sendRequest(w, "r", fmt.Sprintf(`"method":"GET","url":"http://localhost:5173%s","resource":"%s","status":%d,"started":%d,"duration":%d%s`, path, resource, status, w.Now.UnixMilli(), ms, more))
				w.Pass(time.Second)
			}
			var lines []string
			for _, line := range strings.Split(inLines(t, w, w.Agent(), "get_network_requests", `{}`), "\n")[1:] {
				_, line, _ = strings.Cut(line, " GET ")
				lines = append(lines, line)
			}
			if got := strings.Join(lines, "; "); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestAFoldedRequestIsFoundByItsPosition: a line names the position of each request, as get_network_bodies takes it.
func TestAFoldedRequestIsFoundByItsPosition(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i, path := range []string{"/a", "/b", "/a", "/b", "/a"} {
		sendRequest(w, "r", fmt.Sprintf(`"method":"GET","url":"http://localhost:5173%s?t=%d","resource":"fetch","status":200,"mime":"text/plain","response_body":"answer %d","started":%d,"duration":9`,
			path, 1769164200000+i, i, w.Now.UnixMilli()))
	}
	a := w.Agent()
	text := inLines(t, w, a, "get_network_requests", `{}`)
	for _, want := range []string{"\n1,3,5 GET /a?t=1769164200000 200 ", "\n2,4 GET /b?t=1769164200001 200 "} {
		if !strings.Contains("\n"+text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	if text := inLines(t, w, a, "get_network_bodies", `{"positions":[3,4]}`); !strings.Contains(text, "answer 2") || !strings.Contains(text, "answer 3") {
		t.Error(text)
	}
}
