package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
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

// noises are the rules of the user, of sessions and of projects, over those that Tidemark comes with.
type noises struct {
	table    *noise.Rules // never changes
	location *time.Location

	mu       sync.Mutex
	user     UserNoise
	sessions []sessionRule
	projects map[string]*project
	// compiled is what holds for a project ("" for none), until something changes or a rule ends.
	compiled map[string]*noiseInUse
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

// noiseInUse is what holds for one reader.
type noiseInUse struct {
	rules    *noise.Rules
	user     []*noise.UserRule
	project  *noise.Project
	off      []string
	problems []string
	until    time.Time // when the first of the rules ends, zero for never
	spans    sync.Map  // spanKey → func() span; at most one for any two checkpoints there ever were
}

func newNoises(table *noise.Rules, user UserNoise, location *time.Location) *noises {
	if user.Settings == nil {
		user.Settings = &noise.Settings{}
	}
	return &noises{table: table, user: user, location: location, projects: map[string]*project{}, compiled: map[string]*noiseInUse{}}
}

// readProject reads a project's file when it has changed. Nothing is locked while the disk is waited for.
func (n *noises) readProject(path string, now time.Time) *project {
	n.mu.Lock()
	old := n.projects[path]
	n.mu.Unlock()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if old != nil { // it has gone, and its rules with it
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.projects, path)
			delete(n.compiled, path)
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
		p.Project = noise.ParseProject(data, now, n.location)
	}
	for i, problem := range p.Problems {
		p.Problems[i] = filepath.Base(path) + ": " + problem
	}
	p.until = firstEnd(p.Rules)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.projects[path] = p
	delete(n.compiled, path)
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

// in is what holds for a project; path is "" for none.
func (n *noises) in(path string, now time.Time) *noiseInUse {
	var p *project
	if path != "" {
		p = n.readProject(path, now)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if u := n.compiled[path]; u != nil && (u.until.IsZero() || now.Before(u.until)) {
		return u
	}
	u := &noiseInUse{off: slices.Clone(n.user.Settings.Off), problems: slices.Clone(n.user.Problems)}
	for _, r := range n.user.Settings.Rules {
		if !r.Ended(now) {
			u.user = append(u.user, r)
		}
	}
	for _, r := range n.sessions {
		u.user = append(u.user, r.UserRule)
	}
	all := slices.Clone(u.user)
	if p != nil {
		u.project = p.Project
		all = append(all, p.Rules...)
		u.off = append(u.off, p.Off...)
		u.problems = append(u.problems, p.Problems...)
	}
	u.until = firstEnd(all)
	u.rules = n.table
	if len(all)+len(u.off) > 0 {
		u.rules = n.table.With(u.off, all)
	}
	n.compiled[path] = u
	return u
}

// changedLocked has everything be compiled anew.
func (n *noises) changedLocked() {
	clear(n.compiled)
	n.changes++
}

// version grows with every change of the rules of the user and of sessions.
func (n *noises) version() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changes
}

// leave ends the rules of a session.
func (n *noises) leave(client *checkpoint.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.sessions)
	n.sessions = slices.DeleteFunc(n.sessions, func(r sessionRule) bool { return r.owner != nil && r.owner == client })
	if len(n.sessions) != before {
		n.changedLocked()
	}
}

// noiseOf is what holds for a client: in its project, or in that of another of the same scope.
func (e *Engine) noiseOf(client *checkpoint.Client) *noiseInUse {
	return e.noise.in(e.ProjectOf(client), e.clock())
}

// options are those of a report to a client.
func (u *noiseInUse) options(scope checkpoint.Scope) diff.Options {
	return diff.Options{Origins: scope.Origins, Noise: u.rules, NoiseProblems: u.problems}
}
