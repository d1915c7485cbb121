package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/protocol"
)

// The live API serves the viewer's requests over HTTP. Its operations and their OpenAPI description follow from the table
// of the viewer's methods. Errors are problem details (RFC 9457). It does not authenticate requests: the caller must
// check the token first.

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
	data, err := json.Marshal(&huma.ErrorModel{Type: typeOf(status), Title: http.StatusText(status), Status: status, Detail: detail})
	if err != nil {
		data = []byte("{}") // plain strings always marshal
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may have disconnected
}

// problemType begins the type of problem details. The code of the error follows.
const problemType = "urn:tidemark:error:"

// typeOf returns the type of an error that has only an HTTP status.
func typeOf(status int) string {
	code := usererr.InvalidArgument
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		code = usererr.Unauthorized
	case status == http.StatusNotFound:
		code = usererr.NotFound
	case status >= http.StatusInternalServerError:
		code = usererr.Internal
	}
	return problemType + string(code)
}

func init() { // errors that the library finds itself have a type too
	plain := huma.NewError
	huma.NewError = func(status int, message string, details ...error) huma.StatusError {
		err := plain(status, message, details...)
		if model, ok := err.(*huma.ErrorModel); ok {
			model.Type = typeOf(status)
		}
		return err
	}
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
	r.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithContext(ctx, tool.WithCall(ctx.Context(), ctx.Header("Idempotency-Key"))))
	})
	r.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[report.Time](), reflect.TypeFor[time.Time]())
	r.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[protocol.ViewReport](), reflect.TypeFor[ReportAnswer]())
	r.methods()
	r.markdown()
	r.events()
	r.sessionEvents()
	r.recordings()
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

// answer is one with a status.
type answer[A any] struct {
	Status int
	Body   A
}

// creation is an answer that may be a plan instead of what was to be created.
type creation interface{ Created() bool }

// serveMethod registers the endpoint of one of the viewer's methods, whose answer is an A.
func serveMethod[A, I, P any](r *rest, name string, params func(*I) P) {
	m := viewer.Find(name)
	verb, path, _ := strings.Cut(m.Route, " ")
	o := operation(verb, path, m.Operation, m.Tag, m.Summary, m.Statuses...)
	o.DefaultStatus = http.StatusOK
	if m.Created {
		o.DefaultStatus = http.StatusCreated
	}
	huma.Register(r.API, o, func(ctx context.Context, in *I) (*answer[A], error) {
		a, err := m.Do(ctx, r.Engine.Viewer, params(in))
		if err != nil {
			return nil, problemOf(err)
		}
		status := o.DefaultStatus
		if c, ok := a.(creation); ok && !c.Created() {
			status = http.StatusOK
		}
		return &answer[A]{status, a.(A)}, nil
	})
	if _, ok := any(*new(A)).(creation); ok {
		responses := r.API.OpenAPI().Paths[o.Path].Post.Responses // what creates is a POST
		plan := *responses[strconv.Itoa(http.StatusCreated)]
		plan.Description = "A plan, and nothing was created"
		responses[strconv.Itoa(http.StatusOK)] = &plan
	}
}

// problemOf converts an error to problem details.
func problemOf(err error) error {
	e := usererr.EntryOf(usererr.CodeOf(err))
	return &huma.ErrorModel{Type: problemType + string(e.Code), Title: http.StatusText(e.Status), Status: e.Status, Detail: err.Error()}
}

// ReportAnswer describes [protocol.ViewReport].
type ReportAnswer struct {
	Report   *report.Report                `json:"report" doc:"The report that an agent gets for the same request"`
	From     string                        `json:"from" doc:"The moments as resolved"`
	To       string                        `json:"to"`
	Errors   int                           `json:"errors,omitempty"`
	Warnings int                           `json:"warnings,omitempty"`
	Refs     map[string][]protocol.ViewRef `json:"refs" doc:"The entries behind each list of the report, by list name"`
}

type markdownAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// markdown registers the endpoint of a report as Markdown.
func (r *rest) markdown() {
	o := operation("GET", "/report.md", "report-markdown", "reports", "Report the changes between two moments as Markdown", http.StatusNotFound)
	o.Responses = map[string]*huma.Response{"200": {Description: "The report", Content: map[string]*huma.MediaType{"text/markdown": {Schema: &huma.Schema{Type: "string"}}}}}
	huma.Register(r.API, o, func(ctx context.Context, in *viewReportInput) (*markdownAnswer, error) {
		answer, err := r.Engine.Viewer.Report(ctx, in.params())
		if err != nil {
			return nil, problemOf(err)
		}
		changed, _ := answer.Report.(*report.Report)
		var b strings.Builder
		if err := render.Markdown(&b, changed); err != nil {
			return nil, err
		}
		return &markdownAnswer{"text/markdown; charset=utf-8", []byte(b.String())}, nil
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
