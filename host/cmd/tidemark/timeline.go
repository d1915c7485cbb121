package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
)

func newTimeline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "timeline",
		Short: "Go back to a moment of a session",
		Long: `Go back to a moment of a session. While the project is allowed (tidemark project allow), Tidemark takes a snapshot
of all files at each moment: an agent's prompt, edit, command or stop, a checkpoint.

SESSION is a session's ID. Without it, the current session of the working directory is meant.
A moment is the ID of a moment (m12) or of a file snapshot (s12), the name of a checkpoint, a time, start, or now.`,
		Example: `  tidemark timeline list
  tidemark timeline seek m12
  tidemark timeline restore m12 src
  tidemark timeline session-branch --moment m12 --name other-way --message "Use a map instead"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTimelineList(), newFsSnapshot(), newMoment(), newSeek(), newRestore(), newSessionBranch(), newOp(), newUndo(), newCheck())
	return cmd
}

func newSession() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Manage sessions of the timeline",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	one := func(use, short, tool, done string) *cobra.Command {
		var asJSON bool
		c := &cobra.Command{
			Use: use, Short: short, Args: oneDir(),
			RunE: func(cmd *cobra.Command, args []string) error {
				where, err := whereIs(cmd, "", args...)
				if err != nil {
					return err
				}
				var a timeline.About
				return callAndShow(cmd, tool, timeline.SessionParams{Where: where}, &a, asJSON, func() error {
					return render.Line(cmd.OutOrStdout(), "%s  %s%s", render.Bold(a.ID), a.Workspace, done)
				})
			},
		}
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		return c
	}
	cmd.AddCommand(
		one("start [DIR]", "Start a session in a directory, unless one is open", "session_start", ""),
		newSessionList(),
		one("show [DIR]", "Show the current session of a directory", "session_show", ""),
		one("end [DIR]", "End the session of a directory", "session_end", "  ended"),
	)
	return cmd
}

func newSessionList() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the sessions of a directory, the newest first",
		Args:  oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p timeline.SessionsParams
			if !all {
				where, err := whereIs(cmd, "", args...)
				if err != nil {
					return err
				}
				p.Dir = where.Dir
			}
			var a timeline.Sessions
			return callAndShow(cmd, "session_list", p, &a, asJSON, func() error {
				if len(a.Sessions) == 0 {
					return render.Line(cmd.OutOrStdout(), "No sessions yet. An agent's first moment begins one, or `tidemark session start`.")
				}
				t := render.Table{}
				for _, s := range a.Sessions {
					state := "open"
					if s.Ended != nil {
						state = "ended " + s.Ended.Local().Format("15:04")
					}
					if s.BranchOf != nil {
						state += ", branch of " + s.BranchOf.Session
					}
					t.Row(s.Started.Local().Format("2006-01-02 15:04"), s.ID, s.Workspace, state)
				}
				return t.Write(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "list the sessions of all directories")
	return cmd
}

// whereIs names the session that a command is about: the one of the argument, else the current one of a directory. The
// first time in a project, it asks whether the project is allowed.
func whereIs(cmd *cobra.Command, session string, dirs ...string) (timeline.Where, error) {
	if session != "" {
		return timeline.Where{Session: session}, nil
	}
	dir := ""
	if len(dirs) > 0 {
		dir = dirs[0]
	}
	if dir == "" {
		var err error
		if dir, _, err = currentProject(); err != nil {
			return timeline.Where{}, err
		}
	}
	resolved, err := grants.Resolve(dir)
	if err != nil {
		return timeline.Where{}, err
	}
	return timeline.Where{Dir: resolved}, askOnce(cmd, resolved)
}

// askOnce asks at a terminal whether a project is allowed, if nobody has decided yet.
func askOnce(cmd *cobra.Command, dir string) error {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil // the daemon's error says what to run
	}
	s, err := grantStore()
	if err != nil {
		return err
	}
	_, err = s.Ask(cmd.Context(), in, cmd.ErrOrStderr(), dir)
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// maybeSession takes at most one argument, a session.
func maybeSession() cobra.PositionalArgs { return someArgs(0, 1, "one session, or none") }

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func newTimelineList() *cobra.Command {
	var p timeline.ListParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [SESSION]",
		Short: "List the moments of a session with their file snapshots",
		Args:  maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.Where, err = whereIs(cmd, first(args)); err != nil {
				return err
			}
			var a timeline.List
			return callAndShow(cmd, "timeline_list", p, &a, asJSON, func() error { return showTimeline(cmd.OutOrStdout(), &a) })
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.Kinds, "kind", nil, "only these kinds: auto, manual, edit, prompt, command, stop, checkpoint, files, restore, user")
	f.StringVar(&p.After, "after", "", "only what follows this moment")
	f.IntVar(&p.Limit, "limit", 0, "most moments to list (default 100)")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

// elapsed writes seconds as hours, minutes and seconds.
func elapsed(sec float64) string {
	s := int(sec)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func showTimeline(out io.Writer, a *timeline.List) error {
	head := render.Bold(a.ID) + "  " + grants.Printable(a.Workspace)
	if a.BranchOf != nil {
		head += render.Faint("  branch of " + a.BranchOf.Session + " at " + a.BranchOf.FsSnapshot)
	}
	if err := render.Line(out, "%s", head); err != nil {
		return err
	}
	if a.Message != "" {
		if err := render.Line(out, "  message: %s", event.OneLine(a.Message)); err != nil {
			return err
		}
	}
	if a.Omitted > 0 {
		if err := render.Line(out, "%s", render.Faint(fmt.Sprintf("  … %d earlier moments; --after m0 lists them from the start", a.Omitted))); err != nil {
			return err
		}
	}
	changed := map[string]timeline.ListSnapshot{}
	for _, s := range a.FsSnapshots {
		changed[s.ID] = s
	}
	t := render.Table{Indent: "  "}
	shown := ""
	for _, m := range a.Moments {
		id, said := "–", ""
		if name, ok := m.FsSnapshot.(string); ok {
			id = name
			if k := changed[name]; name != shown && k.Changed > 0 {
				said = fmt.Sprintf("%d changed", k.Changed)
			}
			shown = name
		} else {
			said = "no snapshot: " + m.Reason
		}
		if m.LateSec > 0 {
			said = strings.TrimPrefix(fmt.Sprintf("%s; taken %.1f s later", said, m.LateSec), "; ")
		}
		if m.Notes != "" {
			said = strings.TrimPrefix(said+"; "+m.Notes, "; ")
		}
		t.Row(m.At.Local().Format("15:04:05"), render.Faint(elapsed(m.Ts)), m.ID, id, m.Label, render.Faint(said))
	}
	if err := t.Write(out); err != nil || a.Next == "" {
		return err
	}
	return render.Line(out, "%s", render.Faint("  more: --after "+a.Next))
}

func newFsSnapshot() *cobra.Command {
	cmd := &cobra.Command{Use: "fs-snapshot", Short: "Manage file snapshots", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(newAdd("Take a snapshot of all files", "file snapshot"))
	return cmd
}

func newMoment() *cobra.Command {
	cmd := &cobra.Command{Use: "moment", Short: "Manage moments", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(newAdd("Add a moment, with a snapshot of all files", "moment"))
	return cmd
}

func newAdd(short, label string) *cobra.Command {
	var p timeline.AddParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add [SESSION]",
		Short: short,
		Args:  maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.Where, err = whereIs(cmd, first(args)); err != nil {
				return err
			}
			var a timeline.Added
			return callAndShow(cmd, "moment_add", p, &a, asJSON, func() error {
				if a.FsSnapshot == false {
					return render.Line(cmd.OutOrStdout(), "%s of %s, without a snapshot: %s", a.ID, a.SessionID, a.Reason)
				}
				return render.Line(cmd.OutOrStdout(), "%s of %s: %s", a.ID, a.SessionID, a.FsSnapshot)
			})
		},
	}
	cmd.Flags().StringVar(&p.Label, "label", label, "what this moment is, in a few words")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

// momentFlags are the ways to name a moment.
type momentFlags struct{ ts, snapshot, moment string }

func (m *momentFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.ts, "ts", "", "seconds from the session's start; the last snapshot at or before it is taken")
	f.StringVar(&m.snapshot, "fs-snapshot", "", "ID of a file snapshot (s12)")
	f.StringVar(&m.moment, "moment", "", "a moment: m12, the name of a checkpoint, a time, start or now")
}

// given returns the moment that the flags name, "" for none.
func (m *momentFlags) given() (string, error) {
	named := slices.DeleteFunc([]string{m.ts, m.snapshot, m.moment}, func(s string) bool { return s == "" })
	if len(named) > 1 {
		return "", usageError{errors.New("name one moment: --ts, --fs-snapshot or --moment")}
	}
	if m.ts != "" {
		if sec, err := strconv.ParseFloat(m.ts, 64); err != nil || sec < 0 {
			return "", usageError{fmt.Errorf("--ts is %q; it must be a number of seconds", m.ts)}
		}
	}
	return first(named), nil
}

// moment separates the arguments of a command into a session and a moment. A moment may be the only argument.
func (m *momentFlags) of(args []string) (session, to string, err error) {
	if to, err = m.given(); err != nil || to != "" {
		return first(args), to, err
	}
	switch len(args) {
	case 1:
		return "", args[0], nil
	case 2:
		return args[0], args[1], nil
	}
	return "", "", usageError{errors.New("name a moment, such as m12, or use --ts or --fs-snapshot. `tidemark timeline list` lists them.")}
}

func newSeek() *cobra.Command {
	var at momentFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "seek [SESSION] [MOMENT]",
		Short: "Get a read-only directory with all files as they were at a moment",
		Long: `Get a read-only directory with all files as they were at a moment. A time means the last snapshot at or before it.
The directory is removed an hour after it was last asked for.`,
		Example: `  tidemark timeline seek m12
  tidemark timeline seek shop-3 --ts 81.5
  code "$(tidemark timeline seek m12 --json | jq -r .mount)"`,
		Args: someArgs(0, 2, "a session and a moment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, to, err := at.of(args)
			if err != nil {
				return err
			}
			where, err := whereIs(cmd, session)
			if err != nil {
				return err
			}
			var a timeline.Sought
			return callAndShow(cmd, "timeline_seek", timeline.SeekParams{Where: where, To: to}, &a, asJSON, func() error {
				what := a.FsSnapshot
				if a.Moment != "" {
					what = a.Moment + " (" + a.FsSnapshot + ") " + a.Label
				}
				lines := []string{grants.Printable(a.Mount), render.Faint(fmt.Sprintf("%s, %s, read-only", what, a.At.Local().Format("15:04:05")))}
				if a.Note != "" {
					lines = append(lines, a.Note)
				}
				for _, n := range a.Notes {
					lines = append(lines, "not certain: "+event.OneLine(n))
				}
				return render.Line(cmd.OutOrStdout(), "%s", strings.Join(lines, "\n"))
			})
		},
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func newSessionBranch() *cobra.Command {
	var at momentFlags
	var p timeline.BranchParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "session-branch [SESSION] --name NAME",
		Short: "Start a new session with the files of a moment",
		Long: `Start a new session with the files of a moment, in a directory of its own. The original workspace stays as it is.
The message is for the agent of the new session.`,
		Example: `  tidemark timeline session-branch --moment m12 --name other-way --message "Use a map instead"`,
		Args:    maybeSession(),
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
			var a timeline.Branched
			return callAndShow(cmd, "timeline_branch", p, &a, asJSON, func() error { return showBranch(cmd.OutOrStdout(), &a) })
		},
	}
	at.add(cmd)
	f := cmd.Flags()
	f.StringVar(&p.Name, "name", "", "name of the branch: lower-case letters, digits, - and _")
	f.StringVar(&p.Message, "message", "", "message for the agent of the branch")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func showBranch(out io.Writer, a *timeline.Branched) error {
	lines := []string{render.Bold(a.ID) + "  " + grants.Printable(a.Workspace), render.Faint("files of " + a.FsSnapshot + "; undo with `tidemark timeline undo`")}
	if a.Note != "" {
		lines = append(lines, a.Note)
	}
	for _, n := range a.Notes {
		lines = append(lines, "not certain: "+event.OneLine(n))
	}
	return render.Line(out, "%s", strings.Join(lines, "\n"))
}

func newRestore() *cobra.Command {
	var at momentFlags
	var p timeline.RestoreParams
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
			if p.Paths, err = inWorkspace(cmd, p.Where, args); err != nil {
				return err
			}
			return planAndDo(cmd, yes, asJSON, func(confirm bool) (string, any) {
				p.Confirm = confirm
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

// inWorkspace returns paths of the command line as paths in the workspace of a session.
func inWorkspace(cmd *cobra.Command, where timeline.Where, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	c, err := newClient()
	if err != nil {
		return nil, err
	}
	var s timeline.About
	if err := c.Tool(cmd.Context(), "session_show", timeline.SessionParams{Where: where}, &s); err != nil {
		return nil, err
	}
	paths := make([]string, len(args))
	for i, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
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
	var p timeline.UndoParams
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
			return planAndDo(cmd, yes, asJSON, func(confirm bool) (string, any) {
				p.Confirm = confirm
				return "timeline_undo", p
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Session, "session", "", "ID of a session (default: that of the working directory)")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&asJSON, "json", false, "print JSON: without --yes, the plan")
	return cmd
}

// planAndDo shows the plan of a restore, asks, and restores.
func planAndDo(cmd *cobra.Command, yes, asJSON bool, call func(confirm bool) (tool string, args any)) error {
	var a timeline.Restored
	if !yes {
		tool, args := call(false)
		if err := callAndShow(cmd, tool, args, &a, asJSON, func() error { return showRestore(cmd.OutOrStdout(), &a) }); err != nil || asJSON {
			return err
		}
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
	}
	tool, args := call(true)
	return callAndShow(cmd, tool, args, &a, asJSON, func() error { return showRestore(cmd.OutOrStdout(), &a) })
}

func showRestore(out io.Writer, a *timeline.Restored) error {
	var counts []string
	for _, kind := range []string{"create", "replace", "delete", "attributes"} {
		if n := a.Changes[kind]; n > 0 {
			counts = append(counts, fmt.Sprintf("%s %d", kind, n))
		}
	}
	head := "Nothing differs from " + a.FsSnapshot + "."
	switch {
	case a.FsSnapshot == "":
		head = "Done."
		if !a.Done {
			head = "This " + a.Note + "."
		}
	case a.Done && len(counts) > 0:
		head = fmt.Sprintf("Restored %s (%s). The state before is %s; `tidemark timeline undo %s` brings it back.", a.FsSnapshot, strings.Join(counts, ", "), a.Safety, a.Operation)
	case len(counts) > 0:
		head = fmt.Sprintf("Restoring %s: %s", a.FsSnapshot, strings.Join(counts, ", "))
	}
	if err := render.Line(out, "%s", head); err != nil {
		return err
	}
	if !a.Done {
		t := render.Table{Indent: "  "}
		for _, s := range a.Steps {
			t.Row(s.Change, s.Path)
		}
		if a.Omitted > 0 {
			t.Row("…", fmt.Sprintf("and %d more", a.Omitted))
		}
		if err := t.Write(out); err != nil {
			return err
		}
	}
	for _, p := range a.Blocked {
		if err := render.Line(out, "cannot be restored: %s", p); err != nil {
			return err
		}
	}
	if len(a.Blocked) > 0 {
		return render.Line(out, "Name other paths, or use --leave to leave these as they are.")
	}
	for _, p := range a.Differs {
		if err := render.Line(out, "stays as it is: %s", p); err != nil {
			return err
		}
	}
	if a.Kept != "" {
		return render.Line(out, "Files that were changed meanwhile are in %s", grants.Printable(a.Kept))
	}
	return nil
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
			var a timeline.Operations
			return callAndShow(cmd, "timeline_operations", timeline.OperationsParams{Where: where}, &a, asJSON, func() error {
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
				return t.Write(cmd.OutOrStdout())
			})
		},
	}
	log.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(log)
	return cmd
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
