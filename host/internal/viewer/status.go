package viewer

import (
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// Status lists what is connected and watched.
type Status struct {
	Version  string          `json:"version"`
	PID      int             `json:"pid"`
	Socket   string          `json:"socket"`
	Browsers []BrowserStatus `json:"browsers"`
	Clients  []ClientStatus  `json:"clients"`
	// Severity and Summary cover everything in memory.
	Severity report.Severity `json:"severity"`
	Summary  string          `json:"summary"`
	// NoiseProblems lists the unused noise rules and why they are unused.
	NoiseProblems []string `json:"noise_problems,omitempty"`
	// SettingsProblem is why the daemon keeps the settings that it started with, though config.toml has changed; "" if it can be read.
	SettingsProblem string `json:"settings_problem,omitempty"`
	// Masked counts the secrets that were masked so far.
	Masked int `json:"masked"`
	// Mistimed counts the events whose time could not be right. They have the time of their arrival.
	Mistimed int `json:"mistimed,omitempty"`
	// Goroutines counts the daemon's goroutines.
	Goroutines int `json:"goroutines,omitempty"`
	// HTTP is the address for agents over streamable HTTP, nil when it is off.
	HTTP *HTTPStatus `json:"http,omitempty"`
	// Journal is nil when nothing is stored on disk.
	Journal *JournalStatus `json:"journal,omitempty"`
	// Workspaces are the directories whose files are watched.
	Workspaces []workspace.Status `json:"workspaces,omitempty"`
	// Unrecorded lists why nothing of workspaces, of one of them, or of conversations is recorded.
	Unrecorded []string `json:"unrecorded,omitempty"`
}

// BrowserStatus is a browser and its tabs.
type BrowserStatus struct {
	Name string `json:"name"`
	// Instance identifies the profile.
	Instance  string      `json:"instance"`
	Extension string      `json:"extension"`
	Connected bool        `json:"connected"`
	Tabs      []TabStatus `json:"tabs"`
}

// JournalStatus is the state of the journal on disk.
type JournalStatus struct {
	Path string `json:"path"`
	// Bytes is the size of its events.
	Bytes int64 `json:"bytes"`
	// Problem says why it is not writable now.
	Problem string `json:"problem,omitempty"`
	// Notices are messages for the user about this start of the daemon.
	Notices []string `json:"notices,omitempty"`
}

// HTTPStatus is the address for agents over HTTP.
type HTTPStatus struct {
	URL string `json:"url"`
	// TokenFile is the file with the secret for "Authorization: Bearer".
	TokenFile string `json:"token_file"`
	// Problem says why the server is not running.
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

// ClientStatus is a client.
type ClientStatus struct {
	Name string `json:"name"`
	// Scope lists the origins that it can observe, "all" for everything.
	Scope string      `json:"scope"`
	Since report.Time `json:"since"`
	// Held is true while the user suspends it.
	Held bool `json:"held,omitempty"`
}

// Status returns what is connected and watched. The caller fills in the fields about the process.
func (v *Viewer) Status(client *checkpoint.Client) *Status {
	scope := client.Scope
	view := v.store.View(v.clock())
	s := &Status{Browsers: []BrowserStatus{}, Clients: []ClientStatus{}, Masked: view.Masked, Mistimed: view.Mistimed}
	for _, b := range view.Browsers {
		shown := BrowserStatus{Name: b.Name, Instance: b.Instance, Extension: b.Extension, Connected: b.Connected, Tabs: []TabStatus{}}
		for _, t := range view.Tabs {
			if t.Instance == b.Instance && scope.CoversOrigin(t.Origin) {
				shown.Tabs = append(shown.Tabs, TabStatus{t.ID, t.URL, t.Title, t.Watched, t.Capture, t.Note})
			}
		}
		s.Browsers = append(s.Browsers, shown)
	}
	suspended := v.Agents.Suspended()
	for _, c := range v.clients.All() {
		if !c.Connected {
			continue
		}
		key := c.Scope.Key()
		if key == "" {
			key = "all"
		}
		s.Clients = append(s.Clients, ClientStatus{c.Name, key, report.Time{Time: c.Since}, suspended[c.Client] != ""})
	}
	o := v.rules.Of(client).Options(scope)
	o.Beginning = true
	r := diff.Compute(view.Start(), view, o)
	s.Severity, s.Summary, s.NoiseProblems = r.Severity, r.Summary, r.NoiseProblems
	return s
}
