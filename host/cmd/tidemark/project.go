package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/workspace"
)

func newProject() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "project",
		Short: "Manage what Tidemark may do in a project's directory",
		Long: `Allow or deny what Tidemark does in a project beyond watching tabs. Nothing is allowed until you allow it.
Decisions are in grants.json beside config.toml, by the path of the directory. The nearest decision at or above
a directory applies. A repository cannot allow anything: its .tidemark.toml only excludes files.

Without DIR, the project of the working directory is meant: the nearest directory with a decision of its own, a
.tidemark.toml or .git, else the working directory itself.`,
		Example: `  tidemark project allow
  tidemark project allow ~/shop --grant agents-restore
  tidemark project deny ~/shop/secrets
  tidemark project show --all`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProjectAllow(), newProjectDeny(), newProjectShow(), newProjectForget())
	return cmd
}

// oneDir accepts at most one argument.
func oneDir() cobra.PositionalArgs { return someArgs(0, 1, "one directory, or none") }

func newProjectAllow() *cobra.Command {
	var grant, revoke []string
	var movedFrom string
	var confirm bool
	var about strings.Builder
	for _, g := range grants.Table {
		byDefault := ""
		if g.Default {
			byDefault = " (on by default)"
		}
		fmt.Fprintf(&about, "  %-15s %s%s\n", g.Name, g.About, byDefault)
	}
	cmd := &cobra.Command{
		Use:   "allow [DIR]",
		Short: "Allow a project",
		Long: `Allow a project. The grants are:

` + about.String() + `
A second call changes only the grants that it names, and turns on those that are on by default.
Home directories, directories of the system and very large directories need --confirm.
With --moved-from, the decisions, sessions and snapshots of a project that was moved become those of its new place.`,
		Example: `  tidemark project allow
  tidemark project allow --grant agents-restore,agents-branch
  tidemark project allow --moved-from ~/old/shop ~/shop
  tidemark project allow --revoke agents-branch`,
		Args: oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := projectArg(args)
			if err != nil {
				return err
			}
			if err := known("--grant", grant, grants.Names()); err != nil {
				return err
			}
			if err := known("--revoke", revoke, grants.Names()); err != nil {
				return err
			}
			before, err := s.Lookup(dir)
			if err != nil {
				return err
			}
			if !confirm && (before.State != grants.Allowed || before.For != before.Dir) {
				if err := s.Examine(cmd.Context(), dir); err != nil {
					return err
				}
				if movedFrom == "" && before.State == grants.Undecided {
					if err := notMoved(cmd, before.Dir); err != nil {
						return err
					}
				}
			}
			if movedFrom != "" {
				if err := relink(cmd, s, movedFrom, before.Dir); err != nil {
					return err
				}
			}
			d, err := s.Allow(cmd.Context(), dir, grant, revoke)
			if err != nil {
				return err
			}
			if err := showDecision(cmd.OutOrStdout(), d); err != nil || !slices.Contains(grant, grants.Conversation) {
				return err
			}
			h, err := home.Find(version)
			if err != nil {
				return err
			}
			return render.Line(cmd.OutOrStdout(), "Recorded conversations are in %s. `tidemark recordings` lists, shows and deletes them.", grants.Printable(h.Recordings()))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&grant, "grant", nil, "also give these grants: "+strings.Join(grants.Names(), ", "))
	f.StringSliceVar(&revoke, "revoke", nil, "take away these grants")
	f.StringVar(&movedFrom, "moved-from", "", "take over what was recorded of this directory, which was moved")
	f.BoolVar(&confirm, "confirm", false, "allow a home, system or very large directory too, or a moved one without its snapshots")
	return cmd
}

func newProjectDeny() *cobra.Command {
	return &cobra.Command{
		Use:   "deny [DIR]",
		Short: "Deny a project, except allowed ones below it",
		Args:  oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := projectArg(args)
			if err != nil {
				return err
			}
			d, err := s.Deny(cmd.Context(), dir)
			if err != nil {
				return denyNow(cmd, dir, err)
			}
			if err := showDecision(cmd.OutOrStdout(), d); err != nil {
				return err
			}
			return showStored(cmd.OutOrStdout(), s, d.Dir)
		},
	}
}

func newProjectForget() *cobra.Command {
	return &cobra.Command{
		Use:   "forget [DIR]",
		Short: "Remove the decision for a project",
		Long:  `Remove the decision for a project. Then the decision for a directory above it applies, or none.`,
		Args:  oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := projectArg(args)
			if err != nil {
				return err
			}
			forgotten, err := s.Forget(cmd.Context(), dir)
			if err != nil {
				return err
			}
			return render.Line(cmd.OutOrStdout(), "%s: decision removed", grants.Printable(forgotten))
		},
	}
}

func newProjectShow() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "show [DIR]",
		Short: "Show what is allowed in a project",
		Args:  oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				if len(args) > 0 {
					return usageError{errors.New("--all takes no directory")}
				}
				return showAll(cmd.OutOrStdout(), asJSON)
			}
			s, dir, err := projectArg(args)
			if err != nil {
				return err
			}
			d, err := s.Lookup(dir)
			if err != nil {
				return err
			}
			o, err := originOf(cmd, d.Dir)
			if err != nil {
				return err
			}
			of := d
			if o.Of != "" && !grants.Within(d.For, o.Branch) { // a branch has the decision of its original
				if of, err = s.Lookup(o.Of); err != nil {
					return err
				}
				of.Dir = d.Dir
			}
			if asJSON {
				p := jsonOf(of)
				p.Origin = o.json()
				return encode(cmd.OutOrStdout(), p)
			}
			return showDecisionOf(cmd.OutOrStdout(), of, o)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show all decisions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// grantStore returns the store of the user's decisions.
func grantStore() (*grants.Store, error) {
	h, err := home.Find(version)
	if err != nil {
		return nil, err
	}
	return storeIn(h), nil
}

// storeIn is [grantStore] for a home.
func storeIn(h home.Home) *grants.Store {
	return &grants.Store{File: h.Grants(), Lock: h.LockGrants, Own: []string{h.State, filepath.Dir(h.Config)}, Clock: time.Now}
}

// projectArg returns the store, and the directory that a command is about.
func projectArg(args []string) (*grants.Store, string, error) {
	s, err := grantStore()
	if err != nil {
		return nil, "", err
	}
	if len(args) == 1 {
		if args[0] == "" {
			return nil, "", usageError{errors.New("the directory is empty. Name one, or pass none for the current project.")}
		}
		return s, args[0], nil
	}
	dir, _, err := currentProject()
	return s, dir, err
}

// currentProject returns the directory of the project in the working directory. A directory of the project that the user decided
// about is a project of its own. Without a project that is the working directory, and false.
func currentProject() (dir string, found bool, err error) {
	if dir, err = os.Getwd(); err != nil {
		return "", false, fmt.Errorf("cannot find the working directory: %w. Name a directory.", err)
	}
	if dir, err = grants.Resolve(dir); err != nil {
		return "", false, err
	}
	root, ok := project.Root(dir)
	if !ok {
		return dir, false, nil
	}
	s, err := grantStore()
	if err != nil {
		return "", false, err
	}
	if d, err := s.Lookup(dir); err == nil && grants.Within(d.For, root) { // the caller reports a damaged file
		return d.For, true, nil
	}
	return root, true, nil
}

func showDecision(out io.Writer, d grants.Decision) error {
	return showDecisionOf(out, d, origin{})
}

func showDecisionOf(out io.Writer, d grants.Decision, o origin) error {
	line := grants.Printable(d.Dir) + ": " + render.Bold(string(d.State))
	switch {
	case o.Of != "" && !grants.Within(d.For, o.Branch):
		line += render.Faint(fmt.Sprintf(" (branch %s; decision for its original, %s)", o.Session, grants.Printable(cmp.Or(d.For, o.Of))))
	case d.State == grants.Undecided && o.MovedFrom != "":
		line += render.Faint(fmt.Sprintf(" (%s was moved here; run `%s`)", grants.Printable(o.MovedFrom), workspace.AllowMoved(o.MovedFrom, o.Moved)))
	case d.State == grants.Undecided:
		line += render.Faint(" (nothing is allowed; run `tidemark project allow` or `deny`)")
	case d.For != d.Dir:
		line += render.Faint(" (decision for " + grants.Printable(d.For) + ")")
	}
	if err := render.Line(out, "%s", line); err != nil {
		return err
	}
	t := render.Table{Indent: "  "}
	if d.State == grants.Allowed {
		for _, g := range grants.Table {
			state := "off"
			if d.Has(g.Name) {
				state = "on"
			}
			t.Row(g.Name, state, render.Faint(g.About))
		}
	}
	if err := t.Write(out); err != nil {
		return err
	}
	for _, b := range d.Below() {
		if err := render.Line(out, "  %s: %s", grants.Printable(b.Dir), b.State); err != nil {
			return err
		}
	}
	return nil
}

func showAll(out io.Writer, asJSON bool) error {
	s, err := grantStore()
	if err != nil {
		return err
	}
	all, err := s.All()
	if err != nil {
		return err
	}
	if asJSON {
		list := struct {
			Projects []projectJSON `json:"projects"`
		}{[]projectJSON{}}
		for _, d := range all {
			list.Projects = append(list.Projects, jsonOf(d))
		}
		return encode(out, list)
	}
	if len(all) == 0 {
		return render.Line(out, "No project is allowed or denied. Run `tidemark project allow` in one.")
	}
	t := render.Table{}
	for _, d := range all {
		var on []string
		for _, g := range grants.Table {
			if d.Has(g.Name) {
				on = append(on, g.Name)
			}
		}
		words := strings.Join(on, ", ")
		if path, err := grants.Resolve(d.Dir); err != nil || path != d.Dir {
			words = strings.TrimSpace(words + render.Faint(" (no directory at this path)"))
		}
		t.Row(grants.Printable(d.Dir), string(d.State), words)
	}
	return t.Write(out)
}

// projectJSON is the output of show --json.
type projectJSON struct {
	grants.Path
	State grants.State `json:"state"`
	// DecidedFor and Decided are absent while undecided.
	DecidedFor *grants.Path `json:"decided_for,omitempty"`
	Decided    string       `json:"decided,omitempty"`
	Grants     []grantJSON  `json:"grants"`
	// Below are the directories below with a decision of their own.
	Below []belowJSON `json:"below"`
	// Origin is absent for what is neither a branch nor a workspace that was moved.
	Origin *originJSON `json:"origin,omitempty"`
}

type belowJSON struct {
	grants.Path
	State grants.State `json:"state"`
}

type grantJSON struct {
	Name    string `json:"name"`
	Granted bool   `json:"granted"`
	About   string `json:"about"`
}

func jsonOf(d grants.Decision) projectJSON {
	p := projectJSON{Path: grants.PathOf(d.Dir), State: d.State, Below: []belowJSON{}}
	if d.State != grants.Undecided {
		at := grants.PathOf(d.For)
		p.DecidedFor, p.Decided = &at, d.At.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	for _, g := range grants.Table {
		p.Grants = append(p.Grants, grantJSON{g.Name, d.Has(g.Name), g.About})
	}
	for _, b := range d.Below() {
		p.Below = append(p.Below, belowJSON{grants.PathOf(b.Dir), b.State})
	}
	return p
}

// encode writes a value as one line of JSON.
func encode(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// terminals returns the input and output of a command if both are a terminal.
func terminals(cmd *cobra.Command) (in, out *os.File, ok bool) {
	in, ok = cmd.InOrStdin().(*os.File)
	if out, shown := cmd.OutOrStdout().(*os.File); ok && shown && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		return in, out, true
	}
	return nil, nil, false
}
