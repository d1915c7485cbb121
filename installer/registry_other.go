//go:build !windows

package installer

func userRegistry() Registry { return nil }
