// Package noiserules holds the noise rules of a person, of sessions and of projects, over those that Tidemark comes with,
// and answers configure_noise.
//
// It guarantees: what holds for a reader is compiled once, until something changes or a rule ends; a rule of a session
// ends with it; a project's file that cannot be read or is too large hides nothing, and is said; a change that could not
// be saved is said.
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
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/installer/safefile"
)

// UserNoise is a user's noise settings, and where they are kept.
type UserNoise struct {
	Settings *noise.Settings
	// Save keeps changed settings; nil where nothing is kept.
	Save func(*noise.Settings) error
	// Problems say what was not understood of those that were kept.
	Problems []string
}

// Rules are the rules of the user, of sessions and of projects, over those that Tidemark comes with.
type Rules struct {
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
	// compiled is what holds for a project ("" for none), until something changes or a rule ends.
	compiled map[string]*InUse
	// changes counts what was changed.
	changes int
}

// sessionRule is a rule that ends with whoever made it: with the daemon when owner is nil.
type sessionRule struct {
	*noise.UserRule
	owner *checkpoint.Client
}

// project is a project's file as it was read last.
type project struct {
	*noise.Project
	modified time.Time
	size     int64
	until    time.Time // when the first of its rules ends, zero for never
}

// InUse is what holds for one reader, until a rule changes or ends.
type InUse struct {
	Rules *noise.Rules
	// User are the rules of the user and of sessions.
	User []*noise.UserRule
	// Problems are rules that are not used, and why.
	Problems []string
	// Spans is for what was found by these rules about times that have passed: it goes when they do.
	Spans sync.Map

	project *noise.Project
	off     []string
	until   time.Time // when the first of the rules ends, zero for never
}

// New makes the rules of a store's readers, over those that Tidemark comes with.
func New(table *noise.Rules, user UserNoise, store *capture.Store, registry *clients.Registry, clock func() time.Time, location *time.Location) *Rules {
	if user.Settings == nil {
		user.Settings = &noise.Settings{}
	}
	return &Rules{table: table, user: user, store: store, clients: registry, clock: clock, location: location, projects: map[string]*project{}, compiled: map[string]*InUse{}}
}

// readProject reads a project's file when it has changed. Nothing is locked while the disk is waited for.
func (e *Rules) readProject(path string, now time.Time) *project {
	e.mu.Lock()
	old := e.projects[path]
	e.mu.Unlock()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if old != nil { // it has gone, and its rules with it
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
		p.Project = &noise.Project{Problems: []string{fmt.Sprintf("it cannot be read: %v; no noise rule of it is used", err)}}
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

// In is what holds for a project; path is "" for none.
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
	u := &InUse{off: slices.Clone(e.user.Settings.Off), Problems: slices.Clone(e.user.Problems)}
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

// changedLocked has everything be compiled anew.
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

// Of is what holds for a client: in its project, or in that of another of the same scope.
func (e *Rules) Of(client *checkpoint.Client) *InUse {
	return e.In(e.clients.ProjectOf(client), e.clock())
}

// Options are those of a report to a reader of a scope.
func (u *InUse) Options(scope checkpoint.Scope) diff.Options {
	return diff.Options{Origins: scope.Origins, Noise: u.Rules, NoiseProblems: u.Problems}
}
