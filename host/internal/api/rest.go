package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// The live API serves the viewer's requests over HTTP. Its OpenAPI description is generated from the code below. Errors
// are problem details (RFC 9457). It does not authenticate requests: the caller must check the token first.

// RESTOptions configure the live API.
type RESTOptions struct {
	Engine *engine.Engine
	// Version is the version of the program.
	Version string
	// SignIn exchanges a code from `tidemark open` for a session token, which expires at until.
	SignIn func(code string) (token string, until time.Time, ok bool)
	// StallTimeout is how long an event stream may be blocked before it is closed; 0 is [defaultStall].
	StallTimeout time.Duration
}

// REST returns the handler of everything below /api/.
func REST(o RESTOptions) http.Handler {
	mux := http.NewServeMux()
	describe(mux, o)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+"; /api/openapi.json lists the endpoints")
	})
	return mux
}

// OpenAPI returns the description of the API as indented JSON.
func OpenAPI(version string) ([]byte, error) {
	return json.MarshalIndent(describe(http.NewServeMux(), RESTOptions{Version: version}).OpenAPI(), "", "  ")
}

// Refuse answers with problem details.
func Refuse(w http.ResponseWriter, status int, detail string) {
	data, err := json.Marshal(&huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
	if err != nil {
		data = []byte("{}") // plain strings always marshal
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may have disconnected
}

// rest is one API under construction.
type rest struct {
	RESTOptions
	huma.API
}

func describe(mux *http.ServeMux, o RESTOptions) huma.API {
	huma.DefaultArrayNullable = false // lists are never null
	config := huma.DefaultConfig("Tidemark", o.Version)
	config.CreateHooks = nil // no links to schemas in answers
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/api/openapi", "", ""
	config.RejectUnknownQueryParameters = true
	config.AllowAdditionalPropertiesByDefault = true // fields may be added without a new version
	config.Info.Description = "Browser activity during an agent's work, between any two moments. A moment is a checkpoint's name, an ISO 8601 time, " +
		"start (the oldest entry in memory) or now. A tab is its number in /api/overview. Served only on the loopback interface."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "The token from the file token in Tidemark's home, or from a dashboard's sign-in"},
	}
	config.Security = []map[string][]string{{"token": {}}}
	r := &rest{RESTOptions: o, API: humago.New(mux, config)}
	r.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[diff.Time](), reflect.TypeFor[time.Time]())
	r.reads()
	r.changes()
	r.events()
	r.session()
	return r
}

// operation describes an endpoint. statuses are its own error statuses, in addition to those of every endpoint.
func operation(method, path, id, tag, summary string, statuses ...int) huma.Operation {
	o := huma.Operation{
		OperationID: id, Method: method, Path: "/api" + path, Summary: summary, Tags: []string{tag},
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError},
	}
	if method != http.MethodGet && method != http.MethodDelete { // it takes JSON and nothing else
		o.Errors = append(o.Errors, http.StatusUnsupportedMediaType)
	}
	o.Errors = append(o.Errors, statuses...)
	return o
}

// body is an answer with a JSON body.
type body[A any] struct{ Body A }

// serve registers an endpoint that returns the answer of call.
func serve[I, A any](r *rest, o huma.Operation, call func(context.Context, *I) (A, error)) {
	huma.Register(r.API, o, func(ctx context.Context, in *I) (*body[A], error) {
		a, err := call(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &body[A]{a}, nil
	})
}

// problemOf converts an error to problem details.
func problemOf(err error) error {
	e := usererr.EntryOf(usererr.CodeOf(err))
	return &huma.ErrorModel{Type: "urn:tidemark:error:" + string(e.Code), Title: http.StatusText(e.Status), Status: e.Status, Detail: err.Error()}
}

// InTab selects a tab.
type InTab struct {
	Tab int `query:"tab" minimum:"0" doc:"Only this tab and the checkpoints of its scope; 0: all tabs"`
}

// Moments select the time between two moments.
type Moments struct {
	InTab
	From     string `query:"from" doc:"A moment; empty: the newest checkpoint before 'to', else start"`
	To       string `query:"to" doc:"A moment; empty: now"`
	Severity string `query:"severity" enum:"all,warnings,errors_only" default:"all" doc:"The lowest severity to show"`
}

func (m *Moments) params() protocol.ViewReportParams {
	return protocol.ViewReportParams{Tab: m.Tab, From: m.From, To: m.To, Severity: m.Severity}
}

// ReportAnswer is a report with references to its entries.
type ReportAnswer struct {
	Report *diff.Report `json:"report" doc:"The report that an agent gets for the same request"`
	// The other fields are those of [protocol.ViewReport].
	From     string                        `json:"from" doc:"The moments as resolved"`
	To       string                        `json:"to"`
	Errors   int                           `json:"errors,omitempty"`
	Warnings int                           `json:"warnings,omitempty"`
	Refs     map[string][]protocol.ViewRef `json:"refs" doc:"The entries behind each list of the report, by list name"`
}

func (r *rest) report(ctx context.Context, m *Moments) (*ReportAnswer, error) {
	a, err := r.Engine.Viewer.Report(ctx, m.params())
	if err != nil {
		return nil, err
	}
	made, _ := a.Report.(*diff.Report)
	return &ReportAnswer{Report: made, From: a.From, To: a.To, Errors: a.Errors, Warnings: a.Warnings, Refs: a.Refs}, nil
}

// timelineQuery requests the timeline after positions.
type timelineQuery struct {
	InTab
	AfterPositions
	Limit  int    `query:"limit" minimum:"1" maximum:"50000" default:"20000" doc:"Maximum number of entries"`
	WaitMs int    `query:"wait_ms" minimum:"0" maximum:"25000" doc:"How long to wait for new entries, in milliseconds"`
	Marks  string `query:"marks" doc:"marks of the last answer; a change of marks ends the wait too"`
}

// AfterPositions are the positions to continue from, one for each lane.
type AfterPositions struct {
	Console   uint64 `query:"console" doc:"The position to continue the lane from: next of the last answer"`
	Network   uint64 `query:"network"`
	WebSocket uint64 `query:"websocket"`
	DOM       uint64 `query:"dom"`
	Actions   uint64 `query:"actions"`
	Calls     uint64 `query:"calls"`
}

func (q *AfterPositions) positions() protocol.ViewPositions {
	return protocol.ViewPositions{
		protocol.LaneConsole: q.Console, protocol.LaneNetwork: q.Network, protocol.LaneWebSocket: q.WebSocket,
		protocol.LaneDOM: q.DOM, protocol.LaneActions: q.Actions, protocol.LaneCalls: q.Calls,
	}
}

// entriesQuery requests entries.
type entriesQuery struct {
	Moments
	Lane      string   `query:"lane" enum:"console,network,websocket,dom,actions" doc:"The lane of positions"`
	Positions []uint64 `query:"positions" maxItems:"5000" doc:"Only these entries of the lane"`
	Lanes     []string `query:"lanes" doc:"The lanes to search; empty: all"`
	Text      string   `query:"text" doc:"Text that the entries contain, case-insensitive"`
	Limit     int      `query:"limit" minimum:"1" maximum:"5000" default:"500" doc:"Maximum number of entries; the newest are returned"`
	Brief     bool     `query:"brief" doc:"Leave out headers, bodies and stacks"`
}

// callsQuery requests agents' calls.
type callsQuery struct {
	Agent     int      `query:"agent" minimum:"0"`
	Positions []uint64 `query:"positions" maxItems:"5000" doc:"Only these calls, with arguments and answer"`
	From      string   `query:"from"`
	To        string   `query:"to"`
	Limit     int      `query:"limit" minimum:"1" maximum:"5000" default:"500"`
}

// reads registers the endpoints that change nothing.
func (r *rest) reads() {
	serve(r, operation("GET", "/overview", "overview", "state", "Connected browsers and agents, watched tabs and their state"),
		func(ctx context.Context, in *InTab) (*protocol.ViewOverview, error) {
			a, err := r.Engine.Viewer.Overview(ctx, protocol.ViewParams{Tab: in.Tab})
			if err == nil {
				a.Host = r.Version
			}
			return a, err
		})
	serve(r, operation("GET", "/timeline", "timeline", "timeline", "The timeline after positions; waits for new entries"),
		func(ctx context.Context, in *timelineQuery) (*protocol.ViewTimeline, error) {
			return r.Engine.Viewer.Timeline(ctx, protocol.ViewTimelineParams{Tab: in.Tab, After: in.positions(), Limit: in.Limit, WaitMs: in.WaitMs, Marks: in.Marks})
		})
	serve(r, operation("GET", "/checkpoints", "checkpoints", "checkpoints", "Checkpoints, each with the severity since the one before"),
		func(ctx context.Context, in *InTab) (*protocol.ViewCheckpoints, error) {
			return r.Engine.Viewer.Checkpoints(ctx, protocol.ViewParams{Tab: in.Tab})
		})
	serve(r, operation("GET", "/report", "report", "reports", "Report the changes between two moments", http.StatusNotFound), r.report)
	markdown := operation("GET", "/report.md", "report-markdown", "reports", "Report the changes between two moments as Markdown", http.StatusNotFound)
	markdown.Responses = map[string]*huma.Response{"200": {Description: "The report", Content: map[string]*huma.MediaType{"text/markdown": {Schema: &huma.Schema{Type: "string"}}}}}
	huma.Register(r.API, markdown, func(ctx context.Context, in *Moments) (*markdownAnswer, error) {
		report, err := r.report(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		var b strings.Builder
		if err := render.Markdown(&b, report.Report); err != nil {
			return nil, err
		}
		return &markdownAnswer{"text/markdown; charset=utf-8", []byte(b.String())}, nil
	})
	serve(r, operation("GET", "/hidden", "hidden", "reports", "List entries that noise rules hide from a report, and why", http.StatusNotFound),
		func(ctx context.Context, in *Moments) (*protocol.ViewHidden, error) {
			return r.Engine.Viewer.Hidden(ctx, in.params())
		})
	serve(r, operation("GET", "/entries", "entries", "timeline", "Entries in detail, by position or by filter", http.StatusNotFound),
		func(ctx context.Context, in *entriesQuery) (*protocol.ViewEntries, error) {
			return r.Engine.Viewer.Entries(ctx, protocol.ViewEntriesParams{
				Tab: in.Tab, Lane: in.Lane, Positions: in.Positions, Lanes: in.Lanes, From: in.From, To: in.To, Severity: in.Severity, Text: in.Text, Limit: in.Limit, Brief: in.Brief,
			})
		})
	serve(r, operation("GET", "/calls", "calls", "agents", "Agents' calls with their arguments and answers", http.StatusNotFound),
		func(ctx context.Context, in *callsQuery) (*protocol.ViewCalls, error) {
			return r.Engine.Viewer.Calls(ctx, protocol.ViewCallsParams{Agent: in.Agent, Positions: in.Positions, From: in.From, To: in.To, Limit: in.Limit})
		})
	serve(r, operation("GET", "/variables", "variables", "variables", "Variable snapshots of agents, and the values that tracepoints recorded"),
		func(ctx context.Context, in *InTab) (*protocol.ViewVariables, error) {
			return r.Engine.Viewer.Variables(ctx, protocol.ViewParams{Tab: in.Tab})
		})
	serve(r, operation("GET", "/variables/tree", "variable-tree", "variables", "A variable snapshot, or the difference of two, as a tree"),
		func(ctx context.Context, in *struct {
			From string `query:"from" doc:"The id of an earlier snapshot; empty: no comparison"`
			To   string `query:"to" required:"true" doc:"The id of a snapshot"`
		},
		) (*protocol.ViewVariableTree, error) {
			return r.Engine.Viewer.VariableTree(ctx, protocol.ViewVariableTreeParams{From: in.From, To: in.To})
		})
}

type markdownAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// changes registers the endpoints that change something.
func (r *rest) changes() {
	create := operation("POST", "/checkpoints", "create-checkpoint", "checkpoints", "Create a checkpoint", http.StatusConflict)
	create.DefaultStatus = http.StatusCreated
	serve(r, create, func(ctx context.Context, in *struct {
		Body struct {
			_    struct{} `additionalProperties:"false"`
			Name string   `json:"name" maxLength:"50"`
			Note string   `json:"note,omitempty" maxLength:"200"`
			Tab  int      `json:"tab,omitempty"`
		}
	},
	) (*protocol.CheckpointResult, error) {
		return r.Engine.Viewer.CheckpointCreate(ctx, protocol.CheckpointParams{Name: in.Body.Name, Note: in.Body.Note, Tab: in.Body.Tab})
	})
	serve(r, operation("PATCH", "/checkpoints/{name}", "rename-checkpoint", "checkpoints", "Rename a checkpoint", http.StatusNotFound), func(ctx context.Context, in *struct {
		Name string `path:"name"`
		Body struct {
			_   struct{} `additionalProperties:"false"`
			To  string   `json:"to" maxLength:"50"`
			Tab int      `json:"tab,omitempty"`
		}
	},
	) (tool.Nothing, error) {
		return r.Engine.Viewer.CheckpointRename(ctx, protocol.ViewRenameParams{Name: in.Name, To: in.Body.To, Tab: in.Body.Tab})
	})
	serve(r, operation("DELETE", "/checkpoints/{name}", "delete-checkpoint", "checkpoints", "Delete a checkpoint", http.StatusNotFound), func(ctx context.Context, in *struct {
		InTab
		Name string `path:"name"`
	},
	) (tool.Nothing, error) {
		return r.Engine.Viewer.CheckpointDelete(ctx, protocol.ViewDeleteParams{Name: in.Name, Tab: in.Tab})
	})
	serve(r, operation("PUT", "/agents/{agent}/hold", "hold-agent", "agents", "Suspend an agent's access, or allow it again"), func(ctx context.Context, in *struct {
		Agent int `path:"agent"`
		Body  struct {
			_    struct{} `additionalProperties:"false"`
			Held bool     `json:"held"`
		}
	},
	) (tool.Nothing, error) {
		return r.Engine.Viewer.Agents.SetSuspended(ctx, protocol.ViewHoldParams{Agent: in.Agent, Held: in.Body.Held})
	})
	serve(r, operation("PUT", "/agents/{agent}/stop", "stop-agent", "agents", "Stop an agent's actions at once, or allow them again"), func(ctx context.Context, in *struct {
		Agent int `path:"agent"`
		Body  struct {
			_       struct{} `additionalProperties:"false"`
			Stopped bool     `json:"stopped"`
		}
	},
	) (tool.Nothing, error) {
		return r.Engine.Viewer.Agents.SetStopped(ctx, protocol.StopAgentParams{ID: in.Agent, Stopped: in.Body.Stopped})
	})
	ignore := operation("POST", "/noise", "ignore", "noise", "Hide a finding from future reports")
	ignore.DefaultStatus = http.StatusCreated
	serve(r, ignore, func(ctx context.Context, in *body[protocol.IgnoreParams]) (*protocol.IgnoreResult, error) {
		return r.Engine.Viewer.Ignore(ctx, in.Body)
	})
	serve(r, operation("DELETE", "/noise/{rule}", "unignore", "noise", "Remove a rule"), func(ctx context.Context, in *struct {
		Rule string `path:"rule"`
	},
	) (tool.Nothing, error) {
		return r.Engine.Viewer.Unignore(ctx, protocol.UnignoreParams{ID: in.Rule})
	})
	serve(r, operation("POST", "/page", "page", "state", "Read a tab's accessibility tree, and the previous one"),
		func(ctx context.Context, in *body[protocol.ViewPageParams]) (*protocol.ViewPage, error) {
			return r.Engine.Viewer.Page(ctx, in.Body)
		})
	serve(r, operation("POST", "/tabs/{tab}/resume", "resume", "state", "Resume everything that is paused in a tab"), func(ctx context.Context, in *struct {
		Tab int `path:"tab"`
	},
	) (tool.Nothing, error) {
		return r.Engine.Viewer.Resume(ctx, protocol.ViewResumeParams{Tab: in.Tab})
	})
}

// Session authorizes the requests of a dashboard.
type Session struct {
	Token string    `json:"token" doc:"For Authorization: Bearer"`
	Until time.Time `json:"until"`
}

// session registers the endpoint that exchanges codes for sessions.
func (r *rest) session() {
	o := operation("POST", "/session", "sign-in", "session", "Exchange a code from tidemark open for a session; a code works once, within two minutes")
	o.DefaultStatus, o.Security = http.StatusCreated, []map[string][]string{}
	huma.Register(r.API, o, func(_ context.Context, in *struct {
		Body struct {
			_    struct{} `additionalProperties:"false"`
			Code string   `json:"code" maxLength:"100"`
		}
	},
	) (*body[Session], error) {
		token, until, ok := r.SignIn(in.Body.Code)
		if !ok {
			return nil, huma.Error403Forbidden("this address was already used or has expired; run `tidemark open` for a new one")
		}
		return &body[Session]{Session{token, until.UTC()}}, nil
	})
}
