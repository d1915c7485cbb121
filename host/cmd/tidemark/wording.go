package main

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// inCommands replaces the tools and parameters that a text names for agents by the commands and flags of this program.
var inCommands = strings.NewReplacer(
	"browser_open", "`tidemark browser URL`",
	"browser_snapshot", "`tidemark snapshot`",
	"browser_tabs", "`tidemark status`",
	"get_changes_since", "`tidemark changes`",
	"get_browser_logs", "`tidemark logs`",
	"get_network_requests", "`tidemark network`",
	"get_network_bodies", "`tidemark network --bodies`",
	"get_websocket_events", "`tidemark websocket`",
	"get_enhanced_actions", "`tidemark actions`",
	"checkpoint_create", "`tidemark checkpoint add`",
	"checkpoint_list", "`tidemark checkpoint list`",
	"checkpoint_delete", "`tidemark checkpoint rm`",
	"`timeline_list`", "`tidemark timeline list`",
	"omit checkpoint", "omit --since",
	"configure_noise with the action explain", "`tidemark noise explain`",
	"configure_noise", "`tidemark noise`",
	"only one of diff and", "only one of --diff and",
	"full_snapshot", "--full",
	"interactive_only: false", "--all",
	"max_tokens", "--max-tokens",
	"timeout_ms", "--timeout",
)

// ownLine matches the lines of a snapshot that Tidemark adds: they begin with "[" or "#", no line of a page does.
var ownLine = lazyregexp.New(`(?m)^[\[#].*$`)

// snapshotInCommands is [inCommands] for a snapshot, whose lines of the page stay as they are.
func snapshotInCommands(snapshot string) string {
	return ownLine().ReplaceAllStringFunc(snapshot, inCommands.Replace)
}
