package daemon

// checkOwner has nothing to check: the directories lie in the user's own profile.
func checkOwner(string) error { return nil }
