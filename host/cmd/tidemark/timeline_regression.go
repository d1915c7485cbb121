package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/render"
)

func newFindRegression() *cobra.Command {
	var p regression.Params
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "find-regression [FROM [TO]]",
		Short: "Find the moment after which the browser reported errors",
		Long: `Find the first moment after FROM, up to TO, after which the browser reported new errors, and show its file diff.
FROM is the start and TO is now if they are left out. It uses what was recorded, and says so where that does not
support a verdict.
With --run, a shell command decides instead. It runs in copies of the project: exit code 0 means that nothing is
broken, 125 that the files cannot be tested, and any other that they are broken.`,
		Example: `  tidemark timeline find-regression
  tidemark timeline find-regression before_refactor
  tidemark timeline find-regression m3 m20 --run "npm test"`,
		Args: someArgs(0, 2, "at most two moments, such as m3 m7"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			for i, to := range []*string{&p.From, &p.To} {
				if i < len(args) {
					*to = args[i]
				}
			}
			if p.Where, err = whereIs(cmd, p.Session); err != nil {
				return err
			}
			var a regression.Regression
			return callAndShow(cmd, "find_regression", p, &a, asJSON, func() error { return showRegression(cmd, &a) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Run, "run", "", "shell command that fails where the project is broken")
	f.StringVar(&p.Session, "session", "", "ID of a session (default: that of the working directory)")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func showRegression(cmd *cobra.Command, a *regression.Regression) error {
	out := cmd.OutOrStdout()
	for _, r := range a.Runs {
		if err := render.Line(out, "%s", render.Faint(fmt.Sprintf("%s  exit %d", r.Moment, r.Exit))); err != nil {
			return err
		}
	}
	lines := []string{fmt.Sprintf("%s broke it: %s", a.Moment, a.Label)}
	switch a.Verdict {
	case regression.Clean:
		lines[0] = "Nothing broke: " + a.Reason + "."
	case regression.Unknown:
		lines[0] = "Unknown: " + a.Reason + "."
	}
	if p := a.Problem; p != nil {
		text := p.Message
		if p.Source != "" {
			text += " (" + p.Source + ")"
		}
		lines = append(lines, "First error: "+event.OneLine(text))
	}
	if by := a.IntroducedBy; by != nil {
		lines = append(lines, fmt.Sprintf("It first appeared %s. Evidence: %s.", by, strings.Join(by.Evidence, ", ")))
		if by.Call != "" {
			lines = append(lines, "Made by: "+event.OneLine(by.Call))
		}
		if by.Prompt != "" {
			lines = append(lines, "Prompt: "+event.OneLine(by.Prompt))
		}
	}
	if a.Note != "" {
		lines = append(lines, "Note: "+a.Note)
	}
	switch {
	case a.Before != "" && a.Diff != nil && a.Diff.Problem != "":
		lines = append(lines, fmt.Sprintf("The workspace no longer exists. Before it broke, it was as `tidemark timeline session-branch %s --moment %s --name NAME` copies it.", a.SessionID, a.Before))
	case a.Before != "":
		lines = append(lines, fmt.Sprintf("To go back, run `tidemark timeline restore %s`.", a.Before))
	}
	if err := render.Line(out, "%s", strings.Join(lines, "\n")); err != nil || a.Diff == nil {
		return err
	}
	if err := render.Line(out, ""); err != nil {
		return err
	}
	return showDifference(out, cmd.ErrOrStderr(), a.Diff, false)
}
