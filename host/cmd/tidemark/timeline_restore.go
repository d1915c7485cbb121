package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/workspace"
)

func newSessionBranch() *cobra.Command {
	var at momentFlags
	var p branches.Params
	var tries []string
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "session-branch [SESSION] --name NAME",
		Short: "Start a new session with the files of a moment",
		Long: `Start a new session with the files of a moment, in a directory of its own. The original workspace stays as it is.
With a message, the agent of the moment starts there: with its conversation as of the moment, in tmux where config.toml says
so ([branches] terminal), and otherwise without a terminal. --agent none keeps the message and starts no agent. The exit code is 5
where a branch with a message was made and no agent was started for it.`,
		Example: `  tidemark timeline session-branch --moment m12 --name other-way --message "Use a map instead"
  tidemark timeline session-branch --moment m12 --name way --try "Use a map" --try "Use a list"`,
		Args: maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.From, err = at.given(); err != nil {
				return err
			}
			if p.From == "" || p.Name == "" {
				return usageError{errors.New("name a moment with --ts, --fs-snapshot or --moment, and the branch with --name")}
			}
			if p.Where, err = whereIs(cmd, first(args)); err != nil {
				return err
			}
			p.Env = os.Environ()
			if len(tries) > 0 && p.Message != "" {
				return usageError{errors.New("use --message for one branch or --try for each of several, not both")}
			}
			p.Confirm = yes
			if len(tries) > 0 {
				return tryEach(cmd, p, tries, asJSON)
			}
			a, err := startBranch(cmd, &p, asJSON)
			if err != nil || a == nil {
				return err
			}
			if asJSON {
				return cmp.Or(json.NewEncoder(cmd.OutOrStdout()).Encode(a), started(*a))
			}
			return cmp.Or(showBranch(cmd.OutOrStdout(), a), started(*a))
		},
	}
	at.add(cmd)
	f := cmd.Flags()
	f.StringVar(&p.Name, "name", "", "name of the branch: lower-case letters, digits, - and _")
	f.StringVar(&p.Message, "message", "", "message for the agent of the branch")
	f.StringArrayVar(&tries, "try", nil, "start one branch for each message, named NAME-1, NAME-2 and so on (repeatable)")
	f.StringVar(&p.Agent, "agent", "", "agent to start: claude, codex, copilot, gemini, opencode, another one of [branches.commands], or none (default: that of the moment)")
	f.StringVar(&p.Path, "agent-path", "", "path at which the agent sees the branch: original or branch (default: agent_path in config.toml, else branch)")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask before a long copy")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets: before a long copy without --yes, its plan")
	return cmd
}

// startBranch starts a branch. Before a long copy it shows the plan and asks, unless the plan is to be printed as JSON. The branch
// is nil where the user does not agree.
func startBranch(cmd *cobra.Command, p *branches.Params, asJSON bool) (*answers.Branched, error) {
	c, err := clientFor("timeline_branch")
	if err != nil {
		return nil, err
	}
	var a answers.Branched
	if err := c.Tool(cmd.Context(), "timeline_branch", p, &a); err != nil || a.Plan == nil || asJSON {
		return &a, err
	}
	plan := a.Plan
	if err := render.Line(cmd.ErrOrStderr(), "Copying %s (%s) takes about %.0f s: %s.", plural(plan.Files, "file"), mib(plan.Bytes), plan.Seconds, event.OneLine(plan.Why)); err != nil {
		return nil, err
	}
	agreed := &asking{}
	if !agreed.ask(cmd, "Copy them? [y/N] ") {
		if agreed.unanswered {
			return nil, errors.New("no answer on standard input. Use --yes to copy without asking.")
		}
		return nil, render.Line(cmd.OutOrStdout(), "No branch was made.")
	}
	p.Confirm, a = true, answers.Branched{}
	return &a, c.Tool(cmd.Context(), "timeline_branch", p, &a)
}

// tryEach starts a branch for each message, all from one moment.
func tryEach(cmd *cobra.Command, p branches.Params, messages []string, asJSON bool) error {
	list := []answers.Branched{}
	name := p.Name
	var names []string
	for i := range messages {
		names = append(names, fmt.Sprintf("%s-%d", name, i+1))
	}
	for i, message := range messages {
		p.Name, p.Also, p.Message = names[i], names[i+1:], message
		a, err := startBranch(cmd, &p, asJSON)
		if err != nil && i > 0 { // else it may be about the name of a later one
			err = fmt.Errorf("branch %s: %w", p.Name, err)
		}
		if err != nil {
			return err
		}
		if a == nil {
			return nil
		}
		if list = append(list, *a); !asJSON {
			if err := showBranch(cmd.OutOrStdout(), a); err != nil {
				return err
			}
		}
	}
	var err error
	switch {
	case !asJSON && len(list) > 1:
		err = render.Line(cmd.OutOrStdout(), "Compare with `tidemark branch compare %s-1 %s-2`.", name, name)
	case asJSON:
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(list)
	}
	return cmp.Or(err, started(list...))
}

// started returns [errNotStarted] where no agent was started for the message of a branch.
func started(list ...answers.Branched) error {
	for _, a := range list {
		if a.Problem != "" || a.Agent != nil && a.Agent.Problem != "" {
			return errNotStarted
		}
	}
	return nil
}

func showBranch(out io.Writer, a *answers.Branched) error {
	lines := []string{render.Bold(a.ID) + "  " + grants.Printable(a.Workspace), render.Faint("files of " + a.FsSnapshot + "; undo with `tidemark timeline undo`")}
	lines = append(lines, agentLines(a.Agent)...)
	for _, note := range []string{a.Form, a.Note, a.Problem} {
		if note != "" {
			lines = append(lines, event.OneLine(note))
		}
	}
	for _, path := range a.Unnamed {
		lines = append(lines, "left out: "+event.Path(event.OneLine(path)))
	}
	for _, n := range a.Notes {
		lines = append(lines, "not certain: "+event.Path(event.OneLine(n)))
	}
	return render.Line(out, "%s", strings.Join(lines, "\n"))
}

func newRestore() *cobra.Command {
	var at momentFlags
	var p operations.RestoreParams
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "restore MOMENT [PATH…]",
		Short: "Set files back to a moment",
		Long: `Set files back to a moment: all of them, or only the named files and directories. It shows the plan and asks first.
The state before is a snapshot: ` + "`tidemark timeline undo`" + ` brings it back.`,
		Example: `  tidemark timeline restore m12
  tidemark timeline restore m12 src/cart.ts --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.To, err = at.given(); err != nil {
				return err
			}
			if p.To == "" {
				if len(args) == 0 {
					return usageError{errors.New("name a moment, such as m12. `tidemark timeline list` lists them.")}
				}
				p.To, args = args[0], args[1:]
			}
			if p.Where, err = whereIs(cmd, p.Session); err != nil {
				return err
			}
			if p.Paths, err = inWorkspace(cmd, p.Where, args, p.To); err != nil {
				return err
			}
			return planAndDo(cmd, yes, asJSON, func(confirm bool, last *answers.Restored) (string, any) {
				p.Confirm, p.Plan = confirm, last.Plan
				return "timeline_restore", p
			})
		},
	}
	at.add(cmd)
	f := cmd.Flags()
	f.StringVar(&p.Session, "session", "", "ID of a session (default: that of the working directory)")
	f.BoolVar(&p.Leave, "leave", false, "leave paths that cannot be restored as they are")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets: without --yes, the plan")
	return cmd
}

// inWorkspace returns paths of the command line as paths in the workspace of a session: the one that a moment names, as in
// m3@shop-1, or else that of where.
func inWorkspace(cmd *cobra.Command, where moments.Where, args []string, ids ...string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	for _, id := range ids {
		if _, session := sessions.Cut(id); session != "" && where.Session == "" {
			where = moments.Where{Session: session}
		}
	}
	c, err := clientFor("session_show")
	if err != nil {
		return nil, err
	}
	var s answers.About
	if err := c.Tool(cmd.Context(), "session_show", timeline.SessionParams{Where: where}, &s); err != nil {
		return nil, err
	}
	paths := make([]string, len(args))
	_, missing := os.Lstat(s.Workspace)
	for i, arg := range args {
		if arg == "" {
			return nil, usageError{errors.New("a path is empty. Name a file or a directory, or no path for everything.")}
		}
		if errors.Is(missing, fs.ErrNotExist) && !filepath.IsAbs(arg) { // nobody can be in it
			arg = filepath.Join(s.Workspace, arg)
		}
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		path = outside(path)
		if dir, err := grants.Resolve(filepath.Dir(path)); err == nil { // it may have been deleted
			path = filepath.Join(dir, filepath.Base(path))
		}
		rel, err := filepath.Rel(s.Workspace, path)
		switch {
		case err != nil || !filepath.IsLocal(rel):
			return nil, usageError{fmt.Errorf("%s is not in the workspace %s", grants.Printable(arg), grants.Printable(s.Workspace))}
		case rel == ".":
			return nil, nil
		}
		paths[i] = filepath.ToSlash(rel)
	}
	return paths, nil
}

func newUndo() *cobra.Command {
	var p operations.UndoParams
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "undo [OPERATION]",
		Short: "Undo the last restore or branch",
		Args:  someArgs(0, 1, "one operation, such as op3, or none"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p.Operation = first(args)
			if p.Where, err = whereIs(cmd, p.Session); err != nil {
				return err
			}
			return planAndDo(cmd, yes, asJSON, func(confirm bool, last *answers.Restored) (string, any) {
				p.Confirm, p.Plan, p.Operation = confirm, last.Plan, cmp.Or(p.Operation, last.Undoes)
				return "timeline_undo", p
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Session, "session", "", "ID of a session (default: that of the working directory)")
	f.BoolVar(&p.Leave, "leave", false, "leave paths that cannot be restored as they are")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&asJSON, "json", false, "print JSON: without --yes, the plan")
	return cmd
}

// planAndDo shows the plan of a restore, asks, and restores. Call has the last plan, of which all fields may be empty. If the files changed since, it shows the present plan and asks
// again.
func planAndDo(cmd *cobra.Command, yes, asJSON bool, call func(confirm bool, last *answers.Restored) (tool string, args any)) error {
	var a answers.Restored
	show := func(confirm bool) error {
		tool, args := call(confirm, &a)
		a = answers.Restored{}
		return callAndShow(cmd, tool, args, &a, asJSON, func() error { return showRestore(cmd.OutOrStdout(), &a) })
	}
	if yes {
		return show(true)
	}
	if err := show(false); err != nil || asJSON {
		return err
	}
	for !a.Done {
		if len(a.Blocked) > 0 || len(a.Steps) == 0 && a.Note == "" {
			return nil
		}
		agreed := &asking{}
		if !agreed.ask(cmd, "Do this? [y/N] ") {
			if agreed.unanswered {
				return errors.New("no answer on standard input. Use --yes to do it without asking.")
			}
			return render.Line(cmd.OutOrStdout(), "Nothing was changed.")
		}
		if err := show(true); err != nil {
			return err
		}
	}
	return nil
}

func showRestore(out io.Writer, a *answers.Restored) error {
	var counts []string
	for _, kind := range []string{"create", "replace", "delete", "attributes"} {
		if n := a.Changes[kind]; n > 0 {
			counts = append(counts, fmt.Sprintf("%s %d", kind, n))
		}
	}
	head := "Nothing differs from " + a.FsSnapshot + "."
	switch {
	case len(a.Blocked) > 0:
		head = "Nothing can be restored from " + a.FsSnapshot + "."
	case len(a.Differs) > 0:
		head = "Nothing to restore from " + a.FsSnapshot + "."
	}
	switch {
	case a.FsSnapshot == "":
		head = strings.TrimSpace("Undid " + event.OneLine(a.Undid) + ". " + event.OneLine(a.Note))
		if !a.Done {
			head = "This " + a.Note + "."
		}
	case a.Done && len(counts) > 0:
		head = fmt.Sprintf("Restored %s (%s). The state before is %s; `tidemark timeline undo %s` brings it back.", a.FsSnapshot, strings.Join(counts, ", "), a.Safety, a.Operation)
	case len(counts) > 0:
		head = fmt.Sprintf("Restoring %s: %s", a.FsSnapshot, strings.Join(counts, ", "))
	}
	if a.Note != "" && a.FsSnapshot != "" {
		if err := render.Line(out, "%s", event.OneLine(a.Note)); err != nil {
			return err
		}
	}
	if err := render.Line(out, "%s", head); err != nil {
		return err
	}
	if !a.Done {
		t := render.Table{Indent: "  "}
		for _, s := range a.Steps {
			t.Row(s.Change, event.Path(s.Path))
		}
		if a.Omitted > 0 {
			t.Row("…", fmt.Sprintf("and %d more", a.Omitted))
		}
		if err := t.Write(out); err != nil {
			return err
		}
	}
	for _, p := range a.Blocked {
		if err := render.Line(out, "cannot be restored: %s", event.Path(p)); err != nil {
			return err
		}
	}
	if len(a.Blocked) > 0 && strings.HasPrefix(a.Blocked[0], operations.Whole) {
		return render.Line(out, "Change that, or copy the files of the moment with `tidemark timeline session-branch`.")
	}
	if len(a.Blocked) > 0 {
		return render.Line(out, "Name other paths, or use --leave to leave these as they are.")
	}
	stays := "stays as it is: "
	if a.Done && a.FsSnapshot != "" {
		stays = "not as in " + a.FsSnapshot + ": "
	}
	for _, p := range a.Differs {
		if err := render.Line(out, "%s%s", stays, event.Path(p)); err != nil {
			return err
		}
	}
	if err := showExclusions(out, a.Exclusions); err != nil {
		return err
	}
	if a.Kept != "" {
		return render.Line(out, "Files that were changed during the restore are in %s", grants.Printable(a.Kept))
	}
	return nil
}

// showExclusions shows how a restore changes what later snapshots leave out.
func showExclusions(out io.Writer, e *workspace.Exclusions) error {
	var lines []string
	if e == nil {
		return nil
	}
	if len(e.Dropped) > 0 {
		lines = append(lines, "no longer excluded from snapshots: "+event.OneLine(strings.Join(e.Dropped, ", ")))
	}
	if len(e.Added) > 0 {
		lines = append(lines, "newly excluded from snapshots: "+event.OneLine(strings.Join(e.Added, ", ")))
	}
	if e.Problem != "" {
		lines = append(lines, "no snapshot can be taken with the settings file of that time: "+e.Problem)
	}
	return render.Line(out, "%s", strings.Join(lines, "\n"))
}

func newOp() *cobra.Command {
	cmd := &cobra.Command{Use: "op", Short: "Show the operations", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var asJSON bool
	log := &cobra.Command{
		Use:   "log [SESSION]",
		Short: "List restores, branches and undos, the newest first",
		Args:  maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := whereIs(cmd, first(args))
			if err != nil {
				return err
			}
			var a operations.Log
			return callAndShow(cmd, "timeline_operations", operations.LogParams{Where: where}, &a, asJSON, func() error {
				if len(a.Operations) == 0 {
					return render.Line(cmd.OutOrStdout(), "No operations yet.")
				}
				t := render.Table{}
				for _, o := range a.Operations {
					before := ""
					if o.Safety != "" {
						before = "state before: " + o.Safety
					}
					t.Row(o.At.Local().Format("2006-01-02 15:04:05"), o.ID, o.State, o.What, render.Faint(before))
				}
				if err := t.Write(cmd.OutOrStdout()); err != nil {
					return err
				}
				return showDiffers(cmd.OutOrStdout(), a.Operations)
			})
		},
	}
	log.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(log)
	return cmd
}

// maxDiffers is how many paths are shown that an operation did not set back. JSON has more.
const maxDiffers = 10

// showDiffers shows what operations that failed did not set back.
func showDiffers(out io.Writer, list []operations.Entry) error {
	for _, o := range list {
		if len(o.Differs) == 0 {
			continue
		}
		lines := []string{"", o.ID + " did not set back:"}
		for i, p := range o.Differs {
			if i == maxDiffers {
				lines = append(lines, fmt.Sprintf("  … and %d more; --json lists them", len(o.Differs)-i))
				break
			}
			lines = append(lines, "  "+p)
		}
		lines = append(lines, fmt.Sprintf("`%s` brings back the state before it.", o.Restore))
		if err := render.Line(out, "%s", strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

func newCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [SESSION]",
		Short: "Check that the snapshots are whole",
		Args:  maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := whereIs(cmd, first(args))
			if err != nil {
				return err
			}
			var a timeline.Checked
			err = callAndShow(cmd, "timeline_check", timeline.SessionParams{Where: where}, &a, asJSON, func() error {
				if len(a.Damages) == 0 {
					return render.Line(cmd.OutOrStdout(), "All snapshots of %s are whole.", grants.Printable(a.Workspace))
				}
				return nil
			})
			if err != nil || len(a.Damages) == 0 {
				return err
			}
			return fmt.Errorf("the snapshots of %s are damaged:\n%s", grants.Printable(a.Workspace), strings.Join(a.Damages, "\n"))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
