// Package api serves the engine over HTTP: on the daemon's control socket for the command line, and as the live API.
//
// It guarantees: a tool returns exactly the same JSON as to an agent; errors are JSON with a message that says
// what to do; a stream ends when its client disconnects.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/observe/broken"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/viewer"
)

// Options configure a handler.
type Options struct {
	Engine *engine.Engine
	// Complete fills in the fields that only the process knows.
	Complete func(*viewer.Status)
	// Rounds sends a message to every connected browser and back. Its result is written as JSON.
	Rounds func(context.Context) any
	// Open returns the address of the dashboard with a sign-in code.
	Open func() (string, error)
	// Stop ends the daemon.
	Stop func()
}

type server struct{ Options }

// Problem is an error answer.
type Problem struct {
	Message string `json:"message"`
	// Code is the kind of error.
	Code usererr.Code `json:"code"`
}

// Opened is the address of the dashboard.
type Opened struct {
	URL string `json:"url"`
}

// New returns the handler.
//
//	GET  /v1/status        viewer.Status
//	POST /v1/tools/{name}  the tool's arguments → its answer
//	POST /v1/watch         observe.ChangesParams → a stream of reports, one JSON object per line
//	POST /v1/export        {name} → checkpoint.File
//	POST /v1/import        {file, as?} → observe.CheckpointCreated
//	POST /v1/compare       {file, observe.ChangesParams …} → a report
//	POST /v1/diff          DiffRequest → a report
//	POST /v1/rounds        a message to every browser and back → link.Round, a list
//	POST /v1/hook          HookRequest → observe.HookAnswer
//	POST /v1/open          {url} of the dashboard, valid for one sign-in
//	POST /v1/stop          ends the daemon
//
// The query parameters client, origin (repeatable) and project name the client, its scope, and the settings file of
// its project. The parameter dir is its directory, which is its workspace where the user allows that. The parameter call is the ID of
// the request, which a program repeats with it.
func New(o Options) http.Handler {
	s := &server{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("POST /v1/tools/{name}", s.tool)
	mux.HandleFunc("POST /v1/watch", s.watch)
	mux.HandleFunc("POST /v1/hook", s.hook)
	mux.HandleFunc("POST /v1/export", s.file(func(ctx context.Context, c *checkpoint.Client, r *FileRequest) (any, error) {
		return s.Engine.Observer.Export(ctx, c, r.Name)
	}))
	mux.HandleFunc("POST /v1/import", s.file(func(ctx context.Context, c *checkpoint.Client, r *FileRequest) (any, error) {
		return s.Engine.Observer.Import(ctx, c, r.parsed, r.As)
	}))
	mux.HandleFunc("POST /v1/compare", s.file(func(ctx context.Context, c *checkpoint.Client, r *FileRequest) (any, error) {
		return s.Engine.Observer.Compare(ctx, c, r.ChangesParams, r.parsed)
	}))
	mux.HandleFunc("POST /v1/diff", s.diff)
	mux.HandleFunc("POST /v1/rounds", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusOK, s.Rounds(r.Context()))
	})
	mux.HandleFunc("POST /v1/open", func(w http.ResponseWriter, _ *http.Request) {
		url, err := s.Open()
		if err != nil {
			problem(w, err)
			return
		}
		write(w, http.StatusOK, Opened{url})
	})
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, struct{}{})
		s.Stop()
	})
	return mux
}

// write writes an answer and reports whether that succeeded.
func write(w http.ResponseWriter, status int, v any) bool {
	data, err := report.Encode(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"message":"cannot encode the answer"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data))) // without it, the end of the answer is a write of its own
	w.WriteHeader(status)
	_, err = w.Write(data)
	return err == nil && http.NewResponseController(w).Flush() == nil
}

func problem(w http.ResponseWriter, err error) {
	e := usererr.EntryOf(usererr.CodeOf(err))
	write(w, e.Status, Problem{err.Error(), e.Code})
}

func scope(query url.Values) (checkpoint.Scope, error) {
	s, err := checkpoint.NewScope(query["origin"])
	if err != nil {
		return s, usererr.Invalid("%s", err.Error())
	}
	return s, nil
}

// client returns the client that a request's query names.
func (s *server) client(query url.Values) (*checkpoint.Client, error) {
	sc, err := scope(query)
	if err != nil {
		return nil, err
	}
	name := query.Get("client")
	if name == "" {
		name = "cli"
	}
	sc.Workspace = s.Engine.Timeline.Root(query.Get("dir"))
	if query.Has("shift") {
		sc.Origins = operations.Shifted(s.Engine.Timeline.Operations, sc.Workspace, sc.Origins)
	}
	client := s.Engine.Clients.Returning(name, sc)
	s.Engine.Clients.SetProject(client, query.Get("project"))
	return client, nil
}

func (s *server) status(w http.ResponseWriter, r *http.Request) {
	client, err := s.client(r.URL.Query())
	if err != nil {
		problem(w, err)
		return
	}
	status := s.Engine.Viewer.Status(client)
	s.Complete(status)
	write(w, http.StatusOK, status)
}

// maxArguments bounds a tool's arguments, in bytes.
const maxArguments = 1 << 20

func (s *server) tool(w http.ResponseWriter, r *http.Request) {
	t := engine.FindUserTool(r.PathValue("name"))
	if t == nil {
		write(w, http.StatusNotFound, Problem{"there is no tool " + r.PathValue("name"), usererr.NotFound})
		return
	}
	query := r.URL.Query()
	client, err := s.client(query)
	if err != nil {
		problem(w, err)
		return
	}
	args, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArguments))
	if err != nil {
		problem(w, usererr.Invalid("cannot read the arguments: %v", err))
		return
	}
	answer, err := t.Call(tool.WithCall(r.Context(), query.Get("call")), s.Engine, client, args)
	if err != nil {
		problem(w, err)
		return
	}
	status := http.StatusOK
	if code := tool.Failed(answer); code != "" {
		status = usererr.EntryOf(code).Status
	}
	if write(w, status, answer) {
		s.Engine.Heard(client)
	}
}

// HookRequest is what an agent's hook sends. Without an event, only what it has is recorded.
type HookRequest struct {
	observe.HookParams
	Moment   *timeline.HookMoment `json:"moment,omitempty"`
	Recorded *conversation.Event  `json:"recorded,omitempty"`
	// Inside is the recording of a terminal in which the hook runs, nil for none.
	Inside *timeline.Inside `json:"inside,omitempty"`
}

// maxHook bounds what a hook sends, in bytes. It trims an event to less.
const maxHook = 16 << 20

func (s *server) hook(w http.ResponseWriter, r *http.Request) {
	sc, err := scope(r.URL.Query())
	if err != nil {
		problem(w, err)
		return
	}
	var p HookRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxHook)).Decode(&p); err != nil {
		problem(w, usererr.Invalid("cannot read the arguments: %v", err))
		return
	}
	w.WriteHeader(http.StatusProcessing) // the hook does not wait long for a daemon that is stuck
	recorded := ""
	if p.Recorded != nil {
		recorded = s.Engine.Conversations.Hook(*p.Recorded)
	}
	moment := ""
	if p.Moment != nil && p.Inside != nil {
		p.Moment.Inside = *p.Inside
	}
	if p.Moment != nil { // before the page has dealt with the edit
		moment = s.Engine.Timeline.Hook(r.Context(), *p.Moment)
		p.Workspace = s.Engine.Timeline.Root(p.Moment.Dir)
	}
	if p.Event == "" && (p.Moment != nil || p.Recorded != nil) {
		write(w, http.StatusOK, &observe.HookAnswer{Problems: []broken.Problem{}, Moment: moment, Recorded: recorded})
		return
	}
	answer, client, err := s.Engine.Observer.Hook(r.Context(), sc, r.URL.Query().Get("project"), p.HookParams)
	if err != nil {
		problem(w, err)
		return
	}
	answer.Moment, answer.Recorded = moment, recorded
	if write(w, http.StatusOK, answer) {
		s.Engine.Heard(client)
	}
}

// watchPause gathers entries that arrive close together into one report.
const watchPause = 250 * time.Millisecond

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	sc, err := scope(r.URL.Query())
	if err != nil {
		problem(w, err)
		return
	}
	var p observe.ChangesParams
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxArguments)).Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		problem(w, usererr.Invalid("cannot read the arguments: %v", err))
		return
	}
	// A separate client: watching never moves a checkpoint of another client.
	client, leave := s.Engine.Clients.Join("", "watch", sc)
	defer leave()
	s.Engine.Clients.SetProject(client, r.URL.Query().Get("project"))
	flush := http.NewResponseController(w)
	answered := false
	for {
		changed := s.Engine.Store().Changed()
		answer, err := s.Engine.Observer.Follow(r.Context(), client, p)
		if err != nil {
			if !answered {
				problem(w, err)
			}
			return
		}
		p.Checkpoint = "" // only the first report starts at the requested checkpoint
		data, err := report.Encode(answer)
		if err != nil {
			return
		}
		if _, err := w.Write(append(data, '\n')); err != nil || flush.Flush() != nil {
			return
		}
		answered = true
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
		pause := time.NewTimer(watchPause)
		select {
		case <-r.Context().Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// FileRequest is a request about an exported checkpoint: one by name, or a file.
type FileRequest struct {
	Name string          `json:"name,omitempty"`
	File json.RawMessage `json:"file,omitempty"`
	// As is another name for the imported checkpoint.
	As string `json:"as,omitempty"`
	observe.ChangesParams

	parsed *checkpoint.File
}

// file returns a handler of a request about an exported checkpoint.
func (s *server) file(do func(context.Context, *checkpoint.Client, *FileRequest) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		client, err := s.client(r.URL.Query())
		if err != nil {
			problem(w, err)
			return
		}
		var p FileRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, checkpoint.MaxFile+maxArguments)).Decode(&p); err != nil {
			problem(w, usererr.Invalid("cannot read the arguments: %v", err))
			return
		}
		if p.File != nil || p.Name == "" {
			if p.parsed, err = checkpoint.ParseFile(p.File); err != nil {
				problem(w, usererr.Invalid("%s", err.Error()))
				return
			}
		}
		answer, err := do(r.Context(), client, &p)
		if err != nil {
			problem(w, err)
			return
		}
		write(w, http.StatusOK, answer)
	}
}

// DiffRequest is a request about two moments. File is an exported checkpoint in place of From.
type DiffRequest struct {
	observe.BetweenParams
	File json.RawMessage `json:"file,omitempty"`
}

func (s *server) diff(w http.ResponseWriter, r *http.Request) {
	client, err := s.client(r.URL.Query())
	if err != nil {
		problem(w, err)
		return
	}
	var p DiffRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, checkpoint.MaxFile+maxArguments)).Decode(&p); err != nil {
		problem(w, usererr.Invalid("cannot read the arguments: %v", err))
		return
	}
	var file *checkpoint.File
	if p.File != nil {
		if file, err = checkpoint.ParseFile(p.File); err != nil {
			problem(w, usererr.Invalid("%s", err.Error()))
			return
		}
	}
	answer, err := s.Engine.Observer.Between(r.Context(), client, p.BetweenParams, file)
	if err != nil {
		problem(w, err)
		return
	}
	write(w, http.StatusOK, answer)
}
