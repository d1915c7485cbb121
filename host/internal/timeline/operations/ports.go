package operations

import (
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// PortsOf returns what is added to the ports in a branch, 0 in another workspace.
func (ops *Operations) PortsOf(workspace string) int {
	if ops.lines.Failed() != nil {
		return 0
	}
	if s := ops.sessions.Latest(workspace); s != nil && s.Agent != nil {
		return s.Agent.Ports
	}
	return 0
}

// Shifted returns the origins of a project as a branch of it has them, and unchanged ones in another workspace.
func Shifted(ops *Operations, workspace string, origins []string) []string {
	if ports := ops.PortsOf(workspace); workspace != "" && ports != 0 {
		return project.Shift(origins, ports)
	}
	return origins
}

// Ports of branches are apart by portStep. A port above 1024 stays below 65536 for maxPorts steps.
const (
	portStep = 100
	maxPorts = 300
)

// FreePorts returns what is added to the ports in a new branch of a session: more than 0, and different in all branches of its
// original, and in theirs. It is an error where none is left.
func FreePorts(ops *Operations, of *records.Session) (int, error) {
	for n := 1; n < maxPorts; n++ {
		if portsIn(ops, of, n*portStep) == nil {
			return n * portStep, nil
		}
	}
	return 0, usererr.New(usererr.LimitReached, "all %d port offsets of this project belong to branches, so another agent would get the ports of one of them. `tidemark branch list` lists the branches. Remove one with `tidemark branch rm NAME`, or start a branch without an agent (`--agent none`).", maxPorts-1)
}

// portsIn returns the branch that adds so much to its ports, of the branches of the original of a session and of theirs. It is nil
// for none.
func portsIn(ops *Operations, of *records.Session, ports int) *records.Session {
	origin := ops.sessions.Origin(of)
	for _, s := range ops.sessions.All() {
		if s.Agent == nil || s.BranchOf == nil || s.Removed || s.Agent.Ports != ports {
			continue
		}
		if from := ops.sessions.Origin(s); from == nil || origin == nil || from.Workspace == origin.Workspace {
			return s
		}
	}
	return nil
}

// withPorts adds a branch of a session, whose agent gets ports that no other branch has.
func withPorts(ops *Operations, of, branch *records.Session, add func(*records.Session) error) error {
	if branch.Agent == nil {
		return add(branch)
	}
	ops.ports.Lock() // branches of branches have the turns of other lines
	defer ops.ports.Unlock()
	if ports := branch.Agent.Ports; ports == 0 || portsIn(ops, of, ports) != nil {
		var err error
		if branch.Agent.Ports, err = FreePorts(ops, of); err != nil {
			return err
		}
	}
	return add(branch)
}
