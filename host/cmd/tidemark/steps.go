package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer"
)

// asking holds how the user agrees to changes.
type asking struct {
	yes, dryRun bool
	in          *bufio.Reader
	// unanswered reports that a question got no answer.
	unanswered bool
}

func (a *asking) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "make every change without asking")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "show every change without making it")
}

// reader is the input of all questions. It may have read ahead.
func (a *asking) reader(cmd *cobra.Command) *bufio.Reader {
	if a.in == nil {
		a.in = bufio.NewReader(cmd.InOrStdin())
	}
	return a.in
}

// errNobody ends a command whose questions got no answer.
var errNobody = errors.New("no answer on standard input. Use --yes to make every change without asking.")

// may asks the user: yes, no or all. All also answers the questions that follow.
func (a *asking) may(cmd *cobra.Command, question string) bool {
	return a.ask(cmd, "    "+question+" [y/N/all] ")
}

// ask asks a question as it is.
func (a *asking) ask(cmd *cobra.Command, question string) bool {
	if a.yes {
		return true
	}
	a.reader(cmd)
	fmt.Fprint(cmd.OutOrStdout(), question)
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // may outlive may: only the end of the process, which follows, can end its read
		line, err := a.in.ReadString('\n')
		answers <- answer{line, err}
	}()
	var line string
	var err error
	select {
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.OutOrStdout())
		return false
	case got := <-answers:
		line, err = got.line, got.err
	}
	if f, ok := cmd.InOrStdin().(*os.File); err != nil || !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(cmd.OutOrStdout()) // no return key ended the line
	}
	if err != nil {
		a.unanswered = a.unanswered || line == ""
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "a", "all":
		a.yes = true
		return true
	case "y", "yes":
		return true
	}
	return false
}

// errInterrupted ends a command that the user interrupted.
var errInterrupted = errors.New("interrupted. Changes made so far remain. Run `tidemark uninstall` to undo them.")

// errSomeFailed ends a command that has already printed its errors.
var errSomeFailed = errors.New("some changes failed. See above.")

// changer shows steps, asks before each and makes it.
type changer struct {
	cmd    *cobra.Command
	sys    *installer.System
	record *installer.Record
	asked  *asking
	sheet  *render.Sheet
	group  installer.Group
	failed bool
	// asks counts the questions, agreed the accepted changes, and settled the steps that were already done.
	asks, agreed, settled int
}

func newChanger(cmd *cobra.Command, steps []installer.Step, record *installer.Record, asked *asking, sys *installer.System) *changer {
	var names []string
	for _, st := range steps {
		names = append(names, st.Name)
	}
	return &changer{cmd: cmd, sys: sys, record: record, asked: asked, sheet: render.NewSheet(cmd.OutOrStdout(), names...)}
}

// currentGroup is the group of what install asks about the current project.
const currentGroup installer.Group = "project"

// heading begins a group, once.
func (c *changer) heading(g installer.Group) {
	if g != c.group {
		c.group = g
		c.sheet.Heading(map[installer.Group]string{
			installer.Browsers: "Browsers", installer.Agents: "Agents", installer.Extension: "Extension", currentGroup: "Project",
		}[g])
	}
}

// fail prints an error and marks the command as failed.
func (c *changer) fail(say func(state, text string), err error) {
	c.failed = true
	say(string(installer.Broken), c.short(err.Error()))
}

// short abbreviates the user's home directory to ~.
func (c *changer) short(text string) string { return c.sys.Tilde(text) }

// interrupted reports whether the user interrupted the command.
func (c *changer) interrupted() bool { return c.cmd.Context().Err() != nil }

// make makes one step.
func (c *changer) make(st *installer.Step) {
	if c.interrupted() {
		return
	}
	c.heading(st.Group)
	item := func(state, text string) { c.sheet.Item(state, st.Name, text) }
	switch {
	case st.Problem != nil:
		c.fail(item, st.Problem)
		return
	case st.Path == "":
		item(string(installer.None), c.short(st.Note))
		return
	case !st.Changes() && st.Left != nil:
		c.fail(item, st.Left)
		return
	case !st.Changes():
		state, note := installer.OK, st.Note
		switch note {
		case installer.Registered:
		case "":
			note = "is up to date"
		default:
			state = installer.None
		}
		if err := c.adopt(st); err != nil {
			c.fail(item, err)
			return
		}
		if state == installer.OK {
			c.settled++
		}
		item(string(state), c.short(st.Path+" "+note))
		return
	}
	sign, done := "±", "written"
	switch {
	case st.Before == nil:
		sign = "+"
	case st.After == nil:
		sign, done = "-", "removed"
	}
	c.sheet.Change(sign, st.Name, c.short(st.Path))
	c.sheet.Diff(st.Diff())
	switch {
	case c.asked.dryRun:
	case c.sheet.Err() != nil: // the user could not see the change
	case !c.may("Make this change?"):
		if !c.interrupted() {
			c.sheet.Outcome(string(installer.None), "left unchanged")
		}
	default:
		if err := c.sys.Apply(st, c.record); err != nil {
			c.fail(c.sheet.Outcome, err)
			return
		}
		c.sheet.Outcome(string(installer.OK), done)
		if st.Left != nil {
			c.fail(c.sheet.Outcome, st.Left)
		}
		if st.Note != "" { // about another entry in the same file
			c.sheet.Outcome(string(installer.None), c.short(st.Path+" "+st.Note))
		}
	}
}

// may asks before a change and counts the answers.
func (c *changer) may(question string) bool {
	c.asks++
	yes := c.asked.may(c.cmd, question)
	if yes {
		c.agreed++
	}
	return yes
}

// declined reports whether the user accepted no change: every answer was no, or missing.
func (c *changer) declined() bool {
	return c.asks > 0 && c.agreed == 0 && (c.settled == 0 || c.asked.unanswered)
}

// adopt records a manifest that is already up to date.
func (c *changer) adopt(st *installer.Step) error {
	if c.asked.dryRun {
		return nil
	}
	return c.record.Adopt(st)
}

// end returns the result of the command.
func (c *changer) end() error {
	switch {
	case c.sheet.Err() != nil:
		return c.sheet.Err()
	case c.interrupted():
		return errInterrupted
	case c.asked.unanswered:
		return errNobody
	case c.failed:
		return errSomeFailed
	case c.asked.dryRun:
		c.sheet.Line("\nNothing was changed (--dry-run).")
	}
	return c.sheet.Err()
}
