package hangup

func hasHungUp(uintptr) bool { return false }
