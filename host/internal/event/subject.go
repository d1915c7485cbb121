package event

import (
	"path/filepath"
	"slices"
	"strings"
)

// Subject is what an event is about. The zero value is everything that a source observes.
type Subject struct {
	Kind SubjectKind
	// Number tells subjects of a kind apart. A tab has the browser's id when decoded; package capture replaces it by the
	// host's own. A workspace has none.
	Number int
	// Place is the origin of a tab's top document at that moment, which package capture fills in, or else the root of the
	// workspace.
	Place string
}

// SubjectKind says what a subject is.
type SubjectKind uint8

// Kinds of subjects. Journals contain the numbers.
const (
	Tab SubjectKind = iota
	Workspace
	Terminal
	Process
	AgentSession
)

// InTab is the subject of an event in a tab.
func InTab(number int, origin string) Subject { return Subject{Tab, number, origin} }

// InWorkspace is the subject of an event in the workspace with a root, an absolute path.
func InWorkspace(root string) Subject { return Subject{Workspace, 0, root} }

// Tab is the number of a tab, 0 for another subject.
func (s Subject) Tab() int {
	if s.Kind != Tab {
		return 0
	}
	return s.Number
}

// Origin is the origin of a tab's page, "" for another subject.
func (s Subject) Origin() string {
	if s.Kind != Tab {
		return ""
	}
	return s.Place
}

// Workspace is the root of the workspace, "" for a tab.
func (s Subject) Workspace() string {
	if s.Kind == Tab {
		return ""
	}
	return s.Place
}

// InScope reports whether a scope of origins and a workspace covers a subject. It covers a tab by the origin of its page,
// everything else by its workspace. A scope without origins covers every page. A scope without a workspace covers every
// workspace, unless it has origins: nothing says which workspaces belong to these.
func (s Subject) InScope(origins []string, workspace string) bool {
	if s.Kind == Tab {
		return len(origins) == 0 || slices.Contains(origins, s.Place)
	}
	return s.Place == "" || (workspace != "" || len(origins) == 0) && Within(s.Place, workspace)
}

// Within reports whether one of two workspaces contains the other. What has no workspace is within each.
func Within(a, b string) bool {
	inside := func(path, root string) bool {
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, string(filepath.Separator)))
		return ok && (rest == "" || rest[0] == filepath.Separator)
	}
	return a == "" || b == "" || inside(a, b) || inside(b, a)
}
