package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer/safefile"
)

func newNoise() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "noise",
		Short: "Manage noise rules, which hide known noise from answers",
		Long: `Noise rules keep known noise out of answers: hot updates, extensions, analytics, browser advice and what you
add. Answers still count hidden entries. Your rules never hide a failed hot update. They hide errors only
with --level error, and entries that first appeared after a checkpoint only with --hide-new.

Your own rules apply to every project. Project rules are in the project's .tidemark.toml (--project).`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNoiseAdd(), newNoiseList(), newNoiseRemove(), newNoiseSwitch(true), newNoiseSwitch(false), newNoiseExplain(), newNoiseSuggest())
	return cmd
}

// callNoise calls configure_noise.
func callNoise(cmd *cobra.Command, p noiserules.NoiseParams, asJSON bool, show func(io.Writer, *noiserules.NoiseAnswer) error) error {
	var a noiserules.NoiseAnswer
	return callAndShow(cmd, "configure_noise", p, &a, asJSON, func() error {
		out := cmd.OutOrStdout()
		if err := show(out, &a); err != nil {
			return err
		}
		for _, problem := range a.Problems {
			if err := render.Line(out, "! %s", problem); err != nil {
				return err
			}
		}
		if a.Unsaved != "" {
			return render.Line(out, "! %s", a.Unsaved)
		}
		return nil
	})
}

func newNoiseAdd() *cobra.Command {
	p := noiserules.NoiseParams{Action: "add"}
	var toProject, asJSON bool
	cmd := &cobra.Command{
		Use:   "add [TEXT]",
		Short: "Hide entries with TEXT in their message or URL",
		Example: `  tidemark noise add 'Each child in a list'
  tidemark noise add --kind network --level error '/api/poll' --expires 7d
  tidemark noise add --project 'legacy*deprecated' --note 'until the old API goes'`,
		Args: someArgs(0, 1, "one text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.Text = args[0]
			}
			if toProject {
				return addToProject(cmd, &p)
			}
			return callNoise(cmd, p, asJSON, showAdded)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Kind, "kind", "", "kind of entry: console, network or websocket (default: any)")
	f.StringVar(&p.Level, "level", "", "highest level to hide; failed requests are errors (default: warning)")
	f.StringVar(&p.Origin, "origin", "", "only on pages of this origin")
	f.StringVar(&p.Fingerprint, "fingerprint", "", "hide exactly this entry (tidemark noise explain shows fingerprints)")
	f.BoolVar(&p.HideNew, "hide-new", false, "also hide entries that first appeared after the checkpoint compared with")
	f.StringVar(&p.Expires, "expires", "never", "when the rule ends: 30m, 8h, 7d, a date, a time, session (when the daemon exits) or never")
	f.StringVar(&p.ID, "id", "", "rule name (default: n1, n2 …)")
	f.StringVar(&p.Note, "note", "", "note to show in the list")
	f.BoolVar(&toProject, "project", false, "write the rule to the project's .tidemark.toml")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func showAdded(out io.Writer, a *noiserules.NoiseAnswer) error {
	line := "added"
	if a.Replaced != nil {
		line = "replaced"
	}
	if err := render.Line(out, "%s %s: hides %s%s", line, render.Bold(a.Added.ID), conditions(a.Added), end(a.Added)); err != nil {
		return err
	}
	return render.Line(out, "%s", render.Faint(fmt.Sprintf("It hides %s in memory. Run `tidemark noise rm %s` to undo.", entries(a.Added.Hides), a.Added.ID)))
}

// conditions describes the conditions of a decoded rule. Check prepares the rule for that.
func conditions(r *noiserules.NoiseRule) string {
	if err := r.Check(); err != nil {
		return err.Error()
	}
	words := r.String()
	if r.HideNew {
		words += ", including new entries"
	}
	return words
}

func end(r *noiserules.NoiseRule) string {
	switch {
	case r.Session:
		return ", until the daemon exits"
	case r.Expires != nil:
		return ", until " + r.Expires.Local().Format("2006-01-02 15:04")
	}
	return ""
}

// addToProject appends a rule to the project's file and changes nothing else in it.
func addToProject(cmd *cobra.Command, p *noiserules.NoiseParams) error {
	if p.Expires == "session" {
		return usageError{errors.New("--expires session cannot be combined with --project. Use a duration or a date, or omit --project.")}
	}
	now := time.Now()
	rule, err := p.RuleOf(now, time.Local)
	if err != nil {
		return usageError{err}
	}
	path, data, err := readProject()
	if err != nil {
		return err
	}
	if path == "" {
		return usageError{fmt.Errorf("there is no %s in this directory or above it. Create one in the project directory (an empty file is enough).", project.FileName)}
	}
	table, err := noise.ProjectTable(rule)
	if err != nil {
		return err
	}
	before := noise.ParseProject(data, now, time.Local)
	text := string(data)
	switch {
	case text == "":
	case strings.HasSuffix(text, "\n"):
		text += "\n"
	default:
		text += "\n\n"
	}
	text += table
	after := noise.ParseProject([]byte(text), now, time.Local)
	if len(after.Rules) != len(before.Rules)+1 || len(after.Problems) != len(before.Problems) {
		why := "the file defines its rules in another form"
		for _, problem := range after.Problems {
			if !slices.Contains(before.Problems, problem) {
				why = problem
			}
		}
		return fmt.Errorf("cannot add the rule to %s (%s). Nothing was written. Add it yourself:\n%s", path, why, table)
	}
	// A link in a repository must not redirect a write to a file outside it.
	if real, err := filepath.EvalSymlinks(path); err != nil {
		return err
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err != nil {
		return err
	} else if within, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(within) {
		return fmt.Errorf("%s is a link to %s, outside the project. Nothing was written. Add the rule yourself:\n%s", path, real, table)
	}
	if err := safefile.Replace(path, []byte(text)); err != nil {
		return err
	}
	return render.Line(cmd.OutOrStdout(), "added to %s:\n%s", path, strings.TrimSuffix(table, "\n"))
}

func newNoiseList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List packs and rules, and how many entries each hides",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return callNoise(cmd, noiserules.NoiseParams{Action: "list"}, asJSON, showNoise)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func showNoise(out io.Writer, a *noiserules.NoiseAnswer) error {
	t := render.Table{}
	for _, p := range a.Packs {
		state := "on"
		if !p.On {
			state = "off"
		}
		t.Row("pack", render.Bold(p.Name), state, hides(p.Hides), render.Faint(p.About))
	}
	for i := range a.Rules {
		r := &a.Rules[i]
		words := conditions(r) + end(r)
		var about []string
		if r.Note != "" {
			about = append(about, r.Note)
		}
		if r.By != "" && r.By != "cli" && !strings.HasSuffix(r.Note, r.By) {
			about = append(about, "by "+r.By)
		}
		if len(about) > 0 {
			words += render.Faint(" (" + strings.Join(about, ", ") + ")")
		}
		t.Row(r.Of, render.Bold(r.ID), "on", hides(r.Hides), words)
	}
	if err := t.Write(out); err != nil {
		return err
	}
	return render.Line(out, "%s", render.Faint(fmt.Sprintf("Hidden in memory: %s. Run `tidemark noise explain` to list them.", entries(a.Hidden))))
}

func hides(n int) string { return fmt.Sprintf("hides %d", n) }

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func newNoiseRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm ID",
		Aliases: []string{"remove", "delete"},
		Short:   "Remove a rule",
		Args:    someArgs(1, 1, "one rule name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return callNoise(cmd, noiserules.NoiseParams{Action: "remove", ID: args[0]}, false, func(out io.Writer, a *noiserules.NoiseAnswer) error {
				return render.Line(out, "removed %s, which hid %s", render.Bold(a.Removed.ID), conditions(a.Removed))
			})
		},
	}
}

func newNoiseSwitch(on bool) *cobra.Command {
	action, short := "disable", "Turn off a pack, so that answers show its entries again"
	if on {
		action, short = "enable", "Turn on a pack"
	}
	var names []string
	for _, p := range noise.Packs {
		names = append(names, p.Name)
	}
	return &cobra.Command{
		Use:       action + " PACK",
		Short:     short,
		ValidArgs: names,
		Args:      someArgs(1, 1, "one pack: "+strings.Join(names, ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return callNoise(cmd, noiserules.NoiseParams{Action: action, Pack: args[0]}, false, showNoise)
		},
	}
}

func newNoiseExplain() *cobra.Command {
	p := noiserules.NoiseParams{Action: "explain"}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [TEXT]",
		Short: "Explain which entries with TEXT are hidden, and why",
		Long:  `Explain which entries with TEXT are hidden, and why. Without TEXT, list all hidden entries.`,
		Args:  someArgs(0, 1, "one text in quotes, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.Text = args[0]
			}
			return callNoise(cmd, p, asJSON, func(out io.Writer, a *noiserules.NoiseAnswer) error {
				if len(a.Entries) == 0 {
					return render.Line(out, "%s", nothing(p.Text))
				}
				for _, e := range a.Entries {
					state := "shown "
					if e.Hidden {
						state = "hidden"
					}
					if err := render.Line(out, "%s  %s %s ×%d  %s", state, e.Kind, render.Level(e.Level), e.Count, oneLine(e.Fingerprint)); err != nil {
						return err
					}
					if err := render.Line(out, "%s", render.Faint(strings.TrimRight("        "+e.Because+"  "+e.Origin, " "))); err != nil {
						return err
					}
				}
				return omitted(out, a.Omitted)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func nothing(text string) string {
	if text == "" {
		return "no entry in memory is hidden"
	}
	return fmt.Sprintf("no entry in memory contains %q", text)
}

// oneLine returns a page's text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func omitted(out io.Writer, n int) error {
	if n == 0 {
		return nil
	}
	return render.Line(out, "%s", render.Faint(fmt.Sprintf("%d more", n)))
}

func newNoiseSuggest() *cobra.Command {
	var add []int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Suggest rules for entries that repeat while nothing is wrong",
		Long: `Suggest rules for warnings and for connections that end or fail, if they repeat in clean periods. A period
begins when a page loads or updates, and after each minute. It is clean without errors and failed requests.
An entry in three or more clean periods is suggested, with the number of entries that it would have hidden.`,
		Example: `  tidemark noise suggest
  tidemark noise suggest --add 1,2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(add) > 0 {
				return addSuggested(cmd, add)
			}
			return callNoise(cmd, noiserules.NoiseParams{Action: "suggest"}, asJSON, func(out io.Writer, a *noiserules.NoiseAnswer) error {
				if len(a.Suggestions) == 0 {
					return render.Line(out, "%s", noiserules.NothingToSuggest)
				}
				for i, s := range a.Suggestions {
					if err := render.Line(out, "%s  %s %s  %s", render.Bold(fmt.Sprint(i+1)), s.Kind, render.Level(s.Level), oneLine(s.Fingerprint)); err != nil {
						return err
					}
					if err := render.Line(out, "%s", render.Faint(fmt.Sprintf("   would have hidden %s in %d clean periods  %s", entries(s.WouldHide), s.CleanPeriods, s.Origin))); err != nil {
						return err
					}
				}
				if err := omitted(out, a.Omitted); err != nil {
					return err
				}
				return render.Line(out, "%s", render.Faint("Run `tidemark noise suggest --add 1` to add the first."))
			})
		},
	}
	cmd.Flags().IntSliceVar(&add, "add", nil, "add the suggestions with these numbers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

// addSuggested adds the suggestions with these numbers.
func addSuggested(cmd *cobra.Command, numbers []int) error {
	c, err := newClient()
	if err != nil {
		return err
	}
	var a noiserules.NoiseAnswer
	if err := c.Tool(cmd.Context(), "configure_noise", noiserules.NoiseParams{Action: "suggest"}, &a); err != nil {
		return err
	}
	for _, n := range numbers {
		switch {
		case len(a.Suggestions) == 0:
			return usageError{fmt.Errorf("cannot add suggestion %d: there are no suggestions, because nothing repeats", n)}
		case n < 1 || n > len(a.Suggestions):
			return usageError{fmt.Errorf("cannot add suggestion %d: suggestions are numbered from 1 to %d. Run `tidemark noise suggest` to list them.", n, len(a.Suggestions))}
		}
	}
	for _, n := range numbers {
		s := a.Suggestions[n-1]
		p := noiserules.NoiseParams{Action: "add", Kind: s.Kind, Level: s.Level, Origin: s.Origin, Fingerprint: s.Fingerprint, Expires: "never", Note: "suggested"}
		if err := callNoise(cmd, p, false, showAdded); err != nil {
			return err
		}
	}
	return nil
}
