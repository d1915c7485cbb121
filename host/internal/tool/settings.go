package tool

// Settings is the section "tools" of the settings file.
type Settings struct {
	// Sets are the tool sets of agents that request none; nil: [DefaultSets].
	Sets []string `toml:"sets"`
}

// Check returns an error for a set that does not exist.
func (s Settings) Check() error {
	_, err := CheckSets(s.Sets)
	return err
}
