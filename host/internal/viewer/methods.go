package viewer

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/protocol"
)

// Method is a request of the viewer or of the popup. Both reach it over the native port. The viewer's methods are also
// requests of the live API.
//
// The parameters' type describes the request. Its fields may have the tags of package huma, such as doc and maximum. A
// field with the tag path stands in the route.
type Method struct {
	Name string
	// Summary says what it returns or does, in one line.
	Summary string
	// Route is its request of the live API, such as "GET /report". The popup's methods have none. Operation, Tag and
	// Statuses describe it there: its id, its group, and its own error statuses. Created is true if it answers 201.
	Route     string
	Operation string
	Tag       string
	Statuses  []int
	Created   bool

	params, answer reflect.Type
	call           func(ctx context.Context, v *Viewer, instance string, params any) (any, error)
}

// Params returns the type of the parameters, a struct. Answer returns that of the answer.
func (m *Method) Params() reflect.Type { return m.params }

// Answer returns the type of the answer, a struct or a pointer to one.
func (m *Method) Answer() reflect.Type { return m.answer }

// Call runs the method with JSON parameters, for a browser. The instance is "" for requests from elsewhere.
func (m *Method) Call(ctx context.Context, v *Viewer, instance string, params []byte) (any, error) {
	p := reflect.New(m.params)
	if len(params) > 0 {
		if err := json.Unmarshal(params, p.Interface()); err != nil {
			return nil, event.Errorf(protocol.CodeMalformed, "cannot read the parameters of %s: %v", m.Name, err)
		}
	}
	return m.call(ctx, v, instance, p.Elem().Interface())
}

// Do runs the method with parameters of its type, for no browser.
func (m *Method) Do(ctx context.Context, v *Viewer, params any) (any, error) {
	return m.call(ctx, v, "", params)
}

// method returns a method that answers all alike.
func method[P, A any](m Method, call func(*Viewer, context.Context, P) (A, error)) *Method {
	return inBrowser(m, func(v *Viewer, ctx context.Context, _ string, p P) (A, error) { return call(v, ctx, p) })
}

// inBrowser returns a method whose answer depends on the browser that asks.
func inBrowser[P, A any](m Method, call func(v *Viewer, ctx context.Context, instance string, p P) (A, error)) *Method {
	m.params, m.answer = reflect.TypeFor[P](), reflect.TypeFor[A]()
	m.call = func(ctx context.Context, v *Viewer, instance string, params any) (any, error) {
		a, err := call(v, ctx, instance, params.(P))
		if err != nil {
			return nil, err // not a nil pointer inside an interface
		}
		return a, nil
	}
	return &m
}

// Methods are all methods. After a change of them or of their types, run `make generate`: it writes the pages' client
// and the operations of the live API.
var Methods = slices.Concat(pageMethods, sessionMethods, popupMethods)

var pageMethods = []*Method{
	inBrowser(Method{
		Name: "view_overview", Route: "GET /overview", Operation: "overview", Tag: "state",
		Summary: "Connected browsers and agents, watched tabs and their state",
	}, (*Viewer).Overview),
	method(Method{
		Name: "view_timeline", Route: "GET /timeline", Operation: "timeline", Tag: "timeline",
		Summary: "The timeline after positions; waits for new entries",
	}, (*Viewer).Timeline),
	method(Method{
		Name: "view_checkpoints", Route: "GET /checkpoints", Operation: "checkpoints", Tag: "checkpoints",
		Summary: "Checkpoints, each with the severity since the one before",
	}, (*Viewer).Checkpoints),
	method(Method{
		Name: "view_report", Route: "GET /report", Operation: "report", Tag: "reports", Statuses: notFound,
		Summary: "Report the changes between two moments",
	}, (*Viewer).Report),
	method(Method{
		Name: "view_entries", Route: "GET /entries", Operation: "entries", Tag: "timeline", Statuses: notFound,
		Summary: "Entries in detail, by position or by filter",
	}, (*Viewer).Entries),
	method(Method{
		Name: "view_hidden", Route: "GET /hidden", Operation: "hidden", Tag: "reports", Statuses: notFound,
		Summary: "List entries that noise rules hide from a report, and why",
	}, (*Viewer).Hidden),
	method(Method{
		Name: "view_calls", Route: "GET /calls", Operation: "calls", Tag: "agents", Statuses: notFound,
		Summary: "Agents' calls with their arguments and answers",
	}, (*Viewer).Calls),
	method(Method{
		Name: "view_hold", Route: "PUT /agents/{agent}/hold", Operation: "hold-agent", Tag: "agents",
		Summary: "Suspend an agent's access, or allow it again",
	}, (*Viewer).SetSuspended),
	method(Method{
		Name: "view_stop", Route: "PUT /agents/{agent}/stop", Operation: "stop-agent", Tag: "agents",
		Summary: "Stop an agent's actions at once, or allow them again",
	}, (*Viewer).SetStopped),
	method(Method{
		Name: "view_checkpoint_create", Route: "POST /checkpoints", Operation: "create-checkpoint", Tag: "checkpoints",
		Statuses: []int{http.StatusConflict}, Created: true,
		Summary: "Create a checkpoint",
	}, (*Viewer).CheckpointCreate),
	method(Method{
		Name: "view_checkpoint_rename", Route: "PATCH /checkpoints/{name}", Operation: "rename-checkpoint", Tag: "checkpoints", Statuses: notFound,
		Summary: "Rename a checkpoint",
	}, (*Viewer).CheckpointRename),
	method(Method{
		Name: "view_checkpoint_delete", Route: "DELETE /checkpoints/{name}", Operation: "delete-checkpoint", Tag: "checkpoints", Statuses: notFound,
		Summary: "Delete a checkpoint",
	}, (*Viewer).CheckpointDelete),
	method(Method{
		Name: "view_ignore", Route: "POST /noise", Operation: "ignore", Tag: "noise", Created: true,
		Summary: "Hide a finding from future reports",
	}, (*Viewer).Ignore),
	method(Method{
		Name: "view_unignore", Route: "DELETE /noise/{rule}", Operation: "unignore", Tag: "noise",
		Summary: "Remove a rule",
	}, (*Viewer).Unignore),
	method(Method{
		Name: "view_page", Route: "POST /page", Operation: "page", Tag: "state",
		Summary: "Read a tab's accessibility tree, and the previous one",
	}, (*Viewer).Page),
	method(Method{
		Name: "view_variables", Route: "GET /variables", Operation: "variables", Tag: "variables",
		Summary: "Variable snapshots of agents, and the values that tracepoints recorded",
	}, (*Viewer).Variables),
	method(Method{
		Name: "view_variable_tree", Route: "GET /variables/tree", Operation: "variable-tree", Tag: "variables",
		Summary: "A variable snapshot, or the difference of two, as a tree",
	}, (*Viewer).VariableTree),
	method(Method{
		Name: "view_resume", Route: "POST /tabs/{tab}/resume", Operation: "resume", Tag: "state",
		Summary: "Resume everything that is paused in a tab",
	}, (*Viewer).Resume),
	method(Method{
		Name: "view_moment", Route: "POST /moments", Operation: "add-moments", Tag: "sessions", Statuses: notFound, Created: true,
		Summary: "Add a moment in all open workspaces",
	}, (*Viewer).PopupMoment),
}

var popupMethods = []*Method{
	inBrowser(Method{Name: "overview", Summary: "The content of the popup"}, (*Viewer).Popup),
	inBrowser(Method{Name: "checkpoint", Summary: "Create a checkpoint"}, (*Viewer).PopupCheckpoint),
	inBrowser(Method{Name: "ignore", Summary: "Hide a finding from future reports"}, (*Viewer).PopupIgnore),
	method(Method{Name: "unignore", Summary: "Remove a rule that ignore added"}, (*Viewer).PopupUnignore),
	method(Method{Name: "moment", Summary: "Add a moment of the timeline in all open workspaces"}, (*Viewer).PopupMoment),
	method(Method{Name: "stop_agent", Summary: "Stop an agent's actions at once, or allow them again"}, (*Viewer).SetStopped),
}

var notFound = []int{http.StatusNotFound}

// Find returns the method with a name, nil when none has it.
func Find(name string) *Method {
	for _, m := range Methods {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Lanes returns the lanes of the timeline, in the order in which they are shown.
func Lanes() []string {
	var names []string
	for _, s := range capture.Sections {
		names = append(names, string(s))
	}
	return append(names, protocol.LaneCalls)
}

// SetSuspended suspends an agent's access, or allows it again.
func (v *Viewer) SetSuspended(ctx context.Context, p protocol.ViewHoldParams) (tool.Nothing, error) {
	return v.Agents.SetSuspended(ctx, p)
}

// SetStopped stops an agent's actions, or allows them again.
func (v *Viewer) SetStopped(ctx context.Context, p protocol.StopAgentParams) (tool.Nothing, error) {
	return v.Agents.SetStopped(ctx, p)
}
