package home

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/installer/safefile"
)

// kept is the dashboard that the next daemon serves on.
type kept struct {
	Port  int       `json:"port"`
	Until time.Time `json:"until"`
}

func (h Home) dashboardFile() string { return filepath.Join(h.Run, "dashboard.json") }

// KeepDashboard writes down on which port a dashboard is open, and until when, for the next daemon.
func (h Home) KeepDashboard(port int, until time.Time) error {
	data, err := json.Marshal(kept{port, until})
	if err != nil {
		return err
	}
	return os.WriteFile(h.dashboardFile(), data, 0o600)
}

// DashboardPort is the port that a dashboard may wait on, 0 when none does.
func (h Home) DashboardPort(now time.Time) int {
	data, err := safefile.Read(h.dashboardFile(), maxOwnFile)
	var k kept
	if err != nil || json.Unmarshal(data, &k) != nil || !now.Before(k.Until) || k.Port < 1 || k.Port > 65535 {
		return 0
	}
	return k.Port
}
