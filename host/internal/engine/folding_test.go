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
// status 400 are answered with 200 and an error.
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
				sendRequest(w, "r", fmt.Sprintf(`"method":"GET","url":"http://localhost:5173%s","resource":"fetch","status":%d,"started":%d,"duration":%d%s`, path, status, w.Now.UnixMilli(), ms, more))
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
