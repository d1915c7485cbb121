package engine_test

import (
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

func TestEveryToolBelongsToASet(t *testing.T) {
	for _, each := range engine.Tools {
		if !slices.Contains(tool.Sets, each.Set) {
			t.Errorf("%s is of the set %q", each.Name, each.Set)
		}
	}
}

func TestSetsAreWhatAClientAsksForElseThoseOfTheSettings(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for _, c := range []struct {
		asked, want []string
		off         string
	}{
		{nil, []string{"observe", "act"}, ""},
		{[]string{"act"}, []string{"act"}, "browser_snapshot is in the tool set observe"},
		{[]string{}, []string{}, "browser_snapshot is in the tool set observe"},
	} {
		client, leave := w.Engine.Clients.JoinAs("", &checkpoint.Client{Name: "agent", Sets: c.asked})
		if got := w.Engine.SetsOf(client); !slices.Equal(got, c.want) {
			t.Errorf("asked for %q: %q", c.asked, got)
		}
		err := w.Engine.SwitchedOff(client, "browser_snapshot")
		if (err == nil) != (c.off == "") || err != nil && !strings.Contains(err.Error(), c.off) {
			t.Errorf("asked for %q: %v", c.asked, err)
		}
		if err := w.Engine.SwitchedOff(client, "no_such_tool"); err != nil {
			t.Error(err)
		}
		leave()
	}
	if got, err := tool.CheckSets([]string{"debug", "observe", "debug"}); err != nil || !slices.Equal(got, []string{"observe", "debug"}) {
		t.Errorf("%q %v", got, err)
	}
}

// TestAReturningClientNamesItsWorkspace: the stored state does not include it.
func TestAReturningClientNamesItsWorkspace(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Engine.Restore(nil, []checkpoint.ClientState{{ID: "session x", Name: "agent", Calls: 3}})
	client, leave := w.Engine.Clients.JoinAs("session x", &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: "/srv/me"}, Sets: []string{"act"}})
	defer leave()
	if client.AutoName() != "auto_3" || client.Scope.Workspace != "/srv/me" || !slices.Equal(w.Engine.SetsOf(client), []string{"act"}) {
		t.Errorf("%s in %q with %q", client.AutoName(), client.Scope.Workspace, client.Sets)
	}
}

// TestASuspensionSurvivesTheDaemon: the user's switch keeps its state.
func TestASuspensionSurvivesTheDaemon(t *testing.T) {
	before := enginetest.New(t, capture.Limits{})
	client, leave := before.Engine.Clients.JoinAs("session x", &checkpoint.Client{Name: "agent"})
	defer leave()
	agents := view[protocol.ViewOverview](t, before, "view_overview", protocol.ViewParams{}).Agents
	view[tool.Nothing](t, before, "view_hold", protocol.ViewHoldParams{Agent: agents[0].ID, Held: true})
	if !before.Engine.Viewer.Agents.IsSuspended(client) {
		t.Fatal("it is not suspended")
	}
	after := enginetest.New(t, capture.Limits{})
	after.Engine.Restore(nil, before.Engine.Readers())
	again, leave := after.Engine.Clients.JoinAs("session x", &checkpoint.Client{Name: "agent"})
	defer leave()
	if !after.Engine.Viewer.Agents.IsSuspended(again) {
		t.Error("the suspension is lost")
	}
}

// TestASuspensionBelongsToTheName: to the user, an agent that reconnects is the same agent. The user sees it
// suspended and resumes it.
func TestASuspensionBelongsToTheName(t *testing.T) {
	before := enginetest.New(t, capture.Limits{})
	agents := func(w *enginetest.World) []protocol.ViewAgent {
		return view[protocol.ViewOverview](t, w, "view_overview", protocol.ViewParams{}).Agents
	}
	hold := func(w *enginetest.World, id int, held bool) {
		view[tool.Nothing](t, w, "view_hold", protocol.ViewHoldParams{Agent: id, Held: held})
	}
	join := func(w *enginetest.World, name string) (*checkpoint.Client, func()) {
		client, leave := w.Engine.Clients.JoinAs("", &checkpoint.Client{Name: "mcp"})
		w.Engine.Clients.Rename(client, name)
		return client, leave
	}
	other, leaveOther := join(before, "claude")
	defer leaveOther()
	held, leave := join(before, "claude")
	hold(before, agents(before)[1].ID, true)
	leave()
	if before.Engine.Viewer.Agents.IsSuspended(other) || !before.Engine.Viewer.Agents.IsSuspended(held) {
		t.Error("only the second agent should be suspended")
	}
	cursor, leaveCursor := join(before, "cursor")
	defer leaveCursor()
	again, leave := join(before, "claude")
	if before.Engine.Viewer.Agents.IsSuspended(cursor) || !before.Engine.Viewer.Agents.IsSuspended(again) {
		t.Error("of the new agents, only the one with the suspended agent's name should be suspended")
	}
	leave()

	after := enginetest.New(t, capture.Limits{})
	after.Engine.Restore(nil, before.Engine.Readers())
	list := agents(after)
	if len(list) != 1 || !list[0].Held || list[0].Name != "claude" || list[0].Here {
		t.Fatalf("the person is to see the hold, once: %+v", list)
	}
	third, leave := join(after, "claude")
	defer leave()
	if !after.Engine.Viewer.Agents.IsSuspended(third) {
		t.Error("the next daemon should suspend it too")
	}
	list = agents(after)
	hold(after, list[len(list)-1].ID, false)
	fourth, leave := join(after, "claude")
	defer leave()
	if after.Engine.Viewer.Agents.IsSuspended(third) || after.Engine.Viewer.Agents.IsSuspended(fourth) {
		t.Error("the person has lifted it")
	}
}

// TestDisconnectedAgentsOfOneNameAreOneEntry: a suspended agent that keeps reconnecting does not fill the list.
func TestDisconnectedAgentsOfOneNameAreOneEntry(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	agents := func() []protocol.ViewAgent {
		return view[protocol.ViewOverview](t, w, "view_overview", protocol.ViewParams{}).Agents
	}
	calls := func(agent int) int {
		return view[protocol.ViewCalls](t, w, "view_calls", protocol.ViewCallsParams{Agent: agent}).Total
	}
	join := func(origins ...string) func() {
		client, leave := w.Engine.Clients.JoinAs("", &checkpoint.Client{Name: "mcp", Scope: checkpoint.Scope{Origins: origins}})
		w.Engine.Clients.Rename(client, "claude")
		w.Engine.Viewer.Agents.Called(client, viewer.Call{At: w.Now, Tool: "checkpoint_list", Answer: "12345678"})
		return leave
	}
	leave := join()
	first := agents()[0].ID
	view[tool.Nothing](t, w, "view_hold", protocol.ViewHoldParams{Agent: first, Held: true})
	leave()
	for range 3 {
		join()()
	}
	second := first + 1
	list := agents()
	if len(list) != 1 || list[0].ID != first || list[0].Calls != 4 || list[0].Tokens != 12 || !list[0].Held || list[0].Here {
		t.Errorf("four disconnected agents are listed as %+v", list)
	}
	if one, other := calls(first), calls(second); one != 4 || other != 4 {
		t.Errorf("the agent has %d calls, one that is listed as it has %d", one, other)
	}
	defer join()()
	join("http://localhost:3000")()
	list = agents()
	if len(list) != 3 || !list[1].Here || list[1].Calls != 1 || list[2].Calls != 1 || len(list[2].Scope) != 1 || calls(list[1].ID) != 1 {
		t.Errorf("connected agents, and those with a smaller scope, are separate: %+v", list)
	}
	view[tool.Nothing](t, w, "view_hold", protocol.ViewHoldParams{Agent: first})
	if list = agents(); list[0].Held || !list[1].Held {
		t.Errorf("allowed again are those that have left: %+v", list)
	}
}
