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

func shift(origin string, offset int) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin
	}
	port, err := strconv.Atoi(u.Port())
	name, ip := u.Hostname(), net.ParseIP(u.Hostname())
	here := name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
	if port += offset; err != nil || !here || port < 1 || port > 65535 {
		return origin
	}
	u.Host = net.JoinHostPort(name, strconv.Itoa(port))
	return u.String()
}
