package event

import (
	"fmt"
	"net/url"
	"strings"
)

// ParseOrigin returns the origin of an address that a user wrote: http://localhost:5173, localhost:5173, or the address
// of any page there.
func ParseOrigin(address string) (string, error) {
	raw := strings.TrimSpace(address)
	if !strings.Contains(raw, "://") {
		if raw != "" && !strings.Contains(raw, ":") {
			return "", fmt.Errorf("%q is not a valid origin; write it with its scheme or port: http://%s, or %s:5173", address, raw, raw)
		}
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a valid origin; write it like http://localhost:5173", address)
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	} else {
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host, nil
}
