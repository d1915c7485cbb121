package project

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Shift returns origins with another port where they are of this machine and name a port. An origin whose port would be out
// of range stays.
func Shift(origins []string, offset int) []string {
	var shifted []string
	for _, origin := range origins {
		shifted = append(shifted, shift(origin, offset))
	}
	return shifted
}

// Unshifted returns the origins of this machine that [Shift] leaves as they are.
func Unshifted(origins []string, offset int) (same []string) {
	for _, origin := range origins {
		if u, err := url.Parse(origin); err == nil && here(u.Hostname()) && shift(origin, offset) == origin {
			same = append(same, origin)
		}
	}
	return same
}

// here reports whether a host is this machine.
func here(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}

func shift(origin string, offset int) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin
	}
	port, err := strconv.Atoi(u.Port())
	if port += offset; err != nil || !here(u.Hostname()) || port < 1 || port > 65535 {
		return origin
	}
	u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(port))
	return u.String()
}
