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

// commandLine is the part of the plugin that has the arguments of the program, with or without a home.
var commandLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\["hook"(?:, "--home", "(?:[^"\\]|\\.)*")?\]`) })

// Plugin returns the plugin that tells Tidemark what opencode does. Home is Tidemark's, "" for the usual one.
func Plugin(binary, home string) []byte {
	text := programLine().ReplaceAllLiteral(plugin, []byte("const program = "+quote(binary)))
	if home != "" {
		text = commandLine().ReplaceAllLiteral(text, []byte(`["hook", "--home", `+quote(home)+"]"))
	}
	return text
}

// IsPlugin reports whether a text is a plugin of [Plugin], for any program and home.
func IsPlugin(text []byte) bool {
	rest := func(text []byte) []byte {
		return commandLine().ReplaceAllLiteral(programLine().ReplaceAllLiteral(text, nil), nil)
	}
	return bytes.Equal(rest(text), rest(plugin))
}

// PluginProgram returns the program that a plugin runs, "" for a text that names none.
func PluginProgram(text []byte) (program string) {
	if m := programLine().FindSubmatch(text); m != nil {
		_ = json.Unmarshal(m[1], &program)
	}
	return program
}
