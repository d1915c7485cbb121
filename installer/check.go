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

// State is how a check came out.
type State string

// The states: it works, it does not, or there is nothing to check.
const (
	OK     State = "ok"
	Broken State = "broken"
	None   State = "none"
)

// Check is one link of the chain from the browser to the agent.
type Check struct {
	// Link is the part of the chain, Subject whose.
	Link    string `json:"link"`
	Subject string `json:"subject,omitempty"`
	State   State  `json:"state"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Fix is what to do where it is broken.
	Fix string `json:"fix,omitempty"`
}

const installFix = "`tidemark install` writes it"

// CheckBrowsers checks that browsers are there and find the host. The programs that their manifests
// start are returned too, each once.
func (s *System) CheckBrowsers(hostDir string) (checks []Check, programs []string) {
	reachable := false
	for _, b := range s.Find() {
		where := b.Program
		if where == "" {
			where = "used before; its program was not found"
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
			if err != nil {
				c.State, c.Detail, c.Fix = Broken, err.Error(), installFix
				if data, rerr := safefile.Read(s.disk(l.path), maxManifest); rerr == nil && !l.registry && !readManifest(data).own() {
					c.Fix += "; where it leaves the file alone, remove that first"
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
		checks = append(checks, Check{Link: "browser", Subject: "browsers", State: Broken, Detail: "none was found that can reach Tidemark", Fix: "install Chrome, Chromium, Edge, Brave, Vivaldi, Opera or Arc"})
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
		if !there || value != l.value {
			return "", "", fmt.Errorf(`HKEY_CURRENT_USER\%s does not name %s`, l.path, l.value)
		}
		return "", l.value, nil
	}
	data, err := safefile.Read(s.disk(l.path), maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("%s is missing", l.path)
	}
	if err != nil {
		return "", "", err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return "", "", fmt.Errorf("%s is no JSON: %w", l.path, err)
	}
	switch {
	case m.Name != protocol.HostName || m.Type != "stdio":
		return "", "", fmt.Errorf("%s is of %q, type %q", l.path, m.Name, m.Type)
	case !slices.Contains(m.AllowedOrigins, Origin):
		return "", "", fmt.Errorf("%s does not admit Tidemark's extension", l.path)
	}
	info, err := os.Stat(s.disk(m.Path))
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%s names %s, which does not exist", l.path, m.Path)
	case !isProgram(info):
		return "", "", fmt.Errorf("%s names %s, which cannot be started", l.path, m.Path)
	}
	return m.Path, l.path, nil
}

// CheckExtension checks that the extension is unpacked in dir, and is this program's.
func CheckExtension(dir string) Check {
	c := Check{Link: "extension unpacked", Subject: "unpacked", State: Broken, Detail: dir, Fix: "`tidemark install` unpacks it"}
	own, err := unpack.Embedded()
	if err != nil {
		c.Detail, c.Fix = err.Error(), ""
		return c
	}
	switch version := unpack.Version(dir); {
	case own.In(dir):
		c.State, c.Detail, c.Fix = OK, version+" in "+dir, ""
	case version == "":
		c.Detail = "it is not in " + dir
	default:
		c.Detail, c.Fix = "what is in "+dir+" is not this program's", "`tidemark install` brings it up to date; then reload it in chrome://extensions"
	}
	return c
}

// Start is how an agent starts Tidemark.
type Start struct {
	Command string
	Args    []string
}

// CheckAgents checks that the agents that are there start a program that exists. How they start it is
// returned too, each way once.
func (s *System) CheckAgents() (checks []Check, starts []Start) {
	for i := range agents {
		a := &agents[i]
		if !a.present(s) {
			continue
		}
		c, start := s.checkAgent(a)
		checks = append(checks, c)
		if c, ok := s.checkHooks(a); ok {
			checks = append(checks, c)
		}
		if start != nil && !slices.ContainsFunc(starts, func(o Start) bool { return o.Command == start.Command && slices.Equal(o.Args, start.Args) }) {
			starts = append(starts, *start)
		}
	}
	if len(checks) == 0 {
		checks = []Check{{Link: "agent", Subject: "agents", State: None, Detail: "none that Tidemark knows is on this machine"}}
	}
	return checks, starts
}

// checkAgent checks an agent's entry for the MCP server, which is its first setting.
func (s *System) checkAgent(a *agent) (Check, *Start) {
	set := a.settings[0]
	path := set.file(s)
	c := Check{Link: "agent", Subject: a.name, State: None, Detail: "not registered in " + path, Fix: "`tidemark install --agent " + a.id + "` registers it"}
	f, err := s.look(path)
	if err != nil {
		c.State, c.Detail, c.Fix = Broken, err.Error(), "make it a file that you can read"
		return c, nil
	}
	if f == nil {
		return c, nil
	}
	entries, err := set.format.Read(f.data, set.path)
	if err != nil {
		c.State, c.Detail, c.Fix = Broken, path+": "+err.Error(), "mend the file"
		return c, nil
	}
	if len(entries) == 0 {
		return c, nil
	}
	start := &Start{}
	start.Command, start.Args = settings.CommandOf(entries[0])
	switch _, ok := s.program(start.Command); {
	case !set.ours(entries[0]):
		c.Detail, c.Fix = fmt.Sprintf("%s has an entry named %q that does not start `tidemark mcp`", path, settings.ServerName), "rename it and run `tidemark install --agent "+a.id+"`"
		return c, nil
	case !ok:
		c.State, c.Detail = Broken, fmt.Sprintf("%s starts %s, which is no program", path, start.Command)
		c.Fix = "`tidemark install --agent " + a.id + "`; where it leaves the entry alone, take that out first"
		return c, nil
	}
	c.State, c.Detail, c.Fix = OK, path+" starts "+start.Command, ""
	return c, start
}

// checkHooks checks that every hook that is set up for Tidemark runs a program that exists; false when the
// agent has none. That it has none is nothing to mend: a person may have declined them.
func (s *System) checkHooks(a *agent) (Check, bool) {
	hooks := a.settings[1:]
	found := 0
	for _, set := range hooks {
		path := set.file(s)
		c := Check{Link: "hooks", Subject: a.name, State: Broken, Fix: "`tidemark install --agent " + a.id + "`; where it leaves the hook alone, take that out first"}
		f, err := s.look(path)
		if err != nil {
			c.Detail, c.Fix = err.Error(), "make it a file that you can read"
			return c, true
		}
		if f == nil {
			continue
		}
		entries, err := set.format.Read(f.data, set.path)
		if err != nil {
			c.Detail, c.Fix = path+": "+err.Error(), "mend the file"
			return c, true
		}
		for _, entry := range entries {
			program := settings.HookProgram(entry)
			if program == "" {
				continue
			}
			found++
			if _, ok := s.program(program); !ok {
				c.Detail = fmt.Sprintf("%s runs %s, which is no program", path, program)
				return c, true
			}
		}
	}
	if found == 0 {
		return Check{}, false
	}
	return Check{Link: "hooks", Subject: a.name, State: OK, Detail: fmt.Sprintf("%d of %d events run `tidemark hook`", found, len(hooks))}, true
}
