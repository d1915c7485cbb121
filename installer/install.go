package installer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/installer/settings"
	"tidemark.dev/tidemark/protocol"
)

// Options select what to install.
type Options struct {
	// Binary is the absolute path of the tidemark program.
	Binary string
	// HostDir is the directory of the manifest on Windows, where a registry value points to it.
	HostDir string
	// Browsers and Agents are the names of those to set up. Empty means all that are installed.
	Browsers, Agents []string
	// Home is the home of Tidemark that agents are to use, "" for the usual one.
	Home string
	// Record holds what was installed before.
	Record *Record
}

// BrowserIDs returns the names that [Options].Browsers may hold.
func BrowserIDs() []string {
	var ids []string
	for _, p := range products {
		ids = append(ids, p.id)
	}
	return ids
}

// AgentIDs returns the names that [Options].Agents may hold.
func AgentIDs() []string {
	var ids []string
	for _, a := range agents() {
		ids = append(ids, a.id)
	}
	return ids
}

// Plan returns the changes that an installation would make, and changes nothing. A step that cannot be made
// holds its problem and does not block the others.
func (s *System) Plan(o Options) ([]Step, error) {
	manifest, err := manifestFor(o.Binary)
	if err != nil {
		return nil, err
	}
	var steps []Step
	met := map[string]bool{}
	for _, b := range s.Find() {
		if len(o.Browsers) > 0 && !slices.Contains(o.Browsers, b.ID) {
			continue
		}
		met[b.ID] = true
		if b.Confined != "" {
			steps = append(steps, Step{Group: Browsers, ID: b.ID, Name: b.Name, Note: b.Confined})
			continue
		}
		for _, l := range s.links(&b, o.HostDir) {
			if i := slices.IndexFunc(steps, func(st Step) bool { return st.written.Path == l.path && st.registry == l.registry }); i >= 0 {
				if !slices.Contains(strings.Split(steps[i].Name, ", "), b.Name) {
					steps[i].Name += ", " + b.Name
				}
				continue
			}
			steps = append(steps, s.planLink(&b, l, manifest, o.Record))
		}
	}
	for _, id := range o.Browsers {
		if !met[id] {
			steps = append(steps, Step{Group: Browsers, ID: id, Name: id, Problem: errors.New("not found on this machine")})
		}
	}
	for i := range agents() {
		a := &agents()[i]
		asked := slices.Contains(o.Agents, a.id)
		switch {
		case len(o.Agents) > 0 && !asked:
		case !a.present(s):
			if asked {
				steps = append(steps, Step{Group: Agents, ID: a.id, Name: a.name, Problem: errors.New("not found on this machine")})
			}
		default:
			steps = append(steps, s.planAgent(a, o)...)
		}
	}
	return steps, nil
}

// link is one place where a browser looks for the host.
type link struct {
	// path is the manifest, or a registry key whose value is the manifest's path.
	path     string
	registry bool
	value    string
}

// links are the places where a browser looks.
func (s *System) links(b *Found, hostDir string) []link {
	hosts := b.place.hosts
	if s.OS == "windows" {
		manifest := s.join(hostDir, ManifestFile)
		all := []link{{path: manifest}}
		for _, h := range hosts {
			all = append(all, link{path: s.join("Software", h, "NativeMessagingHosts", protocol.HostName), registry: true, value: manifest})
		}
		return all
	}
	if len(hosts) == 0 {
		hosts = []string{b.place.data}
	}
	var all []link
	for _, h := range hosts {
		all = append(all, link{path: s.join(s.browserData(), h, "NativeMessagingHosts", ManifestFile)})
	}
	return all
}

func (s *System) planLink(b *Found, l link, manifest []byte, r *Record) Step {
	st := Step{Group: Browsers, ID: b.ID, Name: b.Name, Path: l.path, registry: l.registry}
	st.written = Written{Group: Browsers, Name: b.Name, Path: l.path, Registry: l.registry}
	if l.registry {
		st.Path, st.After = `HKEY_CURRENT_USER\`+l.path, []byte(l.value)
		st.written.Content = l.value
		if value, there, err := s.Registry.Get(l.path); err != nil {
			st.Problem = err
		} else if there {
			st.Before = []byte(value)
		}
		return st
	}
	st.After, st.written.Content = manifest, string(manifest)
	f, err := s.lookFor(&st)
	if err == nil {
		err = f.writable(l.path)
	}
	if err != nil || f == nil {
		st.Problem = err
		return st
	}
	st.Before = f.data
	old := r.find(l.path, false)
	if old != nil && old.Content == string(f.data) {
		return st
	}
	// A manifest from another build or written by hand is still Tidemark's if it allows only Tidemark's extension. One
	// that Tidemark wrote and that is damaged now belongs to nobody else.
	if m := readManifest(f.data); !m.own() && (old == nil || m.whole()) {
		st.Problem = fmt.Errorf("%s was not written by Tidemark and is left unchanged; remove it and install again", l.path)
	}
	return st
}

// planAgent plans one step for each settings file of an agent.
func (s *System) planAgent(a *agent, o Options) []Step {
	var steps []Step
	for _, set := range a.settings {
		path := set.file(s)
		if slices.ContainsFunc(steps, func(st Step) bool { return st.Path == path }) {
			continue
		}
		if set.content != nil {
			steps = append(steps, s.planContent(a, path, set.content(o.Binary, o.Home), o.Record))
			continue
		}
		var entries []wanted
		for _, other := range a.settings {
			if other.file(s) == path {
				entries = append(entries, wanted{other, other.entry(o.Binary, o.Home)})
			}
		}
		st := Step{Group: Agents, ID: a.id, Name: a.name, Path: path}
		st.written = Written{Group: Agents, Name: a.name, Path: path, TOML: set.format == settings.Format(settings.TOML{})}
		found, err := s.lookFor(&st)
		if err == nil {
			err = found.writable(path)
		}
		if found != nil {
			st.Before = found.data
		}
		if err == nil {
			err = st.planEntries(entries, o.Record.find(path, false), o)
		}
		if err != nil {
			st.After, st.Problem = st.Before, err
		}
		steps = append(steps, st)
	}
	return steps
}

// planContent plans a file that is wholly Tidemark's.
func (s *System) planContent(a *agent, path string, content []byte, r *Record) Step {
	st := Step{Group: Agents, ID: a.id, Name: a.name, Path: path, After: content}
	st.written = Written{Group: Agents, Name: a.name, Path: path, Content: string(content)}
	f, err := s.lookFor(&st)
	if err == nil {
		err = f.writable(path)
	}
	if err != nil || f == nil {
		st.Problem = err
		return st
	}
	st.Before = f.data
	if bytes.Equal(f.data, content) {
		st.Note = Registered
	}
	if old := r.find(path, false); !settings.IsPlugin(f.data) && (old == nil || old.Content != string(f.data)) {
		st.After, st.Problem = f.data, fmt.Errorf("%s was not written by Tidemark or was changed, and is left unchanged; move it away and install again", path)
	}
	return st
}

// wanted is a setting and the value to write for it.
type wanted struct {
	setting
	value any
}

// planEntries plans the new content of a step's settings file.
func (st *Step) planEntries(entries []wanted, recorded *Written, o Options) error {
	st.After = st.Before
	kept := func(err error, advice string) error {
		return fmt.Errorf("%s is left unchanged: %w%s", st.Path, err, advice)
	}
	if recorded != nil {
		// Hooks are updated in place: users may have added their own commands beside them.
		recorded = &Written{Edits: slices.Clone(recorded.Edits)}
		for i, edit := range recorded.Edits {
			if st.written.TOML {
				break
			}
			var err error
			if st.After, recorded.Edits[i], err = settings.MoveHook(st.After, edit, o.Binary); err != nil {
				return kept(err, "; fix it and install again")
			}
		}
		moved, err := st.keepRecorded(entries, recorded, o.Home)
		if err != nil {
			return kept(err, "; fix it and install again")
		}
		if moved {
			// All of Tidemark's entries are rewritten, so that uninstall can undo them byte for byte.
			for _, edit := range slices.Backward(recorded.Edits) {
				switch less, err := entries[0].format.Remove(st.After, edit); {
				case err == nil:
					st.After = less
				case errors.Is(err, settings.ErrGone):
					if settings.RunsHook(st.After, edit) {
						st.written.Edits = append(st.written.Edits, edit)
					}
				default:
					st.After, st.Note = st.Before, "has an entry that you changed; it is left unchanged"
					return nil
				}
			}
		}
	}
	for _, w := range entries {
		there, err := w.format.Read(st.After, w.path)
		if err != nil {
			return kept(err, "; fix it and install again")
		}
		name := w.path[len(w.path)-1]
		switch {
		case slices.ContainsFunc(there, w.same), slices.ContainsFunc(st.written.Edits, w.wrote):
			st.Note = Registered
			continue
		case slices.ContainsFunc(there, w.ours):
			st.Note = "has a Tidemark entry added by hand; it is left unchanged"
			continue
		case len(there) > 0 && name != settings.ListItem:
			return fmt.Errorf("%s has a different entry named %q, which is left unchanged; rename it and install again", st.Path, name)
		}
		after, edit, err := w.format.Insert(st.After, w.path, w.value)
		if err != nil {
			return kept(err, "")
		}
		st.After = after
		st.written.Edits = append(st.written.Edits, edit)
	}
	if st.Changes() && (st.Note == Registered || st.Note == "") {
		st.Note = entries[0].note // that the others are registered is about those alone
	}
	return nil
}

// Registered is the note of a settings file that already has Tidemark's current entries.
const Registered = "already has Tidemark's entries"

// keepRecorded keeps the record of entries that are up to date. If one is outdated, the program or its home has
// moved, and all entries have to be rewritten.
func (st *Step) keepRecorded(entries []wanted, recorded *Written, home string) (moved bool, err error) {
	for _, w := range entries {
		there, err := w.format.Read(st.After, w.path)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(recorded.Edits, w.wrote)
		switch {
		case i < 0 || len(there) == 0:
		case slices.ContainsFunc(there, w.same), settings.RunsHook(st.After, recorded.Edits[i]) && !settings.OtherHome(recorded.Edits[i], home):
			st.written.Edits = append(st.written.Edits, recorded.Edits[i])
		default:
			moved = true
		}
	}
	if moved {
		st.written.Edits = nil
	}
	return moved, nil
}

// same reports whether an entry has the wanted value.
func (w wanted) same(entry any) bool { return settings.Same(entry, w.value) }

// wrote reports whether an edit added the entry.
func (w wanted) wrote(edit settings.Edit) bool { return slices.Equal(edit.Path, w.path) }
