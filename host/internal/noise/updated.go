package noise

import (
	"encoding/json"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// maxUpdated bounds the files of one hot update.
const maxUpdated = 200

// UpdatedFiles returns the modules and style sheets of which a development server's client tells that a hot update replaced them:
// the clients of Vite and webpack log them, and that of Next.js sends them to its server. There are none for any other event, and
// for modules without a name.
func UpdatedFiles(ev event.Event) []string {
	switch e := ev.(type) {
	case *event.Console:
		if file := updatedFile(e); file != "" {
			return []string{file}
		}
	case *event.WebSocket:
		if e.Op == "sent" && strings.HasPrefix(e.Text, latency) {
			return reported(e.Text)
		}
	}
	return nil
}

// Build returns the hash of the build that a frame of a development server announces, "" for none.
func Build(ev event.Event) string {
	e, is := ev.(*event.WebSocket)
	if !is || e.Op != "received" {
		return ""
	}
	_, rest, _ := strings.Cut(e.Text, `"hash":"`)
	hash, _, whole := strings.Cut(rest, `"`)
	if !whole {
		return ""
	}
	return strings.Clone(hash)
}

func updatedFile(e *event.Console) string {
	if style, is := strings.CutPrefix(e.Text, "[vite] css hot updated: "); is {
		return style
	}
	// As a warning, webpack's client logs what it could not replace. A module behind loaders is logged with them too.
	if module, is := strings.CutPrefix(e.Text, "[HMR]  - "); is && e.Level < event.Warning && isNamed(module) {
		return module
	}
	return UpdatedModule(e)
}

// isNamed reports whether a module has a name, and not only a number.
func isNamed(module string) bool {
	return strings.Contains(module, "/") && !strings.Contains(module, "!")
}

// latency begins the message in which the client of Next.js tells how long a hot update took.
const latency = `{"event":"client-hmr-latency"`

// reported returns the modules of such a message. One that was cut says nothing.
func reported(text string) (files []string) {
	var m struct {
		Modules []any `json:"updatedModules"`
	}
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	for _, id := range m.Modules {
		if name, ok := id.(string); ok && len(files) < maxUpdated && isNamed(name) {
			files = append(files, name)
		}
	}
	return files
}
