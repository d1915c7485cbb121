package observe

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// Initiator returns the code that made a request or opened a connection, as file:line, and whether that is a line of
// generated code.
func (p *Places) Initiator(tab int, at int64, stack []string) (source string, generated bool) {
	for _, line := range stack {
		f, ok := parseFrame(line)
		if !ok || f.URL == "" {
			continue
		}
		name, line := f.URL, f.Line
		c := &event.Console{Head: event.Head{At: at, Subject: event.InTab(tab, "")}}
		if pos, ok := p.find(c, f); ok {
			name, line = pos.Source, pos.Line
		} else {
			generated = f.function != "" && p.Generated(tab, f)
		}
		name, _, _ = strings.Cut(name, "?")
		return fmt.Sprintf("%s:%d", event.OneLine(name[strings.LastIndexByte(name, '/')+1:]), line), generated
	}
	return "", false
}
