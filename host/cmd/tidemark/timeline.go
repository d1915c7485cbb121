package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/fence"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
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
	cmd.AddCommand(newTimelineList(), newTimelineShow(), newFsSnapshot(), newMoment(), newSeek(), newTimelineDiff(), newBlame(), newFindRegression(), newRestore(), newSessionBranch(), newOp(), newUndo(), newCheck(), newProviders(), newPrune(), newTimelineExport())
	return cmd
}

// whereIs names the session that a command is about: the one of the argument, else the current one of a directory. The
// first time in a project, it asks whether the project is allowed.
func whereIs(cmd *cobra.Command, session string, dirs ...string) (moments.Where, error) {
	if _, err := projectOrigins(); err != nil {
		warnUnreadable(cmd, err)
	}
	if session != "" {
		return moments.Where{Session: session}, nil
	}
	dir := ""
	if len(dirs) > 0 {
		dir = outside(dirs[0])
	}
	if dir == "" {
		var err error
		if dir, _, err = currentProject(); err != nil {
			return moments.Where{}, err
		}
	}
	resolved, err := grants.Resolve(dir)
	if errors.Is(err, fs.ErrNotExist) { // the daemon's error says what there is of it
		resolved, err = grants.Former(dir)
		return moments.Where{Dir: resolved}, err
	}
	if err != nil {
		return moments.Where{}, err
	}
	if !utf8.ValidString(resolved) { // which a request cannot have
		return moments.Where{}, fmt.Errorf("the path %s is not UTF-8, so Tidemark has no sessions there. Rename the directory.", grants.Printable(resolved))
	}
	return moments.Where{Dir: resolved}, askOnce(cmd, resolved)
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
	d, err := s.Lookup(dir)
	if err != nil || d.State != grants.Undecided {
		return err
	}
	o, err := originOf(cmd, dir)
	if err != nil || o.Of != "" || o.MovedFrom != "" {
		return err // a branch has the decision of its original; the daemon's error says how a moved project is allowed
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
			if cmd.Flags().Changed("limit") && p.Limit < 1 {
				return usageError{fmt.Errorf("--limit is %d; it must be from 1 to 1000", p.Limit)}
			}
			var a answers.List
			return callAndShow(cmd, "timeline_list", p, &a, asJSON, func() error { return showTimeline(cmd.OutOrStdout(), &a) })
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.Kinds, "kind", nil, "only these kinds: "+strings.Join(records.Kinds(), ", "))
	f.StringVar(&p.After, "after", "", "only what follows this moment, or a time")
	f.StringVar(&p.Before, "before", "", "only the newest of what precedes this moment, or a time")
	f.IntVar(&p.Limit, "limit", 0, "most moments to list (default 100)")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func showTimeline(out io.Writer, a *answers.List) error {
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
	if a.Problem != "" {
		if err := render.Line(out, "  %s", event.OneLine(a.Problem)); err != nil {
			return err
		}
	}
	if a.Omitted > 0 {
		if err := render.Line(out, "%s", render.Faint(fmt.Sprintf("  … %d earlier moments%s", a.Omitted, earlier(a)))); err != nil {
			return err
		}
	}
	t := render.Table{Indent: "  ", Cut: 4}
	if width, ok := terminalColumns(out); ok {
		t.Width = width
	}
	clock := time.TimeOnly
	if n := len(a.Moments); n > 0 && a.Moments[0].At.Local().YearDay() != a.Moments[n-1].At.Local().YearDay() {
		clock = time.DateTime
	}
	for _, m := range a.Moments {
		id, said := "–", ""
		if name, ok := m.FsSnapshot.(string); ok {
			id = name
			if m.Changed > 0 {
				said = fmt.Sprintf("%d changed", m.Changed)
			}
		} else {
			said = "no snapshot: " + m.Reason
		}
		if m.Exit != nil && *m.Exit != 0 {
			said = strings.TrimSuffix(fmt.Sprintf("exit %d; %s", *m.Exit, said), "; ")
		}
		if m.LateSec > 0 {
			said = strings.TrimPrefix(fmt.Sprintf("%s; taken %.1f s later", said, m.LateSec), "; ")
		}
		if m.Notes != "" {
			said = strings.TrimPrefix(said+"; "+m.Notes, "; ")
		}
		if b := m.BrokenSince; b != nil {
			said = strings.TrimPrefix(said+"; "+stillBroken(b), "; ")
		}
		t.Row(m.At.Local().Format(clock), render.Faint("+"+records.Elapsed(m.TS)), strings.TrimSpace(m.ID+" "+render.Sign(m.Severity)), id, m.Label, render.Faint(said))
	}
	if err := t.Write(out); err != nil {
		return err
	}
	if a.Next != "" {
		if err := render.Line(out, "%s", render.Faint("  more: --after "+a.Next)); err != nil {
			return err
		}
	}
	if a.Taking == nil {
		return nil
	}
	return render.Line(out, "  %s", taking(a.Taking))
}

// stillBroken says after which moment a page broke.
func stillBroken(b *answers.Broken) string {
	return "still broken since " + cmp.Or(b.Moment, b.At.Local().Format(time.DateTime))
}

// taking says how far a snapshot is.
func taking(t *answers.Taking) string {
	far := fmt.Sprintf("%d files and directories were compared so far", t.Found)
	if t.To > 0 {
		far = fmt.Sprintf("%d of %d changed files and directories were read", min(t.Read, t.To), t.To)
	}
	return fmt.Sprintf("A snapshot is being taken since %s: %s. The moments that wait for it follow.", t.Since.Local().Format(time.TimeOnly), far)
}

// earlier says how to list what precedes a list.
func earlier(a *answers.List) string {
	if len(a.Moments) == 0 {
		return ""
	}
	return "; --before " + a.Moments[0].ID + " lists them"
}

func newFsSnapshot() *cobra.Command {
	cmd := &cobra.Command{Use: "fs-snapshot", Short: "Manage file snapshots", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var a answers.AddedSnapshot
	none := func() string { return "" } // it is an error
	add := newAdd("Take a snapshot of all files, with a moment", "fs_snapshot_add", &a, none, func() *fence.Result { return a.Fence }, func(out io.Writer) error {
		return showMoment(out, fmt.Sprintf("%s of %s: %s", a.Moment, a.SessionID, a.ID), a.Note, a.Fence)
	})
	cmd.AddCommand(add)
	return cmd
}

func newMoment() *cobra.Command {
	cmd := &cobra.Command{Use: "moment", Short: "Manage moments", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var a answers.Added
	lacking := func() string {
		if a.FsSnapshot != false || moments.Waits(a.Reason) {
			return ""
		}
		return a.ID
	}
	add := newAdd("Add a moment, with a snapshot of all files", "moment_add", &a, lacking, func() *fence.Result { return a.Fence }, func(out io.Writer) error {
		if a.FsSnapshot == false {
			return showMoment(out, fmt.Sprintf("%s of %s, without a snapshot: %s", a.ID, a.SessionID, a.Reason), "", a.Fence)
		}
		return showMoment(out, fmt.Sprintf("%s of %s: %s", a.ID, a.SessionID, a.FsSnapshot), "", a.Fence)
	})
	cmd.AddCommand(add)
	return cmd
}

func showMoment(out io.Writer, text, note string, fenced *fence.Result) error {
	if note != "" {
		text += "\n" + note
	}
	if fenced != nil {
		text += "\nfence: " + fenced.String()
	}
	return render.Line(out, "%s", text)
}

// newAdd returns a command that adds a moment by a tool, whose answer is a. Lacking returns the moment if its snapshot failed, else "".
func newAdd(short, tool string, a any, lacking func() string, fenced func() *fence.Result, show func(io.Writer) error) *cobra.Command {
	var p timeline.AddParams
	var asJSON bool
	var ts float64
	cmd := &cobra.Command{
		Use:   "add [SESSION]",
		Short: short,
		Long: short + `. With --ts it is added at an earlier time of the session, with the last snapshot at or
before it: nobody can take a snapshot of the past.`,
		Args: maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.Where, err = whereIs(cmd, first(args)); err != nil {
				return err
			}
			if cmd.Flags().Changed("ts") {
				if p.TS = &ts; math.IsNaN(ts) || math.IsInf(ts, 0) {
					return usererr.Invalid("ts is %g; give seconds from the session's start", ts)
				}
			}
			if _, milestone := records.Milestone(p.Kind); p.Label == "" && !milestone {
				p.Label = strings.ReplaceAll(strings.TrimSuffix(tool, "_add"), "_", " ")
			}
			if err := callAndShow(cmd, tool, p, a, asJSON, func() error { return show(cmd.OutOrStdout()) }); err != nil {
				return err
			}
			switch f := fenced(); {
			case f == nil && p.WaitFence:
				return errors.New("no snapshot was taken, so the fence command did not run")
			case p.TS == nil && lacking() != "": // the output says why
				return fmt.Errorf("no snapshot was taken. The moment %s was added without one.", lacking())
			case f != nil && f.State != fence.Done:
				return errors.New("the snapshot was taken, but the fence command did not succeed")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Label, "label", "", "what this moment is, in a few words")
	f.Float64Var(&ts, "ts", 0, "seconds from the session's start (default now)")
	f.StringVar(&p.Kind, "kind", records.Manual, "manual, or a milestone: "+strings.Join(records.Milestones(), ", "))
	f.BoolVar(&p.WaitFence, "wait-fence", false, "wait until the fence command has run after the snapshot")
	f.BoolVar(&asJSON, "json", false, "print JSON")
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
			return "", usageError{fmt.Errorf("--ts is %q; it must be seconds from the session's start, 0 or more", m.ts)}
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
	var asJSON, open bool
	cmd := &cobra.Command{
		Use:   "seek [SESSION] [MOMENT]",
		Short: "Get a read-only directory with all files of a moment",
		Long: `Get a read-only directory with all files of a moment. A time means the last snapshot at or before it.
The directory is removed an hour after it was last asked for. --open-ide opens it with the command open_ide of config.toml,
else with $VISUAL, else with the first editor that is found.`,
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
			var a answers.Sought
			err = callAndShow(cmd, "timeline_seek", timeline.SeekParams{Where: where, To: to}, &a, asJSON, func() error {
				what := a.FsSnapshot
				if a.Moment != "" {
					what = a.Moment + " (" + a.FsSnapshot + ") " + a.Label
				}
				var lines []string
				if a.Note != "" { // another moment's files are not taken for those
					lines = append(lines, a.Note)
				}
				lines = append(lines, grants.Printable(a.Mount), render.Faint(fmt.Sprintf("%s, %s, read-only", what, a.At.Local().Format("15:04:05"))))
				if a.Form != "" {
					lines = append(lines, render.Faint(event.OneLine(a.Form)))
				}
				if a.Problem != "" {
					lines = append(lines, a.Problem)
				}
				for _, path := range a.Unnamed {
					lines = append(lines, "left out: "+event.Path(event.OneLine(path)))
				}
				for _, n := range a.Notes {
					lines = append(lines, "not certain: "+event.Path(event.OneLine(n)))
				}
				return render.Line(cmd.OutOrStdout(), "%s", strings.Join(lines, "\n"))
			})
			if err != nil || !open {
				return err
			}
			return openIDE(cmd.Context(), a.Mount)
		},
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&open, "open-ide", false, "open the directory in an editor")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}
