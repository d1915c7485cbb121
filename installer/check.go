package installer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"tidemark.dev/tidemark/installer/safefile"
	"tidemark.dev/tidemark/installer/settings"
	"tidemark.dev/tidemark/installer/unpack"
	"tidemark.dev/tidemark/protocol"
)

// State is the outcome of a check.
type State string

// The states: it works, it is broken, or there is nothing to check.
const (
	OK     State = "ok"
	Broken State = "broken"
	None   State = "none"
)

// Check is one link of the chain from the browser to the agent.
type Check struct {
	// Link is the part of the chain. Subject is the browser, agent or program that it belongs to.
	Link    string `json:"link"`
	Subject string `json:"subject,omitempty"`
	State   State  `json:"state"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Fix says what to do if it is broken.
	Fix string `json:"fix,omitempty"`
}

// errMissing means that a place where a browser looks has nothing.
var errMissing = errors.New("is missing")

const installFix = "run `tidemark install` to write it"

// CheckBrowsers checks that browsers are installed and find the host. It also returns the programs that their
// manifests start, without duplicates. A browser without a manifest that the record lists is not broken: Tidemark may
// only be used with browsers that it opens itself.
func (s *System) CheckBrowsers(hostDir string, r *Record) (checks []Check, programs []string) {
	reachable := false
	for _, b := range s.Find() {
		where := b.Program
		if where == "" {
			where = "has a profile, but its program was not found"
		}
		if b.Confined != "" {
			checks = append(checks, Check{"browser", b.Name, None, b.Confined, ""})
			continue
		}
		checks = append(checks, Check{Link: "browser", Subject: b.Name, State: OK, Detail: where})
		reachable = true
		c := Check{Link: "manifest", Subject: b.Name, State: OK}
		for _, l := range s.links(&b, hostDir) {
			program, detail, err := s.checkLink(l)
			if errors.Is(err, errMissing) && r.find(l.path, l.registry) == nil {
				c.State, c.Detail = None, "not set up: Tidemark captures only in separate profiles of this browser"
				c.Fix = "run `tidemark install` to capture in your own profile too"
				break
			}
			if err != nil {
				c.State, c.Detail, c.Fix = Broken, err.Error(), installFix
				if data, rerr := safefile.Read(s.disk(l.path), maxManifest); rerr == nil && !l.registry && !readManifest(data).own() {
					c.Fix += "; if install skips the file, remove it first"
				}
				break
			}
			c.Detail = detail
			if program != "" && !slices.Contains(programs, program) {
				programs = append(programs, program)
			}
		}
		checks = append(checks, c)
	}
	if !reachable {
		checks = append(checks, Check{Link: "browser", Subject: "browsers", State: Broken, Detail: "no browser found that can reach Tidemark", Fix: "install Chrome, Chromium, Edge, Brave, Vivaldi, Opera or Arc"})
	}
	return checks, programs
}

// checkLink checks one place where a browser looks.
func (s *System) checkLink(l link) (program, detail string, err error) {
	if l.registry {
		value, there, err := s.Registry.Get(l.path)
		if err != nil {
			return "", "", err
		}
		if !there {
			return "", "", fmt.Errorf(`HKEY_CURRENT_USER\%s %w`, l.path, errMissing)
		}
		if value != l.value {
			return "", "", fmt.Errorf(`HKEY_CURRENT_USER\%s does not point to %s`, l.path, l.value)
		}
		return "", l.value, nil
	}
	data, err := safefile.Read(s.disk(l.path), maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("%s %w", l.path, errMissing)
	}
	if err != nil {
		return "", "", err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return "", "", fmt.Errorf("%s is not valid JSON: %w", l.path, err)
	}
	switch {
	case m.Name != protocol.HostName || m.Type != "stdio":
		return "", "", fmt.Errorf("%s has name %q and type %q, unlike Tidemark's manifest", l.path, m.Name, m.Type)
	case !slices.Contains(m.AllowedOrigins, Origin):
		return "", "", fmt.Errorf("%s does not allow Tidemark's extension", l.path)
	}
	info, err := os.Stat(s.disk(m.Path))
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%s names %s, which does not exist", l.path, m.Path)
	case !isProgram(info):
		return "", "", fmt.Errorf("%s names %s, which is not an executable", l.path, m.Path)
	}
	return m.Path, l.path, nil
}

// CheckExtension checks that dir holds the extension of this program, if an installation has unpacked it there.
func CheckExtension(dir string, r *Record) Check {
	c := Check{Link: "extension unpacked", Subject: "unpacked", State: Broken, Detail: dir, Fix: "run `tidemark install` to unpack it"}
	own, err := unpack.Embedded()
	if err != nil {
		c.Detail, c.Fix = err.Error(), ""
		return c
	}
	switch version := unpack.Version(dir); {
	case own.In(dir):
		c.State, c.Detail, c.Fix = OK, version+" in "+dir, ""
	case version == "" && r.Extension() == "":
		c.State, c.Detail, c.Fix = None, "not unpacked for your own browser", "run `tidemark install` to unpack it"
	case version == "":
		c.Detail = "not found in " + dir
	default:
		c.Detail, c.Fix = "the extension in "+dir+" differs from this program's", "run `tidemark install` to update it, then reload it in chrome://extensions"
	}
	return c
}

// Start is how an agent starts Tidemark.
type Start struct {
	Command string
	Args    []string
	// Home is the home that it names, "" for none.
	Home string
}

// CheckAgents checks that the installed agents start a program that exists. It also returns how they start it,
// without duplicates. An entry that the record lists and that is missing is broken.
func (s *System) CheckAgents(r *Record) (checks []Check, starts []Start) {
	for i := range agents() {
		a := &agents()[i]
		if !a.present(s) {
			continue
		}
		c, start := s.checkAgent(a, r)
		checks = append(checks, c)
		if c, ok := s.checkHooks(a, r); ok {
			checks = append(checks, c)
		}
		if start != nil && !slices.ContainsFunc(starts, func(o Start) bool {
			return o.Command == start.Command && slices.Equal(o.Args, start.Args) && o.Home == start.Home
		}) {
			starts = append(starts, *start)
		}
	}
	if len(checks) == 0 {
		checks = []Check{{Link: "agent", Subject: "agents", State: None, Detail: "no supported agent found on this machine"}}
	}
	return checks, starts
}

// checkAgent checks an agent's entry for the MCP server, which is its first setting.
func (s *System) checkAgent(a *agent, r *Record) (Check, *Start) {
	set := a.settings[0]
	path := set.file(s)
	c := Check{Link: "agent", Subject: a.name, State: None, Detail: "not registered in " + path, Fix: "run `tidemark install --agent " + a.id + "` to register it"}
	if r.lists(path, set.path) {
		c.State, c.Detail, c.Fix = Broken, path+" no longer has the entry that `tidemark install` wrote", "run `tidemark install --agent "+a.id+"` to write it"
	}
	f, err := s.look(path)
	if err != nil {
		c.State, c.Detail, c.Fix = Broken, err.Error(), "make it a readable file"
		return c, nil
	}
	if f == nil {
		return c, nil
	}
	entries, err := set.format.Read(f.data, set.path)
	if err != nil {
		c.State, c.Detail, c.Fix = Broken, path+": "+err.Error(), "fix the file"
		return c, nil
	}
	if len(entries) == 0 {
		return c, nil
	}
	start := &Start{Home: settings.HomeOf(entries[0])}
	start.Command, start.Args = settings.CommandOf(entries[0])
	switch _, ok := s.program(start.Command); {
	case !set.ours(entries[0]):
		c.State, c.Detail, c.Fix = None, fmt.Sprintf("%s has an entry named %q that does not start `tidemark mcp`", path, settings.ServerName), "rename it and run `tidemark install --agent "+a.id+"`"
		return c, nil
	case !ok:
		c.State, c.Detail = Broken, fmt.Sprintf("%s starts %s, which is not an executable", path, start.Command)
		c.Fix = "run `tidemark install --agent " + a.id + "`; if install skips the entry, remove it first"
		return c, nil
	}
	c.State, c.Detail, c.Fix = OK, path+" starts "+start.Command, ""
	return c, start
}

// checkHooks checks that every hook set up for Tidemark runs a program that exists. It returns false when the agent
// has no such hook. That is not broken unless the record lists one: the user may have declined hooks.
func (s *System) checkHooks(a *agent, r *Record) (Check, bool) {
	hooks, found, missing := 0, 0, ""
	for _, set := range a.settings[1:] {
		if set.beside {
			continue
		}
		hooks++
		path := set.file(s)
		if r.lists(path, set.path) {
			missing = path
		}
		c := Check{Link: "hooks", Subject: a.name, State: Broken, Fix: "run `tidemark install --agent " + a.id + "`; if install skips the hook, remove it first"}
		f, err := s.look(path)
		if err != nil {
			c.Detail, c.Fix = err.Error(), "make it a readable file"
			return c, true
		}
		if f == nil {
			continue
		}
		if set.content != nil {
			program := settings.PluginProgram(f.data)
			if _, ok := s.program(program); !ok && program != "" {
				c.Detail = fmt.Sprintf("%s runs %s, which is not an executable", path, program)
				return c, true
			} else if ok {
				return Check{Link: "hooks", Subject: a.name, State: OK, Detail: path + " runs `tidemark hook`"}, true
			}
			continue
		}
		entries, err := set.format.Read(f.data, set.path)
		if err != nil {
			c.Detail, c.Fix = path+": "+err.Error(), "fix the file"
			return c, true
		}
		for _, entry := range entries {
			program := settings.HookProgram(entry)
			if program == "" {
				continue
			}
			found++
			if _, ok := s.program(program); !ok {
				c.Detail = fmt.Sprintf("%s runs %s, which is not an executable", path, program)
				return c, true
			}
		}
	}
	if found == 0 && missing != "" {
		return Check{"hooks", a.name, Broken, missing + " no longer has the hooks that `tidemark install` wrote", "run `tidemark install --agent " + a.id + "` to write them"}, true
	}
	if found == 0 {
		return Check{}, false
	}
	return Check{Link: "hooks", Subject: a.name, State: OK, Detail: fmt.Sprintf("%d of %d events run `tidemark hook`", found, hooks)}, true
}
