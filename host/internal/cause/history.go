package cause

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Bounds of what is read for one answer.
const (
	maxEdits  = 300
	maxFrames = 5_000
	// maxEarlier bounds the messages before one among which the same is looked for.
	maxEarlier = 500
)

// Past is what a view has of changes and of what happened in tabs, from some positions on.
type Past struct {
	Finder
	// Frames is that of [History].
	Frames func(*event.Network) []Frame
	tabs   map[int]*History
	// sockets are the addresses of development servers.
	sockets map[string]bool
	// messages are the errors and warnings of each tab, texts what those that were looked at have in common with others.
	messages map[int][]*event.Console
	texts    map[*event.Console]string
	// requests are those of each endpoint that failed, and the answers that followed such a failure. elements are the error
	// elements that appeared in each tab.
	requests map[asked][]*event.Network
	elements map[int][]*capture.Change
}

// asked is what requests of a tab are about.
type asked struct {
	tab      int
	endpoint event.EndpointKey
}

// IsWritten reports whether a change is one that somebody made by hand: not of a cache, of packages, or of what a program builds.
func IsWritten(e *event.FileChange) bool {
	byHand := e.By != "" && strings.Contains(e.By, " "+e.Path)
	return !isCache(e.Path) && !isInstalled(e.Path) && (byHand || !IsBuilt(e.Path))
}

// Read reads a view from positions on. Covers reports whether a workspace is in scope, update what an entry says of an
// update of the page, "" for nothing; see [noise.Rules.Update].
func Read(v *capture.View, from capture.Positions, covers func(event.Subject) bool, update func(event.Event) string) *Past {
	return ReadUntil(v, from, v.At, covers, update)
}

// ReadUntil is [Read] for what appeared until a time: what came later takes no room from it. A change that was recorded later is
// read too where it may have been made before.
func ReadUntil(v *capture.View, from capture.Positions, until time.Time, covers func(event.Subject) bool, update func(event.Event) string) *Past {
	p := &Past{
		tabs: map[int]*History{}, sockets: map[string]bool{}, messages: map[int][]*event.Console{}, texts: map[*event.Console]string{},
		requests: map[asked][]*event.Network{}, elements: map[int][]*capture.Change{},
	}
	installed := map[event.Subject]uint64{} // the snapshot of which a change of packages was taken: one speaks for all
	for _, e := range v.Files().From(from[capture.Files]) {
		switch byHand := e.By != "" && strings.Contains(e.By, " "+e.Path); {
		case !covers(e.Subject), isCache(e.Path), until.Before(v.At) && cmp.Or(e.Edited, e.Since, e.At) > until.UnixMilli()+slack:
		case !isInstalled(e.Path):
			p.Edits = append(p.Edits, Edit{e, !byHand && IsBuilt(e.Path)})
		case installed[e.Subject] != e.Snapshot:
			installed[e.Subject] = e.Snapshot
			p.Edits = append(p.Edits, Edit{e, false})
		}
	}
	if n := len(p.Edits) - maxEdits; n > 0 {
		p.Edits, p.Cut = p.Edits[n:], true
	}
	if len(p.Edits) == 0 {
		return p
	}
	if until.Before(v.At) {
		v = v.Until(v.MomentAt(until))
	}
	p.readConsole(v, from[capture.Console], update)
	p.readNetwork(v, from[capture.Network])
	frames := max(from[capture.WebSocket], v.WebSocket().Next()-min(v.WebSocket().Next(), maxFrames))
	for _, e := range v.WebSocket().From(frames) {
		if e.Op == "received" && strings.HasPrefix(e.Text, "{") {
			p.readFrame(e, update(e) != "")
		}
	}
	for _, e := range v.WebSocket().From(frames) {
		if e.Op == "close" && p.sockets[address(e)] {
			p.tab(e.Tab()).Lost = append(p.tab(e.Tab()).Lost, e.At)
		}
	}
	for _, e := range v.DOM().From(from[capture.DOM]) {
		if e.Op == "appeared" {
			p.elements[e.Tab()] = append(p.elements[e.Tab()], e)
		}
		if e.Op == "navigated" {
			h := p.tab(e.Tab())
			page, _, _ := strings.Cut(e.URL, "#")
			page, _, _ = strings.Cut(page, "?")
			h.Visits = append(h.Visits, Visit{e.At, page})
		}
		if e.Op == "navigated" && (e.How == "load" || e.How == "reload") {
			h := p.tab(e.Tab())
			h.Updates, h.Loads = append(h.Updates, e.At), append(h.Loads, e.At)
		}
	}
	for _, e := range v.Actions().From(from[capture.Actions]) {
		if e.Type != "navigate" && e.Type != "reload" {
			h := p.tab(e.Tab())
			h.Inputs = append(h.Inputs, e.At)
			h.Did[e.At] = Input{e.Type, e.Target, e.Selector, e.Value}
		}
	}
	for _, h := range p.tabs {
		slices.Sort(h.Updates)
		slices.Sort(h.Inputs)
		slices.Sort(h.Errors)
		slices.Sort(h.Lost)
		slices.SortFunc(h.Scripts, func(a, b Module) int { return cmp.Compare(a.At, b.At) })
	}
	return p
}

func (p *Past) tab(id int) *History {
	h := p.tabs[id]
	if h == nil {
		h = &History{Did: map[int64]Input{}}
		p.tabs[id] = h
	}
	return h
}

func (p *Past) readConsole(v *capture.View, from uint64, update func(event.Event) string) {
	for _, e := range v.Console().From(from) {
		if e.Level >= event.Warning {
			p.messages[e.Tab()] = append(p.messages[e.Tab()], e)
		}
		if e.Level == event.Error {
			p.tab(e.Tab()).Errors = append(p.tab(e.Tab()).Errors, e.At)
		}
		if strings.HasPrefix(e.Text, "[") {
			if update(e) != "" {
				p.tab(e.Tab()).Updates = append(p.tab(e.Tab()).Updates, e.At)
			}
			if disconnected().MatchString(e.Text) {
				p.tab(e.Tab()).Lost = append(p.tab(e.Tab()).Lost, e.At)
			}
			if file, ok := strings.CutPrefix(e.Text, "[HMR]  - "); ok { // of webpack's client
				p.tab(e.Tab()).Modules = append(p.tab(e.Tab()).Modules, Module{e.At, strings.TrimSpace(file)})
			} else if m := replaced().FindStringSubmatch(e.Text); m != nil {
				p.tab(e.Tab()).Modules = append(p.tab(e.Tab()).Modules, Module{e.At, m[1]})
			}
		}
	}
}

// disconnected is what the clients of Vite, webpack, Rspack, Rsbuild and Next.js log as their server ends.
var disconnected = lazyregexp.New(`^\[(vite\] server connection lost|(webpack|rspack)-dev-server\] Disconnected|rsbuild\] WebSocket connection lost|HMR\] .*disconnected)`)

// replaced is the file that Vite's client replaced.
var replaced = lazyregexp.New(`^\[vite\] (?:css )?hot updated: (\S+)`)

// stamp is when Vite's server noticed a change, in the address of a module.
var stamp = lazyregexp.New(`[?&]t=(\d{13})(&|$)`)

func (p *Past) readNetwork(v *capture.View, from uint64) {
	answered := map[capture.EndpointKey]bool{}
	for _, e := range v.Network().From(from) {
		if strings.Contains(e.URL, "t=") {
			if m := stamp().FindStringSubmatch(e.URL); m != nil {
				at, _ := strconv.ParseInt(m[1], 10, 64)
				p.tab(e.Tab()).Modules = append(p.tab(e.Tab()).Modules, Module{at, e.URL})
			}
		}
		if isScript(e) {
			p.tab(e.Tab()).Scripts = append(p.tab(e.Tab()).Scripts, Module{e.Began(), e.URL})
		}
		if isMissing(e) && e.Resource == "script" {
			p.tab(e.Tab()).Missing = append(p.tab(e.Tab()).Missing, Module{e.At, e.URL})
		}
		p.keep(e)
		key, span := capture.KeyOf(e), Span{cmp.Or(Began(e), e.At), e.At}
		switch {
		case isCut(e):
			answered[key] = answered[key] || e.Status > 0
			p.tab(e.Tab()).Outages = append(p.tab(e.Tab()).Outages, span)
		case e.Answered():
			answered[key] = true
			if e.Resource == "fetch" || e.Resource == "xhr" {
				p.tab(e.Tab()).Answers = append(p.tab(e.Tab()).Answers, Answer{span, key, Content{e.Size, e.Mime, e.ResponseBody}, e})
			}
		case isUnsaid(e) && answered[key]:
			p.tab(e.Tab()).Unsaid = append(p.tab(e.Tab()).Unsaid, span)
		case isOutage(e) && answered[key]:
			p.tab(e.Tab()).Outages = append(p.tab(e.Tab()).Outages, span)
		}
	}
}

// keep takes a request that failed, or the answer after one.
func (p *Past) keep(e *event.Network) {
	k := asked{e.Tab(), capture.KeyOf(e)}
	if n := len(p.requests[k]); e.Failed() || e.Answered() && n > 0 && p.requests[k][n-1].Failed() {
		p.requests[k] = append(p.requests[k], e)
	}
}

// isOutage reports whether a request failed as those to a server do that has stopped.
func isOutage(e *event.Network) bool {
	switch {
	case !e.Failed() || e.Refused:
		return false
	case e.Status == 0:
		return true
	}
	return e.Status >= 500 && !isThrown(e) && (e.Resource == "fetch" || e.Resource == "xhr" || e.Resource == "eventsource") && !strings.Contains(e.URL, "_rsc=")
}

// lost is how Chromium names the end of a connection to a server.
var lost = lazyregexp.New(`^net::ERR_(EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH|CONNECTION_(RESET|CLOSED|ABORTED)|SOCKET_NOT_CONNECTED|HTTP2_|QUIC_|NETWORK_|INTERNET_)`)

// isCut reports whether the connection to a server ended during an answer, or long after the request was sent. A proxy then
// answers that it failed, and says no more.
func isCut(e *event.Network) bool {
	long := e.Started > 0 && e.At-e.Started > prompt
	switch {
	case e.Status >= 400:
		return long && e.Detail == "" && isOutage(e)
	case e.Status > 0:
		return e.Failed() && lost().MatchString(e.Error)
	}
	return long && e.Failed() && lost().MatchString(e.Error)
}

// Began returns when a request that failed began to go wrong, in milliseconds since the Unix epoch: when it was sent, 0 if that is
// not known, but for a connection that ended later.
func Began(e *event.Network) int64 {
	if isCut(e) {
		return e.At
	}
	return e.Started
}

// isUnsaid reports whether a server answered only that it failed, as Koa, Starlette and Nest do. A proxy whose server has
// stopped does not say so, or not of what type its text is.
func isUnsaid(e *event.Network) bool {
	typed := len(e.ResponseHeaders) == 0
	for name := range e.ResponseHeaders {
		typed = typed || strings.EqualFold(name, "content-type")
	}
	plain := strings.HasPrefix(e.Mime, "text/plain") || strings.HasPrefix(e.Mime, "application/json")
	text, _ := e.Said()
	return isOutage(e) && e.Status == 500 && typed && plain && strings.EqualFold(text, "Internal Server Error")
}

// thrown is what an answer says of an error of the server's code.
var thrown = lazyregexp.New(`\b(?:Type|Reference|Syntax|Range|Name|Attribute|Key|Index|Import|ModuleNotFound|NoMethod)Error\b|\bCannot find module\b|\bNullPointerException\b`)

// isThrown reports whether a server answered that its code failed.
func isThrown(e *event.Network) bool {
	return e.Status == 500 && thrown().MatchString(e.Detail) && !outside().MatchString(e.Detail)
}

// outside is what messages say of something outside of the project that failed.
var outside = lazyregexp.New(strings.Join([]string{
	`\bE(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|NOSPC|DQUOT|MFILE|NFILE|ROFS|IO)\b`,
	`(?i:\bconnection (?:was |is )?(?:refused|reset|terminated|timed out)\b)`,
	`(?i:\b(?:could not|cannot|can't|unable to) connect\b)`,
	`(?i:\bno space left\b|\bdisk (?:is )?full\b|\bquota exceeded\b)`,
	`(?i:\btoo many (?:open files|connections)\b|\bname or service not known\b)`,
	`(?i:\bnetwork is unreachable\b|\bread-only file system\b)`,
	`^(?:Uncaught )?Script error\.?$`, // of a script of another origin, of which the browser hides the rest
}, "|"))

// project is the name of a file in Turbopack's messages.
var project = lazyregexp.New(`\[project\]/[^\s"\\\[\]]+`)

// broken is the name of a file in what the servers of webpack and of Next.js say of a build that failed.
var broken = lazyregexp.New(`"(?:moduleName":\s*"([^"\\]+)"|message":\s*"([^"\\:\s]+):\d+:\d+)`)

// building is the file for which the server of webpack begins to build.
var building = lazyregexp.New(`^\{"action":"building","file":"([^"\\]+)"`)

// readFrame takes a message of a development server.
func (p *Past) readFrame(e *event.WebSocket, updates bool) {
	h := p.tab(e.Tab())
	add := func(file string) {
		if file != "" {
			h.Modules = append(h.Modules, Module{e.At, file})
		}
	}
	if updates {
		p.sockets[address(e)] = true
		h.Updates = append(h.Updates, e.At)
		var m struct {
			Updates []struct {
				Path string `json:"path"`
			} `json:"updates"`
			Trigger string `json:"triggeredBy"`
			Err     struct {
				ID  string `json:"id"`
				Loc struct {
					File string `json:"file"`
				} `json:"loc"`
			} `json:"err"`
		}
		if json.Unmarshal([]byte(e.Text), &m) == nil {
			for _, u := range m.Updates {
				add(u.Path)
			}
			add(m.Trigger)
			add(m.Err.ID)
			add(m.Err.Loc.File)
		}
	}
	if updates && strings.Contains(e.Text, `"errors"`) {
		for _, m := range broken().FindAllStringSubmatch(e.Text, maxNamed) {
			add(m[1] + m[2])
		}
	}
	if m := building().FindStringSubmatch(e.Text); m != nil {
		add(m[1])
	}
	if strings.Contains(e.Text, "turbopack") {
		for _, file := range project().FindAllString(e.Text, 10) {
			add(file)
		}
	}
}

// Of returns the cause of a symptom, nil and the reason where there is none.
func (p *Past) Of(s Symptom) (*Cause, string) {
	h := p.tabs[s.Tab]
	if h == nil {
		h = &History{}
	}
	h.Frames = p.Frames
	return p.Find(s, h)
}

// text returns what a message has in common with others like it.
func (p *Past) text(e *event.Console) string {
	text, known := p.texts[e]
	if !known {
		text = alike.Text(e)
		p.texts[e] = text
	}
	return text
}

// OfMessage describes a message. Frames are those of its stack; see [Symptom].
func (p *Past) OfMessage(e *event.Console, frames []Frame) Symptom {
	s := Symptom{Tab: e.Tab(), Origin: e.Origin(), At: e.At, Frames: frames, Text: e.Text, Outside: outside().MatchString(e.Text)}
	left := maxEarlier
	for _, m := range slices.Backward(p.messages[e.Tab()]) {
		if m.At >= e.At {
			continue
		}
		if left--; left < 0 {
			break
		}
		if p.text(m) == p.text(e) {
			s.Earlier = append(s.Earlier, m.At)
		}
	}
	if url := alike.FailedImport(alike.Unnamed(e.Text)); strings.HasPrefix(url, e.Origin()+"/") {
		s.Imported = url
	}
	if strings.HasPrefix(e.Text, "[vite] ") || strings.HasPrefix(e.Text, "[hmr] ") || strings.HasPrefix(e.Text, "[webpack-dev-server] ") || strings.HasPrefix(e.Text, "[rspack-dev-server] ") {
		s.Named = Named(e.Text)
	} else if m := located().FindStringSubmatch(e.Text); m != nil {
		line, _ := strconv.Atoi(m[2])
		s.Named = []Frame{{File: m[1], Line: line}}
	}
	return s
}

// located is a place at the beginning of a message, as Turbopack writes it.
var located = lazyregexp.New(`^(\.{0,2}/[^\s:]+):(\d+):\d+\s`)

// hotUpdate is a file of webpack with what changed since the build that a page has. A server that was started again has none.
var hotUpdate = lazyregexp.New(`\.hot-update\.m?js(?:on)?(?:\?|$)`)

// OfRequest describes a request that failed. Frames are those of the code that made it. An answer between two that failed parts them.
func (p *Past) OfRequest(e *event.Network, frames []Frame) Symptom {
	s := Symptom{
		Tab: e.Tab(), Origin: e.Origin(), At: cmp.Or(Began(e), e.At), Frames: frames, Outside: outside().MatchString(e.Detail), Status: e.Status, Thrown: isThrown(e),
		Server: hotUpdate().MatchString(e.URL) || isCut(e), Unsaid: isUnsaid(e),
		Endpoint: capture.KeyOf(e),
	}
	if e.Started > 0 {
		s.Until = e.At
	}
	if e.Resource == "script" || e.Resource == "stylesheet" {
		s.Named = []Frame{{File: e.URL}}
	}
	if isMissing(e) {
		s.Missing = e.URL
	}
	left, answered := maxEarlier, int64(0)
	for _, o := range slices.Backward(p.requests[asked{s.Tab, s.Endpoint}]) {
		at := cmp.Or(Began(o), o.At)
		if at >= s.At {
			continue
		}
		if left--; left < 0 || answered > 0 && (o.Answered() || !alike.FailAlike(o, e)) {
			break
		}
		switch {
		case answered > 0:
			s.Mended = Span{at, answered}
			return s
		case o.Answered():
			answered = o.At
		case alike.FailAlike(o, e):
			s.Earlier = append(s.Earlier, at)
		}
	}
	return s
}

// address is that of a connection without its query, in which a server has the page's token.
func address(e *event.WebSocket) string {
	url, _, _ := strings.Cut(e.URL, "?")
	return url
}

// brokeOff is the code of a connection whose other end did not close it.
const brokeOff = 1006

// OfSocket describes a connection that failed or ended. Frames are those of the code that opened it.
func (p *Past) OfSocket(e *event.WebSocket, frames []Frame) Symptom {
	broke := e.Op == "close" && e.Code == brokeOff
	return Symptom{Tab: e.Tab(), Origin: e.Origin(), At: e.At, Frames: frames, Server: broke || p.sockets[address(e)]}
}

// OfElement describes an error element that appeared.
func (p *Past) OfElement(e *capture.Change) Symptom {
	k := e.Element
	s := Symptom{Tab: e.Tab(), Origin: k.Origin, At: e.At, Outside: outside().MatchString(k.Text)}
	if alike.IsOverlay(k.Selector) {
		if s.Named = overlaid(k); failedBuild().MatchString(k.Text) {
			s.Text = k.Text
		}
	}
	left, text := maxEarlier, alike.Fingerprint(k.Text)
	for _, o := range slices.Backward(p.elements[s.Tab]) {
		if o.At >= s.At {
			continue
		}
		if left--; left < 0 {
			break
		}
		if o.Element.Selector == k.Selector && alike.Fingerprint(o.Element.Text) == text {
			s.Earlier = append(s.Earlier, o.At)
		}
	}
	return s
}

// overlaid returns the files that an error overlay names. The frames that React Refresh shows with webpack are of generated code.
func overlaid(k capture.ElementKey) []Frame {
	message, at := alike.CutOverlay(k.Text)
	var stack string
	if k.Selector == "#react-refresh-overlay" {
		message, stack, _ = strings.Cut(message, " Call Stack ")
	}
	list := Named(message)
	for _, f := range Named(stack) {
		list = append(list, Frame{File: f.File, Line: ofGenerated})
	}
	switch {
	case at.File == "":
	case at.Generated:
		list = append(list, Frame{File: at.File, Line: ofGenerated})
	default:
		list = append(list, Frame{File: at.File, Line: at.Line})
	}
	return list
}

// failedBuild begins the text of an overlay that shows what a bundler complains of. Others show errors of code that runs, whose
// causes may be in files that they do not name.
var failedBuild = lazyregexp.New(`^(?:Build Error|Failed to compile|Compiled with problems|ERROR in |\[plugin:|\[postcss\])`)

// place is a file and perhaps a line in a text.
var place = lazyregexp.New(`([\w@$.+\-/\\\[\]()~%]*[\w\]]\.[A-Za-z]\w{0,6})(?::(\d+)|\((\d+)[,:]|\?)?`)

// maxNamed bounds the files that are looked for in a text.
const maxNamed = 10

// Named returns the files that a bundler's text names.
func Named(text string) (list []Frame) {
	for _, m := range place().FindAllStringSubmatch(text, maxNamed) {
		line, _ := strconv.Atoi(m[2] + m[3])
		list = append(list, Frame{File: m[1], Line: line})
	}
	return list
}
