package viewer

import (
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
)

// Status is what is connected and watched.
type Status struct {
	Version  string          `json:"version"`
	PID      int             `json:"pid"`
	Socket   string          `json:"socket"`
	Browsers []BrowserStatus `json:"browsers"`
	Clients  []ClientStatus  `json:"clients"`
	// Severity and Summary speak of everything held.
	Severity diff.Severity `json:"severity"`
	Summary  string        `json:"summary"`
	// NoiseProblems are noise rules that are not used, and why.
	NoiseProblems []string `json:"noise_problems,omitempty"`
	// Masked counts the secrets that were masked so far.
	Masked int `json:"masked"`
	// Goroutines is how many the daemon runs.
	Goroutines int `json:"goroutines,omitempty"`
	// HTTP is where agents are served over streamable HTTP, nil when they are not.
	HTTP *HTTPStatus `json:"http,omitempty"`
	// Journal is nil where nothing is kept.
	Journal *JournalStatus `json:"journal,omitempty"`
}

// BrowserStatus is a browser and its tabs.
type BrowserStatus struct {
	Name string `json:"name"`
	// Instance names the profile.
	Instance  string      `json:"instance"`
	Extension string      `json:"extension"`
	Connected bool        `json:"connected"`
	Tabs      []TabStatus `json:"tabs"`
}

// JournalStatus is how the file of what survives does.
type JournalStatus struct {
	Path string `json:"path"`
	// Bytes is what the events in it take.
	Bytes int64 `json:"bytes"`
	// Problem says why it cannot be written at the moment.
	Problem string `json:"problem,omitempty"`
	// Notices are what a person should know of this start of the daemon.
	Notices []string `json:"notices,omitempty"`
}

// HTTPStatus is where agents are served over HTTP.
type HTTPStatus struct {
	URL string `json:"url"`
	// TokenFile holds the secret for "Authorization: Bearer".
	TokenFile string `json:"token_file"`
	// Problem says why nothing is served.
	Problem string `json:"problem,omitempty"`
}

// TabStatus is a tab.
type TabStatus struct {
	ID      int    `json:"id"`
	URL     string `json:"url"`
	Title   string `json:"title"`
	Watched bool   `json:"watched"`
	Capture string `json:"capture"`
	Note    string `json:"note,omitempty"`
}

// ClientStatus is a reader.
type ClientStatus struct {
	Name string `json:"name"`
	// Scope is the origins that it hears of, "all" when it hears of everything.
	Scope string    `json:"scope"`
	Since diff.Time `json:"since"`
	// Held is set while a person holds its access.
	Held bool `json:"held,omitempty"`
}

// Status says what is connected and watched. The caller fills in what is the process's own.
func (e *Viewer) Status(client *checkpoint.Client) *Status {
	scope := client.Scope
	v := e.store.View(e.clock())
	s := &Status{Browsers: []BrowserStatus{}, Clients: []ClientStatus{}, Masked: v.Masked}
	for _, b := range v.Browsers {
		shown := BrowserStatus{Name: b.Name, Instance: b.Instance, Extension: b.Extension, Connected: b.Connected, Tabs: []TabStatus{}}
		for _, t := range v.Tabs {
			if t.Instance == b.Instance && scope.Covers(t.Origin) {
				shown.Tabs = append(shown.Tabs, TabStatus{t.ID, t.URL, t.Title, t.Watched, t.Capture, t.Note})
			}
		}
		s.Browsers = append(s.Browsers, shown)
	}
	held := e.Agents.Suspended()
	for _, c := range e.clients.Sessions() {
		if !c.Here {
			continue
		}
		key := c.Scope.Key()
		if key == "" {
			key = "all"
		}
		s.Clients = append(s.Clients, ClientStatus{c.Name, key, diff.Time{Time: c.Since}, held[c.Client] != ""})
	}
	o := e.rules.Of(client).Options(scope)
	o.Beginning = true
	r := diff.Compute(v.Start(), v, o)
	s.Severity, s.Summary, s.NoiseProblems = r.Severity, r.Summary, r.NoiseProblems
	return s
}
