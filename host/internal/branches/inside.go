package branches

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

// InBranch is the hidden command that runs a program which sees a branch at the path of its original.
const InBranch = "in-branch"

// Paths at which agents see their branch.
const (
	originalPath = "original"
	branchPath   = "branch"
)

// entering bounds the attempt to show a branch at the path of its original.
const entering = 5 * time.Second

// claudeRecords are where Claude Code keeps what it knows of a directory: its conversations.
func claudeRecords(g *records.Agent, env []string, dir string) string {
	home := g.Home
	if home == "" {
		home = value(env, "CLAUDE_CONFIG_DIR")
	}
	if home == "" {
		home = filepath.Join(value(env, "HOME"), ".claude")
	}
	return fork.ClaudeRecords(home, dir)
}

// place returns the path at which the agent of a branch shall see it, "" for the branch's own. Why says why that is not the one of the
// original, "" where nobody asked for that.
func (b *Branches) place(ctx context.Context, agent string, at *operations.Beginning, p Params) (path, why string) {
	asked := p.Path
	if asked == "" {
		asked = b.Settings.AgentPath
	}
	if asked != originalPath {
		return "", ""
	}
	if agentOf(agent).records == nil {
		return "", agent + " finds its conversations by their directory: in the original it would continue that of the branch"
	}
	origin := b.Timeline.Operations.OriginOf(at.From)
	if origin == nil {
		return "", "the original is not known"
	}
	path = origin.Workspace
	if top, err := gitrepo.Top(ctx, path); err == nil && top != path {
		return "", "the original is in the Git repository " + top + ", in which Git would work then"
	}
	if err := b.enterable(ctx, at.Branch.Workspace, path); err != nil {
		return "", err.Error()
	}
	return path, ""
}

// enterable returns an error if a program cannot see a directory at a path.
func (b *Branches) enterable(ctx context.Context, dir, at string) error {
	if b.Program == "" {
		return ownpath.ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, entering)
	defer cancel()
	runtime.LockOSThread() // the program ends with the thread that started it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, b.Program, "enter-branch", "--in", at, dir, at) //nolint:gosec // this program
	if err := ownpath.Prepare(cmd); err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if text := strings.TrimSpace(strings.TrimPrefix(string(out), "tidemark:")); err != nil && text != "" {
		return fmt.Errorf("%s", text)
	} else if err != nil {
		return fmt.Errorf("the system allows no namespace of mounts: %w", err)
	}
	return nil
}

// binds returns what a program sees at other paths: a branch at that of its original, and the records of an agent, so that they are
// apart from those of the original. Agent is its name, Dir where it works. The directories exist then.
func binds(workspace, at string, g *records.Agent, env []string) ([]ownpath.Bind, error) {
	list := []ownpath.Bind{{Dir: workspace, At: at}}
	known := agents[g.Name]
	if known == nil || known.records == nil {
		return list, nil
	}
	of := known.records(g, env, g.Dir)
	seen := known.records(g, env, ownpath.Inside(list, g.Dir))
	for _, dir := range []string{of, seen} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot keep the conversations of %s apart: %w", g.Name, err)
		}
	}
	return append(list, ownpath.Bind{Dir: of, At: seen}), nil
}

// inside returns the command line of an agent so that it sees its branch where it shall.
func (b *Branches) inside(workspace string, g *records.Agent, env, line []string) ([]string, error) {
	if g.At == "" {
		return line, nil
	}
	if b.Program == "" {
		return nil, ownpath.ErrUnsupported
	}
	list, err := binds(workspace, g.At, g, env)
	if err != nil {
		return nil, err
	}
	args := []string{b.Program, InBranch, "--in", ownpath.Inside(list[:1], g.Dir)}
	for _, one := range list {
		args = append(args, one.Dir, one.At)
	}
	return slices.Concat(args, []string{"--"}, line), nil
}
