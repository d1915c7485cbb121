package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

func newTimelineDiff() *cobra.Command {
	var p timeline.DiffParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff FROM [TO [PATH…]]",
		Short: "Show how files changed between two moments",
		Long: `Show how files changed between two moments. TO is now if it is left out.
With paths, only these files and directories are compared. A path is taken for TO unless it has a slash, is a
file with a dot in its name, or follows --.
Secrets are masked, and files that look like secrets are only counted. With --exact, the output is a patch for
git apply, with binary files; it is not safe for a terminal. If the patch cannot be whole, nothing is printed.`,
		Example: `  tidemark timeline diff m3
  tidemark timeline diff m3 m7 src
  tidemark timeline diff m3 src/cart.ts
  tidemark timeline diff m3 m7 --exact | git apply`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			moments := min(len(args), 2)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				moments = min(moments, at)
			} else if moments == 2 && isPath(args[1]) {
				moments = 1
			}
			if moments == 0 {
				return usageError{errors.New("name one or two moments, such as m3 m7, before paths. `tidemark timeline list` lists moments.")}
			}
			paths := args[moments:]
			p.From = args[0]
			if moments == 2 {
				p.To = args[1]
			}
			p.Whole = p.Exact
			if p.Where, err = whereIs(cmd, p.Session); err != nil {
				return err
			}
			if p.Paths, err = inWorkspace(cmd, p.Where, paths, p.From, p.To); err != nil {
				return err
			}
			var a answers.Difference
			return callAndShow(cmd, "timeline_diff", p, &a, asJSON, func() error { return showDifference(cmd.OutOrStdout(), cmd.ErrOrStderr(), &a, p.Exact) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Session, "session", "", "ID of a session (default: that of the working directory)")
	f.BoolVar(&p.Secrets, "secrets", false, "show files that look like secrets too")
	f.BoolVar(&p.Exact, "exact", false, "print a whole patch: nothing is masked or escaped")
	f.BoolVar(&p.Whole, "whole", false, "leave nothing out")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func showOne(out, errOut io.Writer, a *timeline.Shown) error {
	said := fmt.Sprintf("%s, +%s, %s, %s", a.At.Local().Format(time.DateTime), records.Elapsed(a.TS), a.Kind, a.Source)
	if id, ok := a.FsSnapshot.(string); ok {
		said += ", " + id
	} else {
		said += ", no snapshot: " + a.Reason
	}
	lines := []string{render.Bold(a.ID+" of "+a.SessionID) + "  " + a.Label, render.Faint(said)}
	if a.Notes != "" {
		lines = append(lines, a.Notes)
	}
	if by := a.Anchor; by != nil {
		lines = append(lines, render.Faint(strings.TrimRight(strings.Join([]string{by.Agent, by.Session, by.Turn, by.Message}, " "), " ")))
	}
	if t := a.Terminal; t != nil {
		if t.Command != "" {
			lines = append(lines, "$ "+strings.ReplaceAll(t.Command, "\n", "\n  "))
		}
		if t.Cwd != "" {
			lines = append(lines, "in "+t.Cwd)
		}
		lines = append(lines, fmt.Sprintf("terminal: tidemark timeline show --ts %s --session %s (recording %s, byte %d)", a.ID, a.SessionID, event.OneLine(t.Recording), t.Offset))
	}
	if a.Severity != "" {
		how := strings.TrimSpace("browser up to the next moment: " + string(a.Severity) + " " + render.Sign(a.Severity))
		if a.BrokenSince != nil {
			how += ", " + stillBroken(a.BrokenSince)
		}
		lines = append(lines, how)
	}
	if a.Problem != "" {
		lines = append(lines, a.Problem)
	}
	if err := render.Line(out, "%s", strings.Join(lines, "\n")); err != nil || a.Diff == nil {
		return err
	}
	if err := render.Line(out, ""); err != nil {
		return err
	}
	return showDifference(out, errOut, a.Diff, false)
}

// isPath reports whether an argument is a path, and no moment.
func isPath(arg string) bool {
	if strings.ContainsAny(arg, `/\`) {
		return true
	}
	_, err := os.Lstat(arg)
	return err == nil && strings.Contains(arg, ".")
}

func showDifference(out, errOut io.Writer, a *answers.Difference, exact bool) error {
	if a.Problem != "" {
		fmt.Fprintln(errOut, a.Problem)
	}
	if exact {
		if !a.Applies {
			return partial(a)
		}
		_, err := out.Write(a.Patch)
		return err
	}
	for _, note := range []string{a.From.Note, a.To.Note} {
		if note != "" {
			fmt.Fprintln(errOut, note)
		}
	}
	switch {
	case len(a.Files) > 0:
	case a.Touched == 1:
		return render.Line(out, "No contents differ between %s and %s. Times, extended attributes or hard links of one path do.", a.From.FsSnapshot, a.To.FsSnapshot)
	case a.Touched > 1:
		return render.Line(out, "No contents differ between %s and %s. Times, extended attributes or hard links of %d paths do.", a.From.FsSnapshot, a.To.FsSnapshot, a.Touched)
	default:
		return render.Line(out, "No files differ between %s and %s.", a.From.FsSnapshot, a.To.FsSnapshot)
	}
	t := render.Table{}
	for _, f := range a.Files {
		counts, path := "", event.Path(f.Path)
		if f.Counted {
			counts = fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		}
		if f.OldPath != "" {
			path = event.Path(f.OldPath) + " → " + path
		}
		t.Row(string(f.Change), counts, path, render.Faint(f.Why))
	}
	if err := t.Write(out); err != nil || a.Text == "" {
		return err
	}
	return render.Line(out, "\n%s", strings.TrimRight(a.Text, "\n"))
}

// partial is the error about a patch that is not whole.
func partial(a *answers.Difference) error {
	var without []string
	for _, f := range a.Files {
		if f.Why != "" {
			without = append(without, event.Path(f.Path)+": "+f.Why)
		}
	}
	if more := len(without) - maxWithout; more > 0 {
		without = append(without[:maxWithout], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("the patch cannot be whole, so it is not printed:\n  %s\nUse --secrets for files that look like secrets, or name the paths that you need.", strings.Join(without, "\n  "))
}

// maxWithout bounds the files that the error about a patch names.
const maxWithout = 10

func newBlame() *cobra.Command {
	var p timeline.BlameParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "blame PATH[:LINE[-LAST]]",
		Short: "Show which moment last changed each line of a file",
		Example: `  tidemark timeline blame src/cart.ts
  tidemark timeline blame src/cart.ts:40-52`,
		Args: someArgs(1, 1, "one file, with a line or without"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			path, err := cutLines(args[0], &p)
			if err != nil {
				return err
			}
			if p.Where, err = whereIs(cmd, p.Session); err != nil {
				return err
			}
			paths, err := inWorkspace(cmd, p.Where, []string{path}, p.At)
			if err != nil {
				return err
			}
			p.Path = first(paths)
			var a answers.Blamed
			return callAndShow(cmd, "timeline_blame", p, &a, asJSON, func() error { return showBlame(cmd.OutOrStdout(), cmd.ErrOrStderr(), &a) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Session, "session", "", "ID of a session (default: that of the working directory)")
	f.StringVar(&p.At, "at", "", "moment whose file is meant (default now)")
	f.BoolVar(&p.Secrets, "secrets", false, "show a file that looks like a secret too")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

// cutLines cuts the lines off a path such as src/a.ts:40-52. The name of a file that exists is whole.
func cutLines(arg string, p *timeline.BlameParams) (path string, err error) {
	i := strings.LastIndexByte(arg, ':')
	if i < 0 {
		return arg, nil
	}
	if _, err := os.Lstat(arg); err == nil {
		return arg, nil
	}
	from, to, ranged := strings.Cut(arg[i+1:], "-")
	if p.Line, err = strconv.Atoi(from); err != nil {
		return arg, nil // a colon of the name, or of a Windows volume
	}
	if ranged {
		if p.Last, err = strconv.Atoi(to); err != nil {
			return "", usageError{fmt.Errorf("%q is not a range of lines. Use PATH:40 or PATH:40-52.", arg[i+1:])}
		}
	}
	if p.Line < 1 || p.Last < 0 || p.Last > 0 && p.Last < p.Line {
		return "", usageError{fmt.Errorf("%q is not a range of lines: they begin with 1, and the last one is not before the first. Use PATH:40-52.", arg[i+1:])}
	}
	return arg[:i], nil
}

func showBlame(out, errOut io.Writer, a *answers.Blamed) error {
	if a.Problem != "" {
		fmt.Fprintln(errOut, a.Problem)
	}
	calls := map[string]string{}
	for _, c := range a.Calls {
		calls[c.FsSnapshot] = c.Call
	}
	t := render.Table{}
	for _, l := range a.Lines {
		id, when, label := l.Moment, "", l.Label
		switch {
		case l.FsSnapshot == "":
			id, label = "–", strings.ReplaceAll(string(l.Age), "_", " ")
		case id == "":
			id = l.FsSnapshot
		}
		if l.FsSnapshot != "" {
			when = l.At.Local().Format("15:04:05")
		}
		if call := calls[l.FsSnapshot]; call != "" && l.FsSnapshot != "" {
			label = call
		}
		if len(label) > maxBlameLabel {
			label = strings.ToValidUTF8(label[:maxBlameLabel], "") + "…"
		}
		t.Text(l.Text, id, render.Faint(when), render.Faint(label), strconv.Itoa(l.Line))
	}
	if err := t.Write(out); err != nil {
		return err
	}
	if len(a.Calls) > 0 {
		if err := render.Line(out, ""); err != nil {
			return err
		}
		made := render.Table{}
		for _, c := range a.Calls {
			made.Row(cmp.Or(c.Moment, c.FsSnapshot), c.Call, render.Faint(c.Prompt))
		}
		if err := made.Write(out); err != nil {
			return err
		}
	}
	if a.Stopped == "" {
		return nil
	}
	return render.Line(out, "%s", a.Stopped)
}

// maxBlameLabel bounds a label beside a line, in bytes.
const maxBlameLabel = 30
