package terminal

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/usererr"
)

//go:embed shells
var shells embed.FS

// integrations are the files of the shell integration, by the shell.
var integrations = map[string]string{"bash": "bash.sh", "zsh": "zsh.zsh", "fish": "fish.fish"}

// Shells lists the shells that have an integration.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Integration returns the shell integration as text for the shell to read. A shell that Tidemark records reads it by itself.
func Integration(shell string) (string, error) {
	name, ok := integrations[shell]
	if !ok {
		return "", usererr.Invalid("there is no shell integration for %q. There is one for %s.", shell, strings.Join(Shells(), ", "))
	}
	data, err := shells.ReadFile("shells/" + name)
	return string(data), err
}

// shellOf returns the kind of shell that a command starts without running anything in it, "" for another command.
func shellOf(args []string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(args[0]), "-"), ".exe")
	if _, ok := integrations[name]; !ok {
		return ""
	}
	if slices.ContainsFunc(args[1:], func(arg string) bool { return arg != "-i" && arg != "--interactive" }) {
		return "" // a script, or flags that change what the shell reads
	}
	return name
}

// integrate returns the arguments and variables with which a shell reads its integration after the user's own files. It
// writes that to a directory, because nothing that the shell exports to other programs may have the nonce.
func integrate(shell string, args []string, dir, nonce string) (with, env []string, err error) {
	script, err := Integration(shell)
	if err != nil {
		return nil, nil, err
	}
	assign := "__tidemark_nonce=" + nonce + "\n"
	if shell == "fish" {
		assign = "set -g __tidemark_nonce " + nonce + "\n"
	}
	files := map[string]string{"integration": assign + script}
	switch shell {
	case "bash":
		files["integration"] = "[[ -r ~/.bashrc ]] && . ~/.bashrc\n" + files["integration"]
		with = []string{args[0], "--rcfile", filepath.Join(dir, "integration"), "-i"}
	case "zsh":
		for _, name := range []string{"zshenv", "zshrc"} {
			data, err := shells.ReadFile("shells/" + name + ".zsh")
			if err != nil {
				return nil, nil, err
			}
			files["."+name] = string(data)
		}
		with = []string{args[0], "-i"}
		env = []string{"ZDOTDIR=" + dir, "TIDEMARK_ZDOTDIR=" + os.Getenv("ZDOTDIR")}
	case "fish":
		with = []string{args[0], "-i", "--init-command", "source " + filepath.Join(dir, "integration")}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, nil, fmt.Errorf("cannot write the shell integration: %w", err)
		}
	}
	return with, env, nil
}
