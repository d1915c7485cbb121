package milestone_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/milestone"
)

func TestCommandsThatReachAMilestoneAreRecognized(t *testing.T) {
	for _, c := range []struct{ command, passed, failed string }{
		{"npm test", "tests_passed npm test passed", "tests_failed npm test failed"},
		{"npm run test:unit -- --silent", "tests_passed npm run test passed", "tests_failed npm run test failed"},
		{"npm --prefix web test", "tests_passed npm test passed", "tests_failed npm test failed"},
		{"CI=1 npx vitest run src/a.test.ts 2>&1", "tests_passed vitest run passed", "tests_failed vitest run failed"},
		{"cd app && pnpm exec playwright test", "tests_passed playwright test passed", "tests_failed playwright test failed"},
		{"timeout 60 go test ./...", "tests_passed go test passed", "tests_failed go test failed"},
		{"time go test ./...", "tests_passed go test passed", "tests_failed go test failed"},
		{"./node_modules/.bin/jest --ci", "tests_passed jest passed", "tests_failed jest failed"},
		{"python3 -m pytest -q", "tests_passed pytest passed", "tests_failed pytest failed"},
		{"echo begin; make -C host test", "tests_passed make test passed", "tests_failed make test failed"},
		{"npm ci && npm test", "tests_passed npm test passed", ""},
		{"npm test && echo ok", "tests_passed npm test passed", ""},
		{"node --import tsx --test a.ts", "tests_passed node --test passed", "tests_failed node --test failed"},
		{"npm ci", "provisioned npm ci", ""},
		{"npm install --no-audit", "provisioned npm install", ""},
		{"pip install -r requirements.txt", "provisioned pip install -r", ""},
		{"npx wait-on http://localhost:5173", "server_ready wait-on", ""},
		{"docker compose up -d --wait", "server_ready docker compose up --wait", ""},
		// The exit status is not that of the tests, or there are no tests.
		{"npm test | tail -5", "", ""},
		{"npm test || true", "", ""},
		{"npm test; echo done", "", ""},
		{"! npm test", "", ""},
		{"npm test &", "", ""},
		{"if true; then npm test; fi", "", ""},
		{"npm test --help", "", ""},
		{"go test -c ./...", "", ""},
		{"vitest --run --watch", "", ""},
		{"echo npm test", "", ""},
		{"grep -r 'npm test' .", "", ""},
		{"npm install lodash", "", ""},
		{"go testing", "", ""},
		{"\"npm test", "", ""},
		{"", "", ""},
	} {
		for _, how := range []struct {
			want   string
			status int
		}{{c.passed, 0}, {c.failed, 1}, {"", 126}, {"", 127}} {
			source, label := milestone.Of(c.command, how.status == 0, &how.status)
			if got := strings.TrimSpace(source + " " + label); got != how.want {
				t.Errorf("%q with the status %d is %q, want %q", c.command, how.status, got, how.want)
			}
		}
		if source, label := milestone.Of(c.command, false, nil); strings.TrimSpace(source+" "+label) != c.failed {
			t.Errorf("%q, failed without a status: %q %q", c.command, source, label)
		}
	}
}
