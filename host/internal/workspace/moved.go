package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/installer/safefile"
)

// identityFile is the file of a store that has the identity of its workspace, on one line.
const identityFile = "identity"

// noteDir writes which directory a store is of, and returns its identity.
func noteDir(store, dir string) (identity string, err error) {
	identity = dirIdentity(dir)
	return identity, errors.Join(safefile.Overwrite(filepath.Join(store, directoryFile), []byte(dir+"\n")), safefile.Overwrite(filepath.Join(store, identityFile), []byte(identity+"\n")))
}

// directoryOf returns the directory that a store is of.
func directoryOf(store string) (string, error) {
	name, err := safefile.Read(filepath.Join(store, directoryFile), maxDirectory)
	return strings.TrimSuffix(string(name), "\n"), err
}

// MovedFrom returns the directory at or above dir that is a workspace which was moved there, and where it was; "" for none.
// The directory has no links.
func (ws *Workspaces) MovedFrom(dir string) (at, from string) { return movedFrom(ws.missing(0), dir) }

func movedFrom(known map[string]string, dir string) (at, from string) {
	for len(known) > 0 {
		if from := known[dirIdentity(dir)]; from != "" && from != dir {
			return dir, from
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return "", ""
}

// lookAgain is how long what [Workspaces.missing] found is used for calls of agents, whose hooks come with each moment.
const lookAgain = time.Second

// missing returns the workspaces that are not at their place any more, by their identity. What it found may be so old.
func (ws *Workspaces) missing(old time.Duration) map[string]string {
	now := ws.o.Clock()
	ws.mu.Lock()
	known, at := ws.absent, ws.absentAt
	ws.mu.Unlock()
	if age := now.Sub(at); age >= 0 && age < old {
		return known
	}
	known = ws.findMissing()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.absent, ws.absentAt = known, now
	return known
}

func (ws *Workspaces) findMissing() map[string]string {
	entries, err := os.ReadDir(ws.o.Dir)
	if err != nil {
		return nil // there are none
	}
	known := map[string]string{}
	for _, e := range entries {
		store := filepath.Join(ws.o.Dir, e.Name())
		dir, err := directoryOf(store)
		if err != nil {
			continue
		}
		id, err := safefile.Read(filepath.Join(store, identityFile), maxDirectory)
		if is := strings.TrimSuffix(string(id), "\n"); err == nil && is != "" && dirIdentity(dir) != is {
			known[is] = dir
		}
	}
	return known
}

// Move makes the snapshots of a workspace that was moved those of its new directory. Both have no links.
func (ws *Workspaces) Move(from, to string) error {
	if _, err := os.Lstat(from); !errors.Is(err, fs.ErrNotExist) {
		return usererr.New(usererr.AlreadyExists, "%s still exists, so its snapshots stay there. Remove or rename it first.", from)
	}
	ws.CloseDir(from)
	ws.CloseDir(to)
	old, store := filepath.Join(ws.o.Dir, ID(from)), filepath.Join(ws.o.Dir, ID(to))
	if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
		if dir, err := directoryOf(store); err == nil && dir == to {
			return nil // an earlier call did it
		}
		return usererr.New(usererr.NotFound, "there are no snapshots of %s. `tidemark du` lists the workspaces that have some.", from)
	}
	if dir, err := directoryOf(store); err == nil && dir == to {
		return usererr.New(usererr.AlreadyExists, "%s has snapshots of its own already. The ones of %s stay where they are.", to, from)
	}
	if err := os.Rename(old, store); err != nil {
		return err
	}
	if beside := provider.Beside(from, old); beside != "" { // nothing knows of it from now on
		err := discardIn(beside)
		_, failed := RemoveViews(beside)
		if err := errors.Join(err, failed); err != nil {
			ws.o.Log.Warn("cannot remove the views of a workspace that was moved", "directory", beside, "error", err)
		}
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.absentAt = time.Time{}
	_, err := noteDir(store, to)
	return err
}

// MoveBranches makes the branches of a workspace that was moved those of its new directory, and knows a branch that was moved
// itself in its new one.
func (ws *Workspaces) MoveBranches(from, to string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for branch, of := range ws.branches {
		if of == from {
			ws.branches[branch] = to
		}
	}
	if of, ok := ws.branches[from]; ok {
		delete(ws.branches, from)
		ws.branches[to] = of
	}
}

// explain adds to the error for an undecided directory that it is a workspace which was moved.
func (ws *Workspaces) explain(d grants.Decision, err error) error {
	if d.State != grants.Undecided || usererr.CodeOf(err) != usererr.NotAllowed {
		return err
	}
	at, from := movedFrom(ws.missing(lookAgain), d.Dir)
	if from == "" {
		return err
	}
	return usererr.New(usererr.NotAllowed, "%s is not allowed: it is %s, which was moved. The user can allow it and keep its snapshots: run `%s`.", grants.Printable(at), grants.Printable(from), AllowMoved(from, at))
}

// AllowMoved returns the command that allows a workspace which was moved.
func AllowMoved(from, to string) string {
	command := "tidemark project allow"
	if old, ok := grants.Quoted(from); ok {
		command += " --moved-from " + old
		if dir, ok := grants.Quoted(to); ok {
			command += " " + dir
		}
	}
	return command
}
