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
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer/safefile"
)

func newNoise() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "noise",
		Short: "Say what answers leave out, and have them leave out more or less",
		Long: `Noise rules keep chatter out of what is told: of hot updates, of extensions, of analytics, advice of the
browser, and what you add. They only count what they hide. No rule of yours hides a failed hot update, an
error unless it says --level error, or what first appeared after a checkpoint unless it says --hide-new.

Rules are yours, for every project; those of a project lie in its .tidemark.toml (--project).`,
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
		Short: "Ignore from now on what has TEXT in its message or address",
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
	f.StringVar(&p.Kind, "kind", "", "console, network or websocket (default: any)")
	f.StringVar(&p.Level, "level", "", "the most severe that it hides; failed requests are errors (default: warning)")
	f.StringVar(&p.Origin, "origin", "", "only on pages of this origin")
	f.StringVar(&p.Fingerprint, "fingerprint", "", "exactly this entry, as `noise explain` shows it")
	f.BoolVar(&p.HideNew, "hide-new", false, "also what first appeared after the checkpoint that is compared with")
	f.StringVar(&p.Expires, "expires", "never", "when it ends: 30m, 8h, 7d, a date, a time, session (when the daemon ends) or never")
	f.StringVar(&p.ID, "id", "", "a name for it (default: n1, n2 …)")
	f.StringVar(&p.Note, "note", "", "what a reader of the list should know")
	f.BoolVar(&toProject, "project", false, "write it into the project's .tidemark.toml")
	f.BoolVar(&asJSON, "json", false, "print what an agent gets")
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
	return render.Line(out, "%s", render.Faint(fmt.Sprintf("it hides %d of what is held; `tidemark noise rm %s` takes it back", a.Added.Hides, a.Added.ID)))
}

// conditions are a rule's in words. It was decoded, and is not ready until it is checked.
func conditions(r *noiserules.NoiseRule) string {
	if err := r.Check(); err != nil {
		return err.Error()
	}
	words := r.String()
	if r.HideNew {
		words += ", new or not"
	}
	return words
}

func end(r *noiserules.NoiseRule) string {
	switch {
	case r.Session:
		return ", until the session ends"
	case r.Expires != nil:
		return ", until " + r.Expires.Local().Format("2006-01-02 15:04")
	}
	return ""
}

// addToProject appends a rule to the project's file, of which nothing else changes.
func addToProject(cmd *cobra.Command, p *noiserules.NoiseParams) error {
	if p.Expires == "session" {
		return usageError{errors.New("a rule in a file ends at a date, never with a session; give --expires a span or a date, or leave out --project")}
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
		return usageError{fmt.Errorf("there is no %s in this directory or above it; make one in the project's directory (an empty file will do)", projectFile)}
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
		why := "the file has its rules in another form"
		for _, problem := range after.Problems {
			if !slices.Contains(before.Problems, problem) {
				why = problem
			}
		}
		return fmt.Errorf("the rule cannot be added to %s (%s); nothing was written. Write it yourself:\n%s", path, why, table)
	}
	// What stands in a repository must not lead a write out of it.
	if real, err := filepath.EvalSymlinks(path); err != nil {
		return err
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err != nil {
		return err
	} else if within, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(within) {
		return fmt.Errorf("%s is a link to %s, outside the project; nothing was written. Write it yourself:\n%s", path, real, table)
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
		Short: "List packs and rules, and how much each hides of what is held",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return callNoise(cmd, noiserules.NoiseParams{Action: "list"}, asJSON, showNoise)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what an agent gets")
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
	return render.Line(out, "%s", render.Faint(fmt.Sprintf("%d hidden of what is held; `tidemark noise explain` says which", a.Hidden)))
}

func hides(n int) string { return fmt.Sprintf("hides %d", n) }

func newNoiseRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm ID",
		Aliases: []string{"remove", "delete"},
		Short:   "Remove a rule",
		Args:    someArgs(1, 1, "one rule's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return callNoise(cmd, noiserules.NoiseParams{Action: "remove", ID: args[0]}, false, func(out io.Writer, a *noiserules.NoiseAnswer) error {
				return render.Line(out, "%s is removed: it hid %s", render.Bold(a.Removed.ID), conditions(a.Removed))
			})
		},
	}
}

func newNoiseSwitch(on bool) *cobra.Command {
	action, short := "disable", "Switch a pack off: what it hid is told again"
	if on {
		action, short = "enable", "Switch a pack on again"
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
		Short: "Say whether what has TEXT in it is hidden, and why; without TEXT, all that is hidden",
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what an agent gets")
	return cmd
}

func nothing(text string) string {
	if text == "" {
		return "nothing of what is held is hidden"
	}
	return fmt.Sprintf("nothing that could be told has %q in it", text)
}

// oneLine is a text of a page on one line.
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
		Short: "Propose rules for what repeats while nothing is wrong",
		Long: `Proposes rules for warnings, and connections that end or fail, that repeat in clean periods. A period
begins when a page is loaded or updated, and after each minute; it is clean when it has neither an error nor
a failed request. What was there in three of them or more is proposed, with how much it would have hidden.`,
		Example: `  tidemark noise suggest
  tidemark noise suggest --add 1,2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(add) > 0 {
				return addSuggested(cmd, add)
			}
			return callNoise(cmd, noiserules.NoiseParams{Action: "suggest"}, asJSON, func(out io.Writer, a *noiserules.NoiseAnswer) error {
				if len(a.Suggestions) == 0 {
					return render.Line(out, "nothing repeats in three clean periods or more")
				}
				for i, s := range a.Suggestions {
					if err := render.Line(out, "%s  %s %s  %s", render.Bold(fmt.Sprint(i+1)), s.Kind, render.Level(s.Level), oneLine(s.Fingerprint)); err != nil {
						return err
					}
					if err := render.Line(out, "%s", render.Faint(fmt.Sprintf("   would have hidden %d, in %d clean periods  %s", s.WouldHide, s.CleanPeriods, s.Origin))); err != nil {
						return err
					}
				}
				if err := omitted(out, a.Omitted); err != nil {
					return err
				}
				return render.Line(out, "%s", render.Faint("`tidemark noise suggest --add 1` adds the first"))
			})
		},
	}
	cmd.Flags().IntSliceVar(&add, "add", nil, "add the suggestions of these numbers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what an agent gets")
	return cmd
}

// addSuggested adds the suggestions of those numbers.
func addSuggested(cmd *cobra.Command, numbers []int) error {
	c, err := newClient()
	if err != nil {
		return err
	}
	var a noiserules.NoiseAnswer
	if err := c.tool(cmd.Context(), "configure_noise", noiserules.NoiseParams{Action: "suggest"}, &a); err != nil {
		return err
	}
	for _, n := range numbers {
		if n < 1 || n > len(a.Suggestions) {
			return usageError{fmt.Errorf("there is no suggestion %d; there are %d now: `tidemark noise suggest` lists them", n, len(a.Suggestions))}
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
