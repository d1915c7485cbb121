package noise

import (
	"encoding/json"
	"fmt"
	"time"
)

// Settings are a user's noise settings. They survive restarts of the daemon.
type Settings struct {
	// Off lists the packs that are off.
	Off   []string    `json:"off"`
	Rules []*UserRule `json:"rules"`
}

// Encode returns the settings as JSON, for the file.
func (s *Settings) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// ParseSettings parses saved settings. It skips unusable rules and reports them as problems. It drops expired rules
// silently. An error means that nothing could be read.
func ParseSettings(data []byte, now time.Time) (s *Settings, problems []string, err error) {
	var kept Settings
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, nil, err
	}
	s = &Settings{}
	for _, name := range kept.Off {
		if IsPack(name) {
			s.Off = append(s.Off, name)
		}
	}
	for i, r := range kept.Rules {
		switch {
		case r == nil || r.Ended(now):
			continue
		case len(s.Rules) == MaxUserRules:
			return s, append(problems, fmt.Sprintf("more than %d noise rules; the rest are not used", MaxUserRules)), nil
		}
		if err := r.Check(); err != nil {
			problems = append(problems, fmt.Sprintf("noise rule %d (%q): %v", i+1, r.ID, err))
			continue
		}
		s.Rules = append(s.Rules, r)
	}
	return s, problems, nil
}
