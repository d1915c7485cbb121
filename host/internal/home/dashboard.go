package home

import (
	"encoding/json"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/installer/safefile"
)

// kept is the dashboard that the next daemon continues to serve.
type kept struct {
	Port  int       `json:"port"`
	Until time.Time `json:"until"`
}

func (h Home) dashboardFile() string { return filepath.Join(h.Run, "dashboard.json") }

// KeepDashboard records the port of an open dashboard and its expiry for the next daemon.
func (h Home) KeepDashboard(port int, until time.Time) error {
	data, err := json.Marshal(kept{port, until})
	if err != nil {
		return err
	}
	return safefile.Overwrite(h.dashboardFile(), data)
}

// DashboardPort returns the port of a dashboard that may still be open, 0 without one.
func (h Home) DashboardPort(now time.Time) int {
	data, err := safefile.Read(h.dashboardFile(), maxOwnFile)
	var k kept
	if err != nil || json.Unmarshal(data, &k) != nil || !now.Before(k.Until) || k.Port < 1 || k.Port > 65535 {
		return 0
	}
	return k.Port
}
