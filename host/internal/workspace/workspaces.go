// Package workspace opens the directories that the user allowed, takes snapshots of their files, and makes views and
// copies of them.
//
// Guarantees:
//   - A directory is watched and read only while the user's decision has the grant [grants.Workspace]. The decision is read
//     again for each request.
//   - A directory is open once, however many clients work in it.
//   - Nothing is written to a workspace, except by a restore.
//   - A restore that was interrupted is set back before anything else happens in its workspace.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// An unused workspace is closed after closeAfter. sweepEvery is how often that is looked for.
const (
	closeAfter = 15 * time.Minute
	sweepEvery = time.Minute
)

// Options configure [New].
type Options struct {
	// Grants are the user's decisions.
	Grants *grants.Store
	// Dir is where the stores and the views of all workspaces are.
	Dir string
	// Redactor masks secrets in texts of files.
	Redactor *redact.Redactor
	Settings Settings
	// Recorded returns the newest snapshot of a workspace whose changes of files are recorded, and a time: what was recorded after
	// that may be lost. Nil is that nothing is lost.
	Recorded func(root string) (snapshot uint64, saved time.Time)
	Clock    func() time.Time
	// Age tells how old a snapshot is. Nil is [retention.Never].
	Age retention.Age
	Log *slog.Logger
	// Server is the command line of a process that serves a mounted snapshot, see [overlay.Mount]. Without it none is mounted.
	// MountFiles is the number of files from which on that is done, 0 for the usual one.
	Server     []string
	MountFiles int
	// FUSEAlone makes branches by FUSE alone, also where the kernel mounts overlays.
	FUSEAlone bool

	references func(root string) map[uint64]string
	deleting   func(root string, numbers []uint64)
	known      func(root string) uint64
	taken      func(root string, number uint64)
}

// Workspaces are the open workspaces. It is safe for concurrent use.
type Workspaces struct {
	o     Options
	queue queue

	mu sync.Mutex
	// open are the workspaces by their directory.
	open map[string]*opening
	// opened are the directories of those that were open before.
	opened map[string]bool
	// branches are directories whose decision is that of another directory.
	branches map[string]string
	// absent are workspaces that are not at their place, as of absentAt.
	absent   map[string]string
	absentAt time.Time
	// failed are the errors of workspaces that could not be opened, by their directory, until they can.
	failed map[string]error
	closed bool
}

// opening is a workspace that is open, or is being opened. w and err are valid when done is closed. Both are nil where the
// workspace was only reserved.
type opening struct {
	allowed allowed
	done    chan struct{}
	w       *Workspace
	err     error
}

// allowed is a workspace as the user's decision and the settings file have it now.
type allowed struct {
	root  string
	rules rules
	// stamp is rules as text.
	stamp string
	// problem is why no snapshot can be taken: the settings file cannot be read. The rules are the last ones then.
	problem error
	// former is true for a workspace that no longer exists.
	former bool
}

// New returns no open workspaces.
func New(o Options) *Workspaces {
	if o.Age == nil {
		o.Age = retention.Never
	}
	return &Workspaces{o: o, queue: queue{wake: make(chan struct{}, 1)}, open: map[string]*opening{}, opened: map[string]bool{}, branches: map[string]string{}, failed: map[string]error{}}
}

// Branch makes the decision for a directory that of another one: a branch is a copy of what the user allowed.
func (ws *Workspaces) Branch(dir, of string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.branches[dir] = of
}

// BranchOf returns the branch that a directory is in, and the directory of which it has the decision; "" for none. The
// directory has no links.
func (ws *Workspaces) BranchOf(dir string) (branch, of string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for branch, of := range ws.branches {
		if grants.Within(dir, branch) {
			return branch, of
		}
	}
	return "", ""
}

// Root returns the workspace that a directory is in: the directory that the user decided about, or a branch. The error
// has the code [usererr.NotAllowed] if the decision lacks the grant [grants.Workspace] or a needed one.
func (ws *Workspaces) Root(dir string, needed ...string) (string, error) {
	root, _, err := ws.decision(dir, needed...)
	return root, err
}

// Decided returns the decision that applies to a path, which need not exist. In a branch it is that for the original, unless the
// user decided about the branch. Where the decisions cannot be read, everything is denied.
func Decided(ws *Workspaces, path string) grants.Decision {
	denied := grants.Decision{State: grants.Denied}
	former, err := grants.Former(path)
	if err != nil {
		return denied
	}
	d, err := ws.o.Grants.LookupFormer(former)
	if branch, of := ws.BranchOf(former); err == nil && branch != "" && !grants.Within(d.For, branch) {
		d, err = ws.o.Grants.LookupFormer(of + strings.TrimPrefix(former, branch))
	}
	if err != nil {
		return denied
	}
	return d
}

// decision returns the workspace that a directory is in, and the directories in it that are left out. A branch has the
// decision of its original, unless the user decided about the branch.
func (ws *Workspaces) decision(dir string, needed ...string) (root string, denied []string, err error) {
	resolved, err := grants.Resolve(dir)
	if err != nil {
		return "", nil, err
	}
	branch, of := ws.BranchOf(resolved)
	about := func(dir string) (string, error) { // the directory whose decision applies
		own, err := ws.o.Grants.Lookup(dir)
		if branch != "" && !grants.Within(own.For, branch) {
			return of, err
		}
		return dir, err
	}
	if resolved, err = about(resolved); err != nil {
		return "", nil, err
	}
	require := ws.o.Grants.RequireFormer // the original of a branch need not exist any more
	var d grants.Decision
	for _, grant := range append([]string{grants.Workspace}, needed...) {
		if d, err = require(resolved, grant); err != nil {
			return "", nil, ws.explain(d, err)
		}
	}
	if root, resolved = d.For, d.For; branch != "" {
		root = branch
		if resolved, err = about(branch); err != nil {
			return "", nil, err
		}
	}
	if d, err = require(resolved, grants.Workspace); err != nil { // with the decisions below root
		return "", nil, err
	}
	denied = d.Without(grants.Workspace)
	if resolved != root {
		own, err := ws.o.Grants.Lookup(root)
		return root, append(denied, own.Without(grants.Workspace)...), err
	}
	return root, denied, nil
}

// allow returns the workspace of a directory.
func (ws *Workspaces) allow(dir string) (a allowed, err error) {
	root, denied, err := ws.decision(dir)
	if err != nil {
		return a, err
	}
	if err := ws.Present(context.Background(), root); err != nil {
		return a, err
	}
	exclude, err := project.ExcludeIn(root)
	if err != nil {
		a.problem = usererr.New(usererr.InvalidArgument, "cannot read which files to leave out of snapshots: %v", err)
		if exclude, err = lastExclude(filepath.Join(ws.o.Dir, ID(root))); err != nil {
			return a, a.problem
		}
	}
	a.root, a.rules = root, rulesOf(exclude, denied)
	a.stamp, err = a.rules.text()
	return a, err
}

// Open returns the workspace of a directory, and opens it if it is not open. The error has the code
// [usererr.NotAllowed] if the user's decision does not have the grant [grants.Workspace].
func (ws *Workspaces) Open(ctx context.Context, dir string) (*Workspace, error) {
	return openAs(ctx, ws, func() (allowed, error) { return ws.allow(dir) })
}

func openAs(ctx context.Context, ws *Workspaces, allow func() (allowed, error)) (*Workspace, error) {
	a, err := allow()
	if err != nil {
		ws.Sweep()
		return nil, err
	}
	for {
		o, err := ws.opening(a)
		if err != nil {
			return nil, err
		}
		select {
		case <-o.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if o.err != nil {
			return nil, o.err
		}
		if o.w == nil {
			continue // it was reserved
		}
		if o.allowed.stamp == a.stamp && o.allowed.former == a.former && !outdated(o.w, a, false) {
			o.w.use(a.problem)
			return o.w, nil
		}
		ws.drop(o) // what is left out has changed, the directory was deleted or made again, or its filesystem takes snapshots now
	}
}

func (ws *Workspaces) opening(a allowed) (*opening, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed {
		return nil, errors.New("the daemon is stopping")
	}
	if o := ws.open[a.root]; o != nil {
		return o, nil
	}
	o := &opening{allowed: a, done: make(chan struct{})}
	ws.open[a.root] = o
	go func() {
		defer close(o.done)
		o.w, o.err = start(ws.o, &ws.queue, a)
		ws.mu.Lock()
		first := !ws.opened[a.root] && !a.former
		if o.err == nil {
			ws.opened[a.root] = ws.opened[a.root] || first
			delete(ws.failed, a.root)
		} else {
			delete(ws.open, a.root) // the next request tries again
			ws.failed[a.root] = o.err
		}
		ws.mu.Unlock()
		if o.err == nil && first {
			o.w.recordLost(context.Background())
		}
	}()
	return o, nil
}

// reserve keeps a workspace that is not open from being opened, until end is called. End is nil where it is open.
func reserve(ws *Workspaces, root string) (end func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed || ws.open[root] != nil {
		return nil
	}
	o := &opening{allowed: allowed{root: root}, done: make(chan struct{})}
	ws.open[root] = o
	return func() {
		ws.mu.Lock()
		delete(ws.open, root)
		ws.mu.Unlock()
		close(o.done)
	}
}

// drop closes a workspace that is open.
func (ws *Workspaces) drop(o *opening) {
	ws.mu.Lock()
	if ws.open[o.allowed.root] != o {
		ws.mu.Unlock()
		return // another caller drops it
	}
	delete(ws.open, o.allowed.root)
	ws.mu.Unlock()
	if err := o.w.close(); err != nil {
		ws.o.Log.Warn("a workspace did not close cleanly", "workspace", o.allowed.root, "error", err)
	}
}

// CloseDir closes the workspace of a directory that will be removed.
func (ws *Workspaces) CloseDir(root string) {
	for _, o := range ws.all() {
		if o.allowed.root == root {
			ws.drop(o)
			o.w.native.Clear() // they would keep what is removed
		}
	}
}

// DenyUnsaved denies a directory until the user's file has a newer decision, or the daemon stops. It closes what is denied.
func (ws *Workspaces) DenyUnsaved(dir string) error {
	err := ws.o.Grants.DenyUnsaved(dir)
	ws.Sweep()
	return err
}

// Sweep closes the workspaces that the user no longer allows, and those that nobody has used for a while.
func (ws *Workspaces) Sweep() {
	for _, o := range ws.all() {
		if stillAllowed(ws, o.allowed) != nil || ws.o.Clock().Sub(o.w.lastUse()) > closeAfter {
			ws.drop(o)
		} else {
			o.w.sweepViews()
			o.w.native.Trim()
		}
	}
	ws.discardNative()
}

// prune deletes snapshots that are too many or too old. Those of a workspace that no longer exists are kept until the user deletes
// them.
func (ws *Workspaces) prune(ctx context.Context) {
	for _, o := range ws.all() {
		if !o.allowed.former {
			o.w.prune(ctx)
		}
	}
}

// all returns the workspaces that are open.
func (ws *Workspaces) all() (list []*opening) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, o := range ws.open {
		select {
		case <-o.done:
			if o.w != nil {
				list = append(list, o)
			}
		default:
		}
	}
	return list
}

// Watched reports whether a snapshot was taken of a workspace since it was opened, so that its changes are seen.
func (ws *Workspaces) Watched(root string) bool { return slices.Contains(ws.Dirs(), root) }

// Dirs returns the directories of the workspaces whose changes are seen.
func (ws *Workspaces) Dirs() (dirs []string) {
	for _, o := range ws.all() {
		if _, begun, _ := o.w.watching.now(); begun {
			dirs = append(dirs, o.allowed.root)
		}
	}
	return dirs
}

// Others returns the other directories that the user allows as workspaces.
func (ws *Workspaces) Others(root string) (dirs []string) {
	all, _ := ws.o.Grants.All() // decisions that cannot be read allow none
	for _, d := range all {
		if d.Dir != root && d.Has(grants.Workspace) {
			dirs = append(dirs, d.Dir)
		}
	}
	return dirs
}

// close closes all workspaces. No other can be opened.
func (ws *Workspaces) close() {
	ws.mu.Lock()
	ws.closed = true
	open := maps.Clone(ws.open)
	ws.mu.Unlock()
	for _, o := range open {
		<-o.done
		if o.w != nil {
			ws.drop(o)
		}
	}
}

// Status is an open workspace, for `tidemark status`.
type Status struct {
	Dir string `json:"dir"`
	// Provider names what keeps the snapshots.
	Provider  string `json:"provider"`
	Snapshots int    `json:"snapshots"`
	// Bytes is what they take on disk.
	Bytes int64 `json:"bytes"`
	// Limited is why each snapshot compares the whole directory, "" if it need not.
	Limited string `json:"limited,omitempty"`
	// Views is where views and branches go, and why there.
	Views string `json:"views"`
}

// Status describes the open workspaces.
func (ws *Workspaces) Status() []Status {
	list := []Status{}
	for _, o := range ws.all() {
		if !o.allowed.former {
			list = append(list, o.w.status())
		}
	}
	return list
}

// Unrecorded returns why nothing of any workspace is recorded, or of those that could not be opened when this was last tried.
func Unrecorded(ws *Workspaces) (problems []string) {
	if _, err := ws.o.Grants.All(); err != nil {
		problems = append(problems, fmt.Sprintf("Nothing of workspaces is recorded: %v", err))
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, dir := range slices.Sorted(maps.Keys(ws.failed)) {
		problems = append(problems, fmt.Sprintf("No files of %s are recorded: %v", grants.Printable(dir), ws.failed[dir]))
	}
	return problems
}

func (w *Workspace) status() Status {
	end, err := w.begin()
	if err != nil {
		return Status{Dir: w.Dir, Provider: w.preferred()}
	}
	defer end()
	limited, _ := w.watching.limited()
	return Status{Dir: w.Dir, Provider: w.preferred(), Snapshots: len(w.provider.List()), Bytes: w.provider.Size(), Views: viewsAt(w), Limited: limited}
}
