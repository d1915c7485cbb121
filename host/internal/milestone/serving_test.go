package milestone_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/milestone"
)

// TestCommandsThatStartAServer, in the foreground or behind the shell.
func TestCommandsThatStartAServer(t *testing.T) {
	for command, want := range map[string][2]bool{
		"npm run dev":                     {true, false},
		"npm run dev &":                   {true, true},
		"npm run dev -- --port 3000 &":    {true, true},
		"PORT=3000 npm start":             {true, false},
		"cd web && pnpm dev":              {true, false},
		"(cd web; yarn dev) &":            {true, true},
		"npx vite --host":                 {true, false},
		"npm run dev > server.log 2>&1 &": {true, true},
		"next dev -p 3000":                {true, false},
		"npm run build":                   {false, false},
		"npm run dev --help":              {false, false},
		"echo npm run dev":                {false, false},
		"npm test &":                      {false, true},
		"'npm run dev":                    {false, false},
		"":                                {false, false},
	} {
		if serves, behind := milestone.Serves(command); serves != want[0] || behind != want[1] {
			t.Errorf("%q: %v, %v", command, serves, behind)
		}
	}
}
