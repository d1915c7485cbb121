// Package branches starts agents in branches: with the conversation as of a moment, and a new message.
//
// Guarantees:
//   - The original workspace and the agent's original record stay as they are, whatever happens in a branch.
//   - A branch exists with its conversation, or does not exist. An agent that does not start leaves a whole branch.
//   - An agent starts an agent only with the user's grant.
package branches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

// Settings are the user's, the section [branches] of config.toml.
type Settings struct {
	// Terminal is "tmux" to start agents in a window of tmux, "" to start them without a terminal.
	Terminal string `toml:"terminal"`
	// TerminalCommand opens a terminal of the user's choice, in which the agent starts: a program with its arguments. See [tabLine].
	TerminalCommand []string `toml:"terminal_command"`
	// ConfirmSeconds is how long the copy for a branch may take without a confirmation, in seconds. Nil is 5, and with 0 each copy is confirmed.
	ConfirmSeconds *float64 `toml:"confirm_seconds"`
	// Commands replace the programs of agents, by the agent's name: the program with its first arguments. One of another agent gets the
	// message as its last argument.
	Commands map[string][]string `toml:"commands"`
	// AgentPath is the path at which agents see their branch: "original" for that of the original, "branch" or "" for the branch's own.
	AgentPath string `toml:"agent_path"`
}

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	if err := s.checkTerminal(); err != nil {
		return err
	}
	if err := checkPath("agent_path", s.AgentPath); err != nil {
		return err
	}
	if s.ConfirmSeconds != nil && (*s.ConfirmSeconds < 0 || *s.ConfirmSeconds > maxConfirm) {
		return fmt.Errorf("confirm_seconds is %g; it must be 0 to %d", *s.ConfirmSeconds, maxConfirm)
	}
	for name, command := range s.Commands {
		if name == none || strings.TrimSpace(name) == "" {
			return fmt.Errorf("commands names the agent %q, which means that no agent starts", name)
		}
		if len(command) == 0 || command[0] == "" {
			return errors.New(`a command begins with a program, as in ["claude", "--model", "opus"]`)
		}
	}
	return nil
}

// checkPath returns an error if a text names none of the paths at which agents see their branch.
func checkPath(name, path string) error {
	switch path {
	case "", originalPath, branchPath:
		return nil
	}
	return usererr.Invalid("%s is %q; it must be %s or %s", name, path, originalPath, branchPath)
}

// maxConfirm bounds confirm_seconds.
const maxConfirm = 86_400

// Long is from which time on a copy is confirmed.
func (s Settings) Long() time.Duration {
	if s.ConfirmSeconds == nil {
		return 5 * time.Second
	}
	return max(time.Duration(*s.ConfirmSeconds*float64(time.Second)), 1)
}

// Branches starts and manages branches. It is safe for concurrent use.
type Branches struct {
	Timeline      *timeline.Timeline
	Conversations *conversation.Store
	Settings      Settings
	// Report returns what the browser reported since a time, as a client sees the pages of a workspace. It may be nil.
	Report func(ctx context.Context, client *checkpoint.Client, workspace string, since time.Time) *report.Report
	// Redactor masks messages to agents in what is kept of a branch.
	Redactor *redact.Redactor
	Clock    func() time.Time
	Log      *slog.Logger
	// Program is the path of this program. Without it agents see their branch at its own path only.
	Program string

	// unmasked are the texts of agents with secrets that were not started yet, by the agent's directory. They are in memory only.
	unmasked sync.Map
	// entering are channels that get the processes of agents that are to run in a terminal, by the IDs of their branches.
	entering sync.Map
	// launching are mutexes by the IDs of branches: one request at a time starts the agent of a branch.
	launching sync.Map
}

// Tools are those of agents.
var Tools = []*tool.Tool[*Branches]{
	tool.New(tool.Definition{
		Name: "timeline_branch", Title: "Branch from a moment", Effect: tool.Adds,
		Description: "Copy all files as of a moment into a new directory with a session of its own. With message, an agent starts there, with the conversation as of the moment. A long copy first returns its plan: call again with confirm.",
		Arguments: `"from":{"type":"string","description":"moment (m12), snapshot (s12), checkpoint, time, start or now"},
			"name":{"type":"string"},
			"message":{"type":"string","description":"what its agent shall do"},
			"agent":{"type":"string","description":"such as claude or codex, or none; default: that of the moment"},
			"confirm":{"type":"boolean"}`,
		Required: []string{"from", "name"},
	}, (*Branches).Start),
}

// UserTools are those of the user's own programs, beside those of agents.
var UserTools = []*tool.Tool[*Branches]{
	tool.New(tool.Definition{Name: "branch_list"}, (*Branches).List),
	tool.New(tool.Definition{Name: "branch_open"}, (*Branches).Open),
	tool.New(tool.Definition{Name: "branch_run"}, (*Branches).Run),
	tool.New(tool.Definition{Name: "branch_compare"}, (*Branches).Compare),
	tool.New(tool.Definition{Name: "branch_commit"}, (*Branches).Commit),
	tool.New(tool.Definition{Name: "branch_apply"}, (*Branches).Apply),
	tool.New(tool.Definition{Name: "branch_unmount"}, (*Branches).Unmount),
	tool.New(tool.Definition{Name: "branch_remove"}, (*Branches).Remove),
	tool.New(tool.Definition{Name: "worktree_add"}, (*Branches).AddWorktree),
	tool.New(tool.Definition{Name: "worktree_remove"}, (*Branches).RemoveWorktree),
}

// Params are the parameters of timeline_branch.
type Params struct {
	moments.Where
	From    string `json:"from"`
	Name    string `json:"name"`
	Message string `json:"message"`
	// Agent is the agent to start, "none" for none. "" means that of the moment if there is a message.
	Agent string `json:"agent"`
	// Also is that of [operations.BranchParams].
	Also []string `json:"also,omitempty"`
	// Confirm starts a copy that takes long. Without it the answer is its plan.
	Confirm bool `json:"confirm"`
	// Env is the environment of the agent, for the user's own programs. Nil means the daemon's.
	Env []string `json:"env"`
	// Path is that of [Settings.AgentPath], "" for that of the settings.
	Path string `json:"path,omitempty"`
}

// none is the agent of a branch in which none shall start.
const none = "none"

// Start makes a branch and starts its agent.
func (b *Branches) Start(ctx context.Context, client *checkpoint.Client, p Params) (*answers.Branched, error) {
	switch {
	case p.Env != nil && !client.User:
		return nil, usererr.Invalid("env is for the user's own programs. Leave it out.")
	case p.Agent != "" && p.Agent != none && !b.starts(p.Agent):
		return nil, usererr.Invalid("agent is %q; it must be %s, or %s. Name the command of another agent in config.toml ([branches.commands]).", p.Agent, b.names(), none)
	case p.Agent != "" && p.Agent != none && strings.TrimSpace(p.Message) == "":
		return nil, usererr.Invalid("an agent needs a message: what shall it do?")
	}
	if err := checkPath("path", p.Path); err != nil {
		return nil, err
	}
	bp := operations.BranchParams{Where: p.Where, From: p.From, Name: p.Name, Also: p.Also, Confirm: p.Confirm}
	bp.Message, _ = redact.Whole(b.Redactor, p.Message)
	began := false
	bp.Continue = func(ctx context.Context, at *operations.Beginning) (err error) {
		began = true
		name := p.Agent
		if name == "" && at.Anchor != nil && b.starts(at.Anchor.Agent) {
			name = at.Anchor.Agent
		}
		switch {
		case p.Agent == none || strings.TrimSpace(p.Message) == "":
			return nil
		case name == "" && at.Anchor != nil:
			at.Problem = b.without(at, "the agent of this moment is "+event.OneLine(at.Anchor.Agent)+", and [branches.commands] in config.toml has no command of it")
			return nil
		case name == "":
			at.Problem = b.without(at, "no conversation of one is known at this moment")
			return nil
		case !client.User:
			if err := b.Timeline.Operations.Require(at.From.Workspace, grants.AgentsLaunch); err != nil {
				if p.Agent != "" {
					return err
				}
				at.Problem = "no agent was started: " + err.Error()
				return nil
			}
		}
		at.Branch.Agent, err = b.prepare(ctx, name, at, p)
		return err
	}
	a, err := b.Timeline.Operations.Branch(ctx, client, bp)
	if err != nil || a.Plan != nil {
		return a, err
	}
	if a.Agent == nil {
		return a, nil
	}
	a.Note = strings.TrimSpace(a.Note + " " + together(a.Workspace, a.Agent.Ports))
	b.launch(ctx, client, a, p, began)
	return a, nil
}

// without says why a branch has no agent although it has a message, and what to do.
func (b *Branches) without(at *operations.Beginning, why string) string {
	return fmt.Sprintf("no agent was started, because %s. Remove the branch with `tidemark branch rm %s`, and repeat the request with an agent: %s.", why, at.Branch.Name, b.names())
}

// together says which pages a branch has together with its original, although it has other ports. "" is none.
func together(workspace string, offset int) string {
	path := filepath.Join(workspace, project.FileName)
	data, err := project.Read(path)
	if err != nil { // it has no such file
		return ""
	}
	settings, err := project.Parse(path, data)
	if err != nil { // the branch's agent reads it
		return ""
	}
	same := project.Unshifted(settings.Origins, offset)
	if len(same) == 0 {
		return ""
	}
	return fmt.Sprintf("Pages of %s are those of the original and of the branch, because no port offset is added there. To separate them, serve the branch at another origin, and name that in its %s.", event.OneLine(strings.Join(same, ", ")), project.FileName)
}

// prepare continues the conversation of a moment for the agent of a branch.
func (b *Branches) prepare(ctx context.Context, name string, at *operations.Beginning, p Params) (*records.Agent, error) {
	if _, err := operations.FreePorts(b.Timeline.Operations, at.From); err != nil { // before the conversation is copied
		return nil, err
	}
	agent := &records.Agent{Name: name, Dir: at.Branch.Workspace, Method: fork.Fresh}
	agent.At, agent.AtWhy = b.place(ctx, name, at, p)
	c, err := b.fork(ctx, agent, at, p)
	known := "Workspace and conversation are as of " + at.Moment + "; later edits and messages are not present."
	var unknown *fork.UnknownError
	switch {
	case err == nil:
		agent.Method, agent.Conversation, agent.Home, agent.Mode, agent.Dir, agent.Why = c.Method, c.Session, c.Home, c.Mode, c.Dir, c.Note
		if c.Session == "" {
			agent.Record = c.Path
		}
		switch c.Cut {
		case "":
		case fork.Call:
			known = "The workspace is as of " + at.Moment + ". The conversation ends before the call of that moment, of which the files have the effects. Later edits and messages are not present."
		default:
			known = "The workspace is as of " + at.Moment + "; the conversation ends before the " + c.Cut + " that was under way. Later edits and messages are not present."
		}
	case errors.Is(err, fork.ErrEmpty):
		if agent.Why = err.Error(); c != nil {
			agent.Mode = c.Mode
		}
	case errors.As(err, &unknown):
		agent.Why = unknown.Why
	default:
		agent.Why = err.Error()
	}
	quoted := ""
	if err != nil && !errors.Is(err, fork.ErrEmpty) {
		if quoted = b.quote(at); quoted != "" {
			agent.Method = fork.Context
			known = "The workspace is as of " + at.Moment + ", and the conversation before it is quoted below; later edits and messages are not present."
		} else {
			known = "The workspace is as of " + at.Moment + ", without the conversation before it; later edits and messages are not present."
		}
	}
	where := fmt.Sprintf(" You work in %s, a copy of %s: change files only here.\n\n", at.Branch.Workspace, at.From.Workspace)
	if agent.At != "" {
		where = fmt.Sprintf(" At %s, you and what you start see a copy of it, which others have at %s. Programs that ran before, such as Docker and build servers, see the original at %s: do not name the path to them.\n\n", agent.At, at.Branch.Workspace, agent.At)
	}
	before := known + where + quoted
	agent.Text = before + at.Branch.Message
	if b.unmasked.Delete(agent.Dir); at.Branch.Message != p.Message {
		b.unmasked.Store(agent.Dir, before+p.Message)
	}
	return agent, nil
}

// fork copies the conversation of a moment with the method of its agent.
func (b *Branches) fork(ctx context.Context, agent *records.Agent, at *operations.Beginning, p Params) (*fork.Conversation, error) {
	anchor, name := at.Anchor, agent.Name
	if anchor == nil {
		return nil, &fork.UnknownError{Why: "no agent's hook reported a moment before"}
	}
	if anchor.Agent != name {
		return nil, &fork.UnknownError{Why: "the conversation is one of " + anchor.Agent}
	}
	point := fork.Point{Agent: anchor.Agent, Session: anchor.Session, Transcript: anchor.Transcript, At: at.At, Asking: at.Asking, Ended: at.Ended}
	if at.Exact || name == "codex" { // it keeps whole turns

		point.Call, point.Turn = anchor.Message, anchor.Turn
	}
	place := fork.Place{From: at.Of.Workspace, To: cmp.Or(agent.At, at.Branch.Workspace), Dir: at.Branch.Workspace, Title: at.Branch.Name, Leaves: at.Leaves}
	if at.Of.Agent != nil {
		place.Seen = at.Of.Agent.At
	}
	if name == "claude" { // it needs no program
		return fork.Claude(point, place, b.Clock())
	}
	env := p.Env
	if env == nil {
		env = os.Environ()
	}
	line, err := b.program(name, env)
	if err != nil {
		return nil, err
	}
	program := fork.Program{Line: line, Env: env}
	switch name {
	case "codex":
		return fork.Codex(ctx, point, place, program)
	case "gemini":
		return fork.Gemini(ctx, point, place, program)
	case "opencode":
		return fork.OpenCode(ctx, point, place, program)
	default:
		return nil, &fork.UnknownError{Why: "Tidemark does not copy conversations of " + name}
	}
}

// maxQuoted bounds the quoted conversation in bytes.
const maxQuoted = 24 << 10

// quote returns what was recorded of the conversation before a moment, "" if nothing was.
func (b *Branches) quote(at *operations.Beginning) string {
	if at.Anchor == nil {
		return ""
	}
	var lines []string
	for _, o := range b.Conversations.Outlines(at.Of.Workspace, 0, at.At.UnixMilli()) {
		if o.Agent != at.Anchor.Agent || o.Session != at.Anchor.Session {
			continue
		}
		for _, t := range o.Turns {
			if t.At.After(at.At) || at.Asking && t.ID != "" && t.ID == at.Anchor.Turn {
				continue
			}
			if t.Prompt != "" {
				lines = append(lines, "user: "+t.Prompt)
			}
			for _, c := range t.Calls {
				if c.Ended != nil && !c.Ended.After(at.At) {
					lines = append(lines, "call: "+strings.TrimSpace(c.Title()+" "+c.Outcome))
				}
			}
			if t.Said != "" && t.Ended != nil && !t.Ended.After(at.At) {
				lines = append(lines, "agent: "+t.Said)
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text := strings.Join(lines, "\n")
	if cut := len(text) - maxQuoted; cut > 0 {
		text = "… " + strings.ToValidUTF8(text[cut:], "")
	}
	return "<earlier-conversation>\n" + strings.ReplaceAll(text, "</earlier-conversation>", "") + "\n</earlier-conversation>\n\n"
}

// logOf returns the file of an agent's output.
func logOf(workspace string) string { return workspace + ".agent.log" }

// launch starts the agent of a branch, unless a request did that this one repeats. First says that this one made the branch. What
// prevents the start is in the answer: the branch is there all the same.
func (b *Branches) launch(ctx context.Context, client *checkpoint.Client, a *answers.Branched, p Params, first bool) {
	turn := b.turn(a.ID)
	turn.Lock() // a request can be repeated before it is answered
	defer turn.Unlock()
	s, err := operations.Session(b.Timeline.Operations, a.ID)
	if err == nil && !first {
		if s.Agent.PID == 0 && s.Agent.Starting {
			s, err = b.meet(s, p.Env)
		}
		a.Agent = b.Timeline.Operations.About(s).Agent
		if err == nil && s.Agent.PID == 0 && s.Agent.Starting {
			a.Agent.Problem = notKnown(a.Name)
			return
		}
		if err == nil && !client.User {
			err = b.Timeline.Operations.Require(a.Workspace, grants.AgentsLaunch)
		}
		if before, cut := strings.CutSuffix(s.Agent.Text, s.Message); cut && s.Message != p.Message {
			b.unmasked.Store(s.Agent.Dir, before+p.Message)
		}
	}
	switch {
	case err != nil:
	case s.Agent.PID != 0:
		return
	case len(b.Settings.TerminalCommand) > 0:
		err = b.tab(ctx, a, p.Env)
	default:
		err = b.start(a, p)
	}
	if err != nil {
		a.Agent.Problem = "the agent was not started: " + err.Error() + ". Start it with `tidemark branch open " + a.Name + "`."
		b.Log.Warn("cannot start the agent of a branch", "branch", a.ID, "error", errors.Join(err, b.starting(a.ID, false)))
	}
}

// starting keeps that the start of an agent begins, or that it failed. Where the daemon ends in between, nobody knows whether the agent
// was started.
func (b *Branches) starting(branch string, begins bool) error {
	return b.Timeline.Operations.UpdateAgent(branch, func(g *records.Agent) error {
		g.Starting = begins
		return nil
	})
}

// notKnown says that the agent of a branch may have been started, and what to do.
func notKnown(branch string) string {
	return "it is not known whether the agent was started, because the daemon ended before that. `tidemark branch list` shows what runs in the branch. If nothing does, start the agent with `tidemark branch open " + branch + "`."
}

// turn returns what the request has that starts the agent of a branch.
func (b *Branches) turn(branch string) *sync.Mutex {
	turn, _ := b.launching.LoadOrStore(branch, &sync.Mutex{})
	return turn.(*sync.Mutex)
}

// met returns a branch with the agent that an earlier daemon was starting, if that is found. Unknown says that it is not known whether
// the agent was started. Base is the environment of the request, nil for the daemon's.
func (b *Branches) met(s *records.Session, base []string) (_ *records.Session, unknown bool) {
	lost := func() bool { return s.Agent != nil && s.Agent.PID == 0 && s.Agent.Starting }
	if !lost() {
		return s, false
	}
	turn := b.turn(s.ID)
	if !turn.TryLock() { // it is being started
		return s, false
	}
	defer turn.Unlock()
	now, err := operations.Session(b.Timeline.Operations, s.ID)
	if err == nil {
		s, err = now, nil
		if lost() {
			s, err = b.meet(s, base)
		}
	}
	if err != nil {
		b.Log.Warn("cannot find the agent of a branch", "branch", s.ID, "error", err)
	}
	return s, lost()
}

// meet finds the agent of a branch that an earlier daemon was starting when it ended, and keeps its process. The session is as before
// where none is found. Base is the environment of the request, nil for the daemon's.
func (b *Branches) meet(s *records.Session, base []string) (*records.Session, error) {
	var pid int
	var terminal, log string
	switch {
	case len(b.Settings.TerminalCommand) > 0: // what runs there names itself ([Branches.enter])
	case b.Settings.Terminal == "tmux":
		if base == nil {
			base = os.Environ()
		}
		terminal, pid = windowOf(s.Agent.Dir, base)
	default:
		running, _ := subprocess.Within(s.Workspace)
		log = logOf(s.Workspace)
		if i := slices.IndexFunc(running, func(r subprocess.Process) bool { return r.Alone && r.Output == log }); i >= 0 {
			pid = running[i].PID
		}
	}
	if pid == 0 {
		return s, nil
	}
	err := b.Timeline.Operations.UpdateAgent(s.ID, func(g *records.Agent) error {
		g.PID, g.Terminal, g.Log, g.Starting = pid, terminal, log, false
		return nil
	})
	if err != nil {
		return s, err
	}
	return operations.Session(b.Timeline.Operations, s.ID)
}

// start starts the agent of a branch in a window of tmux, or without a terminal.
func (b *Branches) start(a *answers.Branched, p Params) error {
	var cmd *exec.Cmd
	err := b.Timeline.Operations.UpdateAgent(a.ID, func(g *records.Agent) (err error) {
		cmd, err = b.spawn(a.ID, a.Name, g, filepath.Clean(a.Workspace), p.Env)
		a.Agent.PID, a.Agent.Terminal, a.Agent.Log = g.PID, g.Terminal, g.Log
		if g.PID != 0 {
			b.unmasked.Delete(g.Dir)
		}
		return err
	})
	if cmd != nil {
		go b.await(a.ID, cmd) // it may outlive the daemon
	}
	return err
}

// environment returns the environment of an agent.
func environment(base []string, name, workspace string, g *records.Agent) []string {
	if base == nil {
		base = os.Environ()
	}
	var env []string
	for _, v := range base {
		switch key, _, _ := strings.Cut(v, "="); key {
		case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "PWD", ownpath.Env: // of the agent or the shell that asks for the branch
		default:
			env = append(env, v)
		}
	}
	return slices.Concat(env, []string{"PWD=" + g.Dir}, own(name, workspace, g, env))
}

// own returns the variables that only an agent of a branch has.
func own(name, workspace string, g *records.Agent, env []string) []string {
	list := []string{"TIDEMARK_BRANCH=" + name, "TIDEMARK_PORT_OFFSET=" + strconv.Itoa(g.Ports), ceiling(env, workspace, g.At)}
	known := agentOf(g.Name)
	if known.home != "" && g.Home != "" && g.Home != filepath.Join(value(env, "HOME"), known.usual) { // naming the usual one would change where it is signed in
		list = append(list, known.home+"="+g.Home)
	}
	return list
}

// ceiling returns the variable by which Git does not look for a repository above directories of a branch. One that the project is a
// part of, or that the user's home is, would get what is done in the branch.
func ceiling(env []string, dirs ...string) string {
	list := filepath.SplitList(value(env, "GIT_CEILING_DIRECTORIES"))
	for _, dir := range dirs {
		if dir != "" {
			list = append(list, filepath.Dir(dir))
		}
	}
	return "GIT_CEILING_DIRECTORIES=" + strings.Join(list, string(filepath.ListSeparator))
}

// value returns the value of a variable, "" where it is not set.
func value(env []string, key string) (value string) {
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, key+"="); ok {
			value = rest
		}
	}
	return value
}
