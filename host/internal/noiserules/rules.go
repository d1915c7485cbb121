// Package noiserules keeps the noise rules of the user, of sessions and of projects, on top of the built-in ones. It
// implements configure_noise.
//
// Guarantees:
//   - The rules of a client are compiled once, until something changes or a rule ends.
//   - A rule of a session ends with the session.
//   - A project's file that is unreadable or too large hides nothing and is reported.
//   - A change that could not be saved is reported.
package noiserules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/installer/safefile"
)

// UserNoise is a user's noise settings and the way to save them.
type UserNoise struct {
	Settings *noise.Settings
	// Save saves changed settings; nil if nothing is saved.
	Save func(*noise.Settings) error
	// Problems describe saved settings that could not be used.
	Problems []string
}

// Rules are the rules of the user, of sessions and of projects, on top of the built-in ones.
type Rules struct {
	// Allows reports whether the user allows what was recorded in a workspace. Nil allows all. It is set before the first
	// request.
	Allows func(root string) bool
	// Now returns where a workspace is now that was at a directory when something was recorded. Nil is for none that was moved. It
	// is set before the first request.
	Now func(root string) string

	// Never changed after New.
	table    *noise.Rules
	store    *capture.Store
	clients  *clients.Registry
	clock    func() time.Time
	location *time.Location

	mu       sync.Mutex
	user     UserNoise
	sessions []sessionRule
	projects map[string]*project
	// compiled has the rules in use for a project ("" for none), until something changes or a rule ends.
	compiled map[string]*InUse
	// changes counts changes of the rules.
	changes int
}

// sessionRule is a rule that ends with its owner, or with the daemon if owner is nil.
type sessionRule struct {
	*noise.UserRule
	owner *checkpoint.Client
}

// project is the last read state of a project's file.
type project struct {
	*noise.Project
	modified time.Time
	size     int64
	until    time.Time // when the first of its rules ends, zero for never
}

// InUse is the set of rules for one client, until a rule changes or ends.
type InUse struct {
	Rules *noise.Rules
	// User are the rules of the user and of sessions.
	User []*noise.UserRule
	// Problems describe rules that are not used, and why.
	Problems []string
	// Spans caches results of these rules for past periods, by keys of their packages. It is discarded with them.
	Spans sync.Map

	allows  func(root string) bool
	now     func(root string) string
	project *noise.Project
	off     []string
	until   time.Time // when the first of the rules ends, zero for never
}

// New returns the rules for a store's clients, on top of the built-in table.
func New(table *noise.Rules, user UserNoise, store *capture.Store, registry *clients.Registry, clock func() time.Time, location *time.Location) *Rules {
	if user.Settings == nil {
		user.Settings = &noise.Settings{}
	}
	return &Rules{table: table, user: user, store: store, clients: registry, clock: clock, location: location, projects: map[string]*project{}, compiled: map[string]*InUse{}}
}

// readProject reads a project's file if it has changed. It holds no lock while it reads.
func (e *Rules) readProject(path string, now time.Time) *project {
	e.mu.Lock()
	old := e.projects[path]
	e.mu.Unlock()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if old != nil { // the file was removed, and its rules with it
			e.mu.Lock()
			defer e.mu.Unlock()
			delete(e.projects, path)
			delete(e.compiled, path)
		}
		return nil
	}
	p := &project{}
	if info, err := os.Stat(path); err == nil {
		p.modified, p.size = info.ModTime(), info.Size()
	}
	if old != nil && old.modified.Equal(p.modified) && old.size == p.size && (old.until.IsZero() || now.Before(old.until)) {
		return old
	}
	data, err := safefile.Read(path, noise.MaxProjectFile)
	if err == nil {
		err = safefile.CheckTOML(data, noise.MaxProjectKeys)
	}
	if err != nil {
		p.Project = &noise.Project{Problems: []string{fmt.Sprintf("cannot read the file: %v; none of its noise rules is used", err)}}
	} else {
		p.Project = noise.ParseProject(data, now, e.location)
	}
	for i, problem := range p.Problems {
		p.Problems[i] = filepath.Base(path) + ": " + problem
	}
	p.until = firstEnd(p.Rules)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.projects[path] = p
	delete(e.compiled, path)
	return p
}

func firstEnd(rules []*noise.UserRule) (first time.Time) {
	for _, r := range rules {
		if !r.Expires.IsZero() && (first.IsZero() || r.Expires.Before(first)) {
			first = r.Expires
		}
	}
	return first
}

// In returns the rules in use for a project; path is "" for none.
func (e *Rules) In(path string, now time.Time) *InUse {
	var p *project
	if path != "" {
		p = e.readProject(path, now)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if u := e.compiled[path]; u != nil && (u.until.IsZero() || now.Before(u.until)) {
		return u
	}
	u := &InUse{allows: e.Allows, now: e.Now, off: slices.Clone(e.user.Settings.Off), Problems: slices.Clone(e.user.Problems)}
	for _, r := range e.user.Settings.Rules {
		if !r.Ended(now) {
			u.User = append(u.User, r)
		}
	}
	for _, r := range e.sessions {
		u.User = append(u.User, r.UserRule)
	}
	all := slices.Clone(u.User)
	if p != nil {
		u.project = p.Project
		all = append(all, p.Rules...)
		u.off = append(u.off, p.Off...)
		u.Problems = append(u.Problems, p.Problems...)
	}
	u.until = firstEnd(all)
	u.Rules = e.table
	if len(all)+len(u.off) > 0 {
		u.Rules = e.table.With(u.off, all)
	}
	e.compiled[path] = u
	return u
}

// changedLocked makes all rules be compiled again.
func (e *Rules) changedLocked() {
	clear(e.compiled)
	e.changes++
}

// Version grows with every change of the rules of the user and of sessions.
func (e *Rules) Version() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes
}

// Leave ends the rules of a session.
func (e *Rules) Leave(client *checkpoint.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := len(e.sessions)
	e.sessions = slices.DeleteFunc(e.sessions, func(r sessionRule) bool { return r.owner != nil && r.owner == client })
	if len(e.sessions) != before {
		e.changedLocked()
	}
}

// Of returns the rules in use for a client: those of its project, or of another client's project in the same scope.
func (e *Rules) Of(client *checkpoint.Client) *InUse {
	return e.In(e.clients.ProjectOf(client), e.clock())
}

// Options returns the options of a report for a scope.
func (u *InUse) Options(scope checkpoint.Scope) window.Options {
	o := window.Options{Origins: scope.Origins, Workspace: scope.Workspace, Noise: u.Rules, NoiseProblems: u.Problems, Now: u.now}
	if u.allows != nil {
		var asked sync.Map // once for each report: it reads a file
		o.Allowed = func(root string) bool {
			is, known := asked.Load(root)
			if !known {
				is = u.allows(root)
				asked.Store(root, is)
			}
			return is.(bool)
		}
	}
	return o
}
