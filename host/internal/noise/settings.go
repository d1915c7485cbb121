package noise

import (
	"encoding/json"
	"fmt"
	"time"
)

// Settings are a user's own: what is kept from one daemon to the next.
type Settings struct {
	// Off are the packs that are off.
	Off   []string    `json:"off"`
	Rules []*UserRule `json:"rules"`
}

// Encode is the settings as they are kept.
func (s *Settings) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// ParseSettings reads what was kept. Rules that cannot be used are left out, and said; an error is about
// the whole. Rules that have ended are left out without a word.
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
			return s, append(problems, fmt.Sprintf("there are more than %d noise rules; the rest is not used", MaxUserRules)), nil
		}
		if err := r.Check(); err != nil {
			problems = append(problems, fmt.Sprintf("noise rule %d (%q): %v", i+1, r.ID, err))
			continue
		}
		s.Rules = append(s.Rules, r)
	}
	return s, problems, nil
}
