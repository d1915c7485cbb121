package settings

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"regexp"
	"sync"
)

//go:embed opencode.js
var plugin []byte

// programLine is the line of the plugin that names the program.
var programLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^const program = (".*")$`) })

// Plugin returns the plugin that tells Tidemark what opencode does.
func Plugin(binary string) []byte {
	return programLine().ReplaceAllLiteral(plugin, []byte("const program = "+quote(binary)))
}

// IsPlugin reports whether a text is a plugin of [Plugin], for any program.
func IsPlugin(text []byte) bool {
	return bytes.Equal(programLine().ReplaceAllLiteral(text, nil), programLine().ReplaceAllLiteral(plugin, nil))
}

// PluginProgram returns the program that a plugin runs, "" for a text that names none.
func PluginProgram(text []byte) (program string) {
	if m := programLine().FindSubmatch(text); m != nil {
		_ = json.Unmarshal(m[1], &program)
	}
	return program
}
