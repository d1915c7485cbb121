package engine

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tool is a use case as agents and the command line call it.
type Tool = tool.Tool[*Engine]

// Tools are all tools, in the order of the listing.
var Tools = slices.Concat(
	tool.In(tool.Observe, tool.Of(observe.Tools, observer)),
	tool.In(tool.Observe, tool.Of(noiserules.Tools, func(e *Engine) *noiserules.Rules { return e.Rules })),
	tool.In(tool.Observe, tool.Of(observe.RawTools, observer)),
	tool.In(tool.Observe, tool.Of(pages.Tools, func(e *Engine) *pages.Pages { return e.Pages })),
	tool.In(tool.Observe, tool.Of(act.TabTools, actor)),
	tool.In(tool.Act, tool.Of(launch.Tools, func(e *Engine) *launch.Opener { return e.Opener })),
	tool.In(tool.Act, tool.Of(act.Tools, actor)),
	tool.In(tool.Debug, tool.Of(debugger.Tools, func(e *Engine) *debugger.Inspector { return e.Inspector })),
	tool.In(tool.TimeTravel, tool.Of(timeline.Tools, line)),
	tool.In(tool.TimeTravel, tool.Of(operations.Tools, operating)),
	tool.In(tool.TimeTravel, tool.Of(branches.Tools, branching)),
	tool.In(tool.TimeTravel, tool.Of(regression.Tools, func(e *Engine) *regression.Finder { return e.Regressions })),
)

// userTools are tools of the user's own programs. Agents do not have them.
var userTools = slices.Concat(
	tool.Of(timeline.UserTools, line),
	tool.Of(operations.UserTools, operating),
	tool.Of(branches.UserTools, branching),
	tool.Of(conversation.UserTools, func(e *Engine) *conversation.Store { return e.Conversations }),
	tool.Of(sessiontree.UserTools, func(e *Engine) *sessiontree.Finder { return e.Trees }),
)

func observer(e *Engine) *observe.Observer       { return e.Observer }
func actor(e *Engine) *act.Actor                 { return e.Actor }
func branching(e *Engine) *branches.Branches     { return e.Branches }
func line(e *Engine) *timeline.Timeline          { return e.Timeline }
func operating(e *Engine) *operations.Operations { return e.Timeline.Operations }

// FindUserTool returns the tool with a name, of agents or of the user's own programs; nil when none has it.
func FindUserTool(name string) *Tool {
	for _, t := range userTools {
		if t.Name == name {
			return t
		}
	}
	return FindTool(name)
}

// FindTool returns the tool with a name, nil when none has it.
func FindTool(name string) *Tool {
	for _, t := range Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}
