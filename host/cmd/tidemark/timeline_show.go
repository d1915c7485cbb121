package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/internal/timeline"
)

func newTimelineShow() *cobra.Command {
	var session, ts, which string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [MOMENT]",
		Short: "Show a session as a tree, or one moment",
		Long: `Show a session as a tree: prompts, the calls that followed, the files that each call changed, and what the browser
reported after it. Prompts and commands are shown where the conversation is recorded
(tidemark project allow --grant conversation).

With a moment, show that: when it was and what it was, the browser's severity up to the next moment, and how files changed
since the moment before.

With --ts, show what a recorded terminal showed at that time, in seconds from the recording's beginning, as a time, or at its end.
With --ts m5, show what it showed after the command of that moment, or when the agent did what the moment is of.`,
		Example: "  tidemark timeline show\n  tidemark timeline show m5\n  tidemark timeline show 10:32:15\n  tidemark timeline show --ts 12.5 --recording fix-cart\n  tidemark timeline show --ts m5",
		Args:    someArgs(0, 1, "one moment, such as m5, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ts != "" {
				if len(args) > 0 {
					return usageError{errors.New("--ts takes no argument. For what a terminal showed at a moment, use --ts m12.")}
				}
				return showFrame(cmd, which, ts, session, asJSON)
			}
			if which != "" {
				return usageError{errors.New("--recording needs --ts")}
			}
			where, err := whereIs(cmd, session)
			if err != nil {
				return err
			}
			if moment := first(args); moment != "" {
				var a timeline.Shown
				p := timeline.ShowParams{Where: where, Moment: moment}
				return callAndShow(cmd, "moment_show", p, &a, asJSON, func() error { return showOne(cmd.OutOrStdout(), cmd.ErrOrStderr(), &a) })
			}
			var a sessiontree.Tree
			return callAndShow(cmd, "timeline_show", sessiontree.Params{Where: where}, &a, asJSON, func() error { return showTree(cmd.OutOrStdout(), &a) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&session, "session", "", "ID of a session (default: that of the working directory)")
	f.StringVar(&ts, "ts", "", "show what a recorded terminal showed at this time, or at a moment")
	f.StringVar(&which, "recording", "", "ID or name of a recorded terminal (default: the newest)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// Lengths in characters.
const (
	promptWidth = 100
	titleWidth  = 80
)

// treeNode is a line of a tree, with those below it. In a narrow terminal, cut is shortened, which is between text and tail.
type treeNode struct {
	text, cut, tail string
	below           []treeNode
}

// leastCut is what remains of the part of a line that is shortened, in columns.
const leastCut = 12

func showTree(out io.Writer, a *sessiontree.Tree) error {
	width, _ := terminalColumns(out)
	if err := treeOf(a).write(out, width, "", ""); err != nil {
		return err
	}
	for _, r := range a.Recordings {
		if text := coverageOf(&r.Coverage); text != "" {
			if err := render.Line(out, "%s", render.Faint(r.ID+": "+text)); err != nil {
				return err
			}
		}
	}
	if a.Note != "" {
		return render.Line(out, "%s", render.Faint(a.Note))
	}
	return nil
}

func treeOf(a *sessiontree.Tree) treeNode {
	root := treeNode{text: render.Bold(a.ID) + "  " + grants.Printable(a.Workspace)}
	titles := map[string]string{}
	for _, t := range a.Turns {
		titlesOf(titles, t.Calls)
	}
	for _, t := range a.Turns {
		root.below = append(root.below, turnNode(t, titles))
	}
	if len(a.Files) > 0 {
		root.below = append(root.below, treeNode{text: "changed by no known call", below: fileNodes(a.Files, titles)})
	}
	return root
}

// titlesOf adds the titles of calls by their IDs, which the tree does not show.
func titlesOf(titles map[string]string, calls []*sessiontree.Call) {
	for _, c := range calls {
		titles[c.ID] = timeOf(c.At.Time) + "  " + event.OneLine(c.Title)
		titlesOf(titles, c.Calls)
	}
}

// write writes a node with the lines of those below it. Width is that of the terminal in columns, 0 for no limit.
func (n treeNode) write(out io.Writer, width int, first, rest string) error {
	cut := n.cut
	if width > 0 && cut != "" {
		cut = ansi.Truncate(cut, max(leastCut, width-ansi.StringWidth(first+n.text+n.tail)), "…")
	}
	if err := render.Line(out, "%s%s%s%s", first, n.text, cut, n.tail); err != nil {
		return err
	}
	for i, b := range n.below {
		branch, more := "├─ ", "│  "
		if i == len(n.below)-1 {
			branch, more = "└─ ", "   "
		}
		if err := b.write(out, width, rest+branch, rest+more); err != nil {
			return err
		}
	}
	return nil
}

func turnNode(t *sessiontree.Turn, titles map[string]string) treeNode {
	prompt := "prompt"
	if t.Prompt != "" {
		prompt = cutTo(event.OneLine(t.Prompt), promptWidth)
	}
	n := treeNode{text: timeOf(t.At.Time) + "  ", cut: render.Bold(prompt), tail: faint(t.Agent, t.Moment)}
	for _, c := range t.Calls {
		n.below = append(n.below, callNode(c, titles))
	}
	if t.Said != "" && t.Ended != nil {
		n.below = append(n.below, treeNode{text: render.Faint(timeOf(t.Ended.Time) + "  stopped: "), cut: render.Faint(cutTo(event.OneLine(t.Said), titleWidth))})
	}
	return n
}

func callNode(c *sessiontree.Call, titles map[string]string) treeNode {
	took, outcome := "", ""
	if c.DurationMs > 0 {
		took = render.Duration(int64(c.DurationMs))
	}
	if c.Outcome != "" && c.Outcome != conversation.OK {
		outcome = "  " + c.Outcome
	}
	n := treeNode{text: timeOf(c.At.Time) + "  ", cut: cutTo(event.OneLine(c.Title), titleWidth), tail: outcome + faint(took, c.Moment)}
	n.below = fileNodes(c.Files, titles)
	if c.Severity != "" && c.Severity != report.Clean {
		n.below = append(n.below, treeNode{cut: standingOf(c)})
	}
	for _, inner := range c.Calls {
		n.below = append(n.below, callNode(inner, titles))
	}
	return n
}

// maxTreeFiles bounds the files below one call, maxTreeMakers the calls below a file.
const (
	maxTreeFiles  = 20
	maxTreeMakers = 8
)

func fileNodes(files []sessiontree.File, titles map[string]string) (nodes []treeNode) {
	for i, f := range files {
		if i == maxTreeFiles {
			return append(nodes, treeNode{text: render.Faint(fmt.Sprintf("… and %d more files", len(files)-i))})
		}
		counts := ""
		if f.Added+f.Removed > 0 {
			counts = fmt.Sprintf("+%d −%d", f.Added, f.Removed)
		}
		path := event.Path(event.OneLine(f.Path))
		if f.From != "" {
			path = event.Path(event.OneLine(f.From)) + " → " + path
		}
		n := treeNode{text: f.Change + " " + path + faint(counts)}
		if len(f.OneOf) > 0 {
			n.text += faint("by one of:")
			n.below = makerNodes(f.OneOf, titles)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// makerNodes returns the calls of which one changed a file.
func makerNodes(ids []string, titles map[string]string) (nodes []treeNode) {
	for i, id := range ids {
		if i == maxTreeMakers {
			return append(nodes, treeNode{text: render.Faint(fmt.Sprintf("… and %d more calls", len(ids)-i))})
		}
		nodes = append(nodes, treeNode{cut: render.Faint(cutTo(cmp.Or(titles[id], event.OneLine(id)), titleWidth))})
	}
	return nodes
}

// faint returns texts that are not empty, in faint letters.
func faint(texts ...string) string {
	out := ""
	for _, t := range texts {
		if t != "" {
			out += "  " + render.Faint(event.OneLine(t))
		}
	}
	return out
}

func timeOf(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// standingOf says what the browser reported after a call.
func standingOf(c *sessiontree.Call) string {
	how, what := render.Standing(c.Severity, c.Summary)
	return how + ": " + event.OneLine(what)
}
