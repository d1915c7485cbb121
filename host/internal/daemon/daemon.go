// Package daemon composes the host: it reads the settings, connects the packages, and starts and stops them in order.
//
// It guarantees: there is one daemon for a home; it leaves when nobody has been connected for a while, with everything
// on disk; when [Serve] returns, every connection is closed and every goroutine that it started has ended.
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
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/hangup"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/link"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/safesocket"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/protocol"
)

// roundTimeout bounds the way to a browser and back that `tidemark doctor` asks for.
const roundTimeout = 5 * time.Second

// Serve runs the daemon of a home until ctx ends or somebody asks it to stop.
func Serve(ctx context.Context, h home.Home, log *slog.Logger) error {
	if err := h.Create(); err != nil {
		return err
	}
	lock, err := h.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which gives the lock back, last of all
	config, err := ReadConfig(h.Config)
	if err != nil {
		return err
	}
	limits, journalLimits, err := config.Limits()
	if err != nil {
		return fmt.Errorf("%s: %w", h.Config, err)
	}
	redactor, err := config.Redactor()
	if err != nil {
		return fmt.Errorf("%s: %w", h.Config, err)
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
		home: h, version: h.Version, log: log, stop: stop, config: config, life: ctx,
	}
	d.web = &web{d: d, present: present, configured: config.HTTP.Port}
	d.compose(limits, journalLimits, redactor)
	if err := h.WriteInfo(); err != nil {
		log.Warn("a newer program will not know how old this daemon is", "error", err)
	}
	log.Info("the daemon is ready", "version", h.Version, "pid", os.Getpid(), "home", h.State)
	keep, endJournal := context.WithCancel(context.WithoutCancel(ctx))
	defer endJournal()
	var running, keeping sync.WaitGroup
	keeping.Go(func() { d.journal.run(keep) })
	d.web.begin(ctx) // before anybody can ask for it
	running.Go(func() { d.web.wait(ctx) })
	running.Go(func() { d.accept(ctx, listeners[0], d.relay) })
	running.Go(func() { d.accept(ctx, listeners[1], d.agent) })
	running.Go(func() { d.serveControl(ctx, listeners[2]) })
	running.Go(browser.Sweep) // profiles of a daemon that was killed
	running.Go(func() { d.engine.Observer.AskForMaps(ctx) })
	running.Go(func() { d.tellOfAgents(ctx) })
	if present.waitUntilAlone(ctx, config.idle()) {
		log.Info("nobody has been connected for a while: everything is on disk, and the next one starts a new daemon", "idle", config.idle())
	}
	stop()
	for _, l := range listeners {
		_ = l.Close()
	}
	running.Wait()
	d.waitForBrowsers()
	d.maps.Close()
	endJournal() // after the last that it is to keep
	keeping.Wait()
	log.Info("the daemon has ended")
	return nil
}

// Beside its buffers the daemon needs workingMemory, in bytes: for what it decodes, compresses and answers, and
// for source maps.
const workingMemory = 36 << 20

// Source maps take at most mapMemory bytes together. One that cannot be had is not asked for again for mapRetry.
const (
	mapMemory = 16 << 20
	mapRetry  = time.Minute
)

// limitMemory has the garbage collector hold the process to its buffers and what it works with, unless
// the environment says otherwise (GOMEMLIMIT).
func limitMemory(l capture.Limits) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(l.Console.Bytes + l.Network.Bytes + l.WebSocket.Bytes + l.Actions.Bytes + l.DOM.Bytes + workingMemory))
	}
}

type daemon struct {
	home    home.Home
	version string
	log     *slog.Logger
	stop    func()
	journal *journal
	engine  *engine.Engine
	maps    *sourcemap.Cache
	hub     *link.Hub
	api     http.Handler
	http    atomic.Pointer[viewer.HTTPStatus]
	web     *web
	// agents holds something while browsers are to be told that who acts where has changed.
	agents chan struct{}
	config *Config

	// life ends with the daemon; own are the browsers that agents opened, which end then too. The lock is held
	// while one is launched.
	life  context.Context
	lives sync.Mutex
	own   sync.WaitGroup
}

func (d *daemon) compose(limits capture.Limits, journalLimits store.Limits, redactor *redact.Redactor) {
	rules := noise.Default()
	d.journal = &journal{d: d, limits: journalLimits}
	disk, err := d.journal.open()
	if err != nil {
		d.log.Error("nothing is kept until the journal can be opened", "error", err)
	}
	captured, named, readers := d.journal.restore(disk, limits, rules)
	decoder := event.NewDecoder(redactor)
	d.hub = link.NewHub(link.Options{
		Store: captured, Decoder: decoder, Handle: d.popup, Version: d.version, Clock: time.Now, Log: d.log,
		Disk: func(ctx context.Context) error { return d.journal.keeper.Sync(ctx) },
	})
	d.journal.keeper = store.NewKeeper(store.KeeperOptions{
		Disk: disk, Open: d.journal.open, Capture: captured, Kept: d.hub.Kept, Clock: time.Now, Log: d.log,
		Checkpoints: func() ([]checkpoint.Checkpoint, uint64) { return d.engine.Named() },
		Readers:     func() []checkpoint.ClientState { return d.engine.Readers() },
	})
	d.maps = sourcemap.NewCache(sourcemap.CacheOptions{
		Fetch: d.hub.SourceMap, Bytes: mapMemory, Retry: mapRetry, Clock: time.Now,
		Failed: func(s sourcemap.Script, err error) { d.log.Debug("no source map", "script", s.URL, "error", err) },
	})
	d.engine = engine.New(engine.Options{
		Store: captured, Noise: rules, Browsers: d.hub, Pages: d.hub, Hands: d.hub, Snapshots: d.config.Snapshot, Sets: d.config.Tools.Sets, Disk: engineDisk{d.journal.keeper}, Clock: time.Now, Location: time.Local,
		Debugger: d.hub, Debugging: d.config.Debugger, Launcher: launcher{d}, Launching: d.config.Browser, Config: d.home.Config,
		UserNoise: userNoise(d.home, time.Now(), d.journal.notice),
		Originals: observe.Originals{Maps: d.maps, Clean: decoder.Source},
	})
	d.agents = make(chan struct{}, 1)
	d.engine.Actor.OnAgents(func() {
		select {
		case d.agents <- struct{}{}:
		default: // it is told already
		}
	})
	d.engine.Restore(named, readers)
	d.api = api.New(api.Options{
		Engine: d.engine, Stop: d.stop, Open: d.web.open,
		Rounds: func(ctx context.Context) any { return d.hub.Rounds(ctx, roundTimeout) },
		Complete: func(s *viewer.Status) {
			s.Version, s.PID, s.Socket = d.version, os.Getpid(), d.home.Socket(home.MCPSocket)
			s.Goroutines = runtime.NumGoroutine()
			s.Journal, s.HTTP = d.journal.status(), d.http.Load()
		},
	})
}

// accept serves every connection in a goroutine of its own and returns when all have ended.
func (d *daemon) accept(ctx context.Context, l net.Listener, serve func(context.Context, net.Conn) error) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() == nil {
				d.log.Error("a socket broke", "error", err)
				d.stop()
			}
			return
		}
		open.Go(func() {
			defer func() { _ = conn.Close() }()
			if err := serve(ctx, conn); err != nil && ctx.Err() == nil {
				d.log.Warn("a connection ended", "error", err)
			}
		})
	}
}

func (d *daemon) relay(ctx context.Context, conn net.Conn) error { return d.hub.Serve(ctx, conn) }

// Preamble is the first line that `tidemark mcp` sends: whom it speaks for. A connection without one
// hears of everything.
type Preamble struct {
	Tidemark struct {
		Client  string   `json:"client"`
		Origins []string `json:"origins"`
		// Session finds the client's place again after the daemon was replaced. Nobody else may know it.
		Session string `json:"session,omitempty"`
		// Project is the path of the settings file of the project that the client works in.
		Project string `json:"project,omitempty"`
		// Workspace is the directory that the client works in, absolute.
		Workspace string `json:"workspace,omitempty"`
		// Tools are the sets that it asks for; null: those of the settings.
		Tools []string `json:"tools"`
	} `json:"tidemark"`
}

// preambleMark is how a preamble begins; no JSON-RPC message does.
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
		if filepath.IsAbs(p.Tidemark.Workspace) { // nobody's working directory is the daemon's
			as.Workspace = p.Tidemark.Workspace
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
	d.engine.Clients.InProject(client, project)
	return mcpserver.Serve(ctx, d.engine, client, d.version, agentConn{conn, r})
}

// agentConn is an agent's connection of which the beginning has been looked at.
type agentConn struct {
	net.Conn
	r *bufio.Reader
}

func (c agentConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// SyscallConn has it known when the agent has hung up.
func (c agentConn) SyscallConn() (syscall.RawConn, error) { return hangup.Raw(c.Conn) }

func (d *daemon) serveControl(ctx context.Context, l net.Listener) {
	if err := serve(ctx, l, d.api); err != nil {
		d.log.Error("the control socket broke", "error", err)
		d.stop()
	}
}

// serve serves HTTP until ctx ends, and returns when every request has been answered or cut off.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		// Whoever asked for the stop gets its answer.
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

// popup answers requests of the extension's own pages.
func (d *daemon) popup(ctx context.Context, instance, method string, params []byte) (any, error) {
	scopeOf := func(tab int) checkpoint.Scope {
		return d.engine.Clients.ScopeOfTab(d.engine.Store().HostTab(instance, tab))
	}
	switch method {
	case protocol.MethodOverview:
		var p protocol.OverviewParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		return d.engine.Viewer.Popup(ctx, instance, d.version, p), nil
	case protocol.MethodCheckpoint:
		var p protocol.CheckpointParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		made, err := d.engine.Observer.CheckpointCreate(ctx, &checkpoint.Client{Scope: scopeOf(p.Tab)}, observe.CheckpointParams{Name: p.Name, Note: p.Note})
		if err != nil {
			return nil, err
		}
		out := protocol.CheckpointResult{Name: made.Name, At: made.At.String()}
		if made.Replaced != nil {
			out.Replaced = made.Replaced.String()
		}
		return out, nil
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
	case protocol.MethodStopAgent:
		var p protocol.StopAgentParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		if p.Stopped {
			return struct{}{}, d.engine.Actor.StopAgent(p.ID)
		}
		return struct{}{}, d.engine.Actor.AllowAgent(p.ID)
	case protocol.MethodIgnore:
		var p protocol.IgnoreParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		made, err := d.engine.Rules.Ignore(&checkpoint.Client{Name: "popup", Scope: scopeOf(p.Tab)}, p)
		if err != nil {
			return nil, err // not a nil pointer inside an interface
		}
		return made, nil
	case protocol.MethodUnignore:
		var p protocol.UnignoreParams
		if err := decodeParams(params, &p); err != nil {
			return nil, err
		}
		return struct{}{}, d.engine.Rules.Unignore(&checkpoint.Client{Name: "popup"}, p)
	}
	if w := viewer.Find(method); w != nil {
		answer, err := w.Call(ctx, d.engine.Viewer, params)
		if o, ok := answer.(*protocol.ViewOverview); ok {
			o.Host = d.version
			d.engine.Viewer.OwnTabs(instance, o)
		}
		return answer, err
	}
	return nil, event.Errorf(protocol.CodeUnknown, "the method %q is not known", method)
}

func decodeParams(params []byte, into any) error {
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, into); err != nil {
		return event.Errorf(protocol.CodeMalformed, "the parameters cannot be read: %v", err)
	}
	return nil
}
