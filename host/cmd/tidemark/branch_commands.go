package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
)

func newBranch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "branch",
		Short: "Manage the branches of a workspace",
		Long: `Manage the branches of the workspace in the working directory. A branch has the files of a moment in a directory of its own,
with an agent that continues the conversation from there. ` + "`tidemark timeline session-branch`" + ` starts one.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBranchList(), newBranchOpen(), newBranchRun(), newBranchAttach(), newBranchCompare(), newBranchCommit(), newBranchApply(), newBranchUnmount(), newBranchRemove())
	return cmd
}

func oneBranch() cobra.PositionalArgs {
	return someArgs(1, 1, "one branch. `tidemark branch list` lists them")
}

func newBranchList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [DIR]", Short: "List the branches, the newest first", Args: oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := whereIs(cmd, "", args...)
			if err != nil {
				return err
			}
			var a branches.List
			return callAndShow(cmd, "branch_list", branches.ListParams{Where: where}, &a, asJSON, func() error {
				if len(a.Branches) == 0 {
					return render.Line(cmd.OutOrStdout(), "No branches yet. `tidemark timeline session-branch` starts one.")
				}
				t := render.Table{}
				for i := range a.Branches {
					one := &a.Branches[i]
					if how := endedInTmux(cmd.Context(), one); how != "" {
						one.Agent.Outcome = how
					}
					t.Row(render.Bold(one.Name), "from "+cmp.Or(one.BranchOf.Moment, one.BranchOf.FsSnapshot)+" of "+one.BranchOf.Session, one.Started.Local().Format("2006-01-02 15:04"), branchState(one), one.Form, render.Faint(grants.Printable(one.Workspace)))
				}
				return t.Write(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// inTerminal runs a program with the terminal of the command.
func inTerminal(cmd *cobra.Command, dir string, env []string, line ...string) error {
	c := exec.CommandContext(cmd.Context(), line[0], line[1:]...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = dir, env, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", line[0], err)
	}
	return nil
}

func newBranchOpen() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "open NAME", Short: "Continue the agent of a branch in this terminal, or open a shell there", Args: oneBranch(),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := whereIs(cmd, "")
			if err != nil {
				return err
			}
			p := branches.OneParams{Where: where, Name: args[0], Env: os.Environ()}
			if !asJSON {
				p.PID = os.Getpid()
			}
			var a branches.Command
			return callAndShow(cmd, "branch_open", p, &a, asJSON, func() error {
				if a.Agent == nil {
					return inTerminal(cmd, a.Dir, a.Env, a.Line...)
				}
				return becomeAgent(cmd, &a)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the command with its environment instead of running it")
	return cmd
}

func findBranch(cmd *cobra.Command, name string) (*branches.Branch, error) {
	where, err := whereIs(cmd, "")
	if err != nil {
		return nil, err
	}
	c, err := clientFor("branch_list")
	if err != nil {
		return nil, err
	}
	var a branches.List
	if err := c.Tool(cmd.Context(), "branch_list", branches.ListParams{Where: where}, &a); err != nil {
		return nil, err
	}
	list := make([]answers.About, len(a.Branches))
	for i := range a.Branches {
		list[i] = a.Branches[i].About
	}
	i, err := answers.Named(list, name)
	if err != nil {
		return nil, err
	}
	return &a.Branches[i], nil
}

func newBranchCompare() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "compare A [B]", Short: "Show two branches side by side, or a branch and its original", Args: someArgs(1, 2, "one or two branches; `original` is the session that the other one comes from"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := branches.CompareParams{A: args[0]}
			if len(args) > 1 {
				p.B = args[1]
			}
			var err error
			if p.Where, err = whereIs(cmd, ""); err != nil {
				return err
			}
			var a branches.Comparison
			return callAndShow(cmd, "branch_compare", p, &a, asJSON, func() error { return showComparison(cmd.OutOrStdout(), &a) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showComparison(out io.Writer, a *branches.Comparison) error {
	t := render.Table{}
	row := func(name string, of func(*branches.Side) string) { t.Row(render.Faint(name), of(&a.A), of(&a.B)) }
	row("", func(s *branches.Side) string { return render.Bold(cmp.Or(s.Name, s.ID)) })
	row("browser at the end", func(s *branches.Side) string { return cmp.Or(string(s.Severity), "not known") })
	row("reported since then", func(s *branches.Side) string {
		if s.Browser == nil {
			return "not observed"
		}
		return s.Browser.Summary
	})
	row("files changed", func(s *branches.Side) string {
		if s.FilesProblem != "" {
			return "not known"
		}
		return fmt.Sprintf("%d  +%d −%d", len(s.Files), s.Added, s.Removed)
	})
	row("tests", func(s *branches.Side) string {
		if len(s.Tests) == 0 {
			return "not run"
		}
		last := s.Tests[len(s.Tests)-1]
		how := "failed"
		if last.Passed {
			how = "passed"
		}
		if last.Exit != nil {
			how += fmt.Sprintf(" (exit %d)", *last.Exit)
		}
		return fmt.Sprintf("%s, the last one %s", plural(len(s.Tests), "run"), how)
	})
	row("calls", func(s *branches.Side) string { return fmt.Sprintf("%d, %d failed", s.Calls, s.Failed) })
	row("tokens read, written", func(s *branches.Side) string {
		if s.Tokens == nil {
			return "not known"
		}
		return fmt.Sprintf("%d, %d", s.Tokens.Input, s.Tokens.Output)
	})
	row("worked", func(s *branches.Side) string {
		return time.Duration(s.WorkedSec * float64(time.Second)).Round(time.Second).String()
	})
	row("began with", func(s *branches.Side) string {
		if s.First == "" && len(s.Files) > 0 { // of an agent without hooks, or of the user
			return "not known"
		}
		return cmp.Or(event.OneLine(s.First), "nothing")
	})
	if err := t.Write(out); err != nil {
		return err
	}
	for _, s := range []*branches.Side{&a.A, &a.B} {
		if s.FilesProblem == "" {
			continue
		}
		if err := render.Line(out, "Changed files of %s are not known: %s", cmp.Or(s.Name, s.ID), event.OneLine(s.FilesProblem)); err != nil {
			return err
		}
	}
	for _, path := range a.Different {
		if err := render.Line(out, "differs: %s", event.Path(path)); err != nil {
			return err
		}
	}
	return nil
}

func newBranchCommit() *cobra.Command {
	var p branches.CommitParams
	var asJSON bool
	cmd := &cobra.Command{
		Use: "commit NAME", Short: "Make a branch in Git with the files of a branch",
		Long: `Make a branch in the Git repository of the original, with one commit that has the files of a branch. Its parent is the commit
that was checked out at the moment of the branch. Nothing is checked out, and no file of the original changes.`,
		Args: oneBranch(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p.Name = args[0]
			if p.Where, err = whereIs(cmd, ""); err != nil {
				return err
			}
			var a branches.Committed
			return callAndShow(cmd, "branch_commit", p, &a, asJSON, func() error {
				if a.Note != "" {
					if err := render.Line(cmd.OutOrStdout(), "%s", a.Note); err != nil {
						return err
					}
				}
				hint := "`git merge %s` takes it over."
				if a.Parent == "" { // nothing is checked out that it could be merged into
					hint = "`git reset --soft %s` begins the branch that is checked out with it, and changes no files."
				}
				return render.Line(cmd.OutOrStdout(), "%s  %.10s  %s. "+hint, render.Bold(a.Branch), a.Commit, plural(a.Files, "file"), a.Ref)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.As, "as", "", "name of the branch in Git (default: that of the branch)")
	f.StringVarP(&p.Message, "message", "m", "", "message of the commit (default: that of the branch)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newBranchApply() *cobra.Command {
	var p branches.ApplyParams
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use: "apply NAME", Short: "Merge the changes of a branch into the original",
		Long: `Merge the changes of a branch into the workspace that it comes from. It shows the plan and asks first. Files that both changed are
merged by lines. The state before is a snapshot: ` + "`tidemark timeline undo`" + ` brings it back.`,
		Args: oneBranch(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p.Name = args[0]
			if p.Where, err = whereIs(cmd, ""); err != nil {
				return err
			}
			var a branches.Applied
			show := func() error { return showApplied(cmd.OutOrStdout(), &a) }
			if yes {
				p.Confirm = true
				return callAndShow(cmd, "branch_apply", p, &a, asJSON, show)
			}
			for { // if the branch or the original changed since a plan was shown, the answer is another plan
				if err := callAndShow(cmd, "branch_apply", p, &a, asJSON, show); err != nil {
					return err
				}
				if len(a.Conflicts) > 0 {
					return fmt.Errorf("nothing was applied, because of %s. Use --conflicts mark, original or branch.", plural(len(a.Conflicts), "conflict"))
				}
				if asJSON || a.Done || len(a.Steps) == 0 {
					return nil
				}
				agreed := &asking{}
				if !agreed.ask(cmd, "Do this? [y/N] ") {
					if agreed.unanswered {
						return errors.New("no answer on standard input. Use --yes to do it without asking.")
					}
					return render.Line(cmd.OutOrStdout(), "Nothing was changed.")
				}
				p.Confirm, p.Plan, a = true, a.Plan, branches.Applied{}
			}
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Conflicts, "conflicts", "", "for lines that both changed: mark (write both with markers), original or branch (default: apply nothing)")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&asJSON, "json", false, "print JSON: without --yes, the plan")
	return cmd
}

func showApplied(out io.Writer, a *branches.Applied) error {
	t := render.Table{Indent: "  "}
	head := fmt.Sprintf("Applying to %s:", grants.Printable(a.Workspace))
	switch {
	case a.Done && a.Operation != "":
		head = fmt.Sprintf("Applied %s to %s. The state before is %s; `tidemark timeline undo %s --session %s` brings it back.", plural(len(a.Steps), "change"), grants.Printable(a.Workspace), a.Safety, a.Operation, a.Of)
	case len(a.Steps)+len(a.Conflicts) == 0:
		head = fmt.Sprintf("Nothing to apply to %s.", grants.Printable(a.Workspace))
	default:
		for _, s := range a.Steps {
			t.Row(s.Change, event.Path(s.Path))
		}
	}
	for _, c := range slices.Concat(a.Conflicts, a.Settled) {
		t.Row("conflict", event.Path(c.Path), c.Why)
	}
	for _, c := range a.Marked {
		t.Row("conflict", event.Path(c.Path), c.Why+"; the lines of both are written, between markers")
	}
	if err := render.Line(out, "%s", head); err != nil {
		return err
	}
	return t.Write(out)
}

func newBranchUnmount() *cobra.Command {
	var p branches.OneParams
	var asJSON bool
	cmd := &cobra.Command{
		Use: "unmount NAME", Short: "Turn a mounted branch into plain files, at the same path",
		Long: `Turn a mounted branch into plain files, at the same path. All of its files are copied, also those that no snapshot has. It is refused
while programs use the branch, and the branch stays mounted then. See docs/MOUNTS.md.`,
		Args: oneBranch(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p.Name = args[0]
			if p.Where, err = whereIs(cmd, ""); err != nil {
				return err
			}
			var a branches.Unmounted
			return callAndShow(cmd, "branch_unmount", p, &a, asJSON, func() error {
				if a.Was == "" {
					return render.Line(cmd.OutOrStdout(), "%s has plain files already, in %s.", a.SessionID, grants.Printable(a.Workspace))
				}
				return render.Line(cmd.OutOrStdout(), "%s has plain files now, in %s. It was %s.", a.SessionID, grants.Printable(a.Workspace), a.Was)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newBranchRemove() *cobra.Command {
	var p branches.OneParams
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rm NAME", Short: "Remove a branch with all of its files",
		Long: `Remove a branch with all of its files. It is refused while programs run in the branch. With --force, the agent that Tidemark started
there is ended, and the branch is removed.`,
		Args: oneBranch(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p.Name = args[0]
			if p.Where, err = whereIs(cmd, ""); err != nil {
				return err
			}
			was, _ := findBranch(cmd, args[0]) // the removal says why there is none
			var a branches.Removed
			if err := callAndShow(cmd, "branch_remove", p, &a, asJSON, func() error {
				if a.Note != "" {
					if err := render.Line(cmd.OutOrStdout(), "%s", a.Note); err != nil {
						return err
					}
				}
				switch {
				case a.Operation == "" && p.NoUndo:
					return render.Line(cmd.OutOrStdout(), "Removed %s, %s. It cannot be brought back.", a.SessionID, grants.Printable(a.Workspace))
				case a.Operation == "":
					return render.Line(cmd.OutOrStdout(), "Removed what was recorded of %s as a branch.", a.SessionID)
				}
				return render.Line(cmd.OutOrStdout(), "Removed %s, %s. `tidemark timeline undo %s --session %s` brings it back.", a.SessionID, grants.Printable(a.Workspace), a.Operation, a.Of)
			}); err != nil {
				return err
			}
			closeInTmux(cmd.Context(), was)
			return nil
		},
	}
	cmd.Flags().BoolVar(&p.Force, "force", false, "remove it although programs run there")
	cmd.Flags().BoolVar(&p.NoUndo, "no-undo", false, "keep no snapshot of its files, such as on a full disk: it cannot be brought back")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// becomeAgent makes this process the agent of a branch.
func becomeAgent(cmd *cobra.Command, a *branches.Command) error {
	if err := os.Chdir(a.Dir); err != nil {
		return err
	}
	return become(cmd, a.Line, a.Env)
}

// newInTab becomes the agent of a branch. A terminal runs it, which the daemon has the user's terminal_command open.
func newInTab() *cobra.Command {
	var home, dir string
	cmd := &cobra.Command{
		Use: branches.InTab + " ID --dir DIR", Short: "Become the agent of a branch in this terminal", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if home != "" {
				if err := os.Setenv("TIDEMARK_HOME", home); err != nil {
					return err
				}
			}
			where, err := whereIs(cmd, "", dir)
			if err != nil {
				return err
			}
			c, err := clientFor("branch_open")
			if err != nil {
				return err
			}
			var a branches.Command
			if err := c.Tool(cmd.Context(), "branch_open", branches.OneParams{Where: where, Name: dir, Env: os.Environ(), PID: os.Getpid()}, &a); err != nil {
				return err
			}
			return becomeAgent(cmd, &a)
		},
	}
	cmd.Flags().StringVar(&home, "home", "", "Tidemark's home")
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the branch")
	return cmd
}
