// Package daemon composes the host: it reads the settings, connects the packages, and starts and stops them in order.
//
// Guarantees:
//   - A home has one daemon.
//   - The daemon exits after an idle time without connections, with all data on disk.
//   - When [Serve] returns, every connection is closed and every goroutine that it started has ended.
package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/hangup"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/link"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/internal/memory"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/safesocket"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/protocol"
)

// startedAfter is how long garbage of the start may stay after the daemon is ready.
const startedAfter = time.Second

// roundTimeout bounds the round trips to browsers that `tidemark doctor` requests.
const roundTimeout = 5 * time.Second

// Serve runs the daemon of a home until ctx ends or a client asks it to stop.
func Serve(ctx context.Context, h home.Home, log *slog.Logger) error {
	// Most of what a start allocates stays in memory, so collecting is a waste. The first answers do not wait for it either.
	collect := memory.Grow()
	defer collect()
	if err := h.Create(); err != nil {
		return err
	}
	lock, err := h.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // releases the lock, after everything else
	config, err := ReadConfig(h.Config)
	if err != nil {
		return err
	}
	limits, journalLimits, err := config.Limits()
	if err != nil {
		return err
	}
	redactor, err := config.Redactor()
	if err != nil {
		return err
	}

	limitMemory(limits)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	present := newPresence()
	var listeners []net.Listener
	for _, name := range []string{home.RelaySocket, home.MCPSocket, home.ControlSocket} {
		l, err := safesocket.Listen(ctx, h.Socket(name), home.Env, log)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return err
		}
		listeners = append(listeners, counted{l, present})
	}
	d := &daemon{
		home: h, version: h.Version, log: log, stop: stop, config: config, life: ctx, age: home.Ages(h),
	}
	d.web = &web{d: d, present: present, configured: config.HTTP.Port}
	journalLimits.Aged = d.age
	before := d.restore(limits, journalLimits)
	endFiles := d.composeFiles(before.captured, redactor)
	d.compose(listeners[0], before, redactor)
	if err := home.Started(h); err != nil {
		log.Warn("browsers that were connected before the last stop do not connect again", "error", err)
	}
	if err := h.WriteInfo(); err != nil {
		log.Warn("a newer program will not know the version of this daemon", "error", err)
	}
	log.Info("the daemon is ready", "version", h.Version, "pid", os.Getpid(), "home", h.State)
	keep, endJournal := context.WithCancel(context.WithoutCancel(ctx))
	defer endJournal()
	var running, keeping sync.WaitGroup
	keeping.Go(func() { d.journal.run(keep) })
	d.web.begin(ctx) // before a client can ask for it
	running.Go(func() { d.web.wait(ctx) })
	// Browsers of agents end before their connections do: an extension that loses its connection starts another daemon.
	recording, endRecording := context.WithCancel(context.WithoutCancel(ctx))
	defer endRecording()
	running.Go(func() {
		recorder.Run(recording, d.recorders, func(name string) recorder.Sink { return capture.NewSink(d.engine.Store(), name, time.Now) }, log)
	})
	running.Go(func() { d.accept(ctx, listeners[1], d.agent) })
	running.Go(func() { d.serveControl(ctx, listeners[2]) })
	running.Go(browser.Sweep) // removes profiles of a killed daemon
	running.Go(func() { d.engine.Observer.AskForMaps(ctx) })
	running.Go(func() { d.notifyAgents(ctx) })
	running.Go(func() { d.watchGrants(ctx) })
	running.Go(func() { d.watchHome(ctx, lock) })
	defer time.AfterFunc(startedAfter, collect).Stop()
	if present.waitUntilAlone(ctx, config.idle()) {
		log.Info("idle without connections: all data is on disk, and the next client starts a new daemon", "idle", config.idle())
	}
	stop()
	for _, l := range listeners[1:] {
		_ = l.Close()
	}
	d.waitForBrowsers()
	endRecording()
	_ = listeners[0].Close()
	running.Wait()
	d.maps.Close()
	d.mapMemory.Need(0)
	endFiles()
	endJournal() // after the last write to the journal
	keeping.Wait()
	log.Info("the daemon has stopped")
	return nil
}

// workingMemory is the memory in bytes that the daemon needs beside its buffers: for decoding, compression and answers.
const workingMemory = 32 << 20

// mapMemory limits all source maps together, in bytes. After a failed fetch, a source map is fetched again after mapRetry.
const (
	mapMemory = 16 << 20
	mapRetry  = time.Minute
)

// limitMemory sets the memory limit of the process to its buffers, its working memory, and what source maps and watched
// workspaces need, unless GOMEMLIMIT is set.
func limitMemory(l capture.Limits) {
	if os.Getenv("GOMEMLIMIT") == "" {
		memory.Limit(int64(l.Bytes() + workingMemory))
	}
}

type daemon struct {
	home      home.Home
	version   string
	log       *slog.Logger
	stop      func()
	journal   *journal
	engine    *engine.Engine
	maps      *sourcemap.Cache
	mapMemory memory.Part
	hub       *link.Hub
	// workspaces are the directories that agents work in, timeline what happened there.
	workspaces *workspace.Workspaces
	timeline   *timeline.Timeline
	// conversations are those of agents.
	conversations *conversation.Store
	// unrecorded says why nothing of workspaces or conversations is recorded.
	unrecorded []string
	// recorders run until the daemon ends.
	recorders []recorder.Recorder
	api       http.Handler
	http      atomic.Pointer[viewer.HTTPStatus]
	web       *web
	// agents holds a value while a change of acting agents is not yet sent to browsers.
	agents chan struct{}
	config *Config
	// age tells how old things are.
	age retention.Age

	// life ends with the daemon. own counts the browsers that agents opened, which end with it. lives is locked
	// during a launch.
	life  context.Context
	lives sync.Mutex
	own   sync.WaitGroup
}

func (d *daemon) compose(browsers net.Listener, before restored, redactor *redact.Redactor) {
	captured := before.captured
	decoder := event.NewDecoder(redactor)
	d.hub = link.NewHub(link.Options{
		Store: captured, Decoder: decoder, Handle: d.answer, Version: d.version, Clock: time.Now, Log: d.log,
		Accept: func(ctx context.Context, serve func(context.Context, net.Conn) error) { d.accept(ctx, browsers, serve) },
		Disk:   func(ctx context.Context) error { return d.journal.keeper.Sync(ctx) },
	})
	d.recorders = []recorder.Recorder{d.hub, d.workspaces}
	d.journal.keeper = store.NewKeeper(store.KeeperOptions{
		Disk: before.disk, Open: d.journal.open, Capture: captured, Kept: d.hub.Kept, Clock: time.Now, Log: d.log,
		Checkpoints: func() ([]checkpoint.Checkpoint, uint64) { return d.engine.Named() },
		Readers:     func() []checkpoint.ClientState { return d.engine.Readers() },
	})
	d.maps = sourcemap.NewCache(sourcemap.CacheOptions{
		Fetch: d.hub.SourceMap, Bytes: mapMemory, Retry: mapRetry, Clock: time.Now,
		Failed: func(s sourcemap.Script, err error) { d.log.Debug("no source map", "script", s.URL, "error", err) },
		Held:   func(bytes int) { d.mapMemory.Need(int64(bytes)) },
	})
	d.engine = engine.New(engine.Options{
		Store: captured, Noise: before.rules, Browsers: d.hub, Pages: d.hub, Hands: d.hub, Snapshots: d.config.Snapshot, Sets: d.config.Tools.Sets, Disk: engineDisk{d.journal.keeper}, Clock: time.Now, Age: d.age, Location: time.Local,
		Debugger: d.hub, Debugging: d.config.Debugger, Launcher: launcher{d}, Launching: d.config.Browser, Config: d.home.Config,
		UserNoise: userNoise(d.home, time.Now(), d.journal.notice), Version: d.version,
		Originals: observe.Originals{Maps: d.maps, Clean: decoder.Source}, Timeline: d.timeline, Workspaces: d.timeline, Conversations: d.conversations,
		Branching: d.config.Branches, Log: d.log, Redactor: redactor, Program: program(d.log),
	})
	d.agents = make(chan struct{}, 1)
	d.engine.Actor.OnAgents(func() {
		select {
		case d.agents <- struct{}{}:
		default: // a notification is already pending
		}
	})
	d.engine.Restore(before.named, before.readers)
	d.api = api.New(api.Options{
		Engine: d.engine, Stop: d.stop, Open: d.web.open,
		Rounds: func(ctx context.Context) any { return d.hub.Rounds(ctx, roundTimeout) },
		Complete: func(s *viewer.Status) {
			s.Version, s.PID, s.Socket = d.version, os.Getpid(), d.home.Socket(home.MCPSocket)
			s.Goroutines = runtime.NumGoroutine()
			s.Journal, s.HTTP, s.Workspaces = d.journal.status(), d.http.Load(), d.workspaces.Status()
			s.Unrecorded = slices.Concat(d.unrecorded, workspace.Unrecorded(d.workspaces))
			if err := CheckConfig(d.home.Config); err != nil {
				s.SettingsProblem = err.Error()
			}
		},
	})
}

// accept serves each connection in its own goroutine and returns when all have ended.
func (d *daemon) accept(ctx context.Context, l net.Listener, serve func(context.Context, net.Conn) error) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() == nil {
				d.log.Error("a socket failed", "error", err)
				d.stop()
			}
			return
		}
		open.Go(func() {
			defer func() { _ = conn.Close() }()
			if err := serve(ctx, conn); err != nil && ctx.Err() == nil {
				d.log.Warn("a connection ended with an error", "error", err)
			}
		})
	}
}

// Preamble is the first line that `tidemark mcp` sends. It describes the agent. A connection without one sees every
// page.
type Preamble struct {
	Tidemark struct {
		Client  string   `json:"client"`
		Origins []string `json:"origins"`
		// Shift has the daemon add to their ports what the branch that the client works in adds to those of its original.
		Shift bool `json:"shift,omitempty"`
		// Session finds the client's cursor again after the daemon was replaced. It is secret.
		Session string `json:"session,omitempty"`
		// Project is the path of the settings file of the client's project.
		Project string `json:"project,omitempty"`
		// Workspace is the absolute path of the directory that the client works in.
		Workspace string `json:"workspace,omitempty"`
		// Tools are the requested tool sets. Null means the sets in the settings.
		Tools []string `json:"tools"`
	} `json:"tidemark"`
}

// preambleMark is the beginning of a preamble. No JSON-RPC message begins with it.
const preambleMark = `{"tidemark":`

func (d *daemon) agent(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	r := bufio.NewReader(conn)
	id, project, as := "", "", &checkpoint.Client{Name: "agent"}
	if head, _ := r.Peek(len(preambleMark)); bytes.Equal(head, []byte(preambleMark)) {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("an agent's first line: %w", err)
		}
		var p Preamble
		if err := json.Unmarshal(line, &p); err != nil {
			return fmt.Errorf("an agent's first line: %w", err)
		}
		if as.Scope, err = checkpoint.NewScope(p.Tidemark.Origins); err != nil {
			return err
		}
		if p.Tidemark.Tools != nil {
			if as.Sets, err = tool.CheckSets(p.Tidemark.Tools); err != nil {
				return err
			}
		}
		if filepath.IsAbs(p.Tidemark.Workspace) { // a relative path would depend on the daemon's directory
			as.Scope.Workspace = p.Tidemark.Workspace
			if resolved, err := grants.Resolve(as.Scope.Workspace); err == nil { // as changes of files name it
				as.Scope.Workspace = resolved
			}
		}
		if p.Tidemark.Shift {
			as.Scope.Origins = operations.Shifted(d.timeline.Operations, d.timeline.Root(as.Scope.Workspace), as.Scope.Origins)
		}
		if p.Tidemark.Client != "" {
			as.Name = p.Tidemark.Client
		}
		project = p.Tidemark.Project
		if p.Tidemark.Session != "" {
			id = "session " + p.Tidemark.Session
		}
	}
	client, leave := d.engine.Clients.JoinAs(id, as)
	defer leave()
	d.timeline.BeginSoon(client.Scope.Workspace)
	d.engine.Clients.SetProject(client, project)
	return mcpserver.Serve(ctx, d.engine, client, d.version, agentConn{conn, r})
}

// agentConn is an agent's connection whose first bytes are buffered.
type agentConn struct {
	net.Conn
	r *bufio.Reader
}

func (c agentConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// SyscallConn lets package hangup watch the connection.
func (c agentConn) SyscallConn() (syscall.RawConn, error) { return hangup.Raw(c.Conn) }

func (d *daemon) serveControl(ctx context.Context, l net.Listener) {
	if err := serve(ctx, l, d.api); err != nil {
		d.log.Error("the control socket failed", "error", err)
		d.stop()
	}
}

// serve serves HTTP until ctx ends, and returns when every request has been answered or cut off.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: api.Patience(h), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		// The client that asked for the stop gets its answer.
		wait, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(wait) != nil {
			_ = server.Close()
		}
	}()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		<-done
		return nil
	}
	return err
}

// answer answers requests of the extension.
func (d *daemon) answer(ctx context.Context, instance, method string, params []byte) (any, error) {
	switch method {
	case protocol.MethodDebugScript:
		var p protocol.DebugScriptParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		return d.engine.Inspector.DebugScript(ctx, instance, p), nil
	case protocol.MethodDebugNames:
		var p protocol.DebugNamesParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		return d.engine.Inspector.DebugNames(ctx, instance, p), nil
	case protocol.MethodDebugPlace:
		var p protocol.DebugPlaceParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		return d.engine.Inspector.DebugPlace(ctx, instance, p), nil
	}
	if m := viewer.Find(method); m != nil {
		return m.Call(ctx, d.engine.Viewer, instance, params)
	}
	return nil, event.Errorf(protocol.CodeUnknown, "unknown method %q", method)
}

func decodeParams(params []byte, into any) error {
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, into); err != nil {
		return event.Errorf(protocol.CodeMalformed, "cannot read the parameters: %v", err)
	}
	return nil
}
