package tool

// Settings is the section "tools" of the settings file.
type Settings struct {
	// Sets are the tool sets of agents that ask for none; nil: [DefaultSets].
	Sets []string `toml:"sets"`
}

// Check says which set does not exist.
func (s Settings) Check() error {
	_, err := CheckSets(s.Sets)
	return err
}
