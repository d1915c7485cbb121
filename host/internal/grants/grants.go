// Package grants records what the user allowed Tidemark in a project, beyond the tabs that are watched.
//
// Guarantees:
//   - Nothing is allowed until the user allowed it. A file that is missing or damaged allows nothing, and a decision
//     never extends to a grant that was not in it.
//   - The nearest decision at or above a directory applies, alone: a denied directory below an allowed one is denied
//     with everything below it.
//   - Decisions are about paths without links. A link, or a directory that was moved or replaced, never brings a
//     decision with it.
//   - Concurrent writers lose no decision, and a reader sees each write completely or not at all. A damaged file is
//     never overwritten.
//   - A project's files have no influence, except that they exclude paths.
package grants

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
)

// Names of grants.
const (
	Workspace     = "workspace"
	AgentsRestore = "agents-restore"
	AgentsBranch  = "agents-branch"
	AgentsLaunch  = "agents-launch"
	AgentsRun     = "agents-run"
	Worktrees     = "worktrees"
	Fence         = "fence"
	Conversation  = "conversation"
	Terminal      = "terminal"
	Input         = "input"
)

// Grant is a row of [Table].
type Grant struct {
	Name string
	// About is one sentence that says what the grant permits.
	About string
	// Default is true when `tidemark project allow` gives the grant without being asked for it.
	Default bool
}

// Table lists all grants. A feature that needs another one adds its row together with the code that checks it, so that
// no row promises what nothing does. A row that is added later is off in earlier decisions, whatever its default.
var Table = []Grant{
	{Workspace, "Tidemark watches the files of the project and keeps snapshots of them on this machine.", true},
	{AgentsRestore, "Agents may restore files of the project from a snapshot.", false},
	{AgentsBranch, "Agents may start branches, which are copies of the project in other directories.", false},
	{AgentsLaunch, "Agents may have Tidemark start other agents in branches, with a message.", false},
	{AgentsRun, "Agents may have Tidemark run commands in copies of the project, to find what broke it.", false},
	{Worktrees, "Worktrees that Claude Code makes of the project are branches, with the files that Git ignores, such as .env and node_modules.", false},
	{Fence, "Tidemark runs the fence command of config.toml in the project after each new snapshot.", false},
	{Conversation, "Tidemark keeps what agents' hooks and transcripts report on this machine for 7 days: prompts, calls of tools and their results. Secrets are masked.", false},
	{Terminal, "`tidemark record` records what terminals show, and the command lines of their shells, on this machine.", false},
	{Input, "`tidemark record` records what the user types there, too. Typed passwords are left out.", false},
}

// Names returns the names of all grants.
func Names() []string {
	var names []string
	for _, g := range Table {
		names = append(names, g.Name)
	}
	return names
}

// State is whether a directory is allowed.
type State string

// The states.
const (
	Allowed   State = "allowed"
	Denied    State = "denied"
	Undecided State = "undecided"
)

// Decision is what applies in a directory.
type Decision struct {
	// Dir is the directory, absolute and without links.
	Dir   string
	State State
	// For is the directory that was decided about: Dir or one above it. It is "" while undecided.
	For string
	// At is when that was.
	At time.Time
	// grants are the names of what was given, those of other versions included. They are sorted.
	grants []string
	// since is when they were given, where that is known.
	since map[string]time.Time
	// below are the decisions about directories below Dir.
	below []entry
}

// Has reports whether a grant was given.
func (d Decision) Has(grant string) bool {
	return d.State == Allowed && slices.Contains(d.grants, grant)
}

// Since returns when a grant was given that is in force, without a break. It is zero where that is not known.
func (d Decision) Since(grant string) time.Time { return d.since[grant] }

// Below returns the decisions about directories below Dir, sorted by path. They have no Below of their own.
func (d Decision) Below() []Decision {
	var all []Decision
	for _, e := range d.below {
		all = append(all, e.decision(e.path))
	}
	return all
}

// Without returns the paths below Dir that have another decision, without this grant. Such a path is left out with
// everything below it. The paths have slashes and no slash at either end.
func (d Decision) Without(grant string) []string {
	var out []string
	for _, e := range d.below {
		if !slices.Contains(e.grants, grant) {
			out = append(out, filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(e.path, d.Dir), string(filepath.Separator))))
		}
	}
	return out
}

// Covers reports whether a path is one of dirs or below one. All have slashes and no slash at either end.
func Covers(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		rest, ok := strings.CutPrefix(path, dir)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// Store is the file of the user's decisions. It is safe for concurrent use, by any number of processes.
type Store struct {
	// File is the path of the file. A missing file has no decisions.
	File string
	// Lock keeps other writers out until the returned function is called. It creates the directory of the file.
	Lock func(ctx context.Context) (unlock func(), err error)
	// Own are Tidemark's own directories. None of them is part of a project.
	Own []string
	// Clock returns the time of decisions.
	Clock func() time.Time

	mu sync.Mutex
	// unsaved are denials that apply though they are not in the file.
	unsaved []entry
}

// Lookup returns the decision that applies in a directory.
func (s *Store) Lookup(dir string) (Decision, error) { return s.lookup(dir, Resolve) }

// LookupFormer is [Store.Lookup] for a directory that need not exist any more.
func (s *Store) LookupFormer(dir string) (Decision, error) { return s.lookup(dir, Former) }

func (s *Store) lookup(dir string, resolve func(string) (string, error)) (Decision, error) {
	dir, err := resolve(dir)
	if err != nil {
		return Decision{}, err
	}
	all, err := s.read()
	if err != nil {
		return Decision{}, err
	}
	return decide(all, dir), nil
}

// decide returns the decision that applies in a directory without links.
func decide(all []entry, dir string) Decision {
	d := Decision{Dir: dir, State: Undecided}
	for _, e := range all {
		if e.path != dir && Within(e.path, dir) {
			d.below = append(d.below, e)
		}
	}
	for at := dir; ; {
		if i := slices.IndexFunc(all, func(e entry) bool { return e.path == at }); i >= 0 {
			below := d.below
			d = all[i].decision(dir)
			d.below = below
			return d
		}
		parent := filepath.Dir(at)
		if parent == at {
			return d
		}
		at = parent
	}
}

// Within reports whether a path is dir or below it. Both have no links.
func Within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}

// Require returns the decision for a directory, or an error of the code [usererr.NotAllowed] if it does not have the
// grant.
func (s *Store) Require(dir, grant string) (Decision, error) { return s.require(dir, grant, Resolve) }

// RequireFormer is [Store.Require] for a directory that need not exist any more.
func (s *Store) RequireFormer(dir, grant string) (Decision, error) {
	return s.require(dir, grant, Former)
}

func (s *Store) require(dir, grant string, resolve func(string) (string, error)) (Decision, error) {
	d, err := s.lookup(dir, resolve)
	if err != nil || d.Has(grant) {
		return d, err
	}
	why := "nobody has allowed it yet"
	switch d.State {
	case Denied:
		why = "the user denied it for " + Printable(d.For)
	case Allowed:
		why = "the user allowed " + Printable(d.For) + " without it"
	}
	command := "tidemark project allow"
	if i := slices.IndexFunc(Table, func(g Grant) bool { return g.Name == grant }); i < 0 || !Table[i].Default {
		command += " --grant " + grant
	}
	if dir, ok := Quoted(d.Dir); ok {
		command += " " + dir
	}
	return d, usererr.New(usererr.NotAllowed, "%s does not have the grant %s: %s. The user can allow it: run `%s`.", Printable(d.Dir), grant, why, command)
}

// Allow allows a directory. It adds the default grants and those that are named to an earlier decision for the same
// directory, and takes away those in revoke. It does not [Store.Examine] the directory.
func (s *Store) Allow(ctx context.Context, dir string, grant, revoke []string) (Decision, error) {
	for _, name := range slices.Concat(grant, revoke) {
		if !slices.Contains(Names(), name) {
			return Decision{}, usererr.Invalid("unknown grant %q. Grants are %s.", name, strings.Join(Names(), ", "))
		}
		if slices.Contains(grant, name) && slices.Contains(revoke, name) {
			return Decision{}, usererr.Invalid("%s is both granted and revoked. Name it once.", name)
		}
	}
	return s.decideAbout(ctx, dir, func(before entry, now time.Time) entry {
		given := slices.Concat(before.grants, grant)
		for _, g := range Table {
			if g.Default {
				given = append(given, g.Name)
			}
		}
		given = slices.DeleteFunc(given, func(name string) bool { return slices.Contains(revoke, name) })
		slices.Sort(given)
		after := entry{allow: true, grants: slices.Compact(given), since: map[string]time.Time{}}
		for _, name := range after.grants {
			if since, ok := before.since[name]; ok {
				after.since[name] = since
			} else if !slices.Contains(before.grants, name) {
				after.since[name] = now
			}
		}
		return after
	})
}

// Deny denies a directory with everything below it that has no decision of its own.
func (s *Store) Deny(ctx context.Context, dir string) (Decision, error) {
	return s.decideAbout(ctx, dir, func(entry, time.Time) entry { return entry{} })
}

// DenyUnsaved is [Store.Deny] where the file cannot be written: the denial applies to this store, until the file has a newer
// decision for the directory.
func (s *Store) DenyUnsaved(dir string) error {
	dir, err := Resolve(dir)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsaved = append(s.unsaved, entry{path: dir, at: s.Clock().UTC().Truncate(time.Millisecond)})
	return nil
}

// overlay adds the denials that are not in the file to the decisions that are.
func (s *Store) overlay(all []entry) []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.unsaved {
		i, found := slices.BinarySearchFunc(all, e.path, byPath)
		switch {
		case !found:
			all = slices.Insert(all, i, e)
		case !all[i].at.After(e.at):
			all[i] = e
		}
	}
	return all
}

// decideAbout replaces the decision for a directory by another, which may depend on it and on the time.
func (s *Store) decideAbout(ctx context.Context, dir string, next func(before entry, now time.Time) entry) (Decision, error) {
	dir, err := Resolve(dir)
	if err != nil {
		return Decision{}, err
	}
	var d Decision
	err = s.update(ctx, func(all []entry) ([]entry, error) {
		i, found := slices.BinarySearchFunc(all, dir, byPath)
		if !found {
			all = slices.Insert(all, i, entry{})
		}
		now := s.Clock().UTC().Truncate(time.Millisecond)
		all[i] = next(all[i], now)
		all[i].path, all[i].at = dir, now
		d = decide(all, dir)
		return all, nil
	})
	return d, err
}

// Forget removes the decision for a directory, which need not exist any more. It returns the directory that the
// decision was for. Without one, the error has the code [usererr.NotFound].
func (s *Store) Forget(ctx context.Context, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	resolved, err := Former(dir)
	if err != nil {
		return "", err
	}
	forgotten := ""
	err = s.update(ctx, func(all []entry) ([]entry, error) {
		// The path as given is that of a directory which a link has replaced.
		for _, path := range []string{abs, resolved} {
			if i, found := slices.BinarySearchFunc(all, path, byPath); found {
				forgotten = path
				return slices.Delete(all, i, i+1), nil
			}
		}
		if d := decide(all, resolved); d.State != Undecided {
			return nil, usererr.New(usererr.NotFound, "there is no decision for %s itself. The one for %s applies. Forget that one, or deny or allow this directory.", Printable(resolved), Printable(d.For))
		}
		return nil, usererr.New(usererr.NotFound, "there is no decision for %s. Run `tidemark project show --all` to list all.", Printable(resolved))
	})
	return forgotten, err
}

// Move makes the decisions for a directory that was moved, and for those below it, the ones for its new path. Decisions that
// are there already stay as they are. From is absolute and need not exist.
func (s *Store) Move(ctx context.Context, from, to string) error {
	to, err := Resolve(to)
	if err != nil {
		return err
	}
	return s.update(ctx, func(all []entry) ([]entry, error) {
		var stay, moved []entry
		for _, e := range all {
			if Within(e.path, from) {
				e.path = to + strings.TrimPrefix(e.path, from)
				moved = append(moved, e)
			} else {
				stay = append(stay, e)
			}
		}
		for _, e := range moved {
			if !slices.ContainsFunc(stay, func(o entry) bool { return o.path == e.path }) {
				stay = append(stay, e)
			}
		}
		slices.SortFunc(stay, func(a, b entry) int { return strings.Compare(a.path, b.path) })
		return stay, nil
	})
}

// All returns all decisions, sorted by path. The Dir of each is its For.
func (s *Store) All() ([]Decision, error) {
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	all := make([]Decision, 0, len(entries))
	for _, e := range entries {
		all = append(all, decide(entries, e.path))
	}
	return all, nil
}
