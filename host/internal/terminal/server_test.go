package terminal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
)

// TestAServerIsNoticedByItsAddress, also one that runs behind the shell, whose command has ended by then.
func TestAServerIsNoticedByItsAddress(t *testing.T) {
	const vite = "\x1b[32m➜\x1b[39m  \x1b[1mLocal\x1b[22m:   \x1b[36mhttp://localhost:\x1b[1m5173\x1b[22m/\x1b[39m\r\n"
	for name, c := range map[string]struct {
		text, echo string // the command, and what is shown of it
		ends       string // the command line that is known at its end, "" if it runs on
		output     string
		want       []string
	}{
		"behind the shell":                 {"npm run dev &", "", "npm run dev &", vite, []string{"npm run dev & at localhost:5173"}},
		"behind a shell that tells later":  {"", "", "npm run dev &", vite, []string{"npm run dev & at localhost:5173"}},
		"in the foreground":                {"npm run dev", "", "", vite, []string{"npm run dev at localhost:5173"}},
		"in the foreground, by what shows": {"", "me@host:~/shop$ npm run dev\r\n", "", vite, []string{"npm run dev at localhost:5173"}},
		"every address":                    {"npm start", "", "", "listening on http://0.0.0.0:3000 \r\n", []string{"npm start at 127.0.0.1:3000"}},
		"twice":                            {"npm start", "", "", vite + vite, []string{"npm start at localhost:5173"}},
		"it failed":                        {"npm run dev", "", "npm run dev", vite, nil},
		"another command":                  {"curl x", "", "", vite, nil},
		"another machine":                  {"npm start", "", "", "see http://example.com:80/\r\n", nil},
		"much later":                       {"npm start", "", "", strings.Repeat("building …\r\n", 40_000) + vite, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1 << 20, 7, 1} {
				if size == 1 && len(c.output) > 10_000 {
					continue
				}
				var got []string
				s := servers{
					serves: func(command string) (bool, bool) {
						return strings.HasPrefix(command, "npm run dev") || command == "npm start", strings.HasSuffix(command, "&")
					},
					ready: func(c recording.Command, address string) { got = append(got, c.Text+" at "+address) },
				}
				s.began(recording.Command{Text: c.text, Offset: 5}, []byte(c.echo))
				if c.ends != "" {
					s.ended(recording.Command{Text: c.ends, Offset: 5})
				}
				for chunk := range slices.Chunk([]byte(c.output), size) {
					s.shown(chunk)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("in parts of %d bytes: %q, want %q", size, got, c.want)
				}
			}
		})
	}
}

// TestATapeTellsOfAServer whose output it records.
func TestATapeTellsOfAServer(t *testing.T) {
	r := newRig(t)
	var got []string
	r.servers.serves = func(command string) (bool, bool) { return command == "npm run dev &", true }
	r.servers.ready = func(c recording.Command, address string) { got = append(got, c.Text+" at "+address) }
	r.marked(time.Second, &mark{kind: 'C', dir: "/w"})
	r.marked(time.Second, &mark{kind: 'D', text: "npm run dev &", dir: "/w"})
	r.output(2*time.Second, []byte("Local: http://localhost:5173/\r\n"))
	if !slices.Equal(got, []string{"npm run dev & at localhost:5173"}) {
		t.Errorf("%q", got)
	}
	_, _ = r.read(t)
}
