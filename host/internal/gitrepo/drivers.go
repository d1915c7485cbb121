package gitrepo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// filtering are the commands that read or write files of the worktree, for which Git runs filters.
var filtering = map[string]bool{"add": true, "reset": true, "status": true, "update-index": true, "worktree": true}

// filterPrograms are the settings of a filter that name programs.
var filterPrograms = []string{"clean", "smudge", "process"}

// filter has the settings of a filter that are set in one place.
type filter map[string]string

// unfiltered returns options by which Git runs no filter that the repository's own settings name. A filter that the user's settings
// name too is theirs. Where a file needs another one, Git fails: what it would write without is not what belongs there.
func unfiltered(ctx context.Context, dir string, env, args []string) (options []string, err error) {
	out, err := Run(ctx, dir, env, "config", "--null", "--show-scope", "--get-regexp", `^filter\.`)
	if err != nil && !strings.HasSuffix(err.Error(), ": ") { // else there is none
		return nil, err
	}
	own, theirs := map[string]filter{}, map[string]filter{}
	parts := strings.Split(out, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, _ := strings.Cut(parts[i+1], "\n")
		end := strings.LastIndexByte(key, '.')
		name, ok := strings.CutPrefix(key[:end], "filter.")
		if !ok { // filter.x has no name
			continue
		}
		in := own
		if parts[i] == "local" || parts[i] == "worktree" {
			in = theirs
		}
		if in[name] == nil {
			in[name] = filter{}
		}
		in[name][key[end+1:]] = value
	}
	needed := "clean"
	if len(args) > 1 && args[0] == "worktree" && args[1] == "add" {
		needed = "smudge"
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if strings.ContainsAny(name, "=\n") { // it cannot be named in an option
			return nil, refused(name)
		}
		runs := theirs[name][needed]+theirs[name]["process"] != ""
		for _, program := range filterPrograms {
			if _, set := theirs[name][program]; set {
				options = append(options, "-c", "filter."+name+"."+program+"="+own[name][program])
			}
		}
		// Git takes a process that is set, though to nothing, in place of the other programs.
		_, process := theirs[name]["process"]
		if known := own[name]["process"] != "" || own[name][needed] != "" && !process; runs && !known {
			options = append(options, "-c", "filter."+name+".required=true")
		}
	}
	return options, nil
}

// failedFilter matches what Git says where a filter that it needs did not run.
var failedFilter = lazyregexp.New(`(?:clean|smudge) filter '?([^'\n]*?)'? failed`)

// refused says why a filter does not run.
func refused(name string) error {
	name = event.OneLine(name)
	return usererr.New(usererr.ActionRefused, "the repository's own settings name a program for contents of files (the filter %q), which Tidemark does not run. If you trust it, put it into your settings: `git config --global filter.%s.clean …`.", name, name)
}
